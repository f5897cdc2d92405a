"""Tiles as numbers that people read: decoded elements, one line, statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engines.common.numerics.convert import to_f64
from ..engines.common.tiles import Array
from ..engines.reference.view_access import TensorRef
from ..types import Ptr, Scalar, Tile, Type

SHOWN = 8
"""Elements of a tile that one line shows."""


def lane_of(value: Any, lane: int) -> Any:
    """Return the part of a value that one tile block has: a tile without the axis of lanes."""
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, tuple):
        parts = (lane_of(item, lane) for item in value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value[0 if len(value) == 1 else lane]


def numbers(type: Type, tile: Array) -> Array:
    """Return the elements of a tile as NumPy computes with them: floats that it lacks become f64, pointers unsigned.

    >>> numbers(Tile((2,), Scalar("bf16")), np.array([0x3f80, 0x7fc0], np.uint16))
    array([ 1., nan])
    """
    element = type.element if isinstance(type, Tile) else None
    if isinstance(element, Ptr):
        return np.asarray(tile).view(np.uint64)
    return decode(element, np.asarray(tile)) if isinstance(element, Scalar) else np.asarray(tile)


def decode(element: Scalar, raw: Array) -> Array:
    """Return elements, held as the engine holds them, as numbers."""
    if element.is_float and raw.dtype.kind != "f":
        return to_f64(raw, element)
    return raw


@dataclass(slots=True)
class Statistics:
    """A summary of a tile of numbers. The extremes are those of the finite elements, None if there is none."""

    size: int
    low: float | None
    high: float | None
    mean: float | None
    nan: int
    inf: int
    zeros: int

    def as_dict(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __str__(self) -> str:
        if self.low is None:
            text = f"{self.size} elements, none finite"
        else:
            text = f"min {self.low:g}, max {self.high:g}, mean {self.mean:g}"
        return text + "".join(f", {count} {what}" for count, what in ((self.nan, "NaN"), (self.inf, "inf")) if count)


def statistics(tile: Array) -> Statistics:
    """Summarise numbers.

    >>> str(statistics(np.array([1.0, 3.0, np.nan, np.inf])))
    'min 1, max 3, mean 2, 1 NaN, 1 inf'
    """
    numbers = tile.astype(np.float64) if tile.dtype.kind != "f" or tile.dtype.itemsize < 8 else tile
    finite = numbers[np.isfinite(numbers)]
    with np.errstate(all="ignore"):
        low, high, mean = (
            (float(finite.min()), float(finite.max()), float(finite.mean())) if finite.size else (None, None, None)
        )
    nan, zeros = int(np.isnan(numbers).sum()), int((numbers == 0).sum())
    return Statistics(tile.size, low, high, mean, nan, int(np.isinf(numbers).sum()), zeros)


def show(type: Type, value: Any) -> str:
    """Return a value on one line: all elements of a small tile, the first of a large one and its statistics.

    >>> show(Tile((4,), Scalar("i32")), np.arange(4, dtype=np.int32))
    '[0 1 2 3]'
    """
    if value is None:
        return "token"
    if isinstance(value, TensorRef):
        sizes, strides = ("x".join(str(_plain(n)) for n in part) for part in (value.shape, value.strides))
        return f"tensor {sizes or 'of one element'} at {_plain(value.base):#x}, strides {strides or 'none'}"
    if isinstance(value, tuple):
        return "(" + ", ".join(show(type, item) for item in value) + ")"
    tile = numbers(type, value)
    if not isinstance(type, Tile):
        return f"token {tile}"
    if isinstance(type.element, Ptr):
        return _pointers(tile)
    if tile.ndim == 0:
        return element_text(tile[()])
    if tile.size <= SHOWN:
        return np.array2string(tile, separator=" ", max_line_width=1000).replace("\n", "")
    first = " ".join(element_text(n) for n in tile.reshape(-1)[:SHOWN])
    return f"[{first} ...] {statistics(tile)}"


def element_text(number: Any) -> str:
    """Return one number: `1`, `0.5`, `nan`, `True`."""
    return f"{number:g}" if isinstance(number, np.floating) else str(number)


def _pointers(tile: Array) -> str:
    if tile.ndim == 0:
        return f"{int(tile):#x}"
    flat = tile.reshape(-1)
    steps = np.unique(np.diff(flat.view(np.int64))) if flat.size > 1 else np.zeros(0)
    step = f", step {int(steps[0])}" if len(steps) == 1 else ""
    return f"{int(flat[0]):#x} ... {int(flat[-1]):#x}{step}"


def _plain(number: Any) -> int:
    return int(np.asarray(number).reshape(-1)[0])
