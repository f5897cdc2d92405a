"""Rules of debug information: which scope a function and what is inside it may have."""

from __future__ import annotations

from typing import Any

from ..attrs import Attr, CallSite, DILoc, DISubprogram, FusedLoc, NameLoc, enclosing
from ..declare.relations import Problem
from ..ir import Op
from .checks import Answer


def located(loc: Attr | None) -> DILoc | None:
    """The place with a scope that a location stands for: a call site is where it was called."""
    todo: list[Attr | None] = [loc]
    while todo:
        found = todo.pop()
        match found:
            case DILoc():
                return found
            case CallSite():
                todo.append(found.caller)
            case NameLoc():
                todo.append(found.child)
            case FusedLoc():
                todo += reversed(found.locations)
    return None


def subprogram(loc: Attr | None) -> DISubprogram | None:
    """The function of the source that a location lies in."""
    found = located(loc)
    if found is None:
        return None
    outermost = list(enclosing(found.scope))[-1]
    assert isinstance(outermost, DISubprogram)
    return outermost


def function_location(o: Any) -> Answer:
    """A function's location lies in a subprogram that links to its name."""
    if isinstance(o.loc, CallSite):
        shown = _show(o.loc)
        return f"invalid function debug info location: {shown}. Function location must not be a CallSiteLoc."
    found = located(o.loc)
    if found is None:
        return None
    scope = found.scope
    if isinstance(scope, DISubprogram) and scope.linkageName == o.sym_name:
        return None
    prefix = f"invalid function debug info scope: {_show(scope)}"
    if not isinstance(scope, DISubprogram):
        return f"{prefix}. Function location must have cuda_tile.di_subprogram debug info scope."
    return (
        f'{prefix}. Function name "{o.sym_name}" does not match subprogram scope linkage name "{scope.linkageName}".'
    )


def body_locations(o: Any, inside: set[Attr | None]) -> Answer:
    """Everything in a function lies in the function's own subprogram; `inside` are the locations there."""
    outer = subprogram(o.loc)
    scopes: dict[Attr, DISubprogram | None] = {}
    known: dict[Attr | None, DISubprogram | None] = {}
    for loc in inside:
        if isinstance(loc, DILoc):
            if loc.scope not in scopes:
                scopes[loc.scope] = subprogram(loc)
            known[loc] = scopes[loc.scope]
        else:
            known[loc] = subprogram(loc)
    if all(scope is None or scope is outer for scope in known.values()):
        return None
    for inner in _inner_first(o):
        scope = known[inner.loc]
        if scope is None or scope is outer:
            continue
        prefix = f"invalid operation debug info scope: {_show(scope)}"
        if outer is None:
            return Problem(
                f"{prefix}. Operation has debug info scope, but function debug info scope is undefined.", op=inner
            )
        return Problem(
            f"{prefix}. Operation debug info scope does not match function debug info scope: {_show(outer)}.",
            op=inner,
            bare=True,
        )
    return None


def _inner_first(o: Op) -> list[Op]:
    """What is inside, nested operations before those that hold them, as MLIR walks."""
    out: list[Op] = []
    stack: list[tuple[Op, bool]] = [(x, False) for block in reversed(o.blocks) for x in reversed(block.ops)]
    while stack:
        inner, done = stack.pop()
        if done or not inner.blocks:
            out.append(inner)
            continue
        stack.append((inner, True))
        stack += [(x, False) for block in reversed(inner.blocks) for x in reversed(block.ops)]
    return out


def global_locations(module: Any) -> Answer:
    """Globals have no scope."""
    for o in module.body.ops:
        if not hasattr(o, "function_type") and (found := located(o.loc)) is not None:
            return Problem(
                f"invalid operation debug info scope: {_show(found)}. Global variables must not have scope.", op=o
            )
    return None


def _show(attr: Attr) -> str:
    from ..diag import TileError
    from ..text.print.attributes import attr_text

    try:
        return attr_text(attr)
    except TileError:  # a location can share so much that its text has no end
        return repr(attr)


