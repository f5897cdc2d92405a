"""Values of a kernel in LLVM IR.

A tile of one element is a name. Other tiles are recipes, evaluated chunk by chunk in the loops of what needs them, or
buffers in the arena of the thread, row by row. Types that LLVM lacks are held as their bits, as the reference engine
has them: f16 and bf16 in i16, the 8-bit floats, f4 and i4 in i8, tf32 in i32. Pointers are 64-bit integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from ...ir import Value
from ...types import Ptr, Scalar, Tile, TileView, Type
from .text import BYTES, Number

NATIVE = {"f32": "float", "f64": "double", "f16": "i16", "bf16": "i16", "tf32": "i32", "i1": "i1"}


def register(element: Type) -> str:
    """The LLVM type that holds an element."""
    if isinstance(element, Ptr):
        return "i64"
    assert isinstance(element, Scalar)
    return NATIVE.get(element.name) or f"i{max(8, element.bits)}"


def stored(t: str) -> str:
    """The type in a buffer or in memory: an i1 takes a byte."""
    return "i8" if t == "i1" else t


def tile(value: Value) -> Tile:
    assert isinstance(value.type, Tile)
    return value.type


def shape(value: Value) -> tuple[int, ...]:
    return tile(value).shape


def element(value: Value) -> Scalar:
    found = tile(value).element
    assert isinstance(found, Scalar)
    return found


def reg(value: Value) -> str:
    return register(tile(value).element)


def is_tile(value: Value) -> bool:
    return isinstance(value.type, Tile)


def is_scalar(value: Value) -> bool:
    return isinstance(value.type, Tile) and value.type.size == 1


def wide_dims(sizes: tuple[int, ...]) -> list[int]:
    """The dimensions that have more than one element."""
    return [d for d, n in enumerate(sizes) if n != 1]


def same_but_for_ones(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return [n for n in a if n != 1] == [n for n in b if n != 1]


@dataclass(frozen=True)
class Buffer:
    """A tile in memory, row by row."""

    pointer: str
    shape: tuple[int, ...]
    type: str

    @property
    def bytes(self) -> int:
        return prod(self.shape) * BYTES[self.type]


@dataclass(frozen=True)
class Home:
    """The segment that a pointer comes from, as names: bounds and whether it may be written."""

    low: str
    high: str
    writable: str


@dataclass(frozen=True)
class Tensor:
    """A tensor in memory, or a view of it: the address, sizes and strides in elements."""

    base: str
    shape: tuple[Number, ...]
    strides: tuple[Number, ...]
    home: Home | None
    view: TileView | None = None


@dataclass(frozen=True)
class Access:
    """The part of a tensor that a tile is. Along each dimension, elements before `last` lie in the tensor.

    Strides are in elements; `low` and `high` bound the bytes of the part that is inside.
    """

    pointer: str
    last: tuple[Number, ...]
    strides: tuple[Number, ...]
    whole: str
    element: Scalar
    low: str
    high: str
    padding: int = 0
    first: tuple[Number, ...] = ()
    """Elements before these lie outside, too; empty if all are 0."""
    empty: str = "false"
    """Whether the whole tile is known to lie outside."""


Env = dict[Any, Any]
"""The place of each value: a name, Buffer, Access or Tensor."""
