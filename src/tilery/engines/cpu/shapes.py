"""Shapes of tiles: parts, narrow elements in bytes, and tiles that lie across; and assertions.

A tile lies across if its neighbours in memory are not neighbours in a row. Squares of it are turned in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from ...ir import Op, Value
from ...ops import Assert, Cat, Extract, Insert, LoadViewTko, MmaF, MmaI, Pack, Permute, Unpack
from ...types import I1, GatherScatterView, TileView
from ..common.layout import layout
from .memory import any_of, fault_if
from .registry import emits
from .text import BYTES, Number, vector
from .tiles import Buffer, element, is_scalar, is_tile, reg, shape, stored, wide_dims
from .writer import Writer

Sizes = tuple[int, ...]


def room(g: Writer, v: Value) -> Buffer:
    """A buffer for a result, also if it is a single element."""
    return g.buffer(shape(v), reg(v))


def source(g: Writer, v: Value) -> Buffer:
    """A tile in memory with its final bits, also if it is a single element."""
    b = g.held.get(v)
    if isinstance(b, Buffer) and not g.dirty(v):
        return b
    b = room(g, v)
    g.fill_clean(b, v)
    return b


def settle(g: Writer, v: Value, b: Buffer) -> None:
    found: Any = b
    if is_scalar(v):
        found = g.truth(g.load(b.type, b.pointer), reg(v), 1)
    g.settle({v: found})


def copy(g: Writer, sizes: Sizes, a: Buffer, a_at: Callable[[list[Number]], Number], b: Buffer,
         b_at: Callable[[list[Number]], Number]) -> None:  # fmt: skip
    """Copy a tile between places in two buffers, which have its last dimension without gaps."""

    def one(index: list[Number], vd: int, w: int) -> None:
        x = g.load(vector(a.type, w), g.at(a.type, a.pointer, a_at(index)), BYTES[a.type])
        g.store(vector(a.type, w), x, g.at(a.type, b.pointer, b_at(index)), BYTES[a.type])

    dims = wide_dims(sizes)
    if dims and dims[-1] != len(sizes) - 1:  # dimensions of one element may be wide in the other buffer
        before, g.lanes = g.lanes, 1
        g.nest(sizes, one)
        g.lanes = before
    else:
        g.nest(sizes, one)


@emits(Cat)
def cat(g: Writer, o: Cat) -> None:
    out = room(g, o.result)
    start = 0
    for v in (o.lhs, o.rhs):
        b = source(g, v)

        def moved(index: list[Number], start: int = start) -> Number:
            return g.linear(out.shape, [g.add(i, start) if d == o.dim else i for d, i in enumerate(index)])

        copy(g, b.shape, b, lambda index, b=b: g.linear(b.shape, index), out, moved)  # type: ignore[misc]
        start += b.shape[o.dim]
    settle(g, o.result, out)


def _starts(g: Writer, indices: tuple[Value, ...], whole: Sizes, part: Sizes) -> list[Number]:
    """Return the start of a part; an index outside the grid of parts wraps around."""
    found: list[Number] = []
    for v, size, inner in zip(indices, whole, part):
        index = g.let(f"and i64 {g.scalar64(v, signed=reg(v) != 'i1')}, {size // inner - 1}")
        found.append(g.mul(index, inner))
    return found


@emits(Extract)
def extract(g: Writer, o: Extract) -> None:
    b, out = source(g, o.source), room(g, o.result)
    starts = _starts(g, o.indices, b.shape, out.shape)

    def inside(index: list[Number]) -> Number:
        return g.linear(b.shape, [g.add(i, s) for i, s in zip(index, starts)])

    copy(g, out.shape, b, inside, out, lambda index: g.linear(out.shape, index))
    settle(g, o.result, out)


@emits(Insert)
def insert(g: Writer, o: Insert) -> None:
    part, whole, out = source(g, o.source), source(g, o.destination), room(g, o.result)
    starts = _starts(g, o.indices, whole.shape, part.shape)

    def plain(index: list[Number]) -> Number:
        return g.linear(out.shape, index)

    def inside(index: list[Number]) -> Number:
        return g.linear(out.shape, [g.add(i, s) for i, s in zip(index, starts)])

    copy(g, out.shape, whole, plain, out, plain)
    copy(g, part.shape, part, lambda index: g.linear(part.shape, index), out, inside)
    settle(g, o.result, out)


# ---------------------------------------------------------------- bytes


@emits(Pack)
def pack(g: Writer, o: Pack) -> None:
    _repacked(g, o, element(o.source).bits)


@emits(Unpack)
def unpack(g: Writer, o: Unpack) -> None:
    _repacked(g, o, element(o.result).bits)


def _repacked(g: Writer, o: Any, bits: int) -> None:
    """The same bits in elements of another size: as they are, or several to a byte, the first in the lower bits."""
    b = source(g, o.source)
    t = reg(o.result)
    if bits >= 8:
        settle(g, o.result, Buffer(b.pointer, shape(o.result), stored(t)))
        return
    out = room(g, o.result)
    each, packs = 8 // bits, isinstance(o, Pack)
    count = prod(shape(o.result)) if packs else prod(shape(o.source))
    loop = g.begin(count)
    first = g.mul(loop.index, each)
    if packs:
        total = "0"
        for k in range(each):
            x = g.load("i8", g.at("i8", b.pointer, g.add(first, k)))
            x = g.let(f"and i8 {x}, {(1 << bits) - 1}")
            total = g.let(f"or i8 {total}, {g.let(f'shl i8 {x}, {k * bits}')}")
        g.store("i8", total, g.at("i8", out.pointer, loop.index))
    else:
        x = g.load("i8", g.at("i8", b.pointer, loop.index))
        for k in range(each):
            part = g.let(f"and i8 {g.let(f'lshr i8 {x}, {k * bits}')}, {(1 << bits) - 1}")
            g.store("i8", part, g.at("i8", out.pointer, g.add(first, k)))
    g.end(loop)
    settle(g, o.result, out)


# ---------------------------------------------------------------- assertions


@emits(Assert)
def assertion(g: Writer, o: Assert) -> None:
    """A fault where the condition does not hold."""
    assert element(o.condition) is I1

    def one(index: list[Number], vd: int, w: int) -> None:
        x = g.chunk(o.condition, index, vd, w)
        true = "true" if w == 1 else "splat (i1 true)"
        fault_if(g, o, any_of(g, g.op("xor", "i1", w, x, true), w))

    before, g.lanes = g.lanes, min(16, g.lanes)
    g.nest(shape(o.condition), one, [o.condition])
    g.lanes = before


# ---------------------------------------------------------------- tiles that lie across


def square(v: Value) -> int:
    """Return the number of rows and columns of a tile that are turned at once."""
    return 8 if BYTES[stored(reg(v))] == 8 else 16


def along(g: Writer, v: Value) -> int:
    """The dimension along which elements are neighbours where a tile is read from."""
    o, dims = v.owner, wide_dims(shape(v))
    if isinstance(o, Permute) and v not in g.held:
        return o.permutation.index(along(g, o.source))
    if isinstance(o, LoadViewTko) and not isinstance(g.held.get(v), Buffer):
        view = o.view.type
        assert isinstance(view, TileView)
        strides = [view.tensor_view.strides[d] for d in layout(view)[0]]
        return next((d for d in reversed(dims) if strides[d] == 1), dims[-1])
    return dims[-1]


def lies_across(g: Writer, v: Value) -> bool:
    """Whether reading a tile row by row would pick up elements one by one, and squares fit in it."""
    o = v.owner
    if not isinstance(o, (Permute, LoadViewTko)) or not is_tile(v) or is_scalar(v) or reg(v) == "i1":
        return False
    if isinstance(g.held.get(v), (str, Buffer)):
        return False
    if isinstance(o, LoadViewTko) and isinstance(o.view.type, GatherScatterView):
        return False
    last = wide_dims(shape(v))[-1]
    dim = along(g, v)
    return dim != last and min(shape(v)[dim], shape(v)[last]) >= square(v)


def turned_by(g: Writer, v: Value, user: Op) -> bool:
    """Whether an operation that uses a tile can do with it as it lies: other moves, and products that turn squares."""
    if isinstance(user, Permute):
        return True
    if not isinstance(user, (MmaF, MmaI)) or v is not user.rhs or v in user.operands[:1] or g.wanted.exact:
        return False
    size = BYTES[stored(reg(v))]
    return size < 8 and along(g, v) == len(shape(v)) - 2 and shape(v)[-2] >= 64 // size


def filled_by_squares(g: Writer, b: Buffer, v: Value) -> bool:
    """Store a tile in a buffer by squares, if it lies across."""
    if not lies_across(g, v):
        return False
    sizes, w, dim = shape(v), square(v), along(g, v)
    last = wide_dims(sizes)[-1]
    index: list[Number] = [0] * len(sizes)
    loops = []
    for d in [d for d in wide_dims(sizes) if d != dim] + [dim]:
        loops.append(g.begin(sizes[d], w if d in (dim, last) else 1))
        index[d] = loops[-1].index

    def moved(to: int, n: int) -> list[Number]:
        return [g.add(i, n) if d == to else i for d, i in enumerate(index)]

    rows = [g.chunk(v, moved(last, r), dim, w) for r in range(w)]
    for r, x in enumerate(g.turned(rows, reg(v))):
        g.write(b, x, moved(dim, r), w)
    for loop in reversed(loops):
        g.end(loop)
    return True
