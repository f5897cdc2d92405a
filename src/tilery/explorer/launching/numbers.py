"""Values and arrays as JSON: numbers, with NaN and infinities as words, and addresses as places in arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...engines.common.tiles import Array, carrier, unpacked
from ...observe.arrays import ArrayArgument
from ...observe.numbers import decode, numbers
from ...observe.trace import element_at
from ...types import Ptr, Scalar, Tile, Type

MAX_ELEMENTS = 1 << 14
"""The most elements of an array in one response."""


def array_numbers(value: Array, element: Scalar | None) -> Array:
    """Return an array argument as numbers: elements of four bits are unpacked, and bits of floats become floats."""
    if element is None or value.dtype.kind != "u":
        return value
    if element.bits == 4:
        value = unpacked(value)
    return decode(element, value.view(carrier(element)))


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


def tile_data(type: Type, tile: Array, arrays: Sequence[ArrayArgument]) -> dict[str, Any]:
    """Return a tile of one block with its elements; addresses are elements of arguments."""
    if isinstance(type, Tile) and isinstance(type.element, Ptr):
        flat = tile.reshape(-1)[:MAX_ELEMENTS].tolist()
        return {"shape": list(tile.shape), "size": int(tile.size), "elements": [element_at(a, arrays) for a in flat]}
    values = numbers(type, tile)
    return summary(values) | {"elements": plain(values)}
