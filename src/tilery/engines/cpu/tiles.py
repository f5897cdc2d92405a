"""Values of a kernel in LLVM IR.

Types that LLVM lacks are held as their bits, as the reference engine has them: f16 and bf16 in i16, the 8-bit floats,
f4 and i4 in i8, tf32 in i32. Pointers are 64-bit integers.
"""

from __future__ import annotations

from ...ir import Value
from ...types import Ptr, Scalar, Tile, Type

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
