"""Intervals of integers, and how they wrap around in a type of a given width."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..attrs import Signedness
from ..ir import Value
from ..types import Scalar, Tile


class Range(NamedTuple):
    """All elements of a tile are at least `lo` and at most `hi`, read as signed integers; an i1 is 0 or 1."""

    lo: int
    hi: int

    @property
    def constant(self) -> int | None:
        """The only integer in the range."""
        return self.lo if self.lo == self.hi else None

    def within(self, lo: int, hi: int) -> bool:
        """Whether the range lies inside another one."""
        return lo <= self.lo and self.hi <= hi

    def join(self, other: Range) -> Range:
        """The smallest range that holds both."""
        return Range(min(self.lo, other.lo), max(self.hi, other.hi))

    def meet(self, other: Range) -> Range:
        """The integers in both ranges, or this one where there are none (which means that a promise is broken)."""
        lo, hi = max(self.lo, other.lo), min(self.hi, other.hi)
        return Range(lo, hi) if lo <= hi else self


def is_integer(value: Value) -> bool:
    """Whether a value is a tile of integers."""
    t = value.type
    return isinstance(t, Tile) and isinstance(t.element, Scalar) and t.element.is_int


def element(value: Value) -> Scalar:
    """The element type of a tile of numbers."""
    assert isinstance(value.type, Tile) and isinstance(value.type.element, Scalar)
    return value.type.element


def hull(numbers: Iterable[int]) -> Range:
    """The smallest range that holds these integers."""
    found = list(numbers)
    return Range(min(found), max(found))


def whole(element: Scalar) -> Range:
    """Everything that a type can hold, as ranges read it: signed, but 0 and 1 for i1."""
    return Range(0, 1) if element.bits == 1 else signed_limits(element)


def signed_limits(element: Scalar) -> Range:
    half = 1 << (element.bits - 1)
    return Range(-half, half - 1)


def unsigned_limits(element: Scalar) -> Range:
    return Range(0, (1 << element.bits) - 1)


def limits(element: Scalar, signedness: Signedness) -> Range:
    """Everything that a type can hold, read with that signedness."""
    return signed_limits(element) if signedness is Signedness.SIGNED else unsigned_limits(element)


def wrap(exact: Range, element: Scalar) -> Range:
    """The range of exact results once their lower bits are stored; `whole` where they wrap around at an edge."""
    return _modulo(exact, whole(element), element.bits)


def read(stored: Range, element: Scalar, signedness: Signedness) -> Range:
    """A range as an operation of that signedness reads it."""
    return _modulo(stored, limits(element, signedness), element.bits)


def _modulo(numbers: Range, wanted: Range, bits: int) -> Range:
    """A range modulo 2 to the power of `bits`, as numbers in the wanted range; all of it if they wrap around."""
    around = (numbers.lo - wanted.lo) >> bits << bits
    moved = Range(numbers.lo - around, numbers.hi - around)
    return moved if moved.hi <= wanted.hi else wanted
