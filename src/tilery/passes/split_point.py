"""The split point of a loop: the first value of its counter for which a comparison changes, without wrap-around.

NVIDIA's plain computation wraps around for bounds near the limits of the type, and then runs the wrong iterations. It
is used if constants show that it does not wrap; if not, the bound is clamped first.
"""

from __future__ import annotations

from ..attrs import ComparisonPredicate, RoundingMode, Signedness
from ..floats.comparison import GT, LE
from ..ir import Op, Value
from ..ops import AddI, Constant, DivI, For, MaxI, MinI, MulI, SubI
from ..types import Scalar, Tile
from .constants import filled

AFTER = (GT, LE)
"""The comparisons that change just after the bound, not at it."""


def known(value: Value, signedness: Signedness) -> int | None:
    """The value of a constant scalar; None if it is not a constant."""
    if not isinstance(value.owner, Constant):
        return None
    bits = value.owner.value.splat
    if bits is None:
        return None
    width = value.owner.value.element.bits
    return bits - (1 << width) if signedness is Signedness.SIGNED and bits >> (width - 1) else bits


class SplitBuilder:
    """Builds operations in order, all with one location."""

    def __init__(self, loop: For, signedness: Signedness) -> None:
        self.ops: list[Op] = []
        self.loop, self.signedness = loop, signedness

    def put(self, o: Op) -> Value:
        o.loc = self.loop.loc
        self.ops.append(o)
        return o.results[0]

    def one(self) -> Value:
        assert isinstance(self.loop.step.type, Tile)
        return self.put(filled(self.loop.step.type, 1))

    def min(self, a: Value, b: Value) -> Value:
        return self.put(MinI(lhs=a, rhs=b, signedness=self.signedness))

    def max(self, a: Value, b: Value) -> Value:
        return self.put(MaxI(lhs=a, rhs=b, signedness=self.signedness))


def split_point(
    loop: For, predicate: ComparisonPredicate, bound: Value, signedness: Signedness
) -> tuple[list[Op], Value, Value]:
    """Build the split point; return the operations, the end of the first loop and the start of the second."""
    make = SplitBuilder(loop, signedness)
    lower, step = known(loop.lowerBound, signedness), known(loop.step, signedness)
    point, number = bound, known(bound, signedness)
    top = _top(loop, signedness)
    if predicate in AFTER:
        if number is None or number == top:
            # The counter stays below the upper bound, so a larger bound means the same.
            last = make.put(SubI(lhs=loop.upperBound, rhs=make.one()))
            point, number = make.min(bound, last), None
        point = make.put(AddI(lhs=point, rhs=make.one()))
        number = None if number is None else number + 1
    if step != 1:
        exact = lower is not None and number is not None and step is not None and step > 0
        if exact and lower <= number and number - lower + step <= top and number + step <= top:  # type: ignore[operator]  # all known
            point = _aligned(make, point, signedness)
        else:
            inside = make.max(make.min(point, loop.upperBound), loop.lowerBound)
            point = _aligned(make, inside, Signedness.UNSIGNED)
    until = make.min(point, loop.upperBound)
    start = make.max(point, loop.lowerBound)
    return make.ops, until, start


def _aligned(make: SplitBuilder, point: Value, signedness: Signedness) -> Value:
    """The first value of the counter that is not below the point."""
    loop = make.loop
    gap = make.put(SubI(lhs=point, rhs=loop.lowerBound))
    steps = make.put(DivI(lhs=gap, rhs=loop.step, signedness=signedness, rounding=RoundingMode.POSITIVE_INF))
    length = make.put(MulI(lhs=steps, rhs=loop.step))
    return make.put(AddI(lhs=loop.lowerBound, rhs=length))


def _top(loop: For, signedness: Signedness) -> int:
    """The largest number of the counter's type."""
    assert isinstance(loop.step.type, Tile) and isinstance(loop.step.type.element, Scalar)
    width = loop.step.type.element.bits
    return (1 << width - (signedness is Signedness.SIGNED)) - 1
