"""`rename-symbol`: another name for an entry or global, in its uses and in its debug information too."""

from __future__ import annotations

from dataclasses import replace

from ..attrs import Attr, DebugAttr, DILoc, DISubprogram, SymbolRef
from ..diag import TileError
from ..ir import Op, walk
from ..rewrite import Report
from . import Option, register


@register(
    "rename-symbol",
    Option("symbol", "", "the entry or global"),
    Option("new-name", "", "what it is called from now on"),
    on="module",
)
def rename_symbol(root: Op, report: Report, symbol: str, new_name: str) -> None:
    """Rename an entry or global, with its uses and the linkage name of its debug information."""
    items = {getattr(o, "sym_name", None): o for block in root.blocks for o in block.ops}
    if not symbol or symbol not in items:
        known = ", ".join(str(name) for name in items if name) or "none"
        raise TileError(f"rename-symbol: no symbol is called '{symbol}', there are: {known}")
    if symbol == new_name:
        return
    if not new_name or new_name in items:
        raise TileError(f"rename-symbol: the new name '{new_name}' must be given and not be taken")
    item = items[symbol]
    for o in walk(root):
        _rename_uses(o, symbol, new_name)
    item.sym_name = new_name  # type: ignore[attr-defined]  # what is in the table has one
    scope = item.loc.scope if isinstance(item.loc, DILoc) else None
    if isinstance(scope, DISubprogram):
        # Nodes are shared and immutable: everything that leads to the old scope is made again.
        made: dict[Attr, Attr] = {scope: replace(scope, linkageName=new_name)}
        for o in walk(root):
            if o.loc is not None:
                o.loc = _renewed(o.loc, made)  # type: ignore[assignment]  # a location is made again as one
    report.counts["renamed"] += 1


def _rename_uses(o: Op, symbol: str, new_name: str) -> None:
    for f in o.opdef.attrs:
        match getattr(o, f.attr):
            case SymbolRef(name) if name == symbol:
                setattr(o, f.attr, SymbolRef(new_name))
            case str(name) if f.kind.name == "SYM_REF" and name == symbol:
                setattr(o, f.attr, new_name)


def _renewed(root: DebugAttr, made: dict[Attr, Attr]) -> Attr:
    """The node with replaced ones inside; chains of call sites are too deep for recursion."""
    todo: list[DebugAttr] = [root]
    while todo:
        node = todo[-1]
        missing = [part for part in _inner(node) if part not in made]
        if node in made:
            todo.pop()
        elif missing:
            todo += missing
        else:
            parts = [_part(part, made) for part in node.parts()]
            made[node] = type(node)(*parts)
    return made[root]


def _inner(node: DebugAttr) -> list[DebugAttr]:
    out: list[DebugAttr] = []
    for part in node.parts():
        out += [x for x in (part if isinstance(part, tuple) else (part,)) if isinstance(x, DebugAttr)]
    return out


def _part(part: object, made: dict[Attr, Attr]) -> object:
    if isinstance(part, tuple):
        return tuple(_part(x, made) for x in part)
    return made[part] if isinstance(part, DebugAttr) else part
