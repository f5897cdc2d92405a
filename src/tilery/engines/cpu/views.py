"""Tensors, views of them, and loads and stores through views.

A load is a recipe: it is checked where it stands, and its elements are read where they are needed. What is still needed
when memory may change is read before. A tile at the edge of its tensor is copied to or from a buffer of the same form,
so that only copying needs masks, and the loops that compute need not be written twice.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, cast

from ...ir import Value
from ...ops import (
    GetIndexSpaceShape,
    GetTensorShape,
    LoadViewTko,
    MakeGatherScatterView,
    MakePartitionView,
    MakeStridedView,
    MakeTensorView,
    StoreViewTko,
)
from ...types import DYNAMIC, GatherScatterView, TensorView, TileView
from ..common.layout import layout
from .access import LARGE, LINE, PAST_CACHES, fetch, load_chunk, locate, padding, place, store_chunk, unsigned
from .registry import emits
from .sparse import gather, scatter
from .text import BYTES, INTEGER, Number, vector
from .tiles import Access, Home, Tensor, is_scalar, reg, shape, stored, wide_dims
from .writer import Writer

PART = 16
"""Bytes of a part of a line that can be stored at once. NumPy's arrays begin at such a part."""


@emits(MakeTensorView)
def make_tensor_view(g: Writer, o: MakeTensorView) -> None:
    tensor = o.result.type
    assert isinstance(tensor, TensorView)
    sizes, steps = iter(o.dynamicShape), iter(o.dynamicStrides)
    extents = tuple(unsigned(g, next(sizes), LARGE) if n == DYNAMIC else n for n in tensor.shape)
    strides = tuple(unsigned(g, next(steps), None) if n == DYNAMIC else n for n in tensor.strides)
    g.held[o.result] = Tensor(g.scalar(o.base), extents, strides, g.homes.get(o.base))


@emits(MakePartitionView, MakeStridedView, MakeGatherScatterView)
def make_view(g: Writer, o: Any) -> None:
    g.held[o.result] = g.held[o.tensor_view]


@emits(GetTensorShape)
def get_tensor_shape(g: Writer, o: GetTensorShape) -> None:
    for result, size in zip(o.result, g.held[o.src].shape):
        g.held[result] = number(g, size, reg(result))


@emits(GetIndexSpaceShape)
def get_index_space_shape(g: Writer, o: GetIndexSpaceShape) -> None:
    view, tensor = o.src.type, g.held[o.src]
    assert isinstance(view, TileView)
    for result, dim, step in zip(o.result, *layout(view)):
        size = tensor.shape[dim]
        count = -(-size // step) if isinstance(size, int) else g.let(f"udiv i64 {g.add(size, step - 1)}, {step}")
        g.held[result] = number(g, count, reg(result))


def number(g: Writer, n: Number, t: str) -> str:
    if isinstance(n, int):
        return ("true" if n & 1 else "false") if t == "i1" else str(n % (1 << int(t[1:])))
    return g.cast("trunc", n, "i64", t, 1)


# ---------------------------------------------------------------- load


@emits(LoadViewTko)
def load_view(g: Writer, o: LoadViewTko) -> None:
    if isinstance(o.view.type, GatherScatterView):
        gather(g, o)
        return
    a = locate(g, o, o.view, o.index, o.inbounds, False)
    if a.empty != "false" and not a.padding:
        g.blank[o.tile] = a.empty
    if o.tile in g.fetchers and not g.frames:
        fetch_ahead(g, o, a, g.held[o.view].home)
    if is_scalar(o.tile):
        g.settle({o.tile: edge_or_whole(g, a, o.tile)})
    elif a.whole == "true":
        g.settle({o.tile: a})
    else:
        copy = Copy(g, a, o.tile)
        g.when(g.opposite(a.whole), copy.fill, rarely=True)
        g.settle({o.tile: copy.unless(a.whole)})


def fetch_ahead(g: Writer, o: LoadViewTko, a: Access, home: Home | None) -> None:
    """Guess what the tile block after the next of this thread reads: twice as far from here as this is from the last.

    A guess outside the segment counts for nothing: then the distance is 0.
    """
    if home is None:
        return
    cell = g.buffer((1,), "i64").pointer
    here, last = g.let(f"ptrtoint ptr {a.pointer} to i64"), g.load("i64", cell)
    g.store("i64", here, cell)
    step = g.mul(g.sub(here, last), 2)
    fits = g.both(g.test("uge", g.add(a.low, step), home.low), g.test("ule", g.add(a.high, step), home.high))
    ahead = g.let(f"select i1 {g.both(fits, a.whole)}, i64 {step}, i64 0")
    g.fetches.setdefault(g.fetchers[o.tile], []).append((a, ahead))


class Copy:
    """A buffer that takes the place of a part of a tensor.

    One to load from has neighbours in memory as neighbours. One to store to is in the order of the tile, in which it is
    written back: where elements share memory, the last one remains.
    """

    def __init__(self, g: Writer, a: Access, v: Value, *, stores: bool = False) -> None:
        self.g, self.access = g, a
        sizes = shape(v)
        inner = len(sizes) - 1 if stores else _inner(sizes, a.strides)
        self.order = [d for d in range(len(sizes)) if d != inner] + [inner]
        t = stored(reg(v))
        self.buffer = g.buffer([sizes[d] for d in self.order], INTEGER.get(t, t))

    def unless(self, direct: str) -> Access:
        """The part itself where `direct` holds, else the buffer."""
        g, a, b = self.g, self.access, self.buffer
        strides = list(a.strides)
        for n, d in enumerate(self.order):
            if b.shape[n] > 1 and strides[d] != (step := prod(b.shape[n + 1 :])):
                strides[d] = g.let(f"select i1 {direct}, i64 {strides[d]}, i64 {step}")
        pointer = g.let(f"select i1 {direct}, ptr {a.pointer}, ptr {b.pointer}", "p")
        return replace(a, pointer=pointer, strides=tuple(strides), whole="true")

    def fill(self) -> None:
        """Read the part, with padding outside the tensor."""
        g, a, b = self.g, self.access, self.buffer

        def one(index: list[Number], vd: int, w: int) -> None:
            g.write(b, load_chunk(g, a, b.type, self.place(index), self.order[vd], w), index, w)

        def blank(index: list[Number], vd: int, w: int) -> None:
            g.write(b, padding(g, a, b.type, w), index, w)

        g.when(a.empty, lambda: g.nest(b.shape, blank), lambda: g.at_edge(lambda: g.nest(b.shape, one)))

    def write_back(self) -> None:
        """Store what lies inside the tensor."""
        g, b = self.g, self.buffer

        def one(index: list[Number], vd: int, w: int) -> None:
            x = g.read(b, b.type, index, vd, w)
            store_chunk(g, self.access, x, b.type, self.place(index), self.order[vd], w)

        g.at_edge(lambda: g.nest(b.shape, one))

    def place(self, index: list[Number]) -> tuple[Number, ...]:
        """The index in the tile of an element of the buffer."""
        return tuple(index[self.order.index(d)] for d in range(len(self.order)))


def edge_or_whole(g: Writer, a: Access, v: Value) -> str:
    """A tile of one element: its value, loaded now."""
    t = stored(reg(v))
    slot = g.slot(t)
    g.store(t, padding(g, a, t, 1), slot)
    g.when(a.whole, lambda: g.store(t, g.load(t, a.pointer, BYTES[t]), slot))
    return g.truth(g.load(t, slot), reg(v), 1)


# ---------------------------------------------------------------- store


@emits(StoreViewTko)
def store_view(g: Writer, o: StoreViewTko) -> None:
    if isinstance(o.view.type, GatherScatterView):
        scatter(g, o)
        return
    a = locate(g, o, o.view, o.index, o.inbounds, True)
    if is_scalar(o.tile):
        x, t = g.final(g.scalar(o.tile), o.tile, 1)
        g.when(a.whole, lambda: g.store(t, x, a.pointer, BYTES[t]))
        return
    direct = g.both(_apart(g, o.tile, a), a.whole)
    if direct == "true":
        g.with_sides([o.tile], lambda: _stored(g, o, a, direct))
        return
    # Through a buffer also where what is loaded overlaps what is stored.
    copy = Copy(g, a, o.tile, stores=True)
    place = copy.unless(direct)
    g.with_sides([o.tile], lambda: _stored(g, o, place, direct))
    g.when(g.opposite(direct), copy.write_back, rarely=True)


def _apart(g: Writer, v: Value, a: Access) -> str:
    """Whether storing a tile chunk by chunk changes nothing that is still to be loaded for it."""
    behind: dict[Value, bool] = {}
    g.behind(v, behind, None)
    found = "true"
    for u, direct in behind.items():
        other = g.held.get(u)
        if not isinstance(other, Access):
            continue
        clear = g.either(g.test("ule", a.high, other.low), g.test("ule", other.high, a.low))
        if direct and wide_dims(shape(u)) == wide_dims(shape(v)) and other.element.bits == a.element.bits:
            clear = g.either(clear, _same_place(g, v, a, other))
        found = g.both(found, clear)
    return found


def _same_place(g: Writer, v: Value, a: Access, other: Access) -> str:
    """Whether a tile is stored where another of the same form was loaded, each element in a place of its own."""
    same = g.let(f"icmp eq ptr {a.pointer}, {other.pointer}")
    for d in wide_dims(shape(v)):
        if a.strides[d] != other.strides[d]:
            same = g.both(same, g.test("eq", a.strides[d], other.strides[d]))
    return g.both(same, _is_injective(g, shape(v), a.strides))


def _is_injective(g: Writer, sizes: tuple[int, ...], strides: tuple[Number, ...]) -> str:
    """Whether no two elements share memory: each stride is longer than the dimensions inside it, taken row by row.

    The dimension of neighbours comes first. Another order, or strides that are negative, count as overlapping.
    """
    dims = wide_dims(sizes)
    inner = _inner(sizes, strides)
    found, reach = "true", cast(Number, 0)
    for d in [inner, *(d for d in reversed(dims) if d != inner)]:
        stride = strides[d]
        if isinstance(stride, int) and isinstance(reach, int):
            found = found if stride > reach else "false"
        else:
            found = g.both(found, g.test("sgt", stride, reach))
        reach = g.add(reach, g.mul(stride, sizes[d] - 1))
    return found


def _inner(sizes: tuple[int, ...], strides: tuple[Number, ...]) -> int:
    """The dimension along which elements are neighbours in memory; the last one that is wide if that is unknown."""
    dims = wide_dims(sizes)
    return next((d for d in reversed(dims) if strides[d] == 1), dims[-1])


def _stored(g: Writer, o: StoreViewTko, a: Access, direct: str) -> None:
    """Past the caches where the launch says so, otherwise as usual."""
    sizes = shape(o.tile)
    vd, item = wide_dims(sizes)[-1], BYTES[stored(reg(o.tile))]
    if min(g.lanes, sizes[vd]) * item < LINE or a.strides[vd] != 1:
        _loops(g, o, a)
    else:
        g.when(g.both(direct, "%stream"), Lines(g, o, a).write, lambda: _loops(g, o, a))


def _loops(g: Writer, o: StoreViewTko, a: Access) -> None:
    def body(index: list[Number], vd: int, w: int) -> None:
        fetch(g, o, index, w)
        x, t = g.final(g.chunk(o.tile, index, vd, w), o.tile, w)
        store_chunk(g, a, x, t, tuple(index), vd, w)

    g.nest(shape(o.tile), body, [o.tile])


class Lines:
    """Stores a tile past the caches, which pays for whole lines only, wherever its rows begin.

    What a row has before its first line and after its last is stored in pieces, the former first and the latter last:
    with those of the neighbouring rows they make up lines before the processor writes them.
    """

    def __init__(self, g: Writer, o: StoreViewTko, a: Access) -> None:
        self.g, self.op, self.access = g, o, a
        sizes, self.type = shape(o.tile), stored(reg(o.tile))
        self.vd = wide_dims(sizes)[-1]
        self.size, self.line = sizes[self.vd], LINE // BYTES[self.type]
        self.index: list[Number] = [0] * len(sizes)

    def at(self, i: Number) -> list[Number]:
        return [i if d == self.vd else n for d, n in enumerate(self.index)]

    def write(self) -> None:
        g, sizes = self.g, shape(self.op.tile)
        rows = []
        for d in wide_dims(sizes)[:-1]:
            rows.append(g.begin(sizes[d]))
            self.index[d] = rows[-1].index
        self.write_row()
        for loop in reversed(rows):
            g.end(loop)

    def write_row(self) -> None:
        g = self.g
        widths = dict.fromkeys((min(g.lanes, self.size), self.line))
        for w in widths:
            g.hoist(self.op.tile, self.at(0), self.vd, w)
        row = g.let(f"ptrtoint ptr {place(g, self.access, tuple(self.at(0)))} to i64")
        rest = g.let(f"and i64 {g.sub(0, row)}, {LINE - 1}")
        before: Number = g.let(f"udiv i64 {rest}, {BYTES[self.type]}")
        uneven = g.test("ne", before, 0)
        g.when(uneven, lambda: self.store_some(0, 0, before))
        at = before
        for w in widths:
            loop = g.begin(self.size - w + 1, w, low=at)
            fetch(g, self.op, self.at(loop.index), w)
            x, t = self.computed(loop.index, w)
            store_chunk(g, self.access, x, t, tuple(self.at(loop.index)), self.vd, w, streamed=True)
            g.end(loop)
            at = loop.index
        g.when(uneven, lambda: self.store_some(self.size - self.line, before, self.line))

    def computed(self, i: Number, w: int) -> tuple[str, str]:
        tile = self.op.tile
        return self.g.final(self.g.chunk(tile, self.at(i), self.vd, w), tile, w)

    def store_some(self, start: int, low: Number, high: Number) -> None:
        """Store some elements of a line that begins at `start`, by parts where they are aligned, else one by one.

        The others may come out wrong, because what they were computed from may have been overwritten in the meantime.
        """
        g, line = self.g, self.line
        x, t = self.computed(start, line)
        t, x = INTEGER.get(t, t), g.cast("bitcast", x, t, INTEGER.get(t, t), line)
        b = g.buffer((line,), t)
        g.write(b, x, [0], line)
        part = PART // BYTES[t]

        def pieces(w: int) -> None:
            loop = g.begin(high, w, low=low)
            p = place(g, self.access, tuple(self.at(g.add(start, loop.index))))
            g.store(vector(t, w), g.read(b, t, [loop.index], 0, w), p, w * BYTES[t], PAST_CACHES)
            g.end(loop)

        odd = g.let(f"and i64 {g.let(f'or i64 {low}, {high}')}, {part - 1}")
        g.when(g.test("eq", odd, 0), lambda: pieces(part), lambda: pieces(1))
