"""Matrix products of words: operands are packed so that 32 bits hold neighbours along K, which are multiplied at once.

Words hold two bf16, where the processor has instructions for them, two 16-bit integers, or four 8-bit integers, see
`integers`. Where the processor has registers for tiles (AMX), blocks of 16 by 16 words are multiplied at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ....ir import Block, Op, Value
from ....ops import Broadcast, Constant, Continue, For, Loop, MmaF, MmaI, Reshape
from ....types import BF16, F32, F64
from ...common.tiles import dense_array
from ...semantics import rounds_once
from ..memory import any_of
from ..registry import emits
from ..text import BYTES, Number, vector
from ..tiles import Buffer, element, shape
from ..writer import Writer
from .matrix import (
    Chunk,
    Sizes,
    add_nothing,
    blocks,
    chunk_of,
    destination,
    finished,
    index_of,
    is_nothing,
    mmaf,
    multiply,
    packed_lhs,
    packed_rhs,
    settle,
    turned_panels,
    turns,
)

TINY = 87 << 7
"""2**-40 as a bf16. The processor takes subnormal numbers for 0, also sums: where every operand is 0 or larger than
this, all sums are multiples of 2**-94, and none is subnormal."""

Read = Callable[[Value, list[Number], int, int], str]
"""From a tile, an index, the dimension of the vector and its width to elements of 16 (or, with AMX, 8) bits."""
SIDE = 16
"""Rows of a tile register, and words of a row."""


# ---------------------------------------------------------------- packing


def pair_lhs(g: Writer, v: Value, s: Sizes, read: Read, t: str = "i16") -> Buffer:
    """Row by row, as words of elements `t`; `s.k` counts words. A single column gets a column of zeros."""
    out = Buffer(g.buffer((s.batch, s.m, s.k), "i32").pointer, (s.batch, s.m, 4 // BYTES[t] * s.k), t)
    last = len(shape(v)) - 1
    if shape(v)[-1] == 1:

        def single(index: list[Number], vd: int, w: int) -> None:
            x = read(v, index_of(v, index[0], index[1], 0), last, 1)
            g.write(Buffer(out.pointer, (s.batch, s.m), "i32"), g.cast("zext", x, "i16", "i32", 1), index, 1)

        before, g.lanes = g.lanes, 1
        g.nest((s.batch, s.m), single)
        g.lanes = before
    else:

        def one(index: list[Number], vd: int, w: int) -> None:
            g.write(out, read(v, index_of(v, index[0], index[1], index[2]), last, w), index, w)

        g.nest(out.shape, one)
    return Buffer(out.pointer, (s.batch, s.m, s.k), "i32")


def pair_rhs(g: Writer, v: Value, s: Sizes, read: Read, t: str = "i16") -> Buffer:
    """In panels, as words of elements `t`: [batch][n / columns][words of k][columns]."""
    b = g.buffer((s.batch, s.n // s.columns, s.k, s.columns), "i32")
    each, w, last = 4 // BYTES[t], s.columns, len(shape(v)) - 1
    if turns(g, v, s):

        def column(n: Number, k: Number, j: Number) -> str:
            x = read(v, index_of(v, n, g.mul(k, each), j), last - 1, 16 * each)
            return g.let(f"bitcast <{16 * each} x {t}> {x} to <16 x i32>")

        turned_panels(g, b, s, column)
        return b
    loops = [g.begin(s.batch), g.begin(s.k)]
    n, k = (loop.index for loop in loops)
    first = g.mul(k, each)
    for panel in range(s.n // w):
        rows = [read(v, index_of(v, n, g.add(first, i), panel * w), last, w) for i in range(min(each, shape(v)[-2]))]
        g.write(b, _as_words(g, rows, t, w), [n, panel, k, 0], w)
    for loop in reversed(loops):
        g.end(loop)
    return b


def _as_words(g: Writer, rows: list[str], t: str, w: int) -> str:
    """Words that hold an element of each row; a row that is alone gets zeros beside it."""
    rows = rows if len(rows) > 1 else [*rows, g.const(0, t, w)]
    while len(rows) > 1:
        if w == 1:
            rows = [g.joined([x, y], t, 1) for x, y in zip(rows[::2], rows[1::2])]
        else:
            turns = [i // 2 + i % 2 * w for i in range(2 * w)]
            rows = [g.shuffle(x, y, t, w, turns) for x, y in zip(rows[::2], rows[1::2])]
        wider = f"i{16 * BYTES[t]}"
        rows = [g.let(f"bitcast <{2 * w} x {t}> {x} to {vector(wider, w)}") for x in rows]
        t = wider
    return rows[0]


def in_words(g: Writer, o: Any, t: str, each: int = 2) -> Sizes:
    """The sizes of a product whose operands are words that hold so many elements."""
    s = Sizes(g, o, t)
    s.k = -(-s.k // each)
    return s


# ---------------------------------------------------------------- registers that hold tiles


def fits_tiles(g: Writer, o: Any, feature: str, each: int) -> bool:
    """Whether the processor has tile registers, and a product fills them."""
    m, k, n = (*shape(o.lhs)[-2:], shape(o.rhs)[-1])
    return feature in g.target.features and m % SIDE == n % (2 * SIDE) == k % (SIDE * each) == 0


def by_tiles(
    g: Writer, t: str, s: Sizes, a: Buffer, b: Buffer, first: Chunk, finish: Callable[..., None], dot: str
) -> None:
    """As `blocks`, in tile registers: 0 to 3 hold sums, two by two, 4 and 5 rows of `a`, 6 and 7 columns of `b`."""
    down = 2 if s.m % (2 * SIDE) == 0 else 1
    parts = [(i, j) for i in range(down) for j in range(2)]
    sums = g.buffer((len(parts), SIDE, SIDE), t)
    g.functions["@tiles"] = TILES

    def amx(name: str, *operands: str) -> None:
        types = ", ".join(x.split()[0] for x in operands)
        g.needs[f"declare void @llvm.x86.{name}({types})"] = None
        g.put(f"call void @llvm.x86.{name}({', '.join(operands)})")

    def move(name: str, number: int, from_: Buffer, index: list[Number], stride: int) -> None:
        p = g.at(from_.type, from_.pointer, g.linear(from_.shape, index))
        amx(name, f"i8 {number}", f"ptr {p}", f"i64 {stride * 4}")

    amx("ldtilecfg", "ptr @tiles")
    loops = [g.begin(s.batch), g.begin(s.n, 2 * SIDE), g.begin(s.m, SIDE * down)]
    batch, n, m = (loop.index for loop in loops)

    def each_row(body: Callable[[list[Number], Number, Number], None]) -> None:
        for number, (i, j) in enumerate(parts):
            loop = g.begin(SIDE)
            body([number, loop.index, 0], g.add(g.add(m, SIDE * i), loop.index), g.add(n, SIDE * j))
            g.end(loop)

    each_row(lambda at, i, j: g.write(sums, first(batch, i, j, SIDE), at, SIDE))
    for number in range(len(parts)):
        move("tileloadd64", number, sums, [number, 0, 0], SIDE)
    loop = g.begin(s.k, SIDE)
    for i in range(down):
        move("tileloadd64", 4 + i, a, [batch, g.add(m, SIDE * i), loop.index], s.k)
    panel = g.let(f"udiv i64 {n}, {s.columns}")
    for j in range(2):
        move("tileloadd64", 6 + j, b, [batch, panel, loop.index, SIDE * j], s.columns)
    for number, (i, j) in enumerate(parts):
        amx(dot, f"i8 {number}", f"i8 {4 + i}", f"i8 {6 + j}")
    g.end(loop)
    for number in range(len(parts)):
        move("tilestored64", number, sums, [number, 0, 0], SIDE)
    each_row(lambda at, i, j: finish(batch, i, j, SIDE, g.read(sums, t, at, 2, SIDE)))
    for each in reversed(loops):
        g.end(each)
    amx("tilerelease")


def _configuration() -> str:
    """Return the operand of `ldtilecfg`: palette 1, then the bytes of a row and the rows of each of eight registers."""
    rows = [1, *[0] * 15, *[4 * SIDE, 0] * 8, *[0] * 16, *[SIDE] * 8, *[0] * 8]
    return '@tiles = internal constant [64 x i8] c"' + "".join(f"\\{x:02X}" for x in rows) + '", align 64'


TILES = _configuration()


# ---------------------------------------------------------------- bf16


def is_paired(g: Writer, o: Op) -> bool:
    """Whether a product is computed by the processor's dot products of bf16. Sums must start from zero."""
    if not isinstance(o, MmaF) or "avx512bf16" not in g.target.features or g.wanted.exact or not rounds_once(o):
        return False
    if element(o.lhs) is not BF16 or element(o.rhs) is not BF16 or element(o.result) is not F32:
        return False
    return shape(o.rhs)[-1] >= 16 and shape(o.lhs)[-1] >= 2 and starts_at_zero(g, o)


def starts_at_zero(g: Writer, o: MmaF | MmaI) -> bool:
    """Whether the accumulator is 0, or a loop carries it from 0 on and adds nothing but this product."""
    loop = g.loops.get(o.acc)
    if loop is None:
        return _is_zero(o.acc)
    at = loop.region.args.index(o.acc) - 1
    carried = [each.operands_[at] for each in _continues(loop.region)]
    return all(v is o.result or v is o.acc for v in carried) and _is_zero(loop.initValues[at])


def _continues(block: Block) -> Iterator[Continue]:
    """The operations that end an iteration of the loop whose body this is; some may be in branches."""
    for o in block.ops:
        if isinstance(o, Continue):
            yield o
        elif not isinstance(o, (For, Loop)):
            for inner in o.blocks:
                yield from _continues(inner)


def _is_zero(v: Value) -> bool:
    while isinstance(v.owner, (Broadcast, Reshape)):
        v = v.owner.source
    return isinstance(v.owner, Constant) and not any(dense_array(v.owner.value).tobytes())


def _packed(g: Writer, v: Value, s: Sizes, pack: Callable[..., Buffer]) -> tuple[Buffer, str]:
    """An operand as words, and a variable that is true if one of its elements is tiny.

    It stays true for the rest of the tile block, because sums may be tiny from then on.
    """
    key = ("pairs", v, pack.__name__)
    if key not in g.held:
        least: dict[int, str] = {}

        def read(v: Value, index: list[Number], vd: int, w: int) -> str:
            x = g.chunk(v, index, vd, w)
            slot = least.get(w)
            if slot is None:
                slot = least[w] = g.slot(vector("i16", w))
                g.slots.append(f"  store {vector('i16', w)} {g.const(-1, 'i16', w)}, ptr {slot}")
            size = g.op("and", "i16", w, x, g.const(0x7FFF, "i16", w))
            size = g.op("sub", "i16", w, size, g.const(1, "i16", w))  # 0 becomes the largest number
            g.store(vector("i16", w), g.intrinsic("umin", "i16", w, g.load(vector("i16", w), slot), size), slot)
            return x

        b = pack(g, v, s, read)
        found = "false"
        for w, slot in least.items():
            small = g.compare("ult", "i16", w, g.load(vector("i16", w), slot), g.const(TINY - 1, "i16", w))
            found = g.either(found, any_of(g, small, w))
        flag = g.slot("i1")
        g.store("i1", found, flag)
        g.held[key] = b, flag
    packed: tuple[Buffer, str] = g.held[key]
    return packed


@emits(MmaF)
def product(g: Writer, o: MmaF) -> None:
    out, nothing, held = destination(g, o), is_nothing(g, o), dict(g.held)
    g.when(nothing, lambda: add_nothing(g, o, out), lambda: computed(g, o, out), rarely=True)
    if nothing != "false":
        g.held = held  # without what was packed on one of the two ways
    settle(g, o, out)


def computed(g: Writer, o: MmaF, out: Buffer) -> None:
    """Compute a product with instructions for pairs of bf16 where they can be used."""
    if not is_paired(g, o):
        mmaf(g, o, out)
        return
    s = in_words(g, o, "float")
    packs = [_packed(g, o.lhs, s, pair_lhs), _packed(g, o.rhs, s, pair_rhs)]
    acc = chunk_of(g, o.acc, "float")
    tiny = g.either(*(g.load("i1", flag) for _, flag in packs))

    def as_others() -> None:
        held = dict(g.held)
        plain = Sizes(g, o, "float")
        a = packed_lhs(g, o.lhs, "float", plain, chunk_of(g, o.lhs, "float"))
        b = packed_rhs(g, o.rhs, "float", plain, chunk_of(g, o.rhs, "float"))
        blocks(g, "float", plain, a, b, acc, finished(g, o, "float", out), multiply(g, "float", plain.w, True))
        g.held = held

    def native() -> None:
        (a, _), (b, _) = packs
        if fits_tiles(g, o, "amx-bf16", 2):
            by_tiles(g, "float", s, a, b, acc, finished(g, o, "float", out), "tdpbf16ps")
        else:
            blocks(g, "float", s, a, b, acc, finished(g, o, "float", out), lambda *x: _dot_bf16(g, *x))

    g.when(tiny, as_others, native, rarely=True)


def _dot_bf16(g: Writer, left: str, right: str, total: str) -> str:
    v, pairs, f = "<16 x float>", "<32 x bfloat>", "@llvm.x86.avx512bf16.dpbf16ps.512"
    g.needs[f"declare {v} {f}({v}, {pairs}, {pairs})"] = None
    a, b = (g.let(f"bitcast <16 x i32> {x} to {pairs}") for x in (left, right))
    return g.let(f"call {v} {f}({v} {total}, {pairs} {a}, {pairs} {b})")


def pack_before(g: Writer, o: Op, own: set[Value]) -> set[Value]:
    """Pack operands of a product in a region that come from outside; return them."""
    if not isinstance(o, MmaF) or element(o.lhs) is F64:
        return set()
    paired = is_paired(g, o)
    t = "double" if rounds_once(o) and g.wanted.exact else "float"
    s = in_words(g, o, t) if paired else Sizes(g, o, t)
    found = set()
    for v, words, floats in ((o.lhs, pair_lhs, packed_lhs), (o.rhs, pair_rhs, packed_rhs)):
        if v in own:
            continue
        if paired:
            _packed(g, v, s, words)
        else:
            floats(g, v, t, s, chunk_of(g, v, t))
            found.add(v)
    return found
