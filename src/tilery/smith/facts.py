"""Facts about values at run time: enough to keep accesses in bounds and promises true."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .. import ops
from ..analysis.intervals import Range, element, read, signed_limits, whole
from ..analysis.range_rules import RULES
from ..attrs import Signedness
from ..ir import Op, Value
from ..types import I1, SCALARS, TF32, Ptr, Scalar, Tile

F4 = SCALARS["f4E2M1FN"]


@dataclass(frozen=True, slots=True, eq=False)
class ReachableMemory:
    """Memory that a kernel can reach. Accesses to memory that is not writable need no ordering."""

    element: Scalar
    count: int
    writable: bool


@dataclass(frozen=True, slots=True)
class Pointee:
    """The target of the pointers of a tile: each of them and the `room - 1` elements after it lie in `memory`."""

    memory: ReachableMemory
    room: int
    distinct: bool
    """Whether no two pointers are equal."""
    align: int
    """A power of two that divides every address."""


def stored_bytes(element: Scalar) -> int:
    """Return the number of bytes that an element takes in memory."""
    return (element.row.memory_bits + 7) // 8


class ValueFacts:
    """Facts by value; a value without any may be anything.

    The sets are never iterated, so that modules do not depend on hashes.
    """

    trust = True
    """For the rules of `analysis`: the promises of a random module hold."""

    def __init__(self) -> None:
        self.ranges: dict[Value, Range] = {}
        self.targets: dict[Value, Pointee] = {}
        self.splats: set[Value] = set()
        self.distinct: set[Value] = set()

    def __getitem__(self, value: Value) -> Range:
        """The range of an integer value, as `analysis.ranges` has it: an i1 is 0 or 1."""
        found = self.ranges.get(value)
        return whole(element(value)) if found is None else found

    def range(self, value: Value) -> Range:
        """The range of an integer value, read as signed: an i1 is 0 or -1."""
        found, kind = self.ranges.get(value), element(value)
        return signed_limits(kind) if found is None else read(found, kind, Signedness.SIGNED)

    def know(self, value: Value, low: int, high: int) -> None:
        """Note the range of an integer value; an i1 is 0 or 1."""
        self.ranges[value] = Range(low, high)

    def within(self, value: Value, low: int, high: int) -> bool:
        """Whether all elements of an integer value are known to lie in a range."""
        return self.range(value).within(low, high)

    def same(self, value: Value) -> bool:
        """Whether all elements are known to be equal."""
        return value in self.splats or (isinstance(value.type, Tile) and value.type.size == 1)

    def learn(self, o: Op) -> None:
        """Derive facts about the results of an operation."""
        rule = RULES.get(o.__class__)
        if rule is not None:
            found = rule(o, self)
            for value, known in zip(o.results, found if isinstance(found, list) else [found] * len(o.results)):
                if known is not None:
                    self.ranges[value] = known
        match o:
            case ops.Constant() if o.value.splat is not None or o.value.type.size == 1:
                self.splats.add(o.result)
            case ops.Iota():
                self.distinct.add(o.result)
            case ops.Reshape() | ops.Permute() | ops.Extract():
                self._moved(o.source, o.result, distinct=True)
            case ops.Broadcast():
                self._moved(o.source, o.result, distinct=o.source.type is o.result.type)
            case ops.Assume():
                self._moved(o.value, o.result, distinct=True)
            case ops.Cat():
                self._either(o.lhs, o.rhs, o.result)
            case ops.Insert():
                self._either(o.source, o.destination, o.result)
            case ops.Select():
                self._either(o.val_if_true, o.val_if_false, o.result)
            case ops.AddI() | ops.XOrI() if o.lhs in self.distinct and self.same(o.rhs):
                self.distinct.add(o.result)

    def _moved(self, source: Value, result: Value, distinct: bool) -> None:
        """Note that the result consists of elements of the source."""
        if self.same(source):
            self.splats.add(result)
        if distinct and source in self.distinct:
            self.distinct.add(result)
        if (target := self.targets.get(source)) is not None:
            self.targets[result] = target if distinct else replace(target, distinct=False)

    def _either(self, a: Value, b: Value, result: Value) -> None:
        """Note that the result consists of elements of both."""
        here, there = self.targets.get(a), self.targets.get(b)
        if here and there and here.memory is there.memory:
            room, align = min(here.room, there.room), min(here.align, there.align)
            self.targets[result] = Pointee(here.memory, room, False, align)

    def advanced(self, ptr: Value, offset: Value) -> Pointee:
        """Return the target of pointers moved by `offset` elements, which are known to fit."""
        target, (lo, hi) = self.targets[ptr], self.range(offset)
        assert lo >= 0 and hi < target.room
        width = stored_bytes(pointee(ptr.type))
        align = min(target.align, width)
        if lo == hi:
            align = target.align
            while hi * width % align:
                align //= 2
        distinct = target.distinct if lo == hi else self.same(ptr) and offset in self.distinct
        return Pointee(target.memory, target.room - hi, distinct, align)

    def recast(self, ptr: Value, to: Scalar) -> Pointee | None:
        """Return the target of pointers cast to another type, or None if they must not be used then."""
        target, element = self.targets.get(ptr), pointee(ptr.type)
        if target is None or to is element:
            return target
        width, new = stored_bytes(element), stored_bytes(to)
        room = target.room * width // new
        if {I1, TF32, F4} & {element, to} or target.align % new or room < 1:
            return None
        # Wider elements at neighbouring addresses overlap.
        return Pointee(target.memory, room, target.distinct and new <= width, target.align)


def pointee(t: object) -> Scalar:
    """Return the element type that the pointers of a tile point to."""
    assert isinstance(t, Tile) and isinstance(t.element, Ptr)
    return t.element.pointee
