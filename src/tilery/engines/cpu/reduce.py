"""Reductions and scans, in the order of the reference engine, so that sums of floats have its bits.

Along the last dimension, with a body of one operation, a row is reduced in registers as it is computed. All other forms
work in buffers, with the steps of the reference engine on whole rows.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod
from typing import Any

from ...ir import Value
from ...ops import Constant, MaxF, MinF, Reduce, Scan, Yield
from ...types import F32
from ..common.threads import group_size, spread_over_threads
from .abi import NotLowered
from .access import fetch
from .registry import ELEMENTWISE, emits
from .text import BYTES, Number, vector
from .tiles import Buffer, element, is_scalar, is_tile, reg, shape, stored, wide_dims
from .writer import Writer, constant_bits

LANES = 16
Chunks = list[str]
Carry = Callable[[Number, Chunks | None], list[tuple[str, int, str]]]
"""From the place of a part and what came before it to what comes before the next: types, widths and names."""


def combine(g: Writer, o: Any, earlier: Chunks, later: Chunks, w: int, final: bool) -> Chunks:
    """The body on chunks of elements; with `final`, NaNs of its results are made canonical."""
    known: dict[Value, str] = {}
    for n, (a, b) in enumerate(zip(earlier, later)):
        known[o.body.args[2 * n]], known[o.body.args[2 * n + 1]] = a, b
    for i in o.body.ops:
        if isinstance(i, Yield):
            found = [(v, known.get(v) or _captured(g, v, w)) for v in i.operands]
            return [g.clean(x, v, w) if final else x for v, x in found]
        if len(i.results) != 1:
            raise NotLowered(o.name)
        (v,) = i.results
        if isinstance(i, Constant):
            known[v] = g.pattern(constant_bits(i), reg(v), w)
        elif type(i) in ELEMENTWISE or i.name in ("broadcast", "reshape"):
            if not is_tile(v) or not is_scalar(v):
                raise NotLowered(o.name)
            operands = [known.get(u) or _captured(g, u, w) for u in i.operands]
            known[v] = g.apply(i, w, operands) if type(i) in ELEMENTWISE else operands[0]
        else:
            raise NotLowered(o.name)
    raise NotLowered(o.name)


def _captured(g: Writer, v: Value, w: int) -> str:
    if not is_tile(v) or not is_scalar(v):
        raise NotLowered("a body uses a tile from outside")
    return g.splat(g.scalar(v), reg(v), w)


def yields_dirty(g: Writer, o: Any) -> bool:
    """Whether results may hold NaNs that are still to be made canonical; a body may yield what it is given."""
    yielded = o.body.ops[-1].operands
    return any(g.dirty(v) for v in yielded) or (any(v in o.body.args for v in yielded) and g.dirty(o.operands_[0]))


# ---------------------------------------------------------------- reduce


@emits(Reduce)
def reduce(g: Writer, o: Reduce) -> None:
    if shape(o.operands_[0])[o.dim] == 1:
        for v, source in zip(o.results, o.operands_):
            _passed_on(g, v, source)
    elif is_in_registers(o):
        g.with_sides(list(o.operands_), lambda: in_registers(g, o))
    else:
        in_buffers(g, o)


def is_in_registers(o: Reduce) -> bool:
    """Whether rows are reduced in registers: along the last dimension, by a body of one operation."""
    return wide_dims(shape(o.operands_[0]))[-1:] == [o.dim] and len(o.operands_) == 1 and len(o.body.ops) == 2


def _passed_on(g: Writer, v: Value, source: Value) -> None:
    """A dimension of one element: the elements themselves."""
    if is_scalar(v):
        g.settle({v: g.clean(g.scalar(source), source, 1)})
        return
    b = g.buffer(shape(source), reg(source))
    g.fill_clean(b, source)
    g.settle({v: Buffer(b.pointer, shape(v), b.type)})


def in_registers(g: Writer, o: Reduce) -> None:
    (source,), (result,) = o.operands_, o.results
    sizes, t = shape(source), reg(source)
    kept, warps, lanes = spread_over_threads(sizes, o.dim)
    if any(n > 1 for n in sizes[o.dim + 1 :]):
        raise AssertionError
    width = warps * lanes
    w = min(LANES, lanes)
    out = None if is_scalar(result) else g.goal.get(result) or g.buffer(shape(result), t)
    slot = g.slot(stored(t)) if out is None else ""
    quick = _quick(g, o)

    def join(a: str, b: str, n: int) -> str:
        if quick is None:
            return combine(g, o, [a], [b], n, False)[0]
        return g.select(g.compare(quick, t, n, b, a), t, n, b, a)

    def row(index: list[Number]) -> str:
        def at(k: Number) -> list[Number]:
            return [k if d == o.dim else i for d, i in enumerate(index)]

        g.hoist(source, at(0), o.dim, w)
        fetch(g, o, at(0), width)
        acc = [g.chunk(source, at(j), o.dim, w) for j in range(0, width, w)]
        if quick is not None:
            acc = [join(g.const(-inf if quick == "ogt" else inf, t, w), a, w) for a in acc]
        if kept > 1:
            loop = g.begin(sizes[o.dim], width, [(vector(t, w), a) for a in acc], low=width)
            acc = loop.names
            fetch(g, o, at(loop.index), width)
            places = [at(g.add(loop.index, j * w)) for j in range(len(acc))]
            g.end(loop, [join(c, g.chunk(source, p, o.dim, w), w) for c, p in zip(acc, places)])
        x = _tree(g, t, acc, lanes, warps, w, join)
        return x if quick is None else _careful(g, o, x, quick, at)

    def body() -> None:
        index: list[Number] = [0] * len(sizes)
        loops = []
        for d in wide_dims(sizes):
            if d != o.dim:
                loops.append(g.begin(sizes[d]))
                index[d] = loops[-1].index
        x = row(index)
        x = g.cast("zext", x, "i1", "i8", 1) if t == "i1" else x
        if out is None:
            g.store(stored(t), x, slot)
        else:
            g.write(out, x, [i for d, i in enumerate(index) if d != o.dim], 1)
        for loop in reversed(loops):
            g.end(loop)

    body()
    g.dirty_memo[result] = yields_dirty(g, o)
    g.settle({result: out if out is not None else g.truth(g.load(stored(t), slot), t, 1)})


def _tree(g: Writer, t: str, acc: Chunks, lanes: int, warps: int, w: int, join: Callable[[str, str, int], str]) -> str:
    """Lanes that are 16, 8, 4, 2 and 1 apart, then warps."""
    each = lanes // w
    rows = [acc[k * each : (k + 1) * each] for k in range(warps)]
    while len(rows[0]) > 1:
        half = len(rows[0]) // 2
        rows = [[join(r[i], r[i + half], w) for i in range(half)] for r in rows]
    found = [r[0] for r in rows]
    while w > 1:
        w //= 2
        found = [join(g.part(x, t, 2 * w, 0, w), g.part(x, t, 2 * w, w, w), w) for x in found]
    while len(found) > 1:
        half = len(found) // 2
        found = [join(found[i], found[i + half], 1) for i in range(half)]
    return found[0]


def _quick(g: Writer, o: Reduce) -> str | None:
    """maxf and minf of f32 as one instruction: the newer element where it compares greater (less), else the old one."""
    op = o.body.ops[0]
    if not isinstance(op, (MaxF, MinF)) or op.propagate_nan or op.flush_to_zero or element(op.result) is not F32:
        return None
    if set(op.operands) != set(o.body.args):
        return None
    return "ogt" if isinstance(op, MaxF) else "olt"


def _careful(g: Writer, o: Reduce, x: str, quick: str, at: Callable[[Number], list[Number]]) -> str:
    """Repeat the reduction where the quick way is not exact: zeros of both signs, and rows without a number."""
    (source,) = o.operands_
    size, t = shape(source)[o.dim], reg(source)
    slot = g.slot(t)
    g.store(t, x, slot)
    worst = g.const(-inf if quick == "ogt" else inf, t)
    doubt = g.either(g.compare("oeq", t, 1, x, g.const(0.0, t)), g.compare("oeq", t, 1, x, worst))
    sides, g.sides = g.sides, {}

    def again() -> None:
        loop = g.begin(size, 1, [(t, g.chunk(source, at(0), o.dim, 1))], low=1)
        (c,) = loop.names
        g.end(loop, combine(g, o, [c], [g.chunk(source, at(loop.index), o.dim, 1)], 1, False))
        g.store(t, c, slot)

    g.when(doubt, again, rarely=True)
    g.sides = sides
    return g.load(t, slot)


# ---------------------------------------------------------------- in buffers


class Rows:
    """Tiles in buffers, as flat memory."""

    def __init__(self, g: Writer, values: tuple[Value, ...]) -> None:
        self.g = g
        self.types = [reg(v) for v in values]
        self.buffers = [g.buffer(shape(v), reg(v)) for v in values]
        for b, v in zip(self.buffers, values):
            g.fill_clean(b, v)

    def read(self, at: Number, w: int) -> Chunks:
        g, found = self.g, []
        for b, t in zip(self.buffers, self.types):
            x = g.load(vector(b.type, w), g.at(b.type, b.pointer, at), BYTES[b.type])
            found.append(g.truth(x, t, w))
        return found

    def write(self, at: Number, values: Chunks, w: int) -> None:
        g = self.g
        for b, t, x in zip(self.buffers, self.types, values):
            raw = g.cast("zext", x, "i1", "i8", w) if t == "i1" else x
            g.store(vector(b.type, w), raw, g.at(b.type, b.pointer, at), BYTES[b.type])


def each(g: Writer, high: int, step: int, body: Callable[[Number], None]) -> None:
    """A loop, or nothing but its body if it runs once."""
    if high == step:
        body(0)
        return
    loop = g.begin(high, step)
    body(loop.index)
    g.end(loop)


def in_buffers(g: Writer, o: Reduce) -> None:
    sizes = shape(o.operands_[0])
    outer, inner = prod(sizes[: o.dim]), prod(sizes[o.dim + 1 :])
    kept, warps, lanes = spread_over_threads(sizes, o.dim)
    rows = Rows(g, o.operands_)
    row, whole = warps * lanes * inner, prod(sizes[o.dim :])

    def halves(base: Number, half: int) -> None:
        """The first half of some elements with the second."""
        w = min(LANES, half)

        def one(j: Number) -> None:
            at = g.add(base, j)
            rows.write(at, combine(g, o, rows.read(at, w), rows.read(g.add(at, half), w), w, True), w)

        each(g, half, w, one)

    def part(n: Number) -> None:
        base = g.mul(n, whole)
        if len(o.body.ops) <= 2:
            _fold(g, o, rows, base, row, kept)
        else:
            _pairs(g, o, rows, base, row, kept)
        count = lanes
        while count > 1:
            count //= 2
            for warp in range(warps):
                halves(g.add(base, warp * lanes * inner), count * inner)
        count = warps
        while count > 1:
            count //= 2
            for warp in range(count):
                _across(g, o, rows, base, warp * lanes * inner, (warp + count) * lanes * inner, inner)

    each(g, outer, 1, part)
    _collect(g, o, rows, outer, inner, whole)


def _across(g: Writer, o: Any, rows: Rows, base: Number, first: int, second: int, inner: int) -> None:
    w = min(LANES, inner)

    def one(j: Number) -> None:
        here, there = g.add(g.add(base, first), j), g.add(g.add(base, second), j)
        rows.write(here, combine(g, o, rows.read(here, w), rows.read(there, w), w, True), w)

    each(g, inner, w, one)


def _fold(g: Writer, o: Any, rows: Rows, base: Number, row: int, kept: int) -> None:
    """Combine the elements of a thread from first to last."""
    w = min(LANES, row)

    def one(j: Number) -> None:
        start = g.add(base, j)
        acc = rows.read(start, w)
        if kept > 1:
            loop = g.begin(kept, 1, [(vector(t, w), a) for t, a in zip(rows.types, acc)], low=1)
            later = rows.read(g.add(start, g.mul(loop.index, row)), w)
            g.end(loop, combine(g, o, loop.names, later, w, True))
            acc = loop.names
        rows.write(start, acc, w)

    each(g, row, w, one)


def _pairs(g: Writer, o: Any, rows: Rows, base: Number, row: int, kept: int) -> None:
    """Combine the elements of a thread by a balanced tree."""
    w = min(LANES, row)
    while kept > 1:
        kept //= 2

        def pair(k: Number) -> None:
            def one(j: Number) -> None:
                source = g.add(g.add(base, g.mul(k, 2 * row)), j)
                made = combine(g, o, rows.read(source, w), rows.read(g.add(source, row), w), w, True)
                rows.write(g.add(g.add(base, g.mul(k, row)), j), made, w)

            each(g, row, w, one)

        each(g, kept, 1, pair)


def _collect(g: Writer, o: Reduce, rows: Rows, outer: int, inner: int, whole: int) -> None:
    """The results, which lie at the start of each part, one after the other."""
    for v, b, t in zip(o.results, rows.buffers, rows.types):
        if is_scalar(v):
            g.settle({v: g.truth(g.load(b.type, b.pointer), t, 1)})
            continue
        out = g.buffer(shape(v), t)
        w = min(LANES, inner)

        def part(n: Number, b: Buffer = b, out: Buffer = out, w: int = w) -> None:
            def one(j: Number) -> None:
                x = g.load(vector(b.type, w), g.at(b.type, b.pointer, g.add(g.mul(n, whole), j)), BYTES[b.type])
                g.store(vector(b.type, w), x, g.at(b.type, out.pointer, g.add(g.mul(n, inner), j)), BYTES[b.type])

            each(g, inner, w, one)

        each(g, outer, 1, part)
        g.settle({v: out})


# ---------------------------------------------------------------- scan


@emits(Scan)
def scan(g: Writer, o: Scan) -> None:
    sizes = shape(o.operands_[0])
    outer, size, inner = prod(sizes[: o.dim]), sizes[o.dim], prod(sizes[o.dim + 1 :])
    group = group_size(sizes, o.dim)
    rows = Rows(g, o.operands_)
    if inner > 1:
        each(g, outer, 1, lambda n: _scan_columns(g, o, rows, g.mul(n, size * inner), (size, inner), group))
    elif group == 1 and min(outer, size) >= LANES and "i1" not in rows.types:
        each(g, outer, LANES, lambda n: _scan_squares(g, o, rows, g.mul(n, size), size))
    else:
        each(g, outer, 1, lambda n: _scan_row(g, o, rows, g.mul(n, size), size, group))
    for v, b, t in zip(o.results, rows.buffers, rows.types):
        g.settle({v: g.truth(g.load(b.type, b.pointer), t, 1) if is_scalar(v) else b})


def _in_order(g: Writer, o: Scan, size: int, step: int, carry: Carry) -> None:
    """Work on parts of a row, in the order of the scan; what `carry` returns for one it is given for the next."""

    def place(k: Number) -> Number:
        return g.sub(size - step, k) if o.reverse else k

    totals = carry(place(0), None)
    if size > step:
        types = [vector(t, w) for t, w, _ in totals]
        loop = g.begin(size, step, [(t, x) for t, (_, _, x) in zip(types, totals)], low=step)
        g.end(loop, [x for _, _, x in carry(place(loop.index), loop.names)])


def _scan_row(g: Writer, o: Scan, rows: Rows, base: Number, size: int, group: int) -> None:
    """A row whose elements are neighbours: groups in registers, one after the other."""
    turn = list(reversed(range(group)))

    def one(at: Number, before: Chunks | None) -> list[tuple[str, int, str]]:
        found = rows.read(g.add(base, at), group)
        if o.reverse and group > 1:
            found = [g.shuffle(x, None, t, group, turn) for x, t in zip(found, rows.types)]
        distance = 1
        while distance < group:
            order = [max(i - distance, 0) for i in range(group)]
            earlier = [g.shuffle(x, None, t, group, order) for x, t in zip(found, rows.types)]
            joined = combine(g, o, earlier, found, group, True)
            kept = [i if i < distance else group + i for i in range(group)]
            found = [g.shuffle(x, y, t, group, kept) for x, y, t in zip(found, joined, rows.types)]
            distance *= 2
        if before is not None:
            totals = [g.splat(x, t, group) for x, t in zip(before, rows.types)]
            found = combine(g, o, totals, found, group, True)
        last = [(t, 1, g.part(x, t, group, group - 1, 1)) for x, t in zip(found, rows.types)]
        if o.reverse and group > 1:
            found = [g.shuffle(x, None, t, group, turn) for x, t in zip(found, rows.types)]
        rows.write(g.add(base, at), found, group)
        return last

    _in_order(g, o, size, group, one)


def _scan_squares(g: Writer, o: Scan, rows: Rows, base: Number, size: int) -> None:
    """Some rows at once, each from element to element: squares are turned in registers."""
    w = LANES

    def one(at: Number, before: Chunks | None) -> list[tuple[str, int, str]]:
        places = [g.add(base, g.add(at, r * size)) for r in range(w)]
        lines = [rows.read(p, w) for p in places]
        columns = [g.turned([line[n] for line in lines], t) for n, t in enumerate(rows.types)]
        for k in reversed(range(w)) if o.reverse else range(w):
            now = [column[k] for column in columns]
            before = now if before is None else combine(g, o, before, now, w, True)
            for column, x in zip(columns, before):
                column[k] = x
        assert before is not None
        turned = [g.turned(column, t) for column, t in zip(columns, rows.types)]
        for r, p in enumerate(places):
            rows.write(p, [line[r] for line in turned], w)
        return [(t, w, x) for t, x in zip(rows.types, before)]

    _in_order(g, o, size, w, one)


def _scan_columns(g: Writer, o: Scan, rows: Rows, base: Number, sizes: tuple[int, int], group: int) -> None:
    """Elements whose neighbours are in other rows of the scan."""
    size, inner = sizes
    w = min(LANES, inner)

    def place(j: Number) -> Number:
        """Return the address of element `j` in the order of the scan."""
        return g.add(base, g.mul(g.sub(size - 1, j) if o.reverse else j, inner))

    def join(earlier: Number, later: Number, c: Number) -> None:
        a, b = g.add(place(earlier), c), g.add(place(later), c)
        rows.write(b, combine(g, o, rows.read(a, w), rows.read(b, w), w, True), w)

    distance = 1
    while distance < group:
        count = group - distance

        def one(k: Number, distance: int = distance, count: int = count) -> None:
            start = g.mul(k, group)

            def step(j: Number) -> None:
                later = g.add(start, g.sub(group - 1, j))
                each(g, inner, w, lambda c: join(g.sub(later, distance), later, c))

            _count(g, count, step)

        each(g, size // group, 1, one)
        distance *= 2
    if size > group:
        _carry_on(g, size // group, group, join, inner, w)


def _count(g: Writer, count: int, body: Callable[[Number], None]) -> None:
    loop = g.begin(count)
    body(loop.index)
    g.end(loop)


def _carry_on(
    g: Writer, groups: int, group: int, join: Callable[[Number, Number, Number], None], inner: int, w: int
) -> None:
    """Groups one after the other: the last element of a group goes into all of the next, its own last one first."""
    loop = g.begin(groups, low=1)
    start = g.mul(loop.index, group)
    total = g.sub(start, 1)

    def step(j: Number) -> None:
        later = g.add(start, g.sub(group - 1, j))
        each(g, inner, w, lambda c: join(total, later, c))

    _count(g, group, step)
    g.end(loop)
