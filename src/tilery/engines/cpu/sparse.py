"""Loads and stores through views that gather and scatter: position by position of the sparse dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import Value
from ...ops import LoadViewTko, StoreViewTko
from ...types import GatherScatterView
from .abi import NotLowered
from .access import LARGE, bounds_of, check, load_chunk, padding_of, refuse_far, store_chunk, times
from .memory import settle_loads
from .shapes import source
from .text import BYTES, Number
from .tiles import Access, is_scalar, reg, register, shape, stored, wide_dims
from .writer import Writer, pointer


def boxes(g: Writer, o: Any, writes: bool, body: Callable[[Number, Access, tuple[int, ...]], None]) -> None:
    """For each position of the sparse dimension, the box of elements there; those outside the tensor are masked."""
    view, tensor = o.view.type, g.held[o.view]
    assert isinstance(view, GatherScatterView)
    e, sparse = view.tensor_view.element, view.sparse_dim
    if e.bits == 4:
        raise NotLowered(f"{o.name} of {view}")
    item = BYTES[stored(register(e))]
    sizes = tuple(n for d, n in enumerate(view.tile_shape) if d != sparse)
    loop = g.begin(view.tile_shape[sparse])
    positions = o.index[sparse]
    at = g.chunk(positions, [loop.index][: len(shape(positions))], 0, 1)
    at = g.cast("zext", at, reg(positions), "i64", 1)
    inside = "true" if o.inbounds[sparse] else g.test("ult", at, tensor.shape[sparse])
    if reg(positions) == "i64":
        refuse_far(g, o, at, tensor.strides[sparse], tensor.shape[sparse], inside)
    if not o.inbounds[sparse]:
        at = g.let(f"select i1 {inside}, i64 {at}, i64 0")
    low = g.cast("zext", tensor.base, "i64", "i128", 1)
    low = g.let(f"add i128 {low}, {times(g, at, tensor.strides[sparse], item)}")
    below = above = "0"
    empty = g.let(f"xor i1 {inside}, true")
    first: list[Number] = []
    last: list[Number] = []
    strides: list[Number] = []
    for d, size in enumerate(view.tile_shape):
        if d == sparse:
            continue
        stride = tensor.strides[d]
        from_, to, begin = _clipped(g, o.index[d], tensor.shape[d], size, o.inbounds[d])
        if reg(o.index[d]) == "i64":
            at = g.scalar(o.index[d])
            known = "true" if o.inbounds[d] else g.test("ult", at, tensor.shape[d])
            refuse_far(g, o, at, stride, tensor.shape[d], known)
        low = g.let(f"add i128 {low}, {times(g, begin, stride, item)}")
        ends = [times(g, n, stride, item) for n in (from_, g.sub(to, 1))]
        least, most = (g.intrinsic(name, "i128", 1, *ends) for name in ("smin", "smax"))
        below, above = g.let(f"add i128 {below}, {least}"), g.let(f"add i128 {above}, {most}")
        empty = g.either(empty, g.test("sge", from_, to))
        first.append(from_)
        last.append(to)
        strides.append(stride)
    start = g.cast("trunc", low, "i128", "i64", 1)
    bounds = bounds_of(g, start, below, above, item)

    def box() -> tuple[str, list[tuple[Number, Number]]]:
        at: Number = start
        for n, stride in zip(first, strides):
            at = g.add(at, times(g, n, stride, item, "i64"))
        counts = [g.sub(end, n) for n, end in zip(first, last)]
        return str(at), [(n, times(g, 1, stride, item, "i64")) for n, stride in zip(counts, strides)]

    check(g, o, tensor, (below, above), bounds, item, empty, writes, box)
    if not sizes:
        sizes, strides, first, last = (1,), [1], [0], [1]
    last = [g.let(f"select i1 {empty}, i64 0, i64 {n}") for n in last]
    access = Access(
        pointer(g, start), tuple(last), tuple(strides), "false", e, bounds[0], bounds[1], padding_of(view), tuple(first)
    )
    g.at_edge(lambda: body(loop.index, access, sizes))
    g.end(loop)


def _clipped(g: Writer, v: Value, size: Number, tile: int, sure: bool) -> tuple[Number, Number, Number]:
    """Return the range of elements of a tile that are in the tensor along a dimension, and the start of the tile."""
    if sure:
        return 0, tile, g.cast("sext", g.scalar(v), reg(v), "i64", 1)
    begin = g.least(g.most(g.cast("sext", g.scalar(v), reg(v), "i64", 1), -tile), LARGE)
    return g.most(g.sub(0, begin), 0), g.least(g.sub(size, begin), tile), begin


def _inside(o: Any, position: Number, index: list[Number]) -> list[Number]:
    """The index in the tile of an element of a box."""
    sparse, rank = o.view.type.sparse_dim, len(o.view.type.tile_shape)
    return [*index[:sparse], position, *index[sparse:]][:rank] if rank > 1 else [position]


def _rows(g: Writer, o: Any, sizes: tuple[int, ...], body: Callable[[list[Number], int, int], None]) -> None:
    """Loops over a box; by vectors, unless the sparse dimension comes last."""
    before = g.lanes
    if o.view.type.sparse_dim >= len(sizes) or wide_dims(sizes)[-1:] != [len(sizes) - 1]:
        g.lanes = 1
    g.nest(sizes, body)
    g.lanes = before


def gather(g: Writer, o: LoadViewTko) -> None:
    """Load the positions one by one."""
    out, t = g.buffer(shape(o.tile), reg(o.tile)), stored(reg(o.tile))

    def box(position: Number, a: Access, sizes: tuple[int, ...]) -> None:
        def one(index: list[Number], vd: int, w: int) -> None:
            g.write(out, load_chunk(g, a, t, tuple(index), vd, w), _inside(o, position, index), w)

        _rows(g, o, sizes, one)

    settle_loads(g, list(o.index))
    boxes(g, o, False, box)
    g.settle({o.tile: g.truth(g.load(t, out.pointer), reg(o.tile), 1) if is_scalar(o.tile) else out})


def scatter(g: Writer, o: StoreViewTko) -> None:
    """Store the positions one by one."""
    settle_loads(g, [o.tile, *o.index])
    b = source(g, o.tile)

    def box(position: Number, a: Access, sizes: tuple[int, ...]) -> None:
        def one(index: list[Number], vd: int, w: int) -> None:
            inside = _inside(o, position, index)
            x = g.read(b, b.type, inside, len(b.shape) - 1, w)
            store_chunk(g, a, x, b.type, tuple(index), vd, w)

        _rows(g, o, sizes, one)

    boxes(g, o, True, box)
