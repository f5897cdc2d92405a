"""Tensors in memory and tiles of them.

Indices and sizes are unsigned and limited to 2**62, so that their sums do not wrap; offsets wrap around at 64 bits. An
element is masked by comparing its index in the tile with the room that is left along the dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ....ir import Value
from ....ops import (
    AtomicRedViewTko,
    GetIndexSpaceShape,
    GetTensorShape,
    LoadViewTko,
    MakeGatherScatterView,
    MakePartitionView,
    MakeStridedView,
    MakeTensorView,
    StoreViewTko,
)
from ....types import DYNAMIC, I8, I64, GatherScatterView, PaddingValue, Scalar, TensorView, TileView
from ...common.layout import FAR, PATTERNS, layout
from ...common.tiles import pointee_bytes
from ..loops.builder import element_of, known
from ..loops.nodes import Atomic, Const, Kind, Operand, index, truth
from .state import Lowering, Tensor, lowers, shape

LARGE = 1 << 62


# ---------------------------------------------------------------- making views


@lowers(MakeTensorView)
def make_tensor_view(g: Lowering, o: MakeTensorView) -> None:
    type = o.result.type
    assert isinstance(type, TensorView)
    sizes, steps = iter(o.dynamicShape), iter(o.dynamicStrides)
    extents = tuple(limited(g, g.operand(next(sizes))) if n == DYNAMIC else index(n) for n in type.shape)
    strides = tuple(
        g.b.resize(g.operand(next(steps)), I64, signed=False) if n == DYNAMIC else index(n) for n in type.strides
    )
    g.held[o.result] = Tensor(g.operand(o.base), extents, strides, g.homes.get(o.base))


def limited(g: Lowering, x: Operand) -> Operand:
    """Return an unsigned integer as i64, at most 2**62."""
    wide = g.b.resize(x, I64, signed=False)
    return g.b.integer("umin", wide, index(LARGE)) if x.element is I64 else wide


@lowers(MakePartitionView, MakeStridedView, MakeGatherScatterView)
def make_view(g: Lowering, o: Any) -> None:
    g.held[o.result] = g.held[o.tensor_view]


def tensor(g: Lowering, v: Value) -> Tensor:
    held = g.held[v]
    assert isinstance(held, Tensor)
    return held


@lowers(GetTensorShape)
def get_tensor_shape(g: Lowering, o: GetTensorShape) -> None:
    for v, size in zip(o.results, tensor(g, o.src).shape):
        g.held[v] = g.b.resize(size, element_of(v.type), signed=False)


@lowers(GetIndexSpaceShape)
def get_index_space_shape(g: Lowering, o: GetIndexSpaceShape) -> None:
    view, sizes = o.src.type, tensor(g, o.src).shape
    assert isinstance(view, TileView)
    for v, dim, step in zip(o.results, *layout(view)):
        g.held[v] = g.b.resize(count(g, sizes[dim], step), element_of(v.type), signed=False)


def count(g: Lowering, size: Operand, step: int) -> Operand:
    """Return how many steps cover a size."""
    return g.b.integer("udiv", g.b.add(size, index(step - 1)), index(step))


# ---------------------------------------------------------------- where a tile is


@dataclass(frozen=True, slots=True)
class Span:
    """A dimension of a tile: elements from `first` on and before `last` are in the tensor. None: all of them."""

    size: int
    stride: Operand
    """In bytes; for elements of four bits in halves of bytes."""
    first: Operand | None
    last: Operand | None


@dataclass(frozen=True, slots=True)
class TileAddress:
    """A tile in memory: the address of its first element (in half bytes for elements of four bits) and its spans.

    Along the sparse dimension of a gather/scatter view, positions come from a tile.
    """

    start: Operand
    spans: tuple[Span, ...]
    element: Scalar
    sparse: int | None = None
    positions: Value | None = None
    extent: Operand | None = None
    """The size of the sparse dimension, unless positions are promised to be inside."""


def locate(g: Lowering, o: Any, view: TileView, indices: tuple[Value, ...], promised: tuple[bool, ...]) -> TileAddress:
    """Find the tile with these indices."""
    where, element = tensor(g, o.view), view.tensor_view.element
    sparse = view.sparse_dim if isinstance(view, GatherScatterView) else None
    unit = 1 if element.bits == 4 else pointee_bytes(element)
    start = g.b.mul(where.base, index(2)) if element.bits == 4 else where.base
    spans: list[Span] = []
    for i, (dim, step, size) in enumerate(zip(*layout(view), view.tile_shape)):
        stride = g.b.mul(where.strides[dim], index(unit))
        if i == sparse:
            spans.append(Span(size, stride, None, None))
            continue
        x = g.operand(indices[i])
        refuse_far(g, o, x, where.shape[dim], step, promised[i], where.strides[dim])
        moved, span = _span(g, x, where.shape[dim], step, size, promised[i], stride, sparse is not None)
        if promised[i] and "promise" in g.checks:
            check_inside(g, o, moved, size, where.shape[dim])
        start = g.b.add(start, g.b.mul(moved, stride))
        spans.append(span)
    if sparse is None:
        return TileAddress(start, tuple(spans), element)
    extent = None if promised[sparse] else where.shape[sparse]
    return TileAddress(start, tuple(spans), element, sparse, indices[sparse], extent)


def _span(
    g: Lowering, x: Operand, extent: Operand, step: int, size: int, promised: bool, stride: Operand, signed: bool
) -> tuple[Operand, Span]:
    """Return the first element of a tile along a dimension, and the span."""
    b = g.b
    if signed:
        number = b.resize(x, I64, signed=True)
        if x.element is I64:
            number = b.integer("smax", b.integer("smin", number, index(LARGE)), index(-LARGE))
    else:
        number = limited(g, x)
    if promised:
        return b.mul(number, index(step)), Span(size, stride, None, None)
    if signed or x.element is I64:  # others are so small that no sum wraps around
        number = b.integer("smin", number, count(g, extent, step))
    if signed:
        number = b.integer("smax", number, index(-size))
    start = b.mul(number, index(step))
    last = b.sub(extent, start)
    return start, Span(size, stride, b.sub(index(0), start) if signed else None, last)


def refuse_far(g: Lowering, o: Any, x: Operand, extent: Operand, step: int, promised: bool, stride: Operand) -> None:
    """Fault for a tile that lies in the tensor, or is promised to, but where no memory can be.

    `stride` counts elements: in bytes it may wrap around to 0.
    """
    if x.element is not I64:
        return
    b = g.b
    far = b.integer("ule", index(-(-FAR // step)), x)
    if not promised:
        inside = b.integer("slt", limited(g, x), count(g, extent, step))
        far = b.both(far, b.either(inside, b.integer("sle", index(LARGE), extent)))
    far = b.both(far, b.integer("ne", stride, index(0)))
    b.check(b.opposite(far), g.numbers[o])


def check_inside(g: Lowering, o: Any, start: Operand, size: int, extent: Operand) -> None:
    """Fault unless elements along a dimension are inside the tensor, as `inbounds` promises."""
    b = g.b
    room = b.integer("sle", b.add(start, index(size)), extent)
    small = b.both(b.integer("sle", index(0), start), b.integer("sle", start, index(LARGE)))
    b.check(b.both(small, room), g.numbers[o])


def inside(g: Lowering, place: TileAddress, at: tuple[Operand, ...]) -> Operand:
    """Return whether an element of the tile is in the tensor, not looking at the sparse dimension."""
    found: Operand = truth(True)
    for i, span in zip(at, place.spans):
        if span.first is not None:
            found = g.b.both(found, g.b.integer("sle", span.first, i))
        if span.last is not None and not _never_cut(span):
            found = g.b.both(found, g.b.integer("slt", i, span.last))
    return found


def _never_cut(span: Span) -> bool:
    assert span.last is not None
    room = known(span.last)
    return room is not None and span.size <= room < LARGE


def address(g: Lowering, place: TileAddress, at: tuple[Operand, ...]) -> Operand:
    """Return the address of an element, not counting the sparse dimension."""
    found = place.start
    for d, (i, span) in enumerate(zip(at, place.spans)):
        if d != place.sparse:
            found = g.b.add(found, g.b.mul(i, span.stride))
    return found


def sparse_position(g: Lowering, o: Any, place: TileAddress, at: tuple[Operand, ...]) -> tuple[Operand, Operand]:
    """Return the offset of a position along the sparse dimension, and whether it is in the tensor."""
    assert place.sparse is not None and place.positions is not None
    x, stride = g.at(place.positions, [at[place.sparse]]), place.spans[place.sparse].stride
    where = tensor(g, o.view)
    refuse_far(g, o, x, where.shape[place.sparse], 1, place.extent is None, where.strides[place.sparse])
    position = limited(g, x)
    if place.extent is None and "promise" in g.checks:
        check_inside(g, o, position, 1, where.shape[place.sparse])
    present = truth(True) if place.extent is None else g.b.integer("slt", position, place.extent)
    return g.b.mul(position, stride), present


def guard_box(g: Lowering, o: Any, place: TileAddress, writes: bool, offset: Operand, mask: Operand | None) -> None:
    """Check the elements of a tile that are in the tensor; for a sparse dimension, those of one position."""
    b, start = g.b, g.b.add(place.start, offset)
    dims = []
    for d, span in enumerate(place.spans):
        if d == place.sparse:
            continue
        end: Operand = index(span.size)
        if span.last is not None:
            end = b.integer("smin", span.last, end)
        if span.first is not None:
            skip = b.integer("smax", span.first, index(0))
            start, end = b.add(start, b.mul(skip, span.stride)), b.sub(end, skip)
        if known(end) != 1:
            dims.append((end, span.stride if span.size > 1 else index(0)))
    b.guard(start, pointee_bytes(place.element), writes, g.numbers[o], tensor(g, o.view).home, dims, mask)


# ---------------------------------------------------------------- load and store


def padding(view: TileView) -> Const | None:
    """Return what elements outside the tensor are; None if that is undefined."""
    element = view.tensor_view.element
    if view.padding_value is None:
        return None
    if view.padding_value is PaddingValue.ZERO:
        return Const(element, 0)
    return Const(element, PATTERNS[element.name][view.padding_value])


@lowers(LoadViewTko)
def load_view(g: Lowering, o: LoadViewTko) -> None:
    view = o.view.type
    assert isinstance(view, TileView)
    place = locate(g, o, view, o.index, o.inbounds)
    if place.sparse is None and place.element.bits != 4:
        guard_box(g, o, place, False, index(0), None)
    elif place.element.bits != 4:
        guard_positions(g, o, place, False)
    with g.defining(o.tile) as (at, made):
        where, mask = element_place(g, o, place, at)
        if place.element.bits == 4:
            made.append(read_half(g, o, where, mask, place.element, padding(view)))
        else:
            made.append(g.b.read(place.element, where, mask, padding(view), tensor(g, o.view).home))
    g.held[o.result_token] = None


def element_place(g: Lowering, o: Any, place: TileAddress, at: tuple[Operand, ...]) -> tuple[Operand, Operand]:
    """Return the address of an element of the tile, and whether it is in the tensor."""
    where, mask = address(g, place, at), inside(g, place, at)
    if place.sparse is not None:
        offset, present = sparse_position(g, o, place, at)
        where, mask = g.b.add(where, offset), g.b.both(mask, present)
    return where, mask


def guard_positions(g: Lowering, o: Any, place: TileAddress, writes: bool) -> None:
    """Check the elements of every position of the sparse dimension."""
    assert place.sparse is not None
    with g.b.nest(Kind.PARALLEL, (place.spans[place.sparse].size,)) as (i,):
        at = tuple(i if d == place.sparse else index(0) for d in range(len(place.spans)))
        offset, present = sparse_position(g, o, place, at)
        guard_box(g, o, place, writes, offset, present)


@lowers(StoreViewTko)
def store_view(g: Lowering, o: StoreViewTko) -> None:
    """Elements may share memory: they are written in order, by the positions of a sparse dimension first."""
    view = o.view.type
    assert isinstance(view, TileView)
    place = locate(g, o, view, o.index, o.inbounds)
    if place.element.bits != 4:
        if place.sparse is None:
            guard_box(g, o, place, True, index(0), None)
        else:
            guard_positions(g, o, place, True)
    with g.b.nest(Kind.SERIAL, shape(o.tile), _order(place)) as at:
        where, mask = element_place(g, o, place, at)
        if place.element.bits == 4:
            write_half(g, o, where, mask, g.at(o.tile, at))
        else:
            g.b.write(where, g.at(o.tile, at), mask, tensor(g, o.view).home)
    g.held[o.result_token] = None


def _order(place: TileAddress) -> list[int]:
    dims = list(range(len(place.spans)))
    return dims if place.sparse is None else [place.sparse, *(d for d in dims if d != place.sparse)]


@lowers(AtomicRedViewTko)
def atomic_red_view(g: Lowering, o: AtomicRedViewTko) -> None:
    view = o.view.type
    assert isinstance(view, TileView)
    place = locate(g, o, view, o.index, (False,) * len(o.index))
    guard_box(g, o, place, True, index(0), None)
    with g.b.nest(Kind.SERIAL, shape(o.value)) as at:
        where, mask = element_place(g, o, place, at)
        g.b.emit(Atomic(None, o, where, (g.at(o.value, at),), None if known(mask) == 1 else mask))
    g.held[o.result_token] = None


# ---------------------------------------------------------------- elements of four bits


def _half(g: Lowering, where: Operand) -> tuple[Operand, Operand]:
    """Return the address of a byte, and the shift of a half of it, as i8."""
    shift = g.b.mul(g.b.both(where, index(1)), index(4))
    return g.b.integer("ashr", where, index(1)), g.b.resize(shift, I8, signed=False)


def read_half(g: Lowering, o: Any, where: Operand, mask: Operand, element: Scalar, other: Const | None) -> Operand:
    """Read an element of four bits."""
    byte, shift = _half(g, where)
    g.b.guard(byte, 1, False, g.numbers[o], tensor(g, o.view).home, mask=mask)
    found = g.b.read(I8, byte, mask, None if other is None else Const(I8, 0))
    found = g.b.integer("bits", g.b.both(g.b.integer("lshr", found, shift), Const(I8, 15)), to=element)
    return found if other is None else g.b.select(mask, found, other)


def write_half(g: Lowering, o: Any, where: Operand, mask: Operand, value: Operand) -> None:
    """Write an element of four bits; the other half of the byte stays."""
    b = g.b
    byte, shift = _half(g, where)
    b.guard(byte, 1, True, g.numbers[o], tensor(g, o.view).home, mask=mask)
    old = b.read(I8, byte, mask, Const(I8, 0))
    kept = b.both(old, b.integer("xor", b.integer("shl", Const(I8, 15), shift), Const(I8, 255)))
    new = b.integer("shl", b.both(b.integer("bits", value, to=I8), Const(I8, 15)), shift)
    b.write(byte, b.either(kept, new), mask)
