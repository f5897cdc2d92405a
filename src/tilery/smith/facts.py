"""What is known of values at run time: enough to keep accesses in bounds and promises true."""

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


class Facts:
    """Facts by value; a value without one may be anything. Values are never listed, so that order does not matter."""

    trust = True
    """The promises of a random module hold."""

    def __init__(self) -> None:
        self.ranges: dict[Value, Range] = {}
        self.places: dict[Value, Place] = {}
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
        """The result holds elements of the source."""
        if self.same(source):
            self.splats.add(result)
        if distinct and source in self.distinct:
            self.distinct.add(result)
        if (place := self.places.get(source)) is not None:
            self.places[result] = place if distinct else replace(place, distinct=False)

    def _either(self, a: Value, b: Value, result: Value) -> None:
        """The result holds elements of both."""
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
