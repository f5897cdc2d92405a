"""Alignment: contiguity, divisibility and constancy of integers and pointers, per dimension.

    known = axis_info(entry)
    known[pointers].contiguity      # (1, 16): along the last dimension, runs of 16 elements are neighbours in memory
    known[pointers].divisibility    # (4, 64): and each of these runs starts at an address that is a multiple of 64
    known[pointers].divisor         # 4: every address is a multiple of 4

The facts follow from `iota`, constants, arithmetic and shapes, and from the promises of a program (`assume`). A tool
that checks promises asks for `axis_info(entry, trust=False)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..declare.relations import ELEMENTWISE
from ..ir import Op, UnknownOp, Value, walk
from ..ops import For, Global, Reduce, Scan
from .axes import Axis, AxisInfo, either, power_of_two, step_of, uniform, unknown
from .axis_rules import RULES, elementwise
from .dataflow import solve
from .ranges import Ranges, ranges

__all__ = ["Alignment", "Axis", "AxisInfo", "axis_info"]


def axis_info(root: Op, known: Ranges | None = None, trust: bool = True) -> Alignment:
    """Compute the facts about all integers and pointers inside an operation.

    `known` are the ranges inside `root`, if they have been computed already. With `trust=False`, promises are not
    believed.

    >>> from tilery import parse
    >>> entry = parse("entry @k() { %0 = iota : tile<8xi32> %1 = addi %0, %0 : tile<8xi32> return }").entries[0]
    >>> [axis_info(entry)[o.results[0]].contiguity for o in entry.body.ops[:2]]
    [(8,), (1,)]
    """
    found = Alignment(ranges(root, trust) if known is None else known)
    for o in walk(root):
        if isinstance(o, Global):
            found.globals[o.sym_name] = power_of_two(o.alignment) if o.alignment > 0 else 1
    solve(root, found)
    return found


class Alignment:
    """The facts about integers and pointers by value."""

    def __init__(self, known: Ranges) -> None:
        self.facts: dict[Value, AxisInfo] = {}
        self.ranges = known
        self.trust = known.trust
        """Whether promises are believed."""
        self.globals: dict[str, int] = {}
        """The alignment of global variables, where they are inside the operation."""

    def __getitem__(self, value: Value) -> AxisInfo:
        found = self.facts.get(value)
        return self.top(value) if found is None else found

    # ------------------------------------------------------------ for the solver

    def tracks(self, value: Value) -> bool:
        return step_of(value.type) > 0

    def top(self, value: Value) -> AxisInfo:
        return unknown(value.type)

    def join(self, value: Value, a: AxisInfo, b: AxisInfo) -> AxisInfo:
        return either(a, b)

    def widen(self, value: Value, old: AxisInfo, new: AxisInfo) -> AxisInfo:
        return unknown(value.type)

    def transfer(self, o: Op) -> Sequence[AxisInfo | None]:
        rule = RULES.get(o.__class__)
        if rule is not None:
            return [rule(o, self)] * len(o.results)
        if not isinstance(o, UnknownOp) and o.opdef.has(ELEMENTWISE) and all(map(self.tracks, o.operands)):
            return [elementwise(o, self)]
        return [None] * len(o.results)

    def counter(self, loop: For) -> AxisInfo:
        """The lower bound plus a multiple of the step."""
        divisor = min(self[loop.lowerBound].divisor, self[loop.step].divisor)
        return uniform(loop.step.type, divisor)

    def combined(self, o: Reduce | Scan, index: int, value: Value) -> AxisInfo:
        return unknown(value.type)
