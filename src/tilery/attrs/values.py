"""Attribute values: numbers by their bits, dense constants, assume predicates and hints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ..declare.fastclass import dataclass, field
from ..diag import TileError
from ..types import I1, Scalar, Tile, Type

# ---------------------------------------------------------------- plain attributes


class Attr:
    """Base of attribute values. They are immutable and compare by content."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class UnitAttr(Attr):
    """An attribute without a value: only its presence matters."""


@dataclass(frozen=True, slots=True)
class IntAttr(Attr):
    """An integer, stored as its bits (unsigned). `as_bool` records which of two encodings an i1 was read from.

    >>> from tilery.types import I32
    >>> IntAttr(I32, 0xffffffff).value
    -1
    """

    type: Scalar
    bits: int
    as_bool: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.bits < 1 << self.type.bits:
            raise TileError(f"value {self.bits} does not fit in {self.type.bits} bits")

    @staticmethod
    def of(type: Scalar, value: int) -> IntAttr:
        """Make an attribute from a signed or unsigned value that fits."""
        from .numbers import int_bits

        return IntAttr(type, int_bits(type, value))

    @property
    def value(self) -> int:
        """The value as a signed integer (i1: 0 or 1)."""
        negative = self.type is not I1 and self.bits >> (self.type.bits - 1)
        return self.bits - (1 << self.type.bits) if negative else self.bits


@dataclass(frozen=True, slots=True)
class FloatAttr(Attr):
    """A float, stored as its bits.

    `lost_sign` marks an encoding that cuTile and cuTile.jl use for an f64 with its sign bit set: a zig-zag number of
    65 bits, of which every reader drops the top one. The value is what readers see; writing restores the bytes.
    """

    type: Scalar
    bits: int
    lost_sign: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.bits < 1 << self.type.bits:
            raise TileError(f"value {self.bits} does not fit in {self.type.bits} bits")

    @staticmethod
    def of(type: Scalar, value: float) -> FloatAttr:
        """Make an attribute from a number, rounded to the nearest float of the type.

        >>> from tilery.types import F32
        >>> hex(FloatAttr.of(F32, -1.5).bits)
        '0xbfc00000'
        """
        from .numbers import float_bits

        return FloatAttr(type, float_bits(type, value))


@dataclass(frozen=True, slots=True)
class StrAttr(Attr):
    """A string. Bytes that are not UTF-8 are kept as surrogate escapes."""

    value: str


@dataclass(frozen=True, slots=True)
class TypeAttr(Attr):
    """A type used as a value."""

    type: Type


@dataclass(frozen=True, slots=True)
class SymbolRef(Attr):
    """A reference to a symbol, `@name`."""

    name: str


@dataclass(frozen=True, slots=True)
class ArrayAttr(Attr):
    """A list of attributes."""

    items: tuple[Attr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class DictAttr(Attr):
    """Named attributes. Bytecode keeps their order, text sorts them, and equality ignores it."""

    items: tuple[tuple[str, Attr], ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DictAttr) and self.sorted() == other.sorted()

    def __hash__(self) -> int:
        return hash(self.sorted())

    def sorted(self) -> tuple[tuple[str, Attr], ...]:
        return tuple(sorted(self.items, key=lambda item: item[0]))

    def get(self, name: str) -> Attr | None:
        return next((value for key, value in self.items if key == name), None)


@dataclass(frozen=True, slots=True)
class DenseArray(Attr):
    """A flat array of booleans or integers, `array<i32: 1, 2>`. As a value, only discardable attributes use it."""

    type: Scalar
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DenseStrings(Attr):
    """A tile of strings. Only the 13.1 reader accepts it, and no operation uses it."""

    type: Type
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpaqueAttr(Attr):
    """An attribute of another dialect, kept as text."""

    text: str


# ---------------------------------------------------------------- dense constants


@dataclass(frozen=True)
class Dense(Attr):
    """The value of a constant tile: the exact bytes of its elements, little-endian.

    If all elements are equal, one may represent them all (a splat). Elements of i1 are packed eight to a byte, lowest
    bit first; other elements narrower than a byte take one byte each.

    >>> from tilery.types import I32
    >>> Dense(Tile((4,), I32), b"\\x07\\0\\0\\0").elements()
    [7, 7, 7, 7]
    """

    type: Tile
    data: bytes

    def __post_init__(self) -> None:
        if (why := dense_problem(self.type, self.data)) is not None:
            raise TileError(why)

    @staticmethod
    def of(type: Tile, elements: Sequence[int | float]) -> Dense:
        """Make a constant: floats are rounded to the nearest, integers may be negative; one element fills the tile.

        An integer is the bits of a float: 1.0 is a number, 1 is the smallest subnormal. Equal elements are stored as a
        splat, as NVIDIA's tools do.

        >>> from tilery.types import F32, I8
        >>> Dense.of(Tile((4,), F32), [1.5]).data.hex(), Dense.of(Tile((2,), I8), [-1, 2]).data.hex()
        ('0000c03f', 'ff02')
        """
        element = type.element
        if not isinstance(element, Scalar):
            raise TileError(f"a constant holds numbers, and {type} does not")
        if len(elements) not in (1, type.size):
            raise TileError(f"{type} has {type.size} elements, got {len(elements)}")
        return _dense(type, element, _patterns(element, elements))

    @property
    def element(self) -> Scalar:
        assert isinstance(self.type.element, Scalar)
        return self.type.element

    def stored(self) -> list[int]:
        """Return the stored bit patterns: one for a splat, otherwise all of them."""
        element = self.element
        if element is I1:
            if len(self.data) == 1 and self.type.size > 8:
                return [self.data[0] & 1]
            return [self.data[i // 8] >> i % 8 & 1 for i in range(self.type.size)]
        width, mask = element.storage_bytes, (1 << element.bits) - 1
        data = self.data
        return [int.from_bytes(data[i : i + width], "little") & mask for i in range(0, len(data), width)]

    def elements(self) -> list[int]:
        """Return the bit pattern of every element, in row-major order."""
        stored = self.stored()
        return stored * self.type.size if len(stored) == 1 else stored

    @cached_property
    def splat(self) -> int | None:
        """The bit pattern that all elements share, or None."""
        stored = self.stored()
        return stored[0] if stored.count(stored[0]) == len(stored) else None


def _patterns(element: Scalar, elements: Sequence[int | float]) -> list[int]:
    """Return the bits of each element; of one, if they are all equal."""
    patterns: list[int] = list(elements)  # type: ignore[arg-type]  # converted below unless they are all int
    if set(map(type, patterns)) != {int} or min(patterns) < 0 or max(patterns) >> element.bits:
        from .numbers import pattern_bits

        patterns = [pattern_bits(element, value) for value in patterns]
    return patterns[:1] if patterns.count(patterns[0]) == len(patterns) else patterns


def _dense(type: Tile, element: Scalar, patterns: list[int]) -> Dense:
    if element is I1:
        if len(patterns) == 1:
            return Dense(type, b"\xff" if patterns[0] else b"\x00")
        packed = bytearray((len(patterns) + 7) // 8)
        for index, bit in enumerate(patterns):
            packed[index // 8] |= bit << index % 8
        return Dense(type, bytes(packed))
    width = element.storage_bytes
    return Dense(type, b"".join(bits.to_bytes(width, "little") for bits in patterns))


def dense_problem(type: Tile, data: bytes) -> str | None:
    """Return NVIDIA's message if these bytes are not a value of the type, or None."""
    element = type.element
    if not isinstance(element, Scalar):
        return f"expect Cuda Tile integer or float type but got: '!cuda_tile.{type.text}'"
    if element is I1:
        if len(data) in ((type.size + 7) // 8, 1):
            return None
        return f"i1 dense attribute payload size {len(data)} is not a recognized encoding for {type.size} elements"
    if len(data) in (element.storage_bytes, element.storage_bytes * type.size):
        return None
    return "failed to validate buffer size and format"


# ---------------------------------------------------------------- assume predicates and hints


@dataclass(frozen=True, slots=True)
class DivBy(Attr):
    """Elements are divisible by `divisor`; with `every` and `along`, only the first of each group is."""

    divisor: int
    every: int | None = None
    along: int | None = None


@dataclass(frozen=True, slots=True)
class SameElements(Attr):
    """Elements within groups of these sizes, one per dimension, are equal."""

    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bounded(Attr):
    """Elements are between `lb` and `ub`, inclusive; both are optional."""

    lb: int | None = None
    ub: int | None = None


Predicate = DivBy | SameElements | Bounded


@dataclass(frozen=True, slots=True)
class OptimizationHints(Attr):
    """Hints for the compiler: a dictionary per architecture."""

    value: DictAttr = DictAttr()
