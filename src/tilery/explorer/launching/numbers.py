"""Values and arrays as JSON: numbers, with NaN and infinities as words, and addresses as places in arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engines.reference.nibbles import unpacked
from ...engines.reference.numerics.convert import to_f64
from ...engines.reference.tiles import Array, carrier
from ...types import Ptr, Scalar, Tile, Type

MAX_ELEMENTS = 1 << 14
"""The most elements of an array in one response."""


def as_numbers(value: Array, element: Type) -> Array:
    """Return the elements of a tile as numbers that NumPy knows."""
    if isinstance(element, Scalar) and element.is_float and value.dtype.kind == "u":
        return to_f64(value.view(carrier(element)), element)
    return value


def array_numbers(value: Array, element: Scalar | None) -> Array:
    """Return an array argument as numbers: elements of four bits are unpacked, and bits of floats become floats."""
    if element is None or value.dtype.kind != "u":
        return value
    if element.bits == 4:
        value = unpacked(value)
    return to_f64(value.view(carrier(element)), element) if element.is_float else value


def plain(values: Array) -> list[Any]:
    """Return the first elements as JSON has them.

    >>> plain(np.array([1.5, np.nan, -np.inf]))
    [1.5, 'NaN', '-Infinity']
    """
    flat = values.reshape(-1)[:MAX_ELEMENTS]
    if flat.dtype.kind == "b":
        return [int(x) for x in flat]
    if flat.dtype.kind != "f":
        return [int(x) if abs(int(x)) < 1 << 53 else str(int(x)) for x in flat]
    found: list[Any] = []
    for x in flat.tolist():
        if x != x:
            found.append("NaN")
        elif x in (float("inf"), float("-inf")):
            found.append("Infinity" if x > 0 else "-Infinity")
        else:
            found.append(x)
    return found


def summary(values: Array) -> dict[str, Any]:
    """Return the shape and the range of numbers."""
    made: dict[str, Any] = {"shape": list(values.shape), "size": int(values.size)}
    if not values.size or values.dtype.kind not in "fiub":
        return made
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if finite.size:
        low, high = plain(np.array([finite.min(), finite.max()]))
        made |= {"low": low, "high": high}
    if values.dtype.kind == "f":
        made["nans"] = int(np.isnan(values).sum())
        made["infinities"] = int(np.isinf(values).sum())
    return made


class Addresses:
    """Names addresses by the array that they are in."""

    def __init__(self, arrays: list[tuple[str, int, int, int]]) -> None:
        self.arrays = arrays
        """The name, the address, the bytes, and the bytes of an element of each array."""

    def show(self, address: int) -> str:
        """Return `name[index]`, or the address in hexadecimal if no array has it."""
        for name, start, size, width in self.arrays:
            if start <= address < start + max(1, size):
                extra = (address - start) % width
                return f"{name}[{(address - start) // width}]" + (f" + {extra} bytes" if extra else "")
        return hex(address)

    def tile(self, value: Array, type: Type) -> dict[str, Any]:
        """Return a tile of one block with its elements."""
        element = type.element if isinstance(type, Tile) else None
        if isinstance(element, Ptr):
            flat = value.reshape(-1)[:MAX_ELEMENTS].tolist()
            return {"shape": list(value.shape), "size": int(value.size), "elements": [self.show(a) for a in flat]}
        numbers = as_numbers(value, element) if element is not None else value
        return summary(numbers) | {"elements": plain(numbers)}
