"""Find the access that a tile block waits for, once it waits for ever."""

from __future__ import annotations

from ...analysis.effects import accesses, memory_ordering
from ...ir import Op, Value, walk
from ...ops import Break, Continue, If
from ...types import TOKEN
from .program import Leave, Observed, RegionCode


def polled(program: RegionCode, head: int) -> Op:
    """Return the access whose result decides whether the loop that starts at `head` ends.

    If no such access is in the loop, return the first access there, or the operation at `head`.
    """
    first = program.code[head].op
    loop = _loop_at(program, head)
    if loop is None:
        return first
    inside = set(walk(loop))
    exits = [o for o in inside if isinstance(o, If) and _leaves(o)]
    deciding = _accesses_behind([o.condition for o in exits], inside)
    found = [o for o in accesses(loop) if any(value.type is not TOKEN for value in o.results)]
    return next((o for o in found if o in deciding), next(iter(found), first))


def _loop_at(program: RegionCode, head: int) -> Op | None:
    for each in program.code[head:]:
        inner = each.inner if isinstance(each, Observed) else each
        if isinstance(inner, Leave) and inner.head is not None and inner.head.pc == head:
            return inner.op
    return None


def _leaves(o: If) -> bool:
    return any(isinstance(inner, (Break, Continue)) for block in o.blocks for inner in block.ops)


def _accesses_behind(values: list[Value], inside: set[Op]) -> set[Op]:
    """Return the accesses among some operations that values are computed from."""
    found: set[Op] = set()
    seen, todo = set(values), list(values)
    while todo:
        o = todo.pop().owner
        if not isinstance(o, Op) or o not in inside:
            continue
        if memory_ordering(o) is not None:
            found.add(o)
            continue
        found.update(accesses(o))
        more = [value for value in o.operands if value not in seen]
        seen.update(more)
        todo += more
    return found
