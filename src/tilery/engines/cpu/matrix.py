"""Matrix products: operands are packed as the vector unit wants them, blocks of the result stay in registers.

Where the reference engine rounds every step, products have its bits. Longer sums are computed with fused products in
f32, in the order of K starting from the accumulator (with `exact`, in f64): they differ from the reference engine by
the rounding of f32. Integers are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...attrs import Signedness
from ...ir import Op, Value
from ...ops import MmaF, MmaFScaled, MmaI, Permute
from ...types import F32, F64, TF32, Scalar
from ..semantics import rounds_once, uses_tensor_cores
from .arithmetic.floats import NAN32, bits_of, doubled, from_f32, mended64, narrowed, widened
from .memory import any_of
from .registry import emits
from .text import BYTES, Number, vector
from .tiles import Buffer, element, is_scalar, reg, shape
from .writer import Writer

UNROLLED = 4
LARGEST = (1 << 31) - 1
SATURATING = 32
Chunk = Callable[[Number, Number, Number, int], str]
"""From batch, row, column and width to elements of a row."""


class Sizes:
    """The sizes of a product, and of the blocks that stay in registers."""

    def __init__(self, g: Writer, o: Any, t: str) -> None:
        lhs, rhs = shape(o.lhs), shape(o.rhs)
        self.batch = prod(lhs[:-2])
        self.m, self.k, self.n = lhs[-2], lhs[-1], rhs[-1]
        self.w = min(g.target.vector_bytes // BYTES[t], self.n)
        self.columns = min(2 * self.w, self.n)
        self.rows = min(8 if g.target.vector_bytes == 64 else 4, self.m)


def index_of(v: Value, batch: Number, i: Number, j: Number) -> list[Number]:
    return [batch, i, j] if len(shape(v)) == 3 else [i, j]


def factor(g: Writer, x: str, e: Scalar, t: str, w: int) -> str:
    """Elements of an operand as `float` or `double`."""
    if e is F64:
        return x
    if e.is_int:
        raise AssertionError
    if e is TF32:
        x = g.op("and", "i32", w, x, g.const(0xFFFFE000, "i32", w))
    return doubled(g, x, e, w) if t == "double" else widened(g, x, e, w)


def chunk_of(g: Writer, v: Value, t: str) -> Chunk:
    def at(batch: Number, i: Number, j: Number, w: int) -> str:
        return factor(g, g.chunk(v, index_of(v, batch, i, j), len(shape(v)) - 1, w), element(v), t, w)

    return at


# ---------------------------------------------------------------- packing


def packed_lhs(g: Writer, v: Value, t: str, s: Sizes, at: Chunk) -> Buffer:
    """Row by row."""
    key = ("pack", v, "lhs", t)
    if key in g.held:
        found: Buffer = g.held[key]
        return found
    held = g.held.get(v)
    if isinstance(held, Buffer) and held.type == t and element(v) is not TF32:
        return held
    b = g.buffer((s.batch, s.m, s.k), t)

    def one(index: list[Number], vd: int, w: int) -> None:
        g.write(b, at(index[0], index[1], index[2], w), index, w)

    g.nest(b.shape, one)
    g.held[key] = b
    return b


def packed_rhs(g: Writer, v: Value, t: str, s: Sizes, at: Chunk) -> Buffer:
    """In panels of as many columns as stay in registers: [batch][n / columns][k][columns]."""
    key = ("pack", v, "rhs", t)
    if key in g.held:
        found: Buffer = g.held[key]
        return found
    b = g.buffer((s.batch, s.n // s.columns, s.k, s.columns), t)
    owner = v.owner
    squares = v not in g.held and t == "float" and s.k % 16 == s.n % 16 == 0
    if isinstance(owner, Permute) and squares and owner.permutation[-1] == len(shape(v)) - 2:
        _turned(g, owner, b, s)
    else:
        _panels(g, b, s, at)
    g.held[key] = b
    return b


def _panels(g: Writer, b: Buffer, s: Sizes, at: Chunk) -> None:
    w = min(g.lanes, s.columns)
    loops = [g.begin(s.batch), g.begin(s.k)]
    n, k = (loop.index for loop in loops)
    for panel in range(s.n // s.columns):
        for j in range(0, s.columns, w):
            g.write(b, at(n, k, panel * s.columns + j, w), [n, panel, k, j], w)
    for loop in reversed(loops):
        g.end(loop)


def _turned(g: Writer, owner: Permute, b: Buffer, s: Sizes) -> None:
    """The operand is a transposed tile: squares of 16 by 16 are turned in registers."""
    source, rank, w = owner.source, len(shape(owner.source)), 16
    e = element(source)
    loops = [g.begin(s.batch), g.begin(s.n, w), g.begin(s.k, w)]
    batch, n, k = (loop.index for loop in loops)

    def row(r: int) -> str:
        index: list[Number] = [0] * rank
        for here, there in zip(range(rank), owner.permutation):
            index[there] = [batch, k, g.add(n, r)][here + 3 - rank]
        return factor(g, g.chunk(source, index, rank - 1, w), e, "float", w)

    rows = [row(r) for r in range(w)]
    for distance in (8, 4, 2, 1):
        turned = list(rows)
        for r in range(w):
            if not r & distance:
                a, c = rows[r], rows[r + distance]
                low = [i if not i & distance else w + (i ^ distance) for i in range(w)]
                high = [(i ^ distance) if not i & distance else w + i for i in range(w)]
                turned[r] = g.shuffle(a, c, "float", w, low)
                turned[r + distance] = g.shuffle(a, c, "float", w, high)
        rows = turned
    panel = g.let(f"udiv i64 {n}, {s.columns}")
    j = g.let(f"urem i64 {n}, {s.columns}")
    for r, x in enumerate(rows):
        g.write(b, x, [batch, panel, g.add(k, r), j], w)
    for loop in reversed(loops):
        g.end(loop)


# ---------------------------------------------------------------- blocks in registers


def blocks(
    g: Writer, t: str, s: Sizes, a: Buffer, b: Buffer, first: Chunk | None, finish: Callable[..., None], fused: bool
) -> None:
    """Compute the product block by block. `first` gives what to start from, `finish` takes the sums."""
    v, columns = vector(t, s.w), range(0, s.columns, s.w)
    loops = [g.begin(s.batch), g.begin(s.n, s.columns), g.begin(s.m, s.rows)]
    batch, n, m = (loop.index for loop in loops)
    panel = g.at(t, b.pointer, g.add(g.mul(batch, s.k * s.n), g.mul(n, s.k)))
    places = [(g.add(m, r), g.add(n, c)) for r in range(s.rows) for c in columns]
    zero = "zeroinitializer" if s.w > 1 else g.const(0.0, t)
    start = [zero if first is None else first(batch, i, j, s.w) for i, j in places]
    row = g.at(t, a.pointer, g.mul(g.add(g.mul(batch, s.m), m), s.k))
    steps = min(UNROLLED, s.k)
    loop = g.begin(s.k, steps, [(v, x) for x in start])
    sums = loop.names
    for k in range(steps):
        at = g.add(loop.index, k)
        line = g.at(t, panel, g.mul(at, s.columns))
        right = [g.load(v, g.at(t, line, c), BYTES[t]) for c in columns]
        for r in range(s.rows):
            left = g.load(t, g.at(t, g.at(t, row, r * s.k), at), BYTES[t])
            left = g.splat(left, t, s.w)
            for c, y in enumerate(right):
                i = r * len(right) + c
                sums[i] = _step(g, t, s.w, left, y, sums[i], fused)
    g.end(loop, sums)
    for place, x in zip(places, loop.names):
        finish(batch, *place, s.w, x)
    for each in reversed(loops):
        g.end(each)


def _step(g: Writer, t: str, w: int, a: str, b: str, total: str, fused: bool) -> str:
    if fused:
        return g.intrinsic("fma", t, w, a, b, total)
    term = g.op("fmul", t, w, a, b)
    if t == "float":
        return g.op("fadd", t, w, total, term)
    term = mended64(g, term, w, b, a)
    return mended64(g, g.op("fadd", t, w, total, term), w, total, term)


def destination(g: Writer, o: Any) -> Buffer:
    """Where the result goes: over the accumulator that a loop carries, where nothing else needs that."""
    c = g.frames[-1].in_place.get(o.result) if g.frames else None
    if c is not None:
        g.done_in_place.add(o.result)
        found: Buffer = g.held[c.value]
        return found
    return g.goal.get(o.result) or g.buffer(shape(o.result), reg(o.result))


def finished(g: Writer, o: Any, t: str, out: Buffer) -> Callable[..., None]:
    """What stores sums as results."""
    e = element(o.result)

    def finish(batch: Number, i: Number, j: Number, w: int, x: str) -> None:
        kind = out.type
        if e is F32:
            single = x if t == "float" else g.cast("fptrunc", x, "double", "float", w)
            nan, raw = g.compare("uno", "float", w, single, single), bits_of(g, single, "float", w)
            x, kind = g.select(nan, "i32", w, g.const(NAN32, "i32", w), raw), "i32"
        elif e is not F64:
            x = from_f32(g, x, e, w) if t == "float" else narrowed(g, x, e, w)
        g.write(Buffer(out.pointer, out.shape, kind), x, index_of(o.result, batch, i, j), w)

    return finish


@emits(MmaF)
def mmaf(g: Writer, o: MmaF) -> None:
    e = element(o.lhs)
    once = e is not F64 and rounds_once(o)
    t = "double" if e is F64 or (once and g.wanted.exact) else "float"
    s = Sizes(g, o, t)
    a = packed_lhs(g, o.lhs, t, s, chunk_of(g, o.lhs, t))
    b = packed_rhs(g, o.rhs, t, s, chunk_of(g, o.rhs, t))
    acc = chunk_of(g, o.acc, t)
    out = destination(g, o)
    store = finished(g, o, t, out)

    def add_last(batch: Number, i: Number, j: Number, w: int, x: str) -> None:
        last = acc(batch, i, j, w)
        total = g.op("fadd", t, w, x, last)
        store(batch, i, j, w, mended64(g, total, w, x, last) if t == "double" and e is F64 else total)

    first, finish = (acc, store) if once else (None, add_last)
    blocks(g, t, s, a, b, first, finish, once)
    settle(g, o, out)


def settle(g: Writer, o: Any, out: Buffer) -> None:
    found: Any = out
    if is_scalar(o.result):
        found = g.load(out.type, out.pointer)
    g.settle({o.result: found})


@emits(MmaFScaled)
def mmaf_scaled(g: Writer, o: MmaFScaled) -> None:
    """In f64, where elements times scales are exact."""
    t = "double"
    s = Sizes(g, o, t)
    for v in (o.lhs, o.rhs, o.lhs_scale, o.rhs_scale):
        if not is_scalar(v):
            g.materialise(v)
    block = s.k // shape(o.lhs_scale)[-1]

    def left(batch: Number, i: Number, j: Number, w: int) -> str:
        w0 = min(w, block)
        parts = []
        for k in range(0, w, w0):
            at = g.add(j, k)
            scale = g.chunk(o.lhs_scale, index_of(o.lhs, batch, i, _divided(g, at, block)), 0, 1)
            x = doubled(g, g.chunk(o.lhs, index_of(o.lhs, batch, i, at), len(shape(o.lhs)) - 1, w0), element(o.lhs), w0)
            factor = g.splat(doubled(g, scale, element(o.lhs_scale), 1), t, w0)
            parts.append(g.op("fmul", t, w0, x, factor))
        return g.joined(parts, t, w0)

    def right(batch: Number, i: Number, j: Number, w: int) -> str:
        last = len(shape(o.rhs)) - 1
        x = doubled(g, g.chunk(o.rhs, index_of(o.rhs, batch, i, j), last, w), element(o.rhs), w)
        scale = g.chunk(o.rhs_scale, index_of(o.rhs, batch, _divided(g, i, block), j), last, w)
        return g.op("fmul", t, w, x, doubled(g, scale, element(o.rhs_scale), w))

    a, b = g.buffer((s.batch, s.m, s.k), t), g.buffer((s.batch, s.n // s.columns, s.k, s.columns), t)
    g.nest(a.shape, lambda index, vd, w: g.write(a, left(index[0], index[1], index[2], w), index, w))
    _panels(g, b, s, right)
    acc, out = chunk_of(g, o.acc, t), destination(g, o)
    store = finished(g, o, t, out)

    def finish(batch: Number, i: Number, j: Number, w: int, x: str) -> None:
        store(batch, i, j, w, g.op("fadd", t, w, x, acc(batch, i, j, w)))

    blocks(g, t, s, a, b, None, finish, True)
    settle(g, o, out)


def _divided(g: Writer, n: Number, by: int) -> Number:
    return n // by if isinstance(n, int) else g.let(f"udiv i64 {n}, {by}")


# ---------------------------------------------------------------- integers


@emits(MmaI)
def mmai(g: Writer, o: MmaI) -> None:
    """In floats, which are exact as long as sums stay below 2**24 or 2**53."""
    t = "float" if shape(o.lhs)[-1] <= 256 else "double"
    s = Sizes(g, o, t)

    def read(v: Value, signedness: Signedness) -> Chunk:
        name = "sitofp" if signedness is Signedness.SIGNED else "uitofp"

        def at(batch: Number, i: Number, j: Number, w: int) -> str:
            x = g.chunk(v, index_of(v, batch, i, j), len(shape(v)) - 1, w)
            return g.cast(name, x, "i8", t, w)

        return at

    for v in (o.lhs, o.rhs, o.acc):
        if not is_scalar(v):
            g.materialise(v)
    a, b = g.buffer((s.batch, s.m, s.k), t), g.buffer((s.batch, s.n // s.columns, s.k, s.columns), t)
    left, right = read(o.lhs, o.signedness_lhs), read(o.rhs, o.signedness_rhs)
    g.nest(a.shape, lambda index, vd, w: g.write(a, left(index[0], index[1], index[2], w), index, w))
    _panels(g, b, s, right)
    out = g.buffer(shape(o.result), "i32")

    def finish(batch: Number, i: Number, j: Number, w: int, x: str) -> None:
        # Through i64: long sums wrap around.
        wide = g.cast("fptosi", x, t, "i64", w)
        last = g.chunk(o.acc, index_of(o.acc, batch, i, j), len(shape(o.acc)) - 1, w)
        total = g.op("add", "i32", w, g.cast("trunc", wide, "i64", "i32", w), last)
        g.write(out, total, index_of(o.result, batch, i, j), w)

    blocks(g, t, s, a, b, None, finish, True)
    if uses_tensor_cores(o):
        _saturate(g, o, s, t, a, b, out)
    settle(g, o, out)


def _saturate(g: Writer, o: MmaI, s: Sizes, t: str, a: Buffer, b: Buffer, out: Buffer) -> None:
    """Once more with sums that saturate after each 32 steps, if an accumulator is so large that they may."""
    reach = s.k * 255 * 255
    sizes = shape(o.acc)
    seen = g.slot("i1")
    g.store("i1", "false", seen)

    def look(index: list[Number], vd: int, w: int) -> None:
        x = g.chunk(o.acc, index, vd, w)
        above = g.compare("sgt", "i32", w, x, g.const(LARGEST - reach, "i32", w))
        below = g.compare("slt", "i32", w, x, g.const(reach - LARGEST, "i32", w))
        found = any_of(g, g.op("or", "i1", w, above, below), w)
        g.store("i1", g.either(g.load("i1", seen), found), seen)

    before, g.lanes = g.lanes, min(16, g.lanes)
    g.nest(sizes, look)
    g.lanes = before
    g.when(g.load("i1", seen), lambda: _saturated(g, o, s, t, a, b, out), rarely=True)


def _saturated(g: Writer, o: MmaI, s: Sizes, t: str, a: Buffer, b: Buffer, out: Buffer) -> None:
    loops = [g.begin(s.batch), g.begin(s.m), g.begin(s.n)]
    batch, m, n = (loop.index for loop in loops)
    total = g.cast("sext", g.chunk(o.acc, index_of(o.acc, batch, m, n), 0, 1), "i32", "i64", 1)
    panel, column = g.let(f"udiv i64 {n}, {s.columns}"), g.let(f"urem i64 {n}, {s.columns}")
    step = min(SATURATING, s.k)
    outer = g.begin(s.k, step, [("i64", total)])
    inner = g.begin(step, 1, [("i64", outer.names[0])])
    k = g.add(outer.index, inner.index)
    x = g.read(a, t, [batch, m, k], 2, 1)
    y = g.read(b, t, [batch, panel, k, column], 3, 1)
    term = g.cast("fptosi", g.op("fmul", t, 1, x, y), t, "i64", 1)
    g.end(inner, [g.op("add", "i64", 1, inner.names[0], term)])
    limited = g.intrinsic("smax", "i64", 1, inner.names[0], str(-LARGEST - 1))
    g.end(outer, [g.intrinsic("smin", "i64", 1, limited, str(LARGEST))])
    g.write(out, g.cast("trunc", outer.names[0], "i64", "i32", 1), index_of(o.result, batch, m, n), 1)
    for loop in reversed(loops):
        g.end(loop)


def pack_before(g: Writer, o: Op, own: set[Value]) -> set[Value]:
    """Pack operands of a product in a region that come from outside; return them."""
    if not isinstance(o, MmaF) or element(o.lhs) is F64:
        return set()
    t = "double" if rounds_once(o) and g.wanted.exact else "float"
    s = Sizes(g, o, t)
    found = set()
    if o.lhs not in own:
        packed_lhs(g, o.lhs, t, s, chunk_of(g, o.lhs, t))
        found.add(o.lhs)
    if o.rhs not in own:
        packed_rhs(g, o.rhs, t, s, chunk_of(g, o.rhs, t))
        found.add(o.rhs)
    return found
