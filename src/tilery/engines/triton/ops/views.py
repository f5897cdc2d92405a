"""Tensors in memory and views of them."""

from __future__ import annotations

from typing import Any

from ....enums import MemoryOrderingSemantics as Ordering
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
from ....types import DYNAMIC, PaddingValue, Scalar, TensorView, Tile, TileView
from ..access import load, store
from ..emit import Val, carrier
from ..limits import PACKED_VIEW
from ..nibbles import load_nibbles, store_nibbles
from ..registry import lowers
from ..state import Lowering, Tok
from ..views import Box, ViewRef, Where, as_i64, box, ends_on_chunk, layout, locate


def patterns(element: Scalar) -> dict[PaddingValue, int]:
    """The bits of each padding value, as memory has them."""
    form, shift = element.format, element.row.memory_bits - element.bits if element.bits > 8 else 0
    infinity = form.top + 1 if form.infinity else form.nan
    bits = {
        PaddingValue.ZERO: 0,
        PaddingValue.NEG_ZERO: form.sign,
        PaddingValue.NAN: form.nan,
        PaddingValue.POS_INF: infinity,
        PaddingValue.NEG_INF: form.sign | infinity,
    }
    return {value: pattern << shift for value, pattern in bits.items()}


@lowers(MakeTensorView)
def make_tensor_view(
    low: Lowering, o: MakeTensorView, base: Val, sizes: tuple[Val, ...], strides: tuple[Val, ...]
) -> ViewRef:
    """The tensor: nothing is emitted until it is accessed."""
    tensor = o.result.type
    assert isinstance(tensor, TensorView)
    some, more = iter(zip(sizes, o.dynamicShape)), iter(zip(strides, o.dynamicStrides))
    shape = [next(some) if n == DYNAMIC else (n, n) for n in tensor.shape]
    steps = [next(more) if n == DYNAMIC else (n, n) for n in tensor.strides]
    slot: list[Any] = []
    low.out.append(slot)
    origin = (o.base, tuple(n for _, n in shape), tuple(n for _, n in steps))
    return ViewRef(base, tuple(n for n, _ in shape), tuple(n for n, _ in steps), origin, slot)


@lowers(MakePartitionView, MakeStridedView, MakeGatherScatterView)
def make_view(low: Lowering, o: Any, tensor: ViewRef) -> ViewRef:
    """The same tensor: how it is cut is in the type."""
    return tensor


def _number(low: Lowering, number: int | Val, element: str) -> Val:
    return low.constant(number, (), element) if isinstance(number, int) else low.integer(number, element, signed=False)


@lowers(GetTensorShape)
def get_tensor_shape(low: Lowering, o: GetTensorShape, tensor: ViewRef) -> tuple[Val, ...]:
    return tuple(_number(low, n, low.element(v)) for n, v in zip(tensor.shape, o.result))


@lowers(GetIndexSpaceShape)
def get_index_space_shape(low: Lowering, o: GetIndexSpaceShape, view: ViewRef) -> tuple[Val, ...]:
    """The tiles along each dimension, with the parts at the edge."""
    type = o.src.type
    assert isinstance(type, TileView)
    found = []
    for value, dim, step in zip(o.result, *layout(type)):
        size, element = view.shape[dim], low.element(value)
        if isinstance(size, int):
            found.append(low.constant(-(-size // step), (), element))
            continue
        wide = as_i64(low, size)
        by = low.constant(step, (), "i64")
        up = low.map("arith.divui", low.map("arith.addi", wide, low.constant(step - 1, (), "i64")), by)
        found.append(low.integer(up, element, signed=False))
    return tuple(found)


# ---------------------------------------------------------------- load and store


@lowers(LoadViewTko)
def load_view_tko(
    low: Lowering, o: LoadViewTko, view: ViewRef, index: tuple[Val, ...], token: Tok | None
) -> tuple[Val, Tok]:
    """A tile, through a tensor map if nothing in this kernel wrote the memory before it."""
    type, tile = o.view.type, o.tile.type
    assert isinstance(type, TileView) and isinstance(tile, Tile)
    made = low.order(token, False, o.memory_ordering_semantics is Ordering.ACQUIRE)
    element = type.tensor_view.element
    weak = o.memory_ordering_semantics is Ordering.WEAK and (token is None or not token.wrote)
    found = box(low, type, view, index) if weak else None
    if found is not None:
        low.notes["descriptors"] += 1
        return _load_box(low, type, found), low.through_map(token, made)
    place = locate(low, type, view, index, o.inbounds)
    kind = carrier(element, low.target, memory=True)
    padding = None
    if place.mask is not None and type.padding_value not in (None, PaddingValue.ZERO):
        padding = low.constant(patterns(element)[type.padding_value], place.pointers.shape, kind)
    if element.is_packed:
        assert place.nibbles is not None
        value = load_nibbles(low, place.pointers, place.nibbles, place.mask, padding)
    else:
        value = load(low, place.pointers, element, place.mask, padding, o.memory_ordering_semantics, o.memory_scope)
    return low.reshape(value, tile.shape), made


def _load_box(low: Lowering, type: TileView, found: Box) -> Val:
    """A box of a tensor map, without leading unit dimensions, in the order of the tile."""
    element = carrier(type.tensor_view.element, low.target, memory=True)
    lead = found.trimmed(least=1)
    inner = Val("", found.shape[lead:], element)
    value = low.make(f"tt.descriptor_load {found.at} : {found.type} -> {inner.type}", inner.shape, element)
    kept = found.axes[lead:]
    return low.reshape(low.transpose(value, [kept.index(k) for k in sorted(kept)]), type.tile_shape)


@lowers(StoreViewTko)
def store_view_tko(
    low: Lowering, o: StoreViewTko, tile: Val, view: ViewRef, index: tuple[Val, ...], token: Tok | None
) -> Tok:
    """Write a tile, through a tensor map if nothing waits for it and it writes nothing else."""
    type = o.view.type
    assert isinstance(type, TileView)
    made = low.order(token, write=True)
    weak = o.memory_ordering_semantics is Ordering.WEAK and o.result_token not in low.uses
    found = box(low, type, view, index) if weak and ends_on_chunk(low, type, view, o.inbounds) else None
    if found is not None:
        low.notes["descriptors"] += 1
        value = _box_value(low, tile, found)
        low.fence_maps(token)
        low.line(f"tt.descriptor_store {found.at}, {value.name} : {found.type}, {value.type}")
        return low.through_map(token, made)
    place = locate(low, type, view, index, o.inbounds)
    if type.tensor_view.element.is_packed:
        _store_nibbles(low, type, view, place, tile)
        return made
    value = low.reshape(tile, place.pointers.shape)
    store(low, place.pointers, value, place.mask, o.memory_ordering_semantics, o.memory_scope)
    return made


def _box_value(low: Lowering, tile: Val, found: Box) -> Val:
    """A tile in the order of the tensor map; without leading unit dimensions, if it was made without them."""
    kept = found.axes[found.trimmed(least=2) :]
    shape = tuple(tile.shape[k] for k in sorted(kept))
    if low.roots.get(tile.name, tile).shape != shape and found.axes == tuple(range(len(tile.shape))):
        return tile
    return low.transpose(low.reshape(tile, shape), [sorted(kept).index(k) for k in kept])


def _store_nibbles(low: Lowering, type: TileView, view: ViewRef, place: Where, tile: Val) -> None:
    """Four-bit elements in pairs: along the last dimension, whose stride must be one and whose size even."""
    dims, steps = layout(type)
    others = [s for d, s in enumerate(view.strides) if d != dims[-1]]
    paired = view.strides[dims[-1]] == 1 and type.tile_shape[-1] >= 2 and steps[-1] % 2 == 0
    even = all(low.divisor(s) % 2 == 0 for d, s in enumerate(view.origin[2]) if d != dims[-1])
    if not paired or (others and not even):
        raise low.refuse(PACKED_VIEW)
    store_nibbles(low, place.pointers, low.reshape(tile, place.pointers.shape), place.mask)
