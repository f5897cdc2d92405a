"""Matrix products: operands are packed as the vector unit wants them, blocks of the result stay in registers.

Where the reference engine rounds every step, products have its bits. Longer sums are computed with fused products in
f32, in the order of K starting from the accumulator (with `exact`, in f64): they differ from the reference engine by
the rounding of f32. `pairs` has the products of integers, and those of bf16 with instructions for it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ....ir import Value
from ....ops import MmaF, MmaFScaled
from ....types import F32, F64, TF32, Scalar
from ...semantics import rounds_once
from ..arithmetic.floats import doubled, fixed64, from_f32, narrowed, widened
from ..registry import emits
from ..shapes import along
from ..text import BYTES, Number, vector
from ..tiles import Buffer, element, is_scalar, reg, shape
from ..writer import Writer

UNROLLED = 2
Chunk = Callable[[Number, Number, Number, int], str]
"""From batch, row, column and width to elements of a row."""
Step = Callable[[str, str, str], str]
"""From the element of a row, the elements of a column and sums so far to the next sums."""


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
    _rows(g, b, at)
    g.held[key] = b
    return b


def _rows(g: Writer, b: Buffer, at: Chunk) -> None:
    """Fill a buffer row by row. Vectors run along K: if it has one element, so do they."""

    def one(index: list[Number], vd: int, w: int) -> None:
        g.write(b, at(index[0], index[1], index[2], w), index, w)

    before, g.lanes = g.lanes, min(g.lanes, b.shape[-1])
    g.nest(b.shape, one)
    g.lanes = before


def packed_rhs(g: Writer, v: Value, t: str, s: Sizes, at: Chunk) -> Buffer:
    """In panels of as many columns as stay in registers: [batch][n / columns][k][columns]."""
    key = ("pack", v, "rhs", t)
    if key in g.held:
        found: Buffer = g.held[key]
        return found
    b = g.buffer((s.batch, s.n // s.columns, s.k, s.columns), t)
    if t == "float" and turns(g, v, s):
        e, dim = element(v), len(shape(v)) - 2
        turned_panels(g, b, s, lambda *place: factor(g, g.chunk(v, index_of(v, *place), dim, 16), e, t, 16))
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


def turns(g: Writer, v: Value, s: Sizes) -> bool:
    """Whether the right operand of a product is transposed, and blocks of 16 by 16 fit in it and in its panels."""
    return s.k % 16 == s.columns % 16 == 0 and along(g, v) == len(shape(v)) - 2


def turned_panels(g: Writer, b: Buffer, s: Sizes, read: Callable[[Number, Number, Number], str]) -> None:
    """Pack an operand by squares that are turned in registers; `read` gives 16 elements of a column."""
    w = 16
    loops = [g.begin(s.batch), g.begin(s.n, w), g.begin(s.k, w)]
    batch, n, k = (loop.index for loop in loops)
    panel = g.let(f"udiv i64 {n}, {s.columns}")
    j = g.let(f"urem i64 {n}, {s.columns}")
    for r, x in enumerate(g.turned([read(batch, k, g.add(n, c)) for c in range(w)], b.type)):
        g.write(b, x, [batch, panel, g.add(k, r), j], w)
    for loop in reversed(loops):
        g.end(loop)


# ---------------------------------------------------------------- blocks in registers


def blocks(
    g: Writer, t: str, s: Sizes, a: Buffer, b: Buffer, first: Chunk | None, finish: Callable[..., None], step: Step
) -> None:
    """Compute the product block by block. `first` gives what to start from, `finish` takes the sums, of type `t`."""
    e, columns = a.type, range(0, s.columns, s.w)
    v = vector(e, s.w)
    loops = [g.begin(s.batch), g.begin(s.n, s.columns), g.begin(s.m, s.rows)]
    batch, n, m = (loop.index for loop in loops)
    panel = g.at(e, b.pointer, g.add(g.mul(batch, s.k * s.n), g.mul(n, s.k)))
    places = [[(g.add(m, r), g.add(n, c)) for c in columns] for r in range(s.rows)]
    zero = "zeroinitializer" if s.w > 1 else g.const(0.0, t)
    sums = [[zero if first is None else first(batch, i, j, s.w) for i, j in row] for row in places]
    row = g.at(e, a.pointer, g.mul(g.add(g.mul(batch, s.m), m), s.k))

    def right(k: Number) -> list[str]:
        line = g.at(e, panel, g.mul(k, s.columns))
        return [g.load(v, g.at(e, line, c), BYTES[e]) for c in columns]

    def next_sums(r: int, k: Number, ys: list[str]) -> None:
        x = g.splat(g.load(e, g.at(e, g.at(e, row, r * s.k), k), BYTES[e]), e, s.w)
        sums[r] = [step(x, y, total) for y, total in zip(ys, sums[r])]

    last, across = min(UNROLLED, s.k), len(columns)
    if s.k > last:
        loop = g.begin(s.k - last, last, [(vector(t, s.w), x) for xs in sums for x in xs])
        carried = [loop.names[i : i + across] for i in range(0, s.rows * across, across)]
        sums = list(carried)
        for k in range(last):
            at = g.add(loop.index, k)
            ys = right(at)
            for r in range(s.rows):
                next_sums(r, at, ys)
        g.end(loop, [x for xs in sums for x in xs])
        sums = carried
    # The last steps go row by row: the processor stores a row while it computes the next one.
    rest = range(s.k - last, s.k)
    lines = [right(k) for k in rest]
    for r in range(s.rows):
        for k, ys in zip(rest, lines):
            next_sums(r, k, ys)
        for place, x in zip(places[r], sums[r]):
            finish(batch, *place, s.w, x)
    for each in reversed(loops):
        g.end(each)


def multiply(g: Writer, t: str, w: int, fused: bool) -> Step:
    """Steps of floats: fused, or rounded twice, where f64 has the NaN of the first operand that has one."""

    def step(a: str, b: str, total: str) -> str:
        if fused:
            return g.intrinsic("fma", t, w, a, b, total)
        term = g.op("fmul", t, w, a, b)
        if t == "float":
            return g.op("fadd", t, w, total, term)
        term = fixed64(g, term, w, b, a)
        return fixed64(g, g.op("fadd", t, w, total, term), w, total, term)

    return step


def destination(g: Writer, o: Any) -> Buffer:
    """Return the place of the result: the accumulator that a loop carries, unless something else needs that."""
    c = g.frames[-1].in_place.get(o.result) if g.frames else None
    if c is not None:
        g.done_in_place.add(o.result)
        found: Buffer = g.held[c.value]
        return found
    return g.goal.get(o.result) or g.buffer(shape(o.result), reg(o.result))


def finished(g: Writer, o: Any, t: str, out: Buffer) -> Callable[..., None]:
    """Return the function that stores sums as results. NaNs of f32 are made canonical later, see `Writer.dirty`."""
    e = element(o.result)
    carried = g.frames[-1].in_place.get(o.result) if g.frames else None
    keeps = carried is not None and not g.dirty(carried.value)  # the loop began with NaNs to be kept

    def finish(batch: Number, i: Number, j: Number, w: int, x: str) -> None:
        if e is F32:
            x = x if t == "float" else g.cast("fptrunc", x, "double", "float", w)
            x = g.clean(x, o.result, w) if keeps else x
        elif e is not F64:
            x = from_f32(g, x, e, w) if t == "float" else narrowed(g, x, e, w)
        g.write(out, x, index_of(o.result, batch, i, j), w)

    return finish


def type_of_sums(g: Writer, o: MmaF) -> str:
    return "double" if element(o.lhs) is F64 or (rounds_once(o) and g.wanted.exact) else "float"


def mmaf(g: Writer, o: MmaF, out: Buffer) -> None:
    """Compute a product of floats."""
    t = type_of_sums(g, o)
    s = Sizes(g, o, t)
    a = packed_lhs(g, o.lhs, t, s, chunk_of(g, o.lhs, t))
    b = packed_rhs(g, o.rhs, t, s, chunk_of(g, o.rhs, t))
    once = element(o.lhs) is not F64 and rounds_once(o)
    first, finish = (starting(g, o, t), finished(g, o, t, out)) if once else (None, add_last(g, o, t, out))
    blocks(g, t, s, a, b, first, finish, multiply(g, t, s.w, once))


def starting(g: Writer, o: MmaF, t: str) -> Chunk:
    """Return the function that reads the accumulator; with `exact`, without negative zeros: sums begin with a zero."""
    acc = chunk_of(g, o.acc, t)
    if not g.wanted.exact:
        return acc
    return lambda batch, i, j, w: g.op("fadd", t, w, acc(batch, i, j, w), g.const(0.0, t, w))


def add_last(g: Writer, o: MmaF, t: str, out: Buffer) -> Callable[..., None]:
    """Return the function that adds the accumulator to sums, and stores them as results."""
    acc, store = chunk_of(g, o.acc, t), finished(g, o, t, out)

    def finish(batch: Number, i: Number, j: Number, w: int, x: str) -> None:
        last = acc(batch, i, j, w)
        total = g.op("fadd", t, w, x, last)
        store(batch, i, j, w, fixed64(g, total, w, x, last) if element(o.lhs) is F64 else total)

    return finish


def is_nothing(g: Writer, o: MmaF) -> str:
    """Whether both operands are known to be padding of zeros, because they lie outside of their tensors."""
    if is_scalar(o.result) or not {o.lhs, o.rhs} <= g.blank.keys():
        return "false"
    return g.both(g.blank[o.lhs], g.blank[o.rhs])


def add_nothing(g: Writer, o: MmaF, out: Buffer) -> None:
    """Add zeros to the accumulator: its negative zeros become positive."""
    t = type_of_sums(g, o)
    finish = add_last(g, o, t, out)

    def one(index: list[Number], vd: int, w: int) -> None:
        batch, i, j = index if len(index) == 3 else [0, *index]
        finish(batch, i, j, w, g.const(0.0, t, w))

    g.nest(shape(o.result), one)


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
    _rows(g, a, left)
    _panels(g, b, s, right)
    acc, out = chunk_of(g, o.acc, t), destination(g, o)
    store = finished(g, o, t, out)

    def finish(batch: Number, i: Number, j: Number, w: int, x: str) -> None:
        store(batch, i, j, w, g.op("fadd", t, w, x, acc(batch, i, j, w)))

    blocks(g, t, s, a, b, None, finish, multiply(g, t, s.w, True))
    settle(g, o, out)


def _divided(g: Writer, n: Number, by: int) -> Number:
    return n // by if isinstance(n, int) else g.let(f"udiv i64 {n}, {by}")
