"""`rename-symbol`: rename an entry or global, its uses and its debug information."""

from __future__ import annotations

from collections.abc import Callable, Container

from ..attrs import Attr, DebugAttr, DILoc, DISubprogram
from ..declare.fastclass import replace
from ..declare.fields import AttrKind
from ..diag import TileError
from ..ir import Op, Refused, UnknownOp, walk
from ..rewrite import Report
from .registry import Option, register


@register(
    "rename-symbol",
    Option("symbol-to-rename", "", "the entry or global, `add` or `kernels::add`"),
    Option("new-name", "", "its new name"),
    Option("scope", "", "the symbol inside which debug information changes; default: the module"),
    Option("update-uses", True, "rename references to it, too"),
    on="module",
)
def rename_symbol(
    root: Op, report: Report, symbol_to_rename: str, new_name: str, scope: str = "", update_uses: bool = True
) -> None:
    """Rename an entry or global, its uses and the linkage name in its debug information."""
    for option, given in (("symbol-to-rename", symbol_to_rename), ("new-name", new_name)):
        if not given:
            raise TileError(f"rename-symbol: option '{option}' is missing")
    item, inside = _find(root, symbol_to_rename), _find(root, scope) if scope else root
    if inside is not root and inside is not item:
        message = "attempted to update symbol names in a scope that did not enclose the symbol itself"
        raise Refused(item, message, (inside, "scope defined here"))
    old = _name(item)
    if old == new_name:
        return
    if any(_name(o) == new_name for o in _items(root)):
        raise TileError(f"rename-symbol: there is already a symbol named '{new_name}'")
    for o in walk(root) if update_uses else ():
        _rename_uses(o, old, new_name)
    item.sym_name = new_name  # type: ignore[attr-defined]  # it was found by this name
    if isinstance(item.loc, DILoc) and isinstance(item.loc.scope, DISubprogram):
        _rename_scope(inside, item.loc.scope, new_name)
    report.counts["rename_symbol"] += 1


def rename_symbols(root: Op, rename: Callable[[str], str]) -> None:
    """Rename all symbols, their uses, and the names in debug information, also of inlined functions."""
    for item in _items(root):
        if name := _name(item):
            item.sym_name = rename(name)  # type: ignore[attr-defined]  # it has a name
    made: dict[Attr, Attr] = {}
    for o in walk(root):
        for f in () if isinstance(o, UnknownOp) else o.opdef.attrs:
            if f.kind is AttrKind.SYM_REF and (used := getattr(o, f.attr)):
                setattr(o, f.attr, rename(used))
        if o.loc is not None:
            for scope in _subprograms(o.loc, made):
                made[scope] = replace(scope, name=rename(scope.name), linkageName=rename(scope.linkageName))
            o.loc = _renewed(o.loc, made)  # type: ignore[assignment]  # a location is rebuilt as a location


def _subprograms(root: DebugAttr, known: Container[Attr]) -> list[DISubprogram]:
    """Return the subprograms of a location that are not known."""
    found, seen, todo = [], set[Attr](), [root]
    while todo:
        node = todo.pop()
        if node in seen or node in known:
            continue
        seen.add(node)
        if isinstance(node, DISubprogram):
            found.append(node)
        todo += _inner(node)
    return found


def _items(root: Op) -> list[Op]:
    return [o for block in root.blocks for o in block.ops]


def _name(o: Op) -> str:
    found: str = getattr(o, "sym_name", "")
    return found


def _find(root: Op, path: str) -> Op:
    """Find the symbol that a path names; the path may start with the name of the module."""
    parts = path.split("::")
    if len(parts) > 1 and parts[0] == _name(root):
        parts = parts[1:]
    found = [o for o in _items(root) if len(parts) == 1 and _name(o) == parts[0]]
    if not found:
        shown = "::".join(f"@{part}" for part in path.split("::"))
        raise TileError(f"rename-symbol: could not find symbol op with name '{shown}'")
    return found[0]


def _rename_uses(o: Op, old: str, new: str) -> None:
    if isinstance(o, UnknownOp):
        return
    for f in o.opdef.attrs:
        if f.kind is AttrKind.SYM_REF and getattr(o, f.attr) == old:
            setattr(o, f.attr, new)


def _rename_scope(inside: Op, scope: DISubprogram, new: str) -> None:
    """Rebuild every location that leads to the old subprogram: nodes are shared and immutable."""
    made: dict[Attr, Attr] = {scope: replace(scope, linkageName=new)}
    for o in walk(inside):
        if o.loc is not None:
            o.loc = _renewed(o.loc, made)  # type: ignore[assignment]  # a location is rebuilt as a location


def _renewed(root: DebugAttr, made: dict[Attr, Attr]) -> Attr:
    """Rebuild a node from replaced parts, without recursion: chains of call sites are deep."""
    todo: list[DebugAttr] = [root]
    while todo:
        node = todo[-1]
        missing = [part for part in _inner(node) if part not in made]
        if node in made:
            todo.pop()
        elif missing:
            todo += missing
        else:
            made[node] = type(node)(*(_part(part, made) for part in node.parts()))
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
