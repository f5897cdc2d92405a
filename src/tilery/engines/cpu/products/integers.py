"""Matrix products of 8-bit integers: by four along K where the processor has instructions for it, else by two.

The instruction of x86 multiplies unsigned with signed bytes. If both operands have the same sign, the left one is
packed with its highest bits flipped, which adds 128 to signed bytes and subtracts 128 from unsigned ones, as the other
operand is then taken. What a flip adds to a column is the same in all rows: it is computed once and subtracted from
the accumulators.
"""

from __future__ import annotations

from collections.abc import Callable

from ....attrs import Signedness
from ....ir import Op, Value
from ....ops import Constant, For, MmaI
from ...common.tiles import dense_array
from ...semantics import uses_tensor_cores
from ..memory import any_of
from ..registry import emits
from ..text import Number, vector
from ..tiles import Buffer, reg, shape
from ..writer import Writer
from .matrix import Chunk, Sizes, Step, blocks, destination, index_of, settle
from .pairs import Read, by_tiles, fits_tiles, in_words, pair_lhs, pair_rhs, starts_at_zero

LARGEST = (1 << 31) - 1
SATURATING = 32
LETTERS = {Signedness.SIGNED: "s", Signedness.UNSIGNED: "u"}
LARGEST_FACTOR = {Signedness.SIGNED: 128, Signedness.UNSIGNED: 255}
FLIP = 0x80
FOURS = {64: "avx512vnni", 32: "avxvnni"}
"""The feature of processors that multiply four bytes at once, by the size of their vectors."""


@emits(MmaI)
def mmai(g: Writer, o: MmaI) -> None:
    """Sums wrap around; in products for tensor cores they saturate, which is rare and computed one by one."""
    out = destination(g, o)

    def acc(batch: Number, i: Number, j: Number, w: int) -> str:
        return g.chunk(o.acc, index_of(o.acc, batch, i, j), len(shape(o.acc)) - 1, w)

    def finish(batch: Number, i: Number, j: Number, w: int, x: str) -> None:
        g.write(out, x, index_of(o.result, batch, i, j), w)

    def wrapping() -> None:
        if fits_tiles(g, o, "amx-int8", 4):
            s = in_words(g, o, "i32", 4)
            a, b = pair_lhs(g, o.lhs, s, g.chunk, "i8"), pair_rhs(g, o.rhs, s, g.chunk, "i8")
            dot = f"tdpb{LETTERS[o.signedness_lhs]}{LETTERS[o.signedness_rhs]}d"
            by_tiles(g, "i32", s, a, b, acc, finish, dot)
        elif _has_fours(g, o):
            _by_fours(g, o, acc, finish)
        else:
            s, a, b = _pairs_of(g, o)
            blocks(g, "i32", s, a, b, acc, finish, lambda *x: _dot_i16(g, s.w, *x))

    if uses_tensor_cores(o):
        g.when(_may_saturate(g, o), lambda: _saturated(g, o, *_pairs_of(g, o), out), wrapping, rarely=True)
    else:
        wrapping()
    settle(g, o, out)


# ---------------------------------------------------------------- by four


def _has_fours(g: Writer, o: MmaI) -> bool:
    """Whether the processor multiplies four bytes at once in vectors that a product fills."""
    size = g.target.vector_bytes
    fills = shape(o.lhs)[-1] % 4 == 0 and shape(o.rhs)[-1] >= size // 4
    return fills and FOURS.get(size) in g.target.features


def pack_integers_before(g: Writer, o: Op, own: set[Value]) -> None:
    """Pack operands of a product in a region that come from outside."""
    if isinstance(o, MmaI) and _has_fours(g, o) and not fits_tiles(g, o, "amx-int8", 4):
        for v, key, pack in zip((o.lhs, o.rhs), _keys(o), (_left_fours, _right_fours)):
            if v not in own and key not in g.held:
                g.held[key] = pack(g, o)


def _keys(o: MmaI) -> list[tuple[object, ...]]:
    """The names of packed operands."""
    return [("fours", v, side, o.signedness_lhs, o.signedness_rhs) for v, side in ((o.lhs, "lhs"), (o.rhs, "rhs"))]


def _by_fours(g: Writer, o: MmaI, acc: Chunk, finish: Callable[..., None]) -> None:
    left, right = _keys(o)
    a = g.held.get(left) or _left_fours(g, o)
    b, excess = g.held.get(right) or _right_fours(g, o)
    s = in_words(g, o, "i32", 4)
    blocks(g, "i32", s, a, b, acc if excess is None else _less(g, acc, excess), finish, _step(g, o, s.w))


def _less(g: Writer, acc: Chunk, excess: Buffer) -> Chunk:
    """Accumulators without what is the same in all rows."""
    return lambda batch, i, j, w: g.op("sub", "i32", w, acc(batch, i, j, w), g.read(excess, "i32", [batch, j], 1, w))


def _is_flipped(o: MmaI) -> bool:
    return o.signedness_lhs is o.signedness_rhs


def _step(g: Writer, o: MmaI, w: int) -> Step:
    def step(left: str, right: str, total: str) -> str:
        factors = (right, left) if o.signedness_rhs is Signedness.UNSIGNED else (left, right)
        return _dot_i8(g, w, *factors, total)

    return step


def _left_fours(g: Writer, o: MmaI) -> Buffer:
    def flip(v: Value, index: list[Number], vd: int, w: int) -> str:
        return g.op("xor", "i8", w, g.chunk(v, index, vd, w), g.const(FLIP - 256, "i8", w))

    return pair_lhs(g, o.lhs, in_words(g, o, "i32", 4), flip if _is_flipped(o) else g.chunk, "i8")


def _right_fours(g: Writer, o: MmaI) -> tuple[Buffer, Buffer | None]:
    """The right operand, and what a flip of the left one adds to each column."""
    s = in_words(g, o, "i32", 4)
    b, step = pair_rhs(g, o.rhs, s, g.chunk, "i8"), _step(g, o, s.w)
    flips = g.const(0x01010101 * FLIP, "i32", s.w)
    return b, _excess(g, s, b, lambda right, total: step(flips, right, total)) if _is_flipped(o) else None


def _excess(g: Writer, s: Sizes, b: Buffer, step: Callable[[str, str], str]) -> Buffer:
    """Return the sums that flipping the bytes of all rows adds to each column."""
    out = g.buffer((s.batch, s.n), "i32")
    columns = range(0, s.columns, s.w)
    loops = [g.begin(s.batch), g.begin(s.n // s.columns)]
    batch, panel = (loop.index for loop in loops)
    loop = g.begin(s.k, 1, [(vector("i32", s.w), "zeroinitializer")] * len(columns))
    rows = [g.read(b, "i32", [batch, panel, loop.index, c], 3, s.w) for c in columns]
    g.end(loop, [step(row, total) for row, total in zip(rows, loop.names)])
    for c, total in zip(columns, loop.names):
        g.write(out, total, [batch, g.add(g.mul(panel, s.columns), c)], s.w)
    for each in reversed(loops):
        g.end(each)
    return out


def _dot_i8(g: Writer, w: int, unsigned: str, signed: str, total: str) -> str:
    words, parts = vector("i32", w), vector("i8", 4 * w)
    a, b = (g.let(f"bitcast {words} {x} to {parts}") for x in (unsigned, signed))
    return g.call(f"x86.avx512.vpdpbusd.{32 * w}", words, (words, total), (parts, a), (parts, b))


# ---------------------------------------------------------------- by two


def _pairs_of(g: Writer, o: MmaI) -> tuple[Sizes, Buffer, Buffer]:
    """The operands as words of two integers of 16 bits."""
    s = in_words(g, o, "i32")

    def read(signedness: Signedness) -> Read:
        name = "sext" if signedness is Signedness.SIGNED else "zext"
        return lambda v, index, vd, w: g.cast(name, g.chunk(v, index, vd, w), "i8", "i16", w)

    return s, pair_lhs(g, o.lhs, s, read(o.signedness_lhs)), pair_rhs(g, o.rhs, s, read(o.signedness_rhs))


def _dot_i16(g: Writer, w: int, left: str, right: str, total: str) -> str:
    """In this form LLVM finds the instructions of x86 and of Arm."""
    wide = [g.let(f"bitcast {vector('i32', w)} {x} to <{2 * w} x i16>") for x in (left, right)]
    a, b = (g.cast("sext", x, "i16", "i32", 2 * w) for x in wide)
    terms = g.op("mul", "i32", 2 * w, a, b)
    even, odd = (_every_second(g, terms, w, first) for first in (0, 1))
    return g.op("add", "i32", w, g.op("add", "i32", w, even, odd), total)


def _every_second(g: Writer, x: str, w: int, first: int) -> str:
    return g.part(x, "i32", 2, first, 1) if w == 1 else g.shuffle(x, None, "i32", 2 * w, range(first, 2 * w, 2))


# ---------------------------------------------------------------- sums that saturate


def _may_saturate(g: Writer, o: MmaI) -> str:
    """Whether an accumulator is so large that sums, which saturate after each 32 steps, may do so."""
    reach = shape(o.lhs)[-1] * LARGEST_FACTOR[o.signedness_lhs] * LARGEST_FACTOR[o.signedness_rhs]
    loop, safe = g.loops.get(o.acc), LARGEST // reach
    if not starts_at_zero(g, o) or not safe:
        return _any_larger(g, o, LARGEST - reach)
    if loop is None:
        return "false"
    # Only after so many products is it worth looking.
    found = g.slot("i1")
    g.store("i1", "false", found)
    many = g.test("uge", _iterations_before(g, loop), safe)
    g.when(many, lambda: g.store("i1", _any_larger(g, o, LARGEST - reach), found), rarely=True)
    return g.load("i1", found)


def _iterations_before(g: Writer, loop: For) -> Number:
    """At least as many as a loop has completed."""
    index, step = loop.region.args[0], loop.step.owner
    done = g.op("sub", reg(index), 1, g.scalar(index), g.scalar(loop.lowerBound))
    done = g.cast("zext", done, reg(index), "i64", 1)
    each = int(dense_array(step.value).reshape(-1)[0]) if isinstance(step, Constant) else 1
    return g.let(f"udiv i64 {done}, {max(1, each)}")


def _any_larger(g: Writer, o: MmaI, bound: int) -> str:
    """Whether the absolute value of an accumulator is above a bound."""
    seen = g.slot("i1")
    g.store("i1", "false", seen)

    def look(index: list[Number], vd: int, w: int) -> None:
        x = g.chunk(o.acc, index, vd, w)
        above = g.compare("sgt", "i32", w, x, g.const(bound, "i32", w))
        below = g.compare("slt", "i32", w, x, g.const(-bound, "i32", w))
        found = any_of(g, g.op("or", "i1", w, above, below), w)
        g.store("i1", g.either(g.load("i1", seen), found), seen)

    before, g.lanes = g.lanes, min(16, g.lanes)
    g.nest(shape(o.acc), look)
    g.lanes = before
    return g.load("i1", seen)


def _saturated(g: Writer, o: MmaI, s: Sizes, a: Buffer, b: Buffer, out: Buffer) -> None:
    size = shape(o.lhs)[-1]
    left = Buffer(a.pointer, (s.batch, s.m, 2 * s.k), "i16")
    right = Buffer(b.pointer, (s.batch, s.n // s.columns, s.k, s.columns, 2), "i16")
    loops = [g.begin(s.batch), g.begin(s.m), g.begin(s.n)]
    batch, m, n = (loop.index for loop in loops)
    total = g.cast("sext", g.chunk(o.acc, index_of(o.acc, batch, m, n), 0, 1), "i32", "i64", 1)
    panel, column = g.let(f"udiv i64 {n}, {s.columns}"), g.let(f"urem i64 {n}, {s.columns}")
    step = min(SATURATING, size)
    outer = g.begin(size, step, [("i64", total)])
    inner = g.begin(step, 1, [("i64", outer.names[0])])
    k = g.add(outer.index, inner.index)
    x = g.read(left, "i16", [batch, m, k], 2, 1)
    y = g.read(right, "i16", [batch, panel, g.let(f"lshr i64 {k}, 1"), column, g.let(f"and i64 {k}, 1")], 4, 1)
    term = g.op("mul", "i64", 1, *(g.cast("sext", each, "i16", "i64", 1) for each in (x, y)))
    g.end(inner, [g.op("add", "i64", 1, inner.names[0], term)])
    limited = g.intrinsic("smax", "i64", 1, inner.names[0], str(-LARGEST - 1))
    g.end(outer, [g.intrinsic("smin", "i64", 1, limited, str(LARGEST))])
    g.write(out, g.cast("trunc", outer.names[0], "i64", "i32", 1), index_of(o.result, batch, m, n), 1)
    for loop in reversed(loops):
        g.end(loop)
