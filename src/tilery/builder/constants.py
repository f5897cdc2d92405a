"""Constants from numbers, lists and arrays, of every element type."""

from __future__ import annotations

from typing import Any

from ..attrs import Attr, Dense, FloatAttr, IntAttr
from ..attrs.numbers import number_bits
from ..diag import TileError
from ..types import F32, I1, I32, SCALARS, Ptr, Scalar, Tile, Type, parse

DTYPES = {s.row.dtype: s for s in reversed(SCALARS.values()) if s.row.dtype}
"""Element types by the names of NumPy and ml_dtypes; float32 is f32, not tf32."""


def as_type(given: Type | str) -> Type:
    """Return a type that may be given as text."""
    return parse(given) if isinstance(given, str) else given


def as_element(given: Type | str) -> Scalar:
    """Return an element type, which may be given as text."""
    found = as_type(given)
    if not isinstance(found, Scalar):
        raise TileError(f"expected an element type such as f32, got {found}")
    return found


def as_tile(given: Type | str) -> Type:
    """Return the type of a parameter or scalar: numbers and pointers become tiles of rank 0."""
    found = as_type(given)
    return Tile((), found) if isinstance(found, (Scalar, Ptr)) else found


def is_number(value: Any) -> bool:
    """Return whether something is a number of Python or a scalar of NumPy."""
    return isinstance(value, (bool, int, float)) or (hasattr(value, "dtype") and getattr(value, "shape", None) == ())


def dense(value: Any, given: Type | str | None) -> Dense:
    """Return the constant that a number, a nested list or an array is in a type."""
    wanted = None if given is None else as_type(given)
    if is_number(value):
        element = _element(wanted, value)
        tile = wanted if isinstance(wanted, Tile) else Tile((), element)
        return Dense.of(tile, [number_bits(element, value)])
    array = _array(value)
    if wanted is None and not hasattr(
        value, "dtype"
    ):  # of lists, NumPy makes f64 and i64, which the caller did not ask for
        wanted = {"f": F32, "i": I32}.get(array.dtype.kind)
    element = _element(wanted, array)
    tile = Tile(array.shape, element)
    if isinstance(wanted, Tile) and wanted is not tile:
        raise TileError(f"a constant of type {wanted} cannot have the shape {list(array.shape)}")
    return Dense.of(tile, _patterns(array, element))


def number_attr(element: Scalar, value: Any) -> Attr:
    """Return a number as an attribute of an element type."""
    bits = number_bits(element, value)
    return FloatAttr(element, bits) if element.is_float else IntAttr(element, bits)


def _element(wanted: Type | None, value: Any) -> Scalar:
    """Return the element type that was asked for, or the one that a value suggests."""
    if isinstance(wanted, Scalar):
        return wanted
    if isinstance(wanted, Tile) and isinstance(wanted.element, Scalar):
        return wanted.element
    if wanted is not None:
        raise TileError(f"a constant cannot have the type {wanted}")
    if isinstance(value, bool):
        return I1
    if isinstance(value, int):
        return I32
    if isinstance(value, float) and not hasattr(value, "dtype"):
        return F32
    name = str(value.dtype).removeprefix("u")
    if name not in DTYPES:
        raise TileError(f"no element type is {value.dtype}; pass the type")
    return DTYPES[name]


def _array(value: Any) -> Any:
    import numpy as np

    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise TileError(f"a constant is a number, a list of numbers or an array, got {value!r}") from None
    if array.dtype.kind in "OSUMm":
        raise TileError(f"a constant is a number, a list of numbers or an array, got {value!r}")
    return array


def _patterns(array: Any, element: Scalar) -> list[int]:
    """Return the bits of each element; each different number is converted once."""
    known: dict[Any, int] = {}
    out: list[int] = []
    for number in array.ravel().tolist() if array.dtype.kind in "biuf" else array.ravel():
        # 0.0 equals -0.0, 1 equals 1.0, and NaN equals nothing
        key = repr(number) if number == 0 or number != number else number
        if key not in known:
            known[key] = number_bits(element, number)
        out.append(known[key])
    return out
