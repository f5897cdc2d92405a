"""How the elements of a tile of integers or pointers relate to each other along each dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd
from typing import NamedTuple

from ..types import Ptr, Scalar, Tile, Type

LARGEST = 1 << 62
"""The divisibility of zero."""


class Axis(NamedTuple):
    """Facts about one dimension. They hold at every position of the other dimensions.

    Dividing the dimension into groups of `contiguity` elements, each element of a group is the one before it plus one
    (modulo the width of the type; for pointers, plus the size of the pointee), and the first element of each group is a
    multiple of `divisibility`. Dividing it into groups of `constancy` elements, the elements of a group are equal.
    All three are powers of two.
    """

    contiguity: int = 1
    divisibility: int = 1
    constancy: int = 1

    def first(self, group: int, step: int) -> int:
        """The divisibility of the first elements of groups of this size."""
        if group % self.contiguity == 0:
            return self.divisibility
        return gcd(self.divisibility, group * step)


class AxisInfo(NamedTuple):
    """Facts about all dimensions of a tile. A scalar counts as a tile with one dimension of size one."""

    axes: tuple[Axis, ...]
    step: int
    """The distance of neighbouring elements: 1 for integers, the size of the pointee for pointers."""

    @property
    def contiguity(self) -> tuple[int, ...]:
        return tuple(axis.contiguity for axis in self.axes)

    @property
    def divisibility(self) -> tuple[int, ...]:
        return tuple(axis.divisibility for axis in self.axes)

    @property
    def constancy(self) -> tuple[int, ...]:
        return tuple(axis.constancy for axis in self.axes)

    @property
    def divisor(self) -> int:
        """A power of two that divides every element (for pointers, every address)."""
        return max(axis.first(1, self.step) for axis in self.axes)


def dimensions(type: Type) -> tuple[int, ...]:
    """The shape of a tile; that of a scalar is (1,)."""
    assert isinstance(type, Tile)
    return type.shape or (1,)


def step_of(type: Type) -> int:
    """Return the distance of neighbouring elements of a type, 0 for a type without this analysis."""
    if not isinstance(type, Tile):
        return 0
    match type.element:
        case Scalar(is_int=True):
            return 1
        case Ptr(pointee=pointee) if not pointee.is_packed:
            return pointee.row.memory_bits // 8
    return 0


def power_of_two(number: int) -> int:
    """The largest power of two that divides an integer.

    >>> [power_of_two(n) for n in (1, 12, -8)]
    [1, 4, 8]
    """
    return min(number & -number, LARGEST) if number else LARGEST


def info(type: Type, axes: Iterable[Axis]) -> AxisInfo:
    """Facts about a tile. What divides all elements divides the first elements along every dimension."""
    found = AxisInfo(tuple(axes), step_of(type))
    divisor = found.divisor
    if all(axis.divisibility >= divisor for axis in found.axes):
        return found
    return AxisInfo(tuple(a._replace(divisibility=max(a.divisibility, divisor)) for a in found.axes), found.step)


def unknown(type: Type) -> AxisInfo:
    """Return the facts that hold for every tile of a type."""
    return AxisInfo((Axis(),) * len(dimensions(type)), step_of(type))


def uniform(type: Type, divisor: int) -> AxisInfo:
    """All elements are equal, and multiples of a power of two."""
    return AxisInfo(tuple(Axis(1, divisor, size) for size in dimensions(type)), step_of(type))


def either(a: AxisInfo, b: AxisInfo, within: Sequence[int] | None = None) -> AxisInfo:
    """Return the facts for tiles whose elements come from two others; from one of them in each group of `within`."""
    axes = []
    for x, y, most in zip(a.axes, b.axes, within or [0] * len(a.axes)):
        group = gcd(x.contiguity, y.contiguity, most)
        divisor = gcd(x.first(group, a.step), y.first(group, b.step))
        axes.append(Axis(group, divisor, gcd(x.constancy, y.constancy, most)))
    return AxisInfo(tuple(axes), a.step)


def measured(type: Tile, elements: Sequence[int]) -> AxisInfo:
    """The facts about a tile with these elements, in row-major order."""
    axes, stride = [], 1
    for size in reversed(dimensions(type)):
        starts = [n for n in range(len(elements)) if n // stride % size == 0]
        lines = [elements[n : n + size * stride : stride] for n in starts]
        contiguity = _groups(lines, size, lambda a, b: b == a + 1)
        heads = [line[n] for line in lines for n in range(0, size, contiguity)]
        divisor = min(map(power_of_two, heads))
        axes.append(Axis(contiguity, divisor, _groups(lines, size, lambda a, b: b == a)))
        stride *= size
    return info(type, reversed(axes))


def _groups(lines: Sequence[Sequence[int]], size: int, related: Callable[[int, int], bool]) -> int:
    """The size of the largest groups in which each element is related to the one before it."""
    for line in lines:
        for n in range(1, len(line)):
            if n % size and not related(line[n - 1], line[n]):
                # A group must not reach across this position.
                size = gcd(size, n)
        if size == 1:
            break
    return size
