"""What is known of values at run time: enough to keep accesses in bounds and promises true."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .. import ops
from ..attrs import Signedness
from ..ir import Op, Value
from ..types import I1, SCALARS, TF32, Ptr, Scalar, Tile

Range = tuple[int, int]
"""The least and greatest value of the elements, read as signed integers."""

SIGNED = Signedness.SIGNED
F4 = SCALARS["f4E2M1FN"]


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """Memory that a kernel can reach. What it may not write needs no ordering."""

    element: Scalar
    count: int
    writable: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where the pointers of a tile point: each of them and the `room - 1` elements after it lie in `memory`."""

    memory: Memory
    room: int
    distinct: bool
    """No two of them are equal."""
    align: int
    """Every address is a multiple of this power of two."""


def stored_bytes(element: Scalar) -> int:
    """How many bytes an element takes in memory."""
    return (element.row.memory_bits + 7) // 8


def limits(element: Scalar) -> Range:
    """The range of a signed integer type."""
    return -(1 << element.bits - 1), (1 << element.bits - 1) - 1


def is_int(value: Value) -> bool:
    return isinstance(value.type, Tile) and isinstance(value.type.element, Scalar) and value.type.element.is_int


class Facts:
    """Facts by value; a value without one may be anything. Values are never listed, so that order does not matter."""

    def __init__(self) -> None:
        self.ranges: dict[Value, Range] = {}
        self.places: dict[Value, Place] = {}
        self.splats: set[Value] = set()
        self.distinct: set[Value] = set()

    def range(self, value: Value) -> Range:
        """The range of an integer value."""
        found = self.ranges.get(value)
        if found is None:
            assert isinstance(value.type, Tile) and isinstance(value.type.element, Scalar)
            return limits(value.type.element)
        return found

    def within(self, value: Value, low: int, high: int) -> bool:
        """Whether all elements of an integer value are known to lie in a range."""
        lo, hi = self.range(value)
        return low <= lo and hi <= high

    def same(self, value: Value) -> bool:
        """Whether all elements are known to be equal."""
        return value in self.splats or (isinstance(value.type, Tile) and value.type.size == 1)

    def learn(self, o: Op) -> None:
        """What follows from an operation for its result."""
        match o:
            case ops.Constant():
                self._constant(o)
            case ops.Iota():
                tile = o.result.type
                assert isinstance(tile, Tile) and isinstance(tile.element, Scalar)
                if tile.size - 1 <= limits(tile.element)[1]:
                    self.ranges[o.result] = (0, tile.size - 1)
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
            case ops.AddI() | ops.SubI() | ops.MulI() | ops.XOrI() | ops.AndI() | ops.MinI() | ops.MaxI():
                self._computed(o)
            case ops.ExtI() | ops.TruncI():
                lo, hi = self.range(o.from_)
                assert isinstance(o.to.type, Tile) and isinstance(o.to.type.element, Scalar)
                low, high = limits(o.to.type.element)
                if low <= lo and hi <= high and (lo >= 0 or isinstance(o, ops.TruncI) or o.signedness is SIGNED):
                    self.ranges[o.to] = (lo, hi)

    def _computed(self, o: Any) -> None:
        """Integer arithmetic, where the result cannot wrap around."""
        (a, b), (c, d) = self.range(o.lhs), self.range(o.rhs)
        lo, hi = limits(o.result.type.element)
        match o:
            case ops.AddI():
                lo, hi = self._fitting(o.result, a + c, b + d)
            case ops.SubI():
                lo, hi = self._fitting(o.result, a - d, b - c)
            case ops.MulI():
                corners = (a * c, a * d, b * c, b * d)
                lo, hi = self._fitting(o.result, min(corners), max(corners))
            case ops.AndI() if a >= 0 or c >= 0:
                lo, hi = 0, min(high for low, high in ((a, b), (c, d)) if low >= 0)
            case ops.MinI() if o.signedness is SIGNED:
                lo, hi = min(a, c), min(b, d)
            case ops.MaxI() if o.signedness is SIGNED:
                lo, hi = max(a, c), max(b, d)
        self.ranges[o.result] = (lo, hi)
        if isinstance(o, (ops.AddI, ops.XOrI)) and o.lhs in self.distinct and self.same(o.rhs):
            self.distinct.add(o.result)

    def _fitting(self, result: Value, lo: int, hi: int) -> Range:
        whole = self.range(result)
        return (lo, hi) if whole[0] <= lo and hi <= whole[1] else whole

    def _constant(self, o: ops.Constant) -> None:
        stored = o.value.stored()
        if len(stored) == 1 or o.value.type.size == 1:
            self.splats.add(o.result)
        if o.value.element.is_int:
            lowest, highest = limits(o.value.element)
            signed = [n - (1 << o.value.element.bits) if n > highest else n for n in stored]
            self.ranges[o.result] = (max(min(signed), lowest), max(signed))

    def _moved(self, source: Value, result: Value, distinct: bool) -> None:
        """The result holds elements of the source."""
        if (known := self.ranges.get(source)) is not None:
            self.ranges[result] = known
        if self.same(source):
            self.splats.add(result)
        if distinct and source in self.distinct:
            self.distinct.add(result)
        if (place := self.places.get(source)) is not None:
            self.places[result] = place if distinct else replace(place, distinct=False)

    def _either(self, a: Value, b: Value, result: Value) -> None:
        """The result holds elements of both."""
        if is_int(result):
            (lo, hi), (low, high) = self.range(a), self.range(b)
            self.ranges[result] = (min(lo, low), max(hi, high))
        here, there = self.places.get(a), self.places.get(b)
        if here and there and here.memory is there.memory:
            room, align = min(here.room, there.room), min(here.align, there.align)
            self.places[result] = Place(here.memory, room, False, align)

    def advanced(self, ptr: Value, offset: Value) -> Place:
        """Where pointers are after `offset` elements, which are known to fit."""
        place, (lo, hi) = self.places[ptr], self.range(offset)
        assert lo >= 0 and hi < place.room
        width = stored_bytes(pointee(ptr.type))
        align = min(place.align, width)
        if lo == hi:
            align = place.align
            while hi * width % align:
                align //= 2
        distinct = place.distinct if lo == hi else self.same(ptr) and offset in self.distinct
        return Place(place.memory, place.room - hi, distinct, align)

    def recast(self, ptr: Value, to: Scalar) -> Place | None:
        """Where pointers point as pointers to another type; None where that makes no sense."""
        place, element = self.places.get(ptr), pointee(ptr.type)
        if place is None or to is element:
            return place
        width, new = stored_bytes(element), stored_bytes(to)
        room = place.room * width // new
        if {I1, TF32, F4} & {element, to} or place.align % new or room < 1:
            return None
        # Wider elements of neighbours overlap.
        return Place(place.memory, room, place.distinct and new <= width, place.align)


def pointee(t: object) -> Scalar:
    """What the pointers of a tile point to."""
    assert isinstance(t, Tile) and isinstance(t.element, Ptr)
    return t.element.pointee
