"""Tensors, views of them, and loads and stores through views.

The bounds of an access are computed in 128 bits, so that no size or stride can wrap. A load is a recipe: it is checked
where it stands, and its elements are read where they are needed. What is still needed when memory may change is read
before. A tile at the edge of its tensor is copied to or from a buffer of the same form, so that only copying needs
masks, and the loops that compute need not be written twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

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
from ...types import DYNAMIC, GatherScatterView, PaddingValue, TensorView, TileView
from ..reference.boxes import wrapped
from ..reference.ops.views import PATTERNS
from ..reference.view_access import layout
from .abi import NotLowered
from .memory import check_range, fault_if, settle_loads
from .registry import HEAVY, emits
from .shapes import source
from .text import BYTES, INTEGER, Number, vector
from .tiles import Access, Tensor, is_scalar, reg, register, shape, stored, wide_dims
from .writer import Writer, pointer

LARGE = 1 << 62
LINE, PART = 64, 16
"""Alignments of stores past the caches: lines, or parts of them, which arrays of NumPy have. The latter are slower."""
FAR = 1 << 40
"""No memory has so many elements along a dimension; larger indices are as good as this one."""


def unsigned(g: Writer, v: Value, limit: int | None) -> str:
    """An unsigned scalar as i64, limited if it has 64 bits."""
    x, t = g.scalar(v), reg(v)
    if t != "i64":
        return g.cast("zext", x, t, "i64", 1)
    return x if limit is None else g.intrinsic("umin", "i64", 1, x, str(limit))


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


# ---------------------------------------------------------------- which elements


def locate(
    g: Writer, o: Any, value: Value, index: tuple[Value, ...], promised: tuple[bool, ...], writes: bool
) -> Access:
    """Find and check the part of a tensor that a tile is."""
    view, tensor = value.type, g.held[value]
    assert isinstance(view, TileView)
    e = view.tensor_view.element
    if isinstance(view, GatherScatterView) or e.bits == 4:
        raise NotLowered(f"{o.name} of {view}")
    item = BYTES[stored(register(e))]
    long = "i128"
    low, reach_low, reach_high = g.cast("zext", tensor.base, "i64", long, 1), "0", "0"
    last: list[Number] = []
    strides: list[Number] = []
    whole, empty = "true", "false"
    dims, steps = layout(view)
    for i, dim, step, size, sure in zip(index, dims, steps, view.tile_shape, promised):
        stride = tensor.strides[dim]
        at = g.mul(unsigned(g, i, LARGE // step if sure else FAR), step)
        moved = _times(g, at, stride, item)
        low = g.let(f"add i128 {low}, {moved}")
        rest: Number = size if sure else g.sub(tensor.shape[dim], at)
        if not sure:
            whole = g.both(whole, g.test("sge", rest, size))
            empty = g.either(empty, g.test("slt", rest, 1))
        ends = _times(g, g.sub(g.least(rest, size), 1), stride, item)
        if isinstance(stride, int) and stride >= 0:
            reach_high = g.let(f"add i128 {reach_high}, {ends}")
        else:
            below, above = (g.intrinsic(name, long, 1, ends, "0") for name in ("smin", "smax"))
            reach_low, reach_high = g.let(f"add i128 {reach_low}, {below}"), g.let(f"add i128 {reach_high}, {above}")
        last.append(rest)
        strides.append(stride)
    start = g.cast("trunc", low, long, "i64", 1)
    bounds = _bounds(g, start, reach_low, reach_high, item)
    _check(g, o, tensor, (reach_low, reach_high), bounds, item, empty, writes)
    return Access(pointer(g, start), tuple(last), tuple(strides), whole, e, bounds[0], bounds[1], padding_of(view))


def _check(
    g: Writer,
    o: Any,
    tensor: Tensor,
    spans: tuple[str, str],
    bounds: tuple[str, str],
    item: int,
    empty: str,
    writes: bool,
) -> None:
    """Fault if the bytes are not in a segment, the address is not aligned, or the part does not fit in memory."""
    bad = "false"
    for reach in spans:
        bad = g.either(bad, g.let(f"icmp ugt i128 {g.let(f'add i128 {reach}, {LARGE}')}, {2 * LARGE}"))
    if item > 1:
        bad = g.either(bad, g.test("ne", g.let(f"and i64 {bounds[0]}, {item - 1}"), 0))
    fault_if(g, o, g.both(bad, g.let(f"xor i1 {empty}, true")))
    check_range(g, o, tensor.home, *bounds, writes, empty)


def _bounds(g: Writer, start: str, low: str, high: str, item: int) -> tuple[str, str]:
    """The first byte and the end of what reaches from `low` to `high` (i128) from an address, which may wrap around."""
    reaches = [g.cast("trunc", x, "i128", "i64", 1) for x in (low, high)]
    first, last = (g.let(f"add i64 {start}, {x}") for x in reaches)
    return first, g.let(f"add i64 {last}, {item}")


def _times(g: Writer, count: Number, stride: Number, item: int) -> str:
    """Elements times stride in bytes, as i128. The stride in bytes wraps around."""
    step: Number = wrapped(stride * item) if isinstance(stride, int) else g.mul(stride, item)
    if isinstance(count, int) and isinstance(step, int):
        return str(count * step)
    a, b = (str(n) if isinstance(n, int) else g.cast("sext", n, "i64", "i128", 1) for n in (count, step))
    return g.let(f"mul i128 {a}, {b}")


def padding_of(view: TileView) -> int:
    e = view.tensor_view.element
    if view.padding_value in (None, PaddingValue.ZERO):
        return 0
    return PATTERNS[e.name][view.padding_value]


# ---------------------------------------------------------------- load


@emits(LoadViewTko)
def load_view(g: Writer, o: LoadViewTko) -> None:
    if isinstance(o.view.type, GatherScatterView):
        gather(g, o)
        return
    a = locate(g, o, o.view, o.index, o.inbounds, False)
    if is_scalar(o.tile):
        g.settle({o.tile: edge_or_whole(g, a, o.tile)})
    elif a.whole == "true":
        g.settle({o.tile: a})
    else:
        copy = Copy(g, a, o.tile)
        g.when(g.opposite(a.whole), copy.fill, rarely=True)
        g.settle({o.tile: copy.unless(a.whole)})


class Copy:
    """A buffer that takes the place of a part of a tensor. Neighbours in memory are neighbours in the buffer."""

    def __init__(self, g: Writer, a: Access, v: Value) -> None:
        self.g, self.access = g, a
        sizes = shape(v)
        inner = next((d for d in reversed(wide_dims(sizes)) if a.strides[d] == 1), wide_dims(sizes)[-1])
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
        g, b = self.g, self.buffer

        def one(index: list[Number], vd: int, w: int) -> None:
            g.write(b, load_chunk(g, self.access, b.type, self.place(index), self.order[vd], w), index, w)

        g.at_edge(lambda: g.nest(b.shape, one))

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
    g.store(t, _padding(g, a, t, 1), slot)
    g.when(a.whole, lambda: g.store(t, g.load(t, a.pointer, BYTES[t]), slot))
    return g.truth(g.load(t, slot), reg(v), 1)


def _padding(g: Writer, a: Access, t: str, w: int) -> str:
    return g.pattern(a.padding, t, w)


def place(g: Writer, a: Access, index: tuple[Number, ...]) -> str:
    at: Number = 0
    for i, stride in zip(index, a.strides):
        at = g.add(at, g.mul(i, stride))
    return g.at(stored(register(a.element)), a.pointer, at)


def mask_of(g: Writer, a: Access, index: tuple[Number, ...], vd: int, w: int) -> str | None:
    """Which elements of a chunk are inside the tensor; None where all are."""
    if not g.masked:
        return None
    mask = None
    for d, (i, last) in enumerate(zip(index, a.last)):
        if d == vd and w > 1:
            at = g.op("add", "i64", w, g.splat(str(i), "i64", w), g.numbers("i64", w))
            c = g.compare("slt", "i64", w, at, g.splat(str(last), "i64", w))
        else:
            c = g.splat(g.test("slt", i, last), "i1", w)
        mask = c if mask is None else g.op("and", "i1", w, mask, c)
    for d, (i, first) in enumerate(zip(index, a.first)):
        if d == vd and w > 1:
            at = g.op("add", "i64", w, g.splat(str(i), "i64", w), g.numbers("i64", w))
            c = g.compare("sge", "i64", w, at, g.splat(str(first), "i64", w))
        else:
            c = g.splat(g.test("sge", i, first), "i1", w)
        mask = c if mask is None else g.op("and", "i1", w, mask, c)
    return mask


def load_chunk(g: Writer, a: Access, t: str, index: tuple[Number, ...], vd: int, w: int) -> str:
    """Elements of a tile that is loaded through a view."""
    kind = stored(t)
    v, p, mask = vector(kind, w), place(g, a, index), mask_of(g, a, index, vd, w)
    if w == 1 and mask is not None:
        slot = g.slot(kind)
        g.store(kind, _padding(g, a, kind, 1), slot)
        x = g.load(kind, g.let(f"select i1 {mask}, ptr {p}, ptr {slot}"), BYTES[kind])
    elif w > 1 and a.strides[vd] != 1:
        rest = "zeroinitializer" if mask is None else _padding(g, a, kind, w)
        numbers = g.op("mul", "i64", w, g.splat(str(a.strides[vd]), "i64", w), g.numbers("i64", w))
        x = g.gather(g.let(f"getelementptr {kind}, ptr {p}, <{w} x i64> {numbers}"), kind, w, mask, rest)
    elif mask is None:
        x = g.load(v, p, BYTES[kind])
    else:
        f = f"@llvm.masked.load.{_mangled(kind, w)}.p0"
        g.needs[f"declare {v} {f}(ptr, i32, <{w} x i1>, {v})"] = None
        rest = _padding(g, a, kind, w)
        x = g.let(f"call {v} {f}(ptr {p}, i32 {BYTES[kind]}, <{w} x i1> {mask}, {v} {rest})")
    return g.truth(x, t, w)


def _mangled(t: str, w: int) -> str:
    return f"v{w}" + {"float": "f32", "double": "f64"}.get(t, t)


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
    loads = g.accesses([o.tile])
    apart = "true"
    for other in loads:
        clear = g.either(g.test("ule", a.high, other.low), g.test("ule", other.high, a.low))
        apart = g.both(apart, clear)
    direct = g.both(apart, a.whole)
    if direct == "true":
        g.with_sides([o.tile], lambda: _stored(g, o, a, direct))
        return
    # Through a buffer also where what is loaded overlaps what is stored.
    copy = Copy(g, a, o.tile)
    place = copy.unless(direct)
    g.with_sides([o.tile], lambda: _stored(g, o, place, direct))
    g.when(g.opposite(direct), copy.write_back, rarely=True)


def _stored(g: Writer, o: StoreViewTko, a: Access, direct: str) -> None:
    """Past the caches where the launch says so and every row starts on a line, otherwise as usual."""
    sizes = shape(o.tile)
    dims, item = wide_dims(sizes), BYTES[stored(reg(o.tile))]
    if min(g.lanes, sizes[dims[-1]]) * item < 64 or a.strides[dims[-1]] != 1:
        _loops(g, o, a)
        return
    places = g.let(f"ptrtoint ptr {a.pointer} to i64")
    for stride, n in zip(a.strides, sizes):
        if n > 1 and stride != 1:
            places = g.let(f"or i64 {places}, {g.mul(stride, item)}")
    lines, parts = (g.test("eq", g.let(f"and i64 {places}, {n - 1}"), 0) for n in (LINE, PART))
    stream = g.both(direct, "%stream")

    def as_usual() -> None:
        _loops(g, o, a)

    def in_parts() -> None:
        g.when(g.both(parts, stream), lambda: _loops(g, o, a, PART), as_usual)

    otherwise = in_parts if is_light(g, o.tile) else as_usual
    g.when(g.both(lines, stream), lambda: _loops(g, o, a, LINE), otherwise)


def is_light(g: Writer, v: Value) -> bool:
    """Whether computing a tile takes less time than storing it."""
    found: dict[Value, bool] = {}
    g.behind(v, found, None)
    return not any(type(u.owner) in HEAVY for u in found if not is_scalar(u))


def _loops(g: Writer, o: StoreViewTko, a: Access, streamed: int = 0) -> None:
    def body(index: list[Number], vd: int, w: int) -> None:
        x, t = g.final(g.chunk(o.tile, index, vd, w), o.tile, w)
        store_chunk(g, a, x, t, tuple(index), vd, w, streamed)

    g.nest(shape(o.tile), body, [o.tile])


def store_chunk(
    g: Writer, a: Access, x: str, t: str, index: tuple[Number, ...], vd: int, w: int, streamed: int = 0
) -> None:
    """Store a chunk; past the caches if `streamed` gives an alignment."""
    v, p, mask = vector(t, w), place(g, a, index), mask_of(g, a, index, vd, w)
    if w == 1:
        g.when(mask or "true", lambda: g.store(t, x, p, BYTES[t]))
    elif a.strides[vd] != 1:
        numbers = g.op("mul", "i64", w, g.splat(str(a.strides[vd]), "i64", w), g.numbers("i64", w))
        places = g.let(f"getelementptr {t}, ptr {p}, <{w} x i64> {numbers}")
        f = f"@llvm.masked.scatter.{_mangled(t, w)}.v{w}p0"
        g.needs[f"declare void {f}({v}, <{w} x ptr>, i32, <{w} x i1>)"] = None
        g.put(f"call void {f}({v} {x}, <{w} x ptr> {places}, i32 {BYTES[t]}, <{w} x i1> {mask or 'splat (i1 true)'})")
    elif mask is None:
        g.store(v, x, p, streamed or BYTES[t], ", !nontemporal !0" if streamed else "")
    else:
        f = f"@llvm.masked.store.{_mangled(t, w)}.p0"
        g.needs[f"declare void {f}({v}, ptr, i32, <{w} x i1>)"] = None
        g.put(f"call void {f}({v} {x}, ptr {p}, i32 {BYTES[t]}, <{w} x i1> {mask})")


# ---------------------------------------------------------------- gather and scatter


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
    if not o.inbounds[sparse]:
        inside = g.test("ult", at, tensor.shape[sparse])
        at = g.let(f"select i1 {inside}, i64 {at}, i64 0")
    else:
        inside = "true"
    low = g.cast("zext", tensor.base, "i64", "i128", 1)
    low = g.let(f"add i128 {low}, {_times(g, at, tensor.strides[sparse], item)}")
    below = above = "0"
    empty = g.let(f"xor i1 {inside}, true")
    first: list[Number] = []
    last: list[Number] = []
    strides: list[Number] = []
    for d, size in enumerate(view.tile_shape):
        if d == sparse:
            continue
        from_, to, begin = _clipped(g, o.index[d], tensor.shape[d], size, o.inbounds[d])
        stride = tensor.strides[d]
        low = g.let(f"add i128 {low}, {_times(g, begin, stride, item)}")
        ends = [_times(g, n, stride, item) for n in (from_, g.sub(to, 1))]
        least, most = (g.intrinsic(name, "i128", 1, *ends) for name in ("smin", "smax"))
        below, above = g.let(f"add i128 {below}, {least}"), g.let(f"add i128 {above}, {most}")
        empty = g.either(empty, g.test("sge", from_, to))
        first.append(from_)
        last.append(to)
        strides.append(stride)
    start = g.cast("trunc", low, "i128", "i64", 1)
    bounds = _bounds(g, start, below, above, item)
    _check(g, o, tensor, (below, above), bounds, item, empty, writes)
    if not sizes:
        sizes, strides, first, last = (1,), [1], [0], [1]
    last = [g.let(f"select i1 {empty}, i64 0, i64 {n}") for n in last]
    access = Access(
        pointer(g, start), tuple(last), tuple(strides), "false", e, bounds[0], bounds[1], padding_of(view), tuple(first)
    )
    g.at_edge(lambda: body(loop.index, access, sizes))
    g.end(loop)


def _clipped(g: Writer, v: Value, size: Number, tile: int, sure: bool) -> tuple[Number, Number, Number]:
    """Which elements of a tile lie in the tensor along a dimension, from and to, and where the tile begins."""
    if sure:
        return 0, tile, g.cast("sext", g.scalar(v), reg(v), "i64", 1)
    begin = g.least(g.most(g.cast("sext", g.scalar(v), reg(v), "i64", 1), -FAR), FAR)
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
