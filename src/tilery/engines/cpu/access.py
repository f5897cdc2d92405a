"""The parts of tensors that tiles are: their bounds, which are checked, and their elements, chunk by chunk.

Bounds are computed in 128 bits, so that no size or stride can wrap, unless strides of 32 bits keep them small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir import Op, Value
from ...types import GatherScatterView, PaddingValue, TileView
from ..common.layout import FAR, PATTERNS, layout, wrapped
from .abi import NotLowered
from .memory import check_box, fault_if
from .segments import Box
from .text import BYTES, Number, vector
from .tiles import Access, Tensor, reg, register, stored
from .writer import Writer, pointer

LARGE = 1 << 62
"""Sizes of tensors are limited to this."""
LAST = (1 << 63) - 1
"""First elements of tiles are limited to this, which is outside every tensor, and far enough from it."""
LINE = 64
"""Bytes of a cache line."""
PAST_CACHES = ", !nontemporal !0"
"""Marks a store of a whole line, or of a part of a line that is completed soon."""


def unsigned(g: Writer, v: Value, limit: int | None) -> str:
    """An unsigned scalar as i64, limited if it has 64 bits."""
    x, t = g.scalar(v), reg(v)
    if t != "i64":
        name = g.cast("zext", x, t, "i64", 1)
        g.narrow.add(name)
        return name
    return x if limit is None else g.intrinsic("umin", "i64", 1, x, str(limit))


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
    dims, steps = layout(view)
    most = _farthest(g, [(size - 1, tensor.strides[dim]) for dim, size in zip(dims, view.tile_shape)])
    long = "i64" if most * item < LARGE else "i128"
    low, reach_low, reach_high = g.cast("zext", tensor.base, "i64", long, 1), "0", "0"
    last: list[Number] = []
    strides: list[Number] = []
    whole, empty = "true", "false"
    for i, dim, step, size, sure in zip(index, dims, steps, view.tile_shape, promised):
        stride = tensor.strides[dim]
        at = g.mul(unsigned(g, i, LAST // step), step)
        low = g.let(f"add {long} {low}, {times(g, at, stride, item, long)}")
        rest: Number = size if sure else g.sub(tensor.shape[dim], at)
        if reg(i) == "i64":
            refuse_far(g, o, at, stride, tensor.shape[dim], "true" if sure else g.test("sgt", rest, 0))
        if not sure:
            whole = g.both(whole, g.test("sge", rest, size))
            empty = g.either(empty, g.test("slt", rest, 1))
        ends = times(g, g.sub(g.least(rest, size), 1), stride, item, long)
        if long == "i64" or (isinstance(stride, int) and stride >= 0):
            reach_high = g.let(f"add {long} {reach_high}, {ends}")
        else:
            below, above = (g.intrinsic(name, long, 1, ends, "0") for name in ("smin", "smax"))
            reach_low, reach_high = g.let(f"add i128 {reach_low}, {below}"), g.let(f"add i128 {reach_high}, {above}")
        last.append(rest)
        strides.append(stride)
    start = g.cast("trunc", low, long, "i64", 1)
    bounds = bounds_of(g, start, reach_low, reach_high, item, long)
    spans = (reach_low, reach_high) if long == "i128" else ()

    def box() -> tuple[str, list[tuple[Number, Number]]]:
        counts = [g.least(rest, size) for rest, size in zip(last, view.tile_shape)]
        return start, [(n, times(g, 1, stride, item, "i64")) for n, stride in zip(counts, strides)]

    check(g, o, tensor, spans, bounds, item, empty, writes, box)
    where, pad = pointer(g, start), padding_of(view)
    return Access(where, tuple(last), tuple(strides), whole, e, bounds[0], bounds[1], pad, empty=empty)


def refuse_far(g: Writer, o: Any, at: Number, stride: Number, size: Number, inside: str) -> None:
    """Fault if a tile begins where no memory can be, although that is inside the tensor: offsets wrap around there."""
    far = g.both(g.test("uge", at, FAR), g.either(inside, g.test("sge", size, LARGE)))
    fault_if(g, o, g.both(far, g.test("ne", stride, 0)))


def _farthest(g: Writer, parts: list[tuple[int, Number]]) -> int:
    """Return the largest distance from the first element of a tile to its last, if the tile is not empty."""
    total = 0
    for count, stride in parts:
        if isinstance(stride, int):
            most = stride if stride >= 0 else LARGE
        else:
            most = 1 << 32 if stride in g.narrow else LARGE
        total += count * most
    return total


def check(
    g: Writer,
    o: Any,
    tensor: Tensor,
    spans: tuple[str, ...],
    bounds: tuple[str, str],
    item: int,
    empty: str,
    writes: bool,
    box: Box,
) -> None:
    """Fault if an element is not in a segment, the address is not aligned, or the part does not fit in memory."""
    bad = "false"
    for reach in spans:
        bad = g.either(bad, g.let(f"icmp ugt i128 {g.let(f'add i128 {reach}, {LARGE}')}, {2 * LARGE}"))
    if item > 1:
        bad = g.either(bad, g.test("ne", g.let(f"and i64 {bounds[0]}, {item - 1}"), 0))
    fault_if(g, o, g.both(bad, g.let(f"xor i1 {empty}, true")))
    check_box(g, o, tensor.home, bounds, item, writes, empty, box)


def bounds_of(g: Writer, start: str, low: str, high: str, item: int, long: str = "i128") -> tuple[str, str]:
    """The first byte and the end of what reaches from `low` to `high` from an address, which may wrap around."""
    reaches = [g.cast("trunc", x, long, "i64", 1) for x in (low, high)]
    first, last = (g.let(f"add i64 {start}, {x}") for x in reaches)
    return first, g.let(f"add i64 {last}, {item}")


def times(g: Writer, count: Number, stride: Number, item: int, long: str = "i128") -> str:
    """Elements times stride in bytes; i64 wraps around. The stride in bytes always does."""
    step: Number = wrapped(stride * item) if isinstance(stride, int) else g.mul(stride, item)
    if isinstance(count, int) and isinstance(step, int):
        return str(count * step if long == "i128" else wrapped(count * step))
    a, b = (str(n) if isinstance(n, int) else g.cast("sext", n, "i64", long, 1) for n in (count, step))
    return g.let(f"mul {long} {a}, {b}")


def padding_of(view: TileView) -> int:
    e = view.tensor_view.element
    if view.padding_value in (None, PaddingValue.ZERO):
        return 0
    return PATTERNS[e.name][view.padding_value]


# ---------------------------------------------------------------- elements


def padding(g: Writer, a: Access, t: str, w: int) -> str:
    return g.pattern(a.padding, t, w)


def place(g: Writer, a: Access, index: tuple[Number, ...]) -> str:
    at: Number = 0
    for i, stride in zip(index, a.strides):
        at = g.add(at, g.mul(i, stride))
    return g.at(stored(register(a.element)), a.pointer, at)


def mask_of(g: Writer, a: Access, index: tuple[Number, ...], vd: int, w: int) -> str | None:
    """Return a mask of the elements of a chunk that are inside the tensor; None if all are."""
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
    p, mask = place(g, a, index), mask_of(g, a, index, vd, w)
    if w == 1 and mask is not None:
        slot = g.slot(kind)
        g.store(kind, padding(g, a, kind, 1), slot)
        x = g.load(kind, g.let(f"select i1 {mask}, ptr {p}, ptr {slot}"), BYTES[kind])
    elif w > 1 and a.strides[vd] != 1:
        rest = "zeroinitializer" if mask is None else padding(g, a, kind, w)
        numbers = g.op("mul", "i64", w, g.splat(str(a.strides[vd]), "i64", w), g.numbers("i64", w))
        x = g.gather(g.let(f"getelementptr {kind}, ptr {p}, <{w} x i64> {numbers}"), kind, w, mask, rest)
    else:
        x = g.masked_load(kind, p, w, mask, padding(g, a, kind, w) if mask is not None else "")
    return g.truth(x, t, w)


def fetch(g: Writer, o: Op, index: Sequence[Number], count: int) -> None:
    """Fetch what the next tile block will read, where a loop of an operation works on some elements of a tile."""
    for a, ahead in g.fetches.get(o, ()):
        p = g.at("i8", place(g, a, tuple(index)), ahead)
        for k in range(0, count * BYTES[stored(register(a.element))], LINE):
            g.prefetch(g.at("i8", p, k))


def mangled(t: str, w: int) -> str:
    return f"v{w}" + {"float": "f32", "double": "f64"}.get(t, t)


def store_chunk(
    g: Writer, a: Access, x: str, t: str, index: tuple[Number, ...], vd: int, w: int, streamed: bool = False
) -> None:
    """Store a chunk; past the caches if `streamed`: then it must be lines."""
    v, p, mask = vector(t, w), place(g, a, index), mask_of(g, a, index, vd, w)
    if w == 1:
        g.when(mask or "true", lambda: g.store(t, x, p, BYTES[t]))
    elif a.strides[vd] != 1:
        numbers = g.op("mul", "i64", w, g.splat(str(a.strides[vd]), "i64", w), g.numbers("i64", w))
        places = g.let(f"getelementptr {t}, ptr {p}, <{w} x i64> {numbers}")
        f = f"@llvm.masked.scatter.{mangled(t, w)}.v{w}p0"
        g.needs[f"declare void {f}({v}, <{w} x ptr>, i32, <{w} x i1>)"] = None
        g.put(f"call void {f}({v} {x}, <{w} x ptr> {places}, i32 {BYTES[t]}, <{w} x i1> {mask or 'splat (i1 true)'})")
    elif streamed:
        g.store(v, x, p, LINE, PAST_CACHES)
    else:
        g.masked_store(t, x, p, w, mask)
