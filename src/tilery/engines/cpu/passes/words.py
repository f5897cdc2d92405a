"""Products of words: neighbours along K are multiplied at once, by instructions of vectors or of tile registers.

The instruction of x86 for four bytes multiplies unsigned with signed ones. If both operands have the same sign, the
left one is packed with its highest bits flipped, which adds 128 to signed bytes and subtracts 128 from unsigned ones,
as the other operand is then taken. What a flip adds to a column is the same in all rows: it is computed once and
subtracted from the accumulators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ....attrs import Signedness
from ....ir import Block, Value
from ....ops import Broadcast, Constant, Continue, For, MmaF, MmaI, Reshape
from ....ops import Loop as ForEver
from ....types import BF16, F32, I1, I8, I16, I32, Scalar
from ...common.tiles import dense_array
from ...semantics import rounds_once, uses_tensor_cores
from ..loops.dots import DOTS, SIDE, letters
from ..loops.nodes import (
    Buffer,
    Const,
    If,
    Kind,
    Loop,
    Operand,
    Product,
    Scope,
    TileDot,
    TileLoad,
    TileStore,
    index,
    truth,
)
from .inline import computed
from .packing import Context, Smallest, has_squares, place, rows, scanned_rows, word_panels
from .vectors import LARGEST, Blocks, Place, Sizes, Vectors

SATURATING = 32
"""Steps after which sums of tensor cores saturate."""
LARGEST_FACTOR = {Signedness.SIGNED: 128, Signedness.UNSIGNED: 255}
FLIP = 0x80
Finish = Callable[[Operand, Operand, Operand, Operand], None]


class Sums:
    """The accumulator and the result of a product, by batch, row and column."""

    def __init__(self, c: Context, b: Vectors, s: Product, w: int) -> None:
        self.c, self.b, self.s, self.w = c, b, s, w

    def first(self, batch: Operand, i: Operand, j: Operand) -> Operand:
        """Return elements of the accumulator."""
        at, start = place(self.s.acc, batch, i, j), self.c.facts.starts.get(id(self.s))
        if start is None:
            return self.b.elements(self.s.acc, at, self.w)
        return computed(start, (*at[:-1], self.b.ramp(at[-1], self.w)), self.b.block)

    def finish(self, batch: Operand, i: Operand, j: Operand, x: Operand) -> None:
        """Store elements of the result."""
        self.b.put(self.s.result, place(self.s.result, batch, i, j), x, self.w)


def sizes_of(c: Context, s: Product, item: int, each: int = 1) -> Sizes:
    """Return the sizes of a product whose sums take `item` bytes, and whose steps are of so many neighbours."""
    *batch, m, k = s.lhs.shape
    n = s.rhs.shape[-1]
    w = min(c.machine.lanes(item), n)
    return Sizes(batch[0] if batch else 1, m, n, k // each, w, min(2 * w, n), min(c.machine.rows, m))


# ---------------------------------------------------------------- sums that start at zero


def carrier_of(c: Context, o: MmaF | MmaI) -> For | None:
    """Return the loop that carries the accumulator."""
    return next((each for each in c.ops if isinstance(each, For) and each.region is o.acc.owner), None)


def starts_at_zero(c: Context, o: MmaF | MmaI) -> bool:
    """Tell whether the accumulator is 0, or a loop carries it from 0 on and adds nothing but this product."""
    loop = carrier_of(c, o)
    if loop is None:
        return _is_zero(o.acc)
    at = loop.region.args.index(o.acc) - 1
    carried = [each.operands_[at] for each in _continues(loop.region)]
    return all(v is o.result or v is o.acc for v in carried) and _is_zero(loop.initValues[at])


def _continues(block: Block) -> Iterator[Continue]:
    """Yield the operations that end an iteration of the loop whose body this is; some may be in branches."""
    for o in block.ops:
        if isinstance(o, Continue):
            yield o
        elif not isinstance(o, (For, ForEver)):
            for inner in o.blocks:
                yield from _continues(inner)


def _is_zero(v: Value) -> bool:
    while isinstance(v.owner, (Broadcast, Reshape)):
        v = v.owner.source
    return isinstance(v.owner, Constant) and not any(dense_array(v.owner.value).tobytes())


# ---------------------------------------------------------------- integers


def write_integers(c: Context, b: Vectors, s: Product) -> None:
    """Write a product of 8-bit integers. Sums wrap around; in products for tensor cores they saturate, but rarely."""
    o = s.op
    assert isinstance(o, MmaI)
    if not uses_tensor_cores(o):
        _wrapping(c, b, s, o)
        return
    saturates = _may_saturate(c, b, s, o)
    if isinstance(saturates, Const):
        (_saturating if saturates.bits else _wrapping)(c, b, s, o)
        return
    made = If(saturates, [], [], rarely=True)
    with b.within(made.then):
        c.rare = b
        _saturating(c, b, s, o)
        c.rare = None
    with b.within(made.orelse):
        _wrapping(c, b, s, o)
    b.emit(made)


def _wrapping(c: Context, b: Vectors, s: Product, o: MmaI) -> None:
    signs = [sign is Signedness.SIGNED for sign in (o.signedness_lhs, o.signedness_rhs)]
    name = letters(*signs)
    lanes = c.machine.lanes(4)
    if fits_tiles(c, s, name):
        by_tiles(c, b, s, name, s.lhs, _words_of(c, b, s, name))
    elif "i8.us" in c.machine.dots and s.lhs.shape[-1] % 4 == 0 and s.rhs.shape[-1] >= lanes:
        _by_fours(c, b, s, signs)
    elif s.lhs.shape[-1] > 1:
        _by_twos(c, b, s, signs)
    else:
        _one_by_one(c, b, s, s.lhs, s.rhs, sizes_of(c, s, 4), 0)


def _as_it_is(b: Vectors, x: Operand, where: list[Operand]) -> Operand:
    return x


def _flipped(b: Vectors, x: Operand, where: list[Operand]) -> Operand:
    return b.whole("xor", x, Const(I8, FLIP))


def _words_of(c: Context, b: Vectors, s: Product, name: str) -> Buffer:
    """Pack the right operand as words."""
    form = DOTS[name]
    across, sizes = c.facts.transposed(s.rhs), sizes_of(c, s, 4, form.each)
    kind = ("words", form.element, form.each, sizes.columns)
    return c.packed((s.rhs,), kind, lambda b: word_panels(b, s.rhs, sizes, form.element, form.each, _as_it_is, across))


def _by_fours(c: Context, b: Vectors, s: Product, signs: list[bool]) -> None:
    sizes, flips = sizes_of(c, s, 4, 4), signs[0] == signs[1]
    name = letters(signs[0] != flips, signs[1])
    left, right = s.lhs, _words_of(c, b, s, name)
    sums = Sums(c, b, s, sizes.w)
    first = sums.first
    if flips:
        left = c.packed((s.lhs,), "flipped", lambda b: rows(b, s.lhs, sizes, I8, _flipped))
        excess = c.packed((s.rhs,), ("excess", name), lambda b: _excess(b, sizes, right, name))
        first = lambda batch, i, j: b.whole(  # noqa: E731
            "sub", sums.first(batch, i, j), b.elements(excess, [batch, j], sizes.w)
        )
    _neighbours(b, sizes, name, left, right, first, sums.finish)


def _neighbours(
    b: Vectors,
    sizes: Sizes,
    name: str,
    left: Buffer,
    right: Buffer,
    first: Callable[[Operand, Operand, Operand], Operand],
    finish: Finish,
) -> None:
    """Write the blocks of a product of neighbours."""
    each, w = DOTS[name].each, sizes.w

    def of_row(at: Place, r: int, k: Operand) -> Operand:
        x = b.elements(left, place(left, at.batch, b.add(at.row, index(r)), b.mul(k, index(each))), each)
        return b.spread(x, each * w)

    def of_columns(at: Place, k: Operand, column: int) -> Operand:
        return b.elements(right, [at.batch, at.panel, k, index(each * column)], each * w)

    def step(x: Operand, y: Operand, total: Operand) -> Operand:
        return b.dot(name, x, y, total)

    Blocks(sizes, DOTS[name].sums, of_row, of_columns, step, first, finish).write(b)


def _excess(b: Vectors, s: Sizes, right: Buffer, name: str) -> Buffer:
    """Return the sums that flipping the bytes of all rows adds to each column."""
    w = s.w
    made = b.declare(I32, (s.batch, s.n), name="excess")
    with b.nest(Kind.SERIAL, (s.batch, s.n // s.columns)) as (batch, panel):
        sums = b.declare(I32, (s.columns,), Scope.REGISTER, "sums")
        columns = range(0, s.columns, w)
        for column in columns:
            b.put(sums, [index(column)], Const(I32, 0), w)
        flips = b.shuffle(Const(I8, FLIP), None, [0] * (4 * w))
        with b.loop(Kind.SERIAL, index(s.k), name="k") as loop:
            for column in columns:
                y = b.elements(right, [batch, panel, loop.index, index(4 * column)], 4 * w)
                b.put(sums, [index(column)], b.dot(name, flips, y, b.elements(sums, [index(column)], w)), w)
        for column in columns:
            at = b.add(b.mul(panel, index(s.columns)), index(column))
            b.put(made, [batch, at], b.elements(sums, [index(column)], w), w)
    return made


def _by_twos(c: Context, b: Vectors, s: Product, signs: list[bool]) -> None:
    """Multiply pairs of 16 bits: processors without products of bytes have that."""
    sizes, across = sizes_of(c, s, 4, 2), c.facts.transposed(s.rhs)

    def widened(signed: bool) -> Callable[[Vectors, Operand, list[Operand]], Operand]:
        return lambda b, x, where: b.whole("sext" if signed else "zext", x, to=I16)

    wide = [widened(signed) for signed in signs]
    left = c.packed((s.lhs,), ("rows", signs[0]), lambda b: rows(b, s.lhs, sizes, I16, wide[0]))
    kind = ("pairs", signs[1], sizes.columns)
    right = c.packed((s.rhs,), kind, lambda b: word_panels(b, s.rhs, sizes, I16, 2, wide[1], across))
    sums = Sums(c, b, s, sizes.w)
    _neighbours(b, sizes, "i16", left, right, sums.first, sums.finish)


def _one_by_one(c: Context, b: Vectors, s: Product, left: Buffer, right: Buffer, sizes: Sizes, saturating: int) -> None:
    """Multiply as 32 bits. The operands have their own shapes."""
    o: Any = s.op
    sums = Sums(c, b, s, sizes.w)

    def wide(x: Operand, sign: Signedness) -> Operand:
        return b.whole("sext" if sign is Signedness.SIGNED else "zext", x, to=I32)

    def of_row(at: Place, r: int, k: Operand) -> Operand:
        return wide(b.load(left, place(left, at.batch, b.add(at.row, index(r)), k)), o.signedness_lhs)

    def of_columns(at: Place, k: Operand, column: int) -> Operand:
        where = place(right, at.batch, k, b.add(at.column, index(column)))
        return wide(b.elements(right, where, sizes.w), o.signedness_rhs)

    def step(x: Operand, y: Operand, total: Operand) -> Operand:
        return b.whole("add", total, b.whole("mul", x, y))

    Blocks(sizes, I32, of_row, of_columns, step, sums.first, sums.finish, saturating).write(b)


# ---------------------------------------------------------------- integers that saturate


def _saturating(c: Context, b: Vectors, s: Product, o: MmaI) -> None:
    """Compute a product whose sums saturate. It runs rarely: short code, with operands that are only copied for it."""
    sizes = sizes_of(c, s, 4)
    left, right = (_copied(b, operand) for operand in (s.lhs, s.rhs))
    _one_by_one(c, b, s, left, right, replace(sizes, rows=1, columns=sizes.w), SATURATING)


def _copied(b: Vectors, source: Buffer) -> Buffer:
    made = b.declare(source.element, source.shape, name="copy")
    with b.nest(Kind.PARALLEL, source.shape) as at:
        b.store(made, at, b.load(source, at))
    return made


def _may_saturate(c: Context, b: Vectors, s: Product, o: MmaI) -> Operand:
    """Return whether an accumulator is so large that sums, which saturate after each 32 steps, may do so."""
    reach = s.lhs.shape[-1] * LARGEST_FACTOR[o.signedness_lhs] * LARGEST_FACTOR[o.signedness_rhs]
    safe = LARGEST // reach
    if not safe:
        return truth(True)
    if not starts_at_zero(c, o):
        return _any_larger(c, b, s, LARGEST - reach)
    carrier, loop = carrier_of(c, o), c.loop()
    if carrier is None:
        return truth(False)
    if not isinstance(loop, Loop) or not _is_innermost(carrier.region, o):
        return _any_larger(c, b, s, LARGEST - reach)
    # Only after so many products is it worth looking.
    found = b.variable(I1, "saturates")
    b.store(found, (), truth(False))
    done = b.integer("udiv", b.sub(loop.index, loop.low), index(loop.step))
    made = If(b.integer("ule", index(safe), done), [], [], rarely=True)
    with b.within(made.then):
        b.store(found, (), _any_larger(c, b, s, LARGEST - reach))
    b.emit(made)
    return b.load(found)


def _is_innermost(block: Block, o: MmaI) -> bool:
    """Tell whether an operation is in the body of a loop, and in no loop inside."""
    return any(
        each is o or (not isinstance(each, (For, ForEver)) and any(_is_innermost(inner, o) for inner in each.blocks))
        for each in block.ops
    )


def _any_larger(c: Context, b: Vectors, s: Product, bound: int) -> Operand:
    """Return whether the absolute value of an accumulator is above a bound."""
    sizes = sizes_of(c, s, 4)
    w, sums = sizes.w, Sums(c, b, s, sizes.w)
    seen = b.declare(I32, (w,), Scope.REGISTER, "largest")
    b.put(seen, [index(0)], Const(I32, 0), w)
    with b.nest(Kind.SERIAL, (sizes.batch, sizes.m, sizes.n // w)) as (batch, i, part):
        x = b.whole("add", Const(I32, bound), sums.first(batch, i, b.mul(part, index(w))))
        b.put(seen, [index(0)], b.whole("umax", b.elements(seen, [index(0)], w), x), w)
    return b.integer("ult", Const(I32, 2 * bound), b.extreme("umax", b.elements(seen, [index(0)], w)))


# ---------------------------------------------------------------- bf16


def is_paired(c: Context, s: Product) -> bool:
    """Tell whether a product is computed by the processor's dot products of bf16. Sums must start from zero."""
    o = s.op
    if not isinstance(o, MmaF) or "bf16" not in c.machine.dots or c.wanted.exact or not rounds_once(o):
        return False
    if s.lhs.element is not BF16 or s.rhs.element is not BF16 or s.result.element is not F32:
        return False
    return s.rhs.shape[-1] >= SIDE and s.lhs.shape[-1] >= 2 and starts_at_zero(c, o)


def write_pairs(c: Context, b: Vectors, s: Product, otherwise: Callable[[], None]) -> None:
    """Write a product of bf16 with the processor's dot products; if a number is tiny, it is computed otherwise."""
    sizes = sizes_of(c, s, 4, 2)
    across = c.facts.transposed(s.rhs)

    def pack_left(b: Vectors) -> tuple[Buffer, Smallest]:
        smallest = Smallest(c, min(c.machine.lanes(2), s.lhs.shape[-1]))
        return scanned_rows(b, s.lhs, sizes, smallest), smallest

    def pack_right(b: Vectors) -> tuple[Buffer, Smallest]:
        squares = across is not None and has_squares(sizes)
        smallest = Smallest(c, 2 * SIDE if squares else sizes.columns)
        return word_panels(b, s.rhs, sizes, BF16, 2, smallest.element, across), smallest

    left, small = c.packed((s.lhs,), "scanned", pack_left)
    right, least = c.packed((s.rhs,), ("scanned words", sizes.columns), pack_right)
    tiny = b.either(small.is_tiny(b), least.is_tiny(b))
    made = If(tiny, [], [], rarely=True)
    with b.within(made.then):
        c.rare = b
        otherwise()
        c.rare = None
    with b.within(made.orelse):
        if fits_tiles(c, s, "bf16"):
            by_tiles(c, b, s, "bf16", left, right)
        else:
            sums = Sums(c, b, s, sizes.w)
            _neighbours(b, sizes, "bf16", left, right, sums.first, sums.finish)
    b.emit(made)


# ---------------------------------------------------------------- tile registers


def fits_tiles(c: Context, s: Product, name: str) -> bool:
    """Tell whether the processor has tile registers for a product, and the product fills them."""
    m, k, n = s.lhs.shape[-2], s.lhs.shape[-1], s.rhs.shape[-1]
    whole = m % SIDE == n % (2 * SIDE) == k % (SIDE * DOTS[name].each) == 0
    return name in c.machine.tiles and whole


def by_tiles(c: Context, b: Vectors, s: Product, name: str, left: Buffer, right: Buffer) -> None:
    """Write a product in tile registers: up to four hold sums, two by two, two rows and two columns."""
    form = DOTS[name]
    sizes = sizes_of(c, s, 4, form.each)
    down = 2 if sizes.m % (2 * SIDE) == 0 else 1
    parts = [(i, j) for i in range(down) for j in range(2)]
    source = s.acc
    if id(s) in c.facts.starts:  # what the accumulator is computed from is where the result goes
        source = s.result
        sums = Sums(c, b, s, SIDE)
        with b.nest(Kind.SERIAL, (sizes.batch, sizes.m, sizes.n // SIDE)) as (batch, i, part):
            j = b.mul(part, index(SIDE))
            sums.finish(batch, i, j, sums.first(batch, i, j))

    def tiles(element: Scalar, count: int, hint: str) -> list[Buffer]:
        items = SIDE * 4 * 8 // element.bits
        return [b.declare(element, (SIDE, items), Scope.TILE, hint) for _ in range(count)]

    with b.nest(Kind.SERIAL, (sizes.batch, sizes.n // (2 * SIDE), sizes.m // (SIDE * down))) as (batch, n, m):
        total = tiles(form.sums, len(parts), "sums")
        row, column = b.mul(m, index(SIDE * down)), b.mul(n, index(2 * SIDE))
        places = [(b.add(row, index(SIDE * i)), b.add(column, index(SIDE * j))) for i, j in parts]
        for t, (i, j) in zip(total, places):
            b.emit(TileLoad(t, source, tuple(place(source, batch, i, j))))
        panel, within = b.integer("udiv", column, index(sizes.columns)), b.integer("urem", column, index(sizes.columns))
        with b.loop(Kind.SERIAL, index(sizes.k), None, SIDE, name="k") as loop:
            xs, ys = tiles(form.element, down, "left"), tiles(form.element, 2, "right")
            k = b.mul(loop.index, index(form.each))
            for number, x in enumerate(xs):
                b.emit(TileLoad(x, left, tuple(place(left, batch, b.add(row, index(SIDE * number)), k))))
            for number, y in enumerate(ys):
                at = b.mul(b.add(within, index(SIDE * number)), index(form.each))
                b.emit(TileLoad(y, right, (batch, panel, loop.index, at)))
            for t, (at_row, at_column) in zip(total, parts):
                b.emit(TileDot(t, name, xs[at_row], ys[at_column]))
        for t, (i, j) in zip(total, places):
            b.emit(TileStore(s.result, tuple(place(s.result, batch, i, j)), t))
