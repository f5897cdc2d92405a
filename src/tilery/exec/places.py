"""Which elements of a tensor in memory a tile of a view is made of.

A tile is a box of elements (see `boxes`), or one box for each position of a sparse dimension; what lies outside the
tensor makes boxes smaller. Indices, sizes and strides are unsigned.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..types import GatherScatterView, PartitionView, StridedView, TileView
from .boxes import wrapped
from .memory import Fault
from .tiles import Array, pointee_bytes, unsigned

Number = int | Array
"""An integer that is the same for all tile blocks, or one for each."""
LARGE = 1 << 62


class TensorRef(NamedTuple):
    """A tensor in memory: the address of its first element, and sizes and strides in elements."""

    base: Array
    shape: tuple[Number, ...]
    strides: tuple[Number, ...]


def limited(numbers: Array) -> Array:
    """Unsigned numbers as int64, with what is larger than any memory made smaller: sums of such do not overflow."""
    if numbers.dtype == np.bool_:
        return numbers.astype(np.int64)
    if numbers.dtype.itemsize < 8:
        return unsigned(numbers).astype(np.int64)
    return np.minimum(unsigned(numbers), np.uint64(LARGE)).astype(np.int64)


def layout(view: TileView) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """For each dimension of a tile: the dimension of the tensor, and how many elements an index moves there."""
    match view:
        case StridedView():
            return view.dim_map, view.traversal_strides
        case PartitionView():
            return view.dim_map, view.tile_shape
        case GatherScatterView():
            # As an H200 does: the indices are positions in the tensor, along the other dimensions, too.
            dims = tuple(range(len(view.tile_shape)))
            return dims, (1,) * len(dims)
    raise AssertionError(view)


# ---------------------------------------------------------------- which elements


class Place(NamedTuple):
    """The boxes of an access: one per tile block, or one per position of a sparse dimension in each tile block."""

    view: TileView
    lanes: int
    starts: Array
    """Addresses of first elements; for elements of four bits they count half bytes, as the strides do."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    extents: tuple[Number, ...]
    """How much of a box lies in the tensor."""
    present: Array | None
    """Which positions of the sparse dimension lie in the tensor; None for all."""

    @property
    def sparse(self) -> int | None:
        return self.view.sparse_dim if isinstance(self.view, GatherScatterView) else None

    @property
    def full_shape(self) -> tuple[int, ...]:
        return (len(self.starts), *self.shape)

    def boxes(self, tile: Array) -> Array:
        """A tile with its lanes, in the order of the boxes."""
        if self.sparse is None:
            return tile
        return np.moveaxis(tile, self.sparse + 1, 1).reshape(self.full_shape)

    def tile(self, boxes: Array) -> Array:
        """The opposite of `boxes`."""
        if self.sparse is None:
            return boxes
        return np.moveaxis(boxes.reshape(self.lanes, -1, *self.shape), 1, self.sparse + 1)

    def groups(self, ordered: bool) -> Iterator[tuple[Array | slice, tuple[int, ...]]]:
        """Boxes of the same extents. `ordered`: only neighbours, in order."""
        fixed = tuple(extent if isinstance(extent, int) else 0 for extent in self.extents)
        varying = [i for i, extent in enumerate(self.extents) if not isinstance(extent, int)]
        if not varying and self.present is None:
            if 0 not in fixed:
                yield slice(None), fixed
            return
        code = np.zeros(len(self.starts), np.int64) if self.present is None else self.present - np.int64(1)
        for i in varying:
            code = code * (self.shape[i] + 1) + self.extents[i]
        if self.present is not None:
            code[~self.present] = -1
        if ordered:
            edges = np.flatnonzero(code[1:] != code[:-1]) + 1
            chosen: list[Array] = np.split(np.arange(len(code)), edges)
        else:
            chosen = [np.flatnonzero(code == value) for value in np.unique(code)]
        for lanes in chosen:
            first = lanes[0]
            extents = tuple(e if isinstance(e, int) else int(e[first]) for e in self.extents)
            if code[first] >= 0 and 0 not in extents:
                yield (slice(None) if len(lanes) == len(code) else lanes), extents

    def fault(self, fault: Fault, chosen: Array | slice) -> Fault:
        """A fault in one of some boxes, as one in the tile."""
        box, *rest = fault.where
        box = box if isinstance(chosen, slice) else int(chosen[box])
        if self.sparse is not None:
            count = self.view.tile_shape[self.sparse]
            box, position = divmod(box, count)
            rest.insert(self.sparse, position)
        return Fault(fault.reason, (box, *rest), fault.address)


def place(view: TileView, tensor: TensorRef, index: tuple[Array, ...], promised: tuple[bool, ...]) -> Place:
    """Where the tiles with these indices are. The strides must be the same for all tile blocks."""
    element = view.tensor_view.element
    unit, scale = (1, 2) if element.bits == 4 else (pointee_bytes(element), 1)
    sparse = view.sparse_dim if isinstance(view, GatherScatterView) else None
    fixed = 0
    starts = tensor.base * scale
    shape, strides, extents = [], [], []
    present = None
    dims, steps = layout(view)
    for i, (dim, step, size) in enumerate(zip(dims, steps, view.tile_shape)):
        stride = unit * _one(tensor.strides[dim])
        if i == sparse:
            offsets, present = _positions(index[i], tensor.shape[dim], promised[i])
            starts = starts.reshape(starts.shape[0], *(1,) * (2 - starts.ndim)) + offsets * wrapped(stride)
            continue
        start, extent = _range(index[i], simple(tensor.shape[dim]), step, size, promised[i])
        if isinstance(start, int):
            fixed += start * stride
        else:
            moved = start * wrapped(stride)
            starts = starts + (moved if starts.ndim == 1 else moved[:, np.newaxis])
        shape.append(size)
        strides.append(stride)
        extents.append(extent)
    return _spread(view, starts + wrapped(fixed), tuple(shape), tuple(strides), extents, present)


def _spread(
    view: TileView,
    starts: Array,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    extents: list[Number],
    present: Array | None,
) -> Place:
    """One start, extent and presence for every box."""
    arrays = [e for e in extents if not isinstance(e, int)]
    lanes = max([starts.shape[0], *(e.shape[0] for e in arrays)] + ([] if present is None else [present.shape[0]]))
    inner = starts.shape[1:]

    def every(a: Array) -> Array:
        return np.broadcast_to(a.reshape(*a.shape, *(1,) * (1 + len(inner) - a.ndim)), (lanes, *inner)).reshape(-1)

    wide = tuple(e if isinstance(e, int) else every(e) for e in extents)
    return Place(view, lanes, every(starts), shape, strides, wide, None if present is None else every(present))


def _one(number: Number) -> int:
    """A number that must be the same for all tile blocks."""
    if isinstance(number, int):
        return number
    assert number.shape[0] == 1
    return int(number[0])


def simple(number: Number) -> Number:
    return int(number[0]) if not isinstance(number, int) and number.shape[0] == 1 else number


def _range(index: Array, size: Number, step: int, tile: int, promised: bool) -> tuple[Number, Number]:
    """Along one dimension: the first element of a tile, and how many of its elements lie in the tensor."""
    number = simple(limited(index))
    if promised:
        return number * step, tile
    if isinstance(number, int) and isinstance(size, int):
        start = min(number, -(-size // step)) * step
        return start, max(0, min(tile, size - start))
    starts = np.minimum(number, -(-size // step)) * step
    room: Array = size - starts
    low = int(room.min())
    if low >= tile:
        return starts, tile
    extents = np.clip(room, 0, tile)
    if extents.shape[0] == 1 or (extents == extents[0]).all():
        return starts, int(extents[0])
    return starts, extents


def _positions(index: Array, size: Number, promised: bool) -> tuple[Array, Array | None]:
    """Along the sparse dimension: the positions, and which of them lie in the tensor."""
    positions = limited(index)
    if promised:
        return positions, None
    inside = positions < (size if isinstance(size, int) else size[:, np.newaxis])
    if inside.all():
        return positions, None
    return np.where(inside, positions, 0), inside


def alike(
    tensor: TensorRef, index: tuple[Array, ...], ordered: bool = False
) -> Iterator[tuple[Array | None, TensorRef, tuple[Array, ...]]]:
    """The access split into ones whose tensors have the same strides for all tile blocks, with their lanes.

    None stands for all lanes. `ordered`: only neighbours, in order.
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


def among(lanes: Array | None, fault: Fault) -> Fault:
    """A fault in some of the tile blocks, as one in all of them."""
    if lanes is None:
        return fault
    return Fault(fault.reason, (int(lanes[fault.where[0]]), *fault.where[1:]), fault.address)
