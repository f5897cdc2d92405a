"""Boxes of elements in memory: many blocks with one shape and one set of strides, moved with few NumPy calls.

Where all boxes lie in one segment they are windows on it; otherwise, and for every fault, the elements go by address.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..common.layout import wrapped
from ..common.memory import Fault, Memory, Segment
from ..common.tiles import Array

SMALL = 128
"""Smaller boxes in several segments are accessed element by element. Up to ten times as fast."""


def as_slice(numbers: Array) -> Array | slice:
    """Turn ascending numbers without gaps into a slice, which NumPy handles much faster."""
    first, last = int(numbers[0]), int(numbers[-1])
    return slice(first, last + 1) if last - first + 1 == len(numbers) else numbers


def element_offsets(shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Return the byte offsets of the elements of a box.

    >>> element_offsets((2, 3), (100, 4))
    array([[  0,   4,   8],
           [100, 104, 108]])
    """
    offsets = np.zeros((), np.int64)
    for size, stride in zip(shape, strides):
        offsets = offsets[..., np.newaxis] + np.arange(size, dtype=np.int64) * np.int64(wrapped(stride))
    return offsets


def box_addresses(starts: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Return the addresses of all elements of some boxes."""
    return starts.reshape(-1, *(1,) * len(shape)) + element_offsets(shape, strides)


def apart(shape: Sequence[int], strides: Sequence[int], item: int) -> bool:
    """Tell whether elements cannot overlap: each stride is longer than all that the smaller ones span."""
    reach = item
    for stride, size in sorted((abs(s), n) for s, n in zip(strides, shape) if n > 1):
        if stride < reach:
            return False
        reach += (size - 1) * stride
    return True


class _Window:
    """The part of a segment with all boxes; `step` is the distance from each to the next, if `index` is None."""

    __slots__ = ("array", "index", "segment", "step")
    segment: Segment
    array: Array
    index: Array | None
    step: int

    def __init__(self, segment: Segment, array: Array, index: Array | None, step: int) -> None:
        self.segment, self.array, self.index, self.step = segment, array, index, step


def _window(
    memory: Memory, starts: Array, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
) -> _Window | None:
    """Return None if the boxes lie in several segments, outside of all, or at unaligned addresses."""
    item, count = dtype.itemsize, len(starts)
    strides = tuple(stride if size > 1 else 0 for size, stride in zip(shape, strides))
    first, last = (int(starts[0]),) * 2 if count == 1 else (int(starts.min()), int(starts.max()))
    below = above = 0
    for size, stride in zip(shape, strides):
        if stride < 0:
            below += (size - 1) * stride
        else:
            above += (size - 1) * stride
    segment = memory.at(first + below)
    if segment is None or last + above + item > segment.end:
        return None
    if item > 1 and (first if count == 1 else int(np.bitwise_or.reduce(starts))) & (item - 1):
        return None
    origin, elements = segment.typed(dtype)
    if count <= 2:
        step: int | None = last - first if count == 1 else int(starts[1]) - int(starts[0])
    else:
        steps = starts[1:] - starts[:-1]
        step = int(steps[0]) if (steps == steps[0]).all() else None
    if step is not None:
        at = int(starts[0]) - origin
        return _Window(segment, np.ndarray((count, *shape), dtype, elements, at, (step, *strides)), None, step)
    boxes = (last - first) // item + 1
    array: Array = np.ndarray((boxes, *shape), dtype, elements, first - origin, (item, *strides))
    return _Window(segment, array, (starts - first) >> (item.bit_length() - 1), 0)


def load_boxes(
    memory: Memory,
    starts: Array,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    out: Array | None = None,
) -> Array:
    """Load the boxes that start at these addresses; strides are in bytes. Raises Fault.

    They are stored in `out` if given, otherwise in a new array.
    """
    found = _window(memory, starts, shape, strides, dtype)
    if found is not None and out is None:
        return found.array.copy() if found.index is None else found.array[found.index]
    if out is None:
        out = np.empty((len(starts), *shape), dtype)
    if found is not None:
        if found.index is None:
            out[...] = found.array
        else:
            out[...] = found.array[found.index]
        return out
    if len(starts) == 1 or prod(shape) <= SMALL:
        out[...] = memory.load(box_addresses(starts, shape, strides), dtype)
        return out
    for lane in range(len(starts)):
        try:
            load_boxes(memory, starts[lane : lane + 1], shape, strides, dtype, out[lane : lane + 1])
        except Fault as fault:
            raise Fault(fault.reason, (lane, *fault.where[1:]), fault.address) from None
    return out


def store_boxes(memory: Memory, starts: Array, shape: tuple[int, ...], strides: tuple[int, ...], values: Array) -> None:
    """Store boxes one after the other, each in row-major order. Raises Fault before anything is written."""
    item = values.dtype.itemsize
    simple = apart(shape, strides, item)
    found = _window(memory, starts, shape, strides, values.dtype) if simple else None
    if found is not None and not found.segment.parts:
        _require_writable(memory, found, starts, values.ndim)
        memory.changes += 1
        if found.index is not None:
            found.array[found.index] = values
        elif apart((len(starts), *shape), (found.step, *strides), item):
            found.array[...] = values
        else:
            for number, value in enumerate(values):
                found.array[number] = value
        return
    simple = simple and prod(shape) > SMALL
    each = [
        _window(memory, starts[i : i + 1], shape, strides, values.dtype) for i in range(len(starts) if simple else 0)
    ]
    if not simple or any(window is None or window.segment.parts for window in each):
        memory.store(box_addresses(starts, shape, strides), values)
        return
    for lane, window in enumerate(each):
        assert window is not None
        _require_writable(memory, window, starts[lane:], values.ndim, lane)
    memory.changes += 1
    for window, value in zip(each, values):
        assert window is not None
        window.array[0] = value


def _require_writable(memory: Memory, window: _Window, starts: Array, rank: int, lane: int = 0) -> None:
    try:
        memory.require_writable(window.segment, starts, 1)
    except Fault as fault:
        raise Fault(fault.reason, (lane, *(0,) * (rank - 1)), fault.address) from None
