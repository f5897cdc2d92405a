"""The elements of a tensor in memory that make up a tile of a view.

A tile is a box of elements (see `boxes`), or one box for each position of a sparse dimension. Boxes are clipped to the
tensor. Indices, sizes and strides are unsigned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ...types import GatherScatterView, TileView
from ..common.layout import FAR, layout, wrapped
from ..common.memory import Fault
from ..common.tiles import Array, pointee_bits, pointee_bytes, unsigned
from .boxes import as_slice

Number = int | Array
"""An integer that is the same for all tile blocks, or one for each."""
LARGE = 1 << 62


class TensorRef(NamedTuple):
    """A tensor in memory: the address of its first element, and sizes and strides in elements."""

    base: Array
    shape: tuple[Number, ...]
    strides: tuple[Number, ...]


def limited(numbers: Array) -> Array:
    """Convert unsigned numbers to int64, clamped to more than any memory holds, so that their sums do not overflow."""
    if numbers.dtype == np.bool_:
        return numbers.astype(np.int64)
    if numbers.dtype.itemsize < 8:
        return unsigned(numbers).astype(np.int64)
    return np.minimum(unsigned(numbers), np.uint64(LARGE)).astype(np.int64)


# ---------------------------------------------------------------- which elements


class ViewAccess(NamedTuple):
    """The boxes of an access: one per tile block, or one per position of the sparse dimension in each tile block."""

    view: TileView
    lanes: int
    starts: Array
    """Addresses of first elements. For four-bit elements, these and the strides count half bytes."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    skips: tuple[Number, ...]
    """The number of elements of a box before the tensor; only positions of a gather/scatter view can be negative."""
    extents: tuple[Number, ...]
    """The number of elements of a box in the tensor."""
    present: Array | None
    """A mask of the positions of the sparse dimension that are in the tensor; None for all of them."""

    @property
    def sparse(self) -> int | None:
        return self.view.sparse_dim if isinstance(self.view, GatherScatterView) else None

    @property
    def full_shape(self) -> tuple[int, ...]:
        return (len(self.starts), *self.shape)

    def bytes_of(self, lanes: int) -> int:
        """Return the bytes in memory that this many tile blocks access."""
        sizes: Number = 1
        for extent in self.extents:
            sizes = sizes * extent
        if self.present is not None:
            sizes = sizes * self.present
        count = sizes * len(self.starts) if isinstance(sizes, int) else int(sizes.sum())
        return count * (lanes // self.lanes) * pointee_bits(self.view.tensor_view.element) // 8

    def boxes(self, tile: Array) -> Array:
        """Reorder a tile with its lanes into boxes."""
        if self.sparse is None:
            return tile
        return np.moveaxis(tile, self.sparse + 1, 1).reshape(self.full_shape)

    def tile(self, boxes: Array) -> Array:
        """Reorder boxes into a tile with its lanes."""
        if self.sparse is None:
            return boxes
        return np.moveaxis(boxes.reshape(self.lanes, -1, *self.shape), 1, self.sparse + 1)

    def groups(self, ordered: bool) -> Iterator[tuple[Array | slice, Array, tuple[slice, ...]]]:
        """Yield groups of boxes that are clipped alike: which ones, where the clipped boxes start, and the clipping.

        With `ordered`, only neighbours are grouped, and groups are in order.
        """
        for chosen, first in self._alike(ordered):
            inner = []
            starts = self.starts[chosen]
            for skip, extent, stride in zip(self.skips, self.extents, self.strides):
                low, size = _at(skip, first), _at(extent, first)
                inner.append(slice(low, low + size))
                if low:
                    starts = starts + wrapped(low * stride)
            inside = self.present is None or self.present[first]
            if inside and all(part.start < part.stop for part in inner):
                yield chosen, starts, tuple(inner)

    def _alike(self, ordered: bool) -> list[tuple[Array | slice, int]]:
        """Return groups of boxes that are clipped alike, with the first box of each."""
        varying = [n for n in (*self.skips, *self.extents) if not isinstance(n, int)]
        if self.present is not None:
            varying.append(self.present)
        if not varying:
            return [(slice(None), 0)]
        code = np.zeros(len(self.starts), np.int64)
        for number in varying:
            # Renumber each time, so that it cannot overflow.
            code = np.unique(code * (int(number.max()) + 1) + number, return_inverse=True)[1].reshape(-1)
        if ordered:
            parts = np.split(np.arange(len(code)), np.flatnonzero(code[1:] != code[:-1]) + 1)
        else:
            parts = [np.flatnonzero(code == value) for value in range(int(code.max()) + 1)]
        return sorted(((as_slice(part), int(part[0])) for part in parts), key=lambda part: part[1])

    def fault(self, fault: Fault, chosen: Array | slice, inner: tuple[slice, ...]) -> Fault:
        """Translate a fault in clipped boxes to the tile."""
        box, *rest = fault.where
        box = (chosen.start or 0) + box if isinstance(chosen, slice) else int(chosen[box])
        rest = [part.start + i for part, i in zip(inner, rest)]
        if self.sparse is not None:
            box, position = divmod(box, self.view.tile_shape[self.sparse])
            rest.insert(self.sparse, position)
        return Fault(fault.reason, (box, *rest), fault.address)


def locate_tiles(view: TileView, tensor: TensorRef, index: tuple[Array, ...], promised: tuple[bool, ...]) -> ViewAccess:
    """Locate the tiles with these indices. The strides must be the same for all tile blocks."""
    element = view.tensor_view.element
    unit, scale = (1, 2) if element.bits == 4 else (pointee_bytes(element), 1)
    sparse = view.sparse_dim if isinstance(view, GatherScatterView) else None
    fixed = 0
    starts = tensor.base * scale
    shape, strides, skips, extents = [], [], [], []
    present = None
    dims, steps = layout(view)
    for i, (dim, step, size) in enumerate(zip(dims, steps, view.tile_shape)):
        stride = unit * _one(tensor.strides[dim])
        if stride:
            _refuse_far(index[i], tensor.shape[dim], 1 if i == sparse else step, promised[i], len(dims), tensor.base)
        if i == sparse:
            offsets, present = _positions(index[i], tensor.shape[dim], promised[i])
            starts = starts.reshape(starts.shape[0], *(1,) * (2 - starts.ndim)) + offsets * wrapped(stride)
            continue
        start, skip, extent = _range(index[i], simple(tensor.shape[dim]), step, size, promised[i], sparse is not None)
        if isinstance(start, int):
            fixed += start * stride
        else:
            moved = start * wrapped(stride)
            starts = starts + (moved if starts.ndim == 1 else moved[:, np.newaxis])
        shape.append(size)
        strides.append(stride)
        skips.append(skip)
        extents.append(extent)
    return _spread(view, starts + wrapped(fixed), tuple(shape), tuple(strides), skips, extents, present)


def _spread(
    view: TileView,
    starts: Array,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    skips: list[Number],
    extents: list[Number],
    present: Array | None,
) -> ViewAccess:
    """Broadcast starts, clipping and presence to every box."""
    arrays = [starts, *(n for n in (*skips, *extents, present) if isinstance(n, np.ndarray))]
    lanes = max(a.shape[0] for a in arrays)
    inner = starts.shape[1:]

    def every(a: Array) -> Array:
        if a.shape == (lanes, *inner):
            return a.reshape(-1)
        return np.broadcast_to(a.reshape(*a.shape, *(1,) * (1 + len(inner) - a.ndim)), (lanes, *inner)).reshape(-1)

    before, inside = (tuple(n if isinstance(n, int) else every(n) for n in numbers) for numbers in (skips, extents))
    found = None if present is None else every(present)
    return ViewAccess(view, lanes, every(starts), shape, strides, before, inside, found)


def _at(number: Number, box: int) -> int:
    return number if isinstance(number, int) else int(number[box])


def _one(number: Number) -> int:
    """Return a number that must be the same for all tile blocks."""
    if isinstance(number, int):
        return number
    assert number.shape[0] == 1
    return int(number[0])


def simple(number: Number) -> Number:
    """Return an int if the number is the same for all tile blocks."""
    return int(number[0]) if not isinstance(number, int) and number.shape[0] == 1 else number


def _range(
    index: Array, size: Number, step: int, tile: int, promised: bool, signed: bool
) -> tuple[Number, Number, Number]:
    """Return the first element of a tile along a dimension, and how many precede the tensor and lie in it."""
    number = simple(_bounded(index) if signed else limited(index))
    if promised:
        return number * step, 0, tile
    if isinstance(number, int) and isinstance(size, int):
        start = max(-tile, min(number, -(-size // step))) * step
        skip = max(0, -start)
        return start, skip, max(0, min(tile, size - start) - skip)
    starts = np.minimum(number, -(-size // step)) * step
    room: Array = size - starts
    low = int(room.min())
    if not signed:
        return starts, 0, tile if low >= tile else _shared(np.clip(room, 0, tile))
    starts = np.maximum(starts, -tile)
    skips = np.maximum(-starts, 0)
    return starts, _shared(skips), _shared(np.maximum(np.minimum(room, tile) - skips, 0))


def _refuse_far(index: Array, size: Number, step: int, promised: bool, rank: int, base: Array) -> None:
    """Raise Fault for a tile that lies in the tensor, or is promised to, but where no memory can be."""
    if index.dtype.itemsize < 8 or not (far := unsigned(index) >= np.uint64(-(-FAR // step))).any():
        return
    if not promised:
        tiles = -(-np.asarray(size) // step)
        inside = limited(index) < tiles.reshape(*tiles.shape, *(1,) * (index.ndim - tiles.ndim))
        far = far & (inside | (np.asarray(size) >= LARGE).reshape(*tiles.shape, *(1,) * (index.ndim - tiles.ndim)))
    if far.any():
        lane = int(np.argwhere(far)[0][0])
        address = int(base.reshape(-1)[lane if base.size > 1 else 0]) & (1 << 64) - 1
        raise Fault("plus an index beyond 2**61 is outside every buffer", (lane, *(0,) * rank), address)


def _bounded(numbers: Array) -> Array:
    """Convert signed numbers to int64, clamped so that their sums do not overflow."""
    return np.clip(numbers.astype(np.int64), -LARGE, LARGE)


def _shared(numbers: Array) -> Number:
    """Return an int if all numbers are the same."""
    return int(numbers[0]) if (numbers == numbers[0]).all() else numbers


def _positions(index: Array, size: Number, promised: bool) -> tuple[Array, Array | None]:
    """Return the positions along the sparse dimension, and which of them lie in the tensor."""
    positions = limited(index)
    if promised:
        return positions, None
    inside = positions < (size if isinstance(size, int) else size[:, np.newaxis])
    if inside.all():
        return positions, None
    return np.where(inside, positions, 0), inside


def split_by_strides(
    tensor: TensorRef, index: tuple[Array, ...], ordered: bool = False
) -> Iterator[tuple[Array | None, TensorRef, tuple[Array, ...]]]:
    """Split an access by the strides of the tensors; yield the lanes (None for all), tensor and indices of each part.

    With `ordered`, only neighbours are grouped, and parts are in order.
    """
    varying = [s for s in tensor.strides if not isinstance(s, int) and s.shape[0] > 1]
    if not varying:
        yield None, tensor, index
        return
    rows = np.stack(varying, 1)
    if ordered:
        chosen = np.split(np.arange(len(rows)), np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1)
    else:
        number = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
        chosen = [np.flatnonzero(number == n) for n in range(int(number.max()) + 1)]
    for lanes in chosen:
        strides = tuple(_part(stride, lanes[:1]) for stride in tensor.strides)
        shape = tuple(_part(size, lanes) for size in tensor.shape)
        yield lanes, TensorRef(_part(tensor.base, lanes), shape, strides), tuple(_part(i, lanes) for i in index)


def _part(number: Any, lanes: Array) -> Any:
    return number if isinstance(number, int) or number.shape[0] == 1 else number[lanes]


def fault_among(lanes: Array | None, fault: Fault) -> Fault:
    """Translate a fault in some of the tile blocks to all of them."""
    if lanes is None:
        return fault
    return Fault(fault.reason, (int(lanes[fault.where[0]]), *fault.where[1:]), fault.address)
