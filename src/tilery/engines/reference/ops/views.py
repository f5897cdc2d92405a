"""Tensors in memory and views of them.

A tensor view and every view of it have a `TensorRef` as value; everything else is in the types. Tile blocks whose tiles
are clipped alike are moved together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ops import (
    GetIndexSpaceShape,
    GetTensorShape,
    LoadViewTko,
    MakeGatherScatterView,
    MakePartitionView,
    MakeStridedView,
    MakeTensorView,
    StoreViewTko,
)
from ....types import DYNAMIC, PaddingValue, PartitionView, TensorView, Tile, TileView
from ...common.layout import PATTERNS, layout
from ...common.memory import Fault, FirstFault, Memory
from ...common.tiles import Array, carrier, unsigned
from ..batch import Batch
from ..boxes import apart, load_boxes, store_boxes
from ..nibbles import load_boxes_of_nibbles, store_boxes_of_nibbles
from ..registry import executes
from ..view_access import Number, TensorRef, ViewAccess, fault_among, limited, locate_tiles, simple, split_by_strides
from .memory import loaded, stored

# ---------------------------------------------------------------- making views


@executes(MakeTensorView)
def make_tensor_view(
    o: MakeTensorView, base: Array, dynamicShape: tuple[Array, ...], dynamicStrides: tuple[Array, ...]
) -> TensorRef:
    """A reference to the tensor; nothing is read."""
    tensor = o.result.type
    assert isinstance(tensor, TensorView)
    sizes, steps = iter(dynamicShape), iter(dynamicStrides)
    shape = tuple(limited(next(sizes)) if size == DYNAMIC else size for size in tensor.shape)
    strides = tuple(
        unsigned(next(steps)).astype(np.int64) if stride == DYNAMIC else stride for stride in tensor.strides
    )
    return TensorRef(base, shape, strides)


@executes(MakePartitionView, MakeStridedView, MakeGatherScatterView)
def make_view(o: Any, tensor_view: TensorRef) -> TensorRef:
    """The same tensor; how it is partitioned is in the type."""
    return tensor_view


@executes(GetTensorShape)
def get_tensor_shape(o: GetTensorShape, src: TensorRef) -> tuple[Array, ...]:
    """The sizes of a tensor, truncated to the result type."""
    return tuple(_scalar(size, value.type) for size, value in zip(src.shape, o.result))


@executes(GetIndexSpaceShape)
def get_index_space_shape(o: GetIndexSpaceShape, src: TensorRef) -> tuple[Array, ...]:
    """Return the number of tiles along each dimension, partial ones at the edge included."""
    view = o.src.type
    assert isinstance(view, TileView)
    dims, steps = layout(view)
    counts = (-(-src.shape[dim] // step) for dim, step in zip(dims, steps))
    return tuple(_scalar(count, value.type) for count, value in zip(counts, o.result))


def _scalar(number: Number, type: Any) -> Array:
    assert isinstance(type, Tile)
    return np.atleast_1d(np.asarray(number, np.int64)).astype(carrier(type.element))


# ---------------------------------------------------------------- load and store


@executes(LoadViewTko, batch=True)
def load_view_tko(
    o: LoadViewTko, batch: Batch, view: TensorRef, index: tuple[Array, ...], token: None
) -> tuple[Array, None]:
    """A tile of a view."""
    type = o.view.type
    assert isinstance(type, TileView)
    out, first = None, FirstFault()
    for lanes, tensor, some in split_by_strides(view, index):
        try:
            where = locate_tiles(type, tensor, some, o.inbounds)
            batch.memory.bytes_read += where.bytes_of(batch.lanes if lanes is None else len(lanes))
            tile = _load(batch, where)
        except Fault as fault:
            first.add(fault_among(lanes, fault))
            continue
        if lanes is None:
            return tile, None
        if out is None:
            count = max(n.shape[0] for n in view.strides if not isinstance(n, int))
            out = np.empty((count, *tile.shape[1:]), tile.dtype)
        out[lanes] = tile
    first.check()
    assert out is not None
    return out, None


def _load(batch: Batch, where: ViewAccess) -> Array:
    memory, element = batch.memory, where.view.tensor_view.element
    dtype = stored(element)
    out, first = None, FirstFault()
    for chosen, starts, inner in where.groups(ordered=False):
        extents = tuple(part.stop - part.start for part in inner)
        whole = extents == where.shape and len(starts) == len(where.starts)
        if not whole and out is None:
            out = np.full(where.full_shape, batch.machine.padding(where.view), dtype)
        try:
            if element.bits == 4:
                boxes = load_boxes_of_nibbles(memory, starts, extents, where.strides)
            elif out is None or not isinstance(chosen, slice):
                boxes = load_boxes(memory, starts, extents, where.strides, dtype)
            else:
                load_boxes(memory, starts, extents, where.strides, dtype, out[(chosen, *inner)])
                continue
        except Fault as fault:
            first.add(where.fault(fault, chosen, inner))
            continue
        if out is None:
            return where.tile(loaded(boxes, element))
        out[(chosen, *inner)] = boxes
    first.check()
    if out is None:
        out = np.full(where.full_shape, batch.machine.padding(where.view), dtype)
    return where.tile(loaded(out, element))


def padding(view: TileView) -> Any:
    """Return the value of elements outside the tensor."""
    element = view.tensor_view.element
    dtype = carrier(element)
    if view.padding_value in (None, PaddingValue.ZERO):
        return dtype.type(0)
    return np.array([PATTERNS[element.name][view.padding_value]], np.uint64).astype(f"u{dtype.itemsize}").view(dtype)[0]


@executes(StoreViewTko, batch=True)
def store_view_tko(
    o: StoreViewTko, batch: Batch, tile: Array, view: TensorRef, index: tuple[Array, ...], token: None
) -> None:
    """Write a tile of a view; if an address occurs several times, the last element wins.

    The order is that of the tile blocks, of the positions of a sparse dimension, and of the rows.
    """
    type = o.view.type
    assert isinstance(type, TileView)
    values = tile.view(np.uint8) if tile.dtype == np.bool_ else tile
    for lanes, tensor, some in split_by_strides(view, index, ordered=True):
        part = values if lanes is None or len(values) == 1 else values[lanes]
        try:
            where = locate_tiles(type, tensor, some, o.inbounds)
            batch.memory.bytes_written += where.bytes_of(batch.lanes if lanes is None else len(lanes))
            # If all tile blocks write to the same place, the last one wins.
            _store(batch.memory, where, part[-1:] if where.lanes == 1 else part, _disjoint(type, view))
        except Fault as fault:
            raise fault_among(lanes, fault) from None


def _store(memory: Memory, where: ViewAccess, values: Array, disjoint: bool) -> None:
    boxes = where.boxes(np.broadcast_to(values, (where.lanes, *values.shape[1:])))
    narrow = where.view.tensor_view.element.bits == 4
    first = FirstFault()
    for chosen, starts, inner in where.groups(ordered=not disjoint):
        some = boxes[(chosen, *inner)]
        try:
            (store_boxes_of_nibbles if narrow else store_boxes)(memory, starts, some.shape[1:], where.strides, some)
        except Fault as fault:
            first.add(where.fault(fault, chosen, inner))
    first.check()


def _disjoint(view: TileView, tensor: TensorRef) -> bool:
    """Tell whether different tiles cannot share an element."""
    if not isinstance(view, PartitionView) or tensor.base.shape[0] > 1:
        return False
    sizes, strides = [simple(n) for n in tensor.shape], [simple(n) for n in tensor.strides]
    numbers = [n for n in (*sizes, *strides) if isinstance(n, int)]
    return len(numbers) == 2 * len(sizes) and apart(numbers[: len(sizes)], numbers[len(sizes) :], 1)
