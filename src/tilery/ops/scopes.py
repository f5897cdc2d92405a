"""Rules of debug information: the scopes that a function, its body and globals may have."""

from __future__ import annotations

from ..attrs import Attr, CallSite, DILoc, DISubprogram, FusedLoc, NameLoc, enclosing
from ..checking import TYPE_CHECKING
from ..declare.operation import has_trait
from ..declare.relations import FUNCTION, Objection
from ..ir import Op
from .checks import Answer

if TYPE_CHECKING:
    from typing import Any


def located(loc: Attr | None) -> DILoc | None:
    """Return the position within a scope that a location refers to; for a call site, that of the caller."""
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
    """Return the source function that contains a location."""
    found = located(loc)
    if found is None:
        return None
    outermost = list(enclosing(found.scope))[-1]
    assert isinstance(outermost, DISubprogram)
    return outermost


def function_location(o: Any) -> Answer:
    """Check that a function's location is in a subprogram that links to its name."""
    if isinstance(o.loc, CallSite):
        return Objection(
            ("invalid function debug info location: ", o.loc, ". Function location must not be a CallSiteLoc.")
        )
    found = located(o.loc)
    if found is None:
        return None
    scope = found.scope
    if isinstance(scope, DISubprogram) and scope.linkageName == o.sym_name:
        return None
    why = "Function location must have cuda_tile.di_subprogram debug info scope."
    if isinstance(scope, DISubprogram):
        why = f'Function name "{o.sym_name}" does not match subprogram scope linkage name "{scope.linkageName}".'
    return Objection(("invalid function debug info scope: ", scope, f". {why}"))


def body_locations(o: Any, inside: set[Attr | None]) -> Answer:
    """Check that everything in a function is in the function's subprogram; `inside` are the locations there."""
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
        prefix = "invalid operation debug info scope: "
        if outer is None:
            why = ". Operation has debug info scope, but function debug info scope is undefined."
            return Objection((prefix, scope, why), op=inner)
        why = ". Operation debug info scope does not match function debug info scope: "
        return Objection((prefix, scope, why, outer, "."), op=inner, bare=True)
    return None


def _inner_first(o: Op) -> list[Op]:
    """List the operations inside in MLIR's post-order: nested operations before their parents."""
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
    """Check that globals have no scope."""
    for o in module.body.ops:
        if not has_trait(o, FUNCTION) and (found := located(o.loc)) is not None:
            parts = ("invalid operation debug info scope: ", found, ". Global variables must not have scope.")
            return Objection(parts, op=o)
    return None
