"""Reductions and scans, in the order of the reference engine (see `engines/reference/ops/reduce`).

The body is lowered anew for each place where elements are combined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

from ....ops import MaxF, MinF, Reduce, Scan
from ....types import F32, I32
from ...common.threads import group_size, spread_over_threads
from ..abi import NotLowered
from ..loops.builder import element_of
from ..loops.nodes import Buffer, Const, Float, If, Kind, Operand, Scope, Stmt, Value, index
from .checks import check_pending
from .state import Lowering, Turned, is_scalar, lowers, shape

FEW = 128
"""Up to this many elements, partial results should be in registers."""


NEGATIVE = 1 << 31
INFINITY = 0x7F800000
MAX_PARTIAL = 1 << 12
"""Partial results of rows that are reduced side by side."""


@dataclass(frozen=True, slots=True)
class Walk:
    """How to go through operands: the indices of some dimensions are known, others are those of loops inside."""

    dim: int
    """The dimension that is combined."""
    outer: dict[int, Operand]
    """The indices of dimensions, or the first of a part."""
    dims: tuple[int, ...]
    """The dimensions of the loops inside."""
    inner: tuple[int, ...]
    """Their sizes."""

    def at(self, g: Lowering, i: Operand, rest: Sequence[Operand]) -> list[Operand]:
        """Return the index of an element."""
        found = {**self.outer, self.dim: i}
        for d, x in zip(self.dims, rest):
            found[d] = g.b.add(found[d], x) if d in found else x
        return [found[d] for d in range(len(found))]

    def reduced(self, g: Lowering, rest: Sequence[Operand]) -> list[Operand]:
        """Return the index of a result without the dimension that is combined."""
        found = self.at(g, index(0), rest)
        del found[self.dim]
        return found


Join = Callable[[Sequence[Operand], Sequence[Operand]], list[Operand]]
"""From earlier and later elements, one per operand, to those that take their place."""


def combine(g: Lowering, o: Reduce | Scan, earlier: Sequence[Operand], later: Sequence[Operand]) -> list[Operand]:
    """Combine elements by the body of the operation."""
    pairs = [x for pair in zip(earlier, later) for x in pair]
    g.held.update(zip(o.body.args, pairs))
    before, g.pending = g.pending, []
    for each in o.body.ops[:-1]:
        g.lower(each)
    check_pending(g)
    g.pending = before
    made = o.body.ops[-1].operands
    if not all(map(is_scalar, made)):
        raise NotLowered("a body that returns tiles")
    return [g.operand(v) for v in made]


def rooms(g: Lowering, o: Reduce | Scan, sizes: Sequence[int], few: int = FEW) -> list[Buffer]:
    """Declare a buffer for partial results of each operand."""
    total = 1
    for n in sizes:
        total *= n
    scope = Scope.REGISTER if total <= few else Scope.ARENA
    return [g.b.declare(element_of(v.type), sizes, scope, "partial") for v in o.operands_]


def loads(g: Lowering, buffers: Sequence[Buffer], at: Sequence[Operand]) -> list[Operand]:
    return [g.b.load(b, at) for b in buffers]


def stores(g: Lowering, buffers: Sequence[Buffer], at: Sequence[Operand], values: Sequence[Operand]) -> None:
    for b, x in zip(buffers, values):
        g.b.store(b, at, x)


# ---------------------------------------------------------------- reduce


@lowers(Reduce)
def reduce(g: Lowering, o: Reduce) -> None:
    """Threads combine their elements, then lanes, then warps: those of the second half with those of the first."""
    results = [g.b.declare(element_of(v.type), () if is_scalar(v) else shape(v)) for v in o.results_]
    _, warps, lanes = spread_over_threads(shape(o.operands_[0]), o.dim)
    with _walks(g, o, warps * lanes) as way:
        quick = _quick(g, o, way)
        if quick is None:
            _reduced(g, o, way, results)
        else:
            _by_comparison(g, o, way, results, quick)
    for v, room in zip(o.results_, results):
        g.held[v] = room if room.shape else g.b.load(room)


@contextmanager
def _walks(g: Lowering, o: Reduce | Scan, each: int) -> Iterator[Walk]:
    """Open the loops over rows, and yield how to go through those that are combined side by side.

    These are neighbours in the operands: those after the combined dimension, or those along another one, if the first
    operand is held in another order. Each of them takes `each` partial results.
    """
    sizes, dim, held = shape(o.operands_[0]), o.dim, g.held[o.operands_[0]]
    rank = len(sizes)
    last = held.order[-1] if isinstance(held, Turned) else dim
    if last >= dim or sizes[last] == 1:
        with g.b.nest(Kind.PARALLEL, sizes[:dim]) as outer:
            yield Walk(dim, dict(enumerate(outer)), tuple(range(dim + 1, rank)), sizes[dim + 1 :])
        return
    dims = (*range(dim + 1, rank), last)
    part = sizes[last]
    while part > 16 and part * each * prod(sizes[dim + 1 :]) > MAX_PARTIAL:
        part //= 2
    rows = [sizes[d] // part if d == last else n for d, n in enumerate(sizes[:dim])]
    with g.b.nest(Kind.PARALLEL, rows) as outer:
        known = {d: g.b.mul(i, index(part)) if d == last else i for d, i in enumerate(outer)}
        yield Walk(dim, known, dims, tuple(part if d == last else sizes[d] for d in dims))


def _reduced(g: Lowering, o: Reduce, way: Walk, results: Sequence[Buffer]) -> None:
    """Store the results of some rows."""
    partial = _tree(g, o, way, lambda earlier, later: combine(g, o, earlier, later))
    with g.b.nest(Kind.PARALLEL, way.inner) as rest:
        at = way.reduced(g, rest) if results[0].shape else ()
        stores(g, results, at, loads(g, partial, (index(0), *rest)))


def _tree(g: Lowering, o: Reduce, way: Walk, join: Join, start: Operand | None = None) -> list[Buffer]:
    """Return buffers whose first elements are the results."""
    kept, warps, lanes = spread_over_threads(shape(o.operands_[0]), o.dim)
    inner = way.inner
    fold = _first_to_last if len(o.body.ops) <= 2 else _in_pairs
    partial = fold(g, o, way, kept, warps * lanes, join, start)
    half = lanes // 2
    while half:
        _halve(g, join, partial, (warps, lanes), (half, 1), half, inner)
        half //= 2
    half = warps // 2
    while half:
        _halve(g, join, partial, (half, lanes), (1, 1), half * lanes, inner)
        half //= 2
    return partial


def _quick(g: Lowering, o: Reduce, way: Walk) -> str | None:
    """Return the comparison that finds the largest or smallest f32 of a row, if no check looks at the operation."""
    op = o.body.ops[0]
    if g.checks or not isinstance(op, (MaxF, MinF)) or op.propagate_nan or op.flush_to_zero:
        return None
    if element_of(op.result.type) is not F32 or set(op.operands) != set(o.body.args):
        return None
    if len(o.body.ops) != 2 or tuple(o.body.ops[1].operands) != (op.result,):
        return None
    if prod(way.inner) != 1:
        return None
    return "larger" if isinstance(op, MaxF) else "smaller"


def _by_comparison(g: Lowering, o: Reduce, way: Walk, results: Sequence[Buffer], name: str) -> None:
    """Reduce by comparisons, which pass over NaN; again where those do not tell: zeros, and rows without a number."""
    worst = Const(F32, INFINITY | (NEGATIVE if name == "larger" else 0))

    def join(earlier: Sequence[Operand], later: Sequence[Operand]) -> list[Operand]:
        made = Value(F32)
        g.b.emit(Float(made, name, (*earlier, *later)))
        return [made]

    partial = _tree(g, o, way, join, worst)
    x = g.b.load(partial[0], [index(0)] * len(partial[0].shape))
    bits = g.b.integer("bits", x, to=I32)
    zero = g.b.integer("eq", g.b.integer("shl", bits, Const(I32, 1)), Const(I32, 0))
    in_doubt = g.b.either(zero, g.b.integer("eq", bits, Const(I32, worst.bits)))
    again: list[Stmt] = []
    with g.b.within(again):
        _reduced(g, o, way, results)
    known: list[Stmt] = []
    with g.b.within(known):
        stores(g, results, way.reduced(g, [index(0)] * len(way.inner)) if results[0].shape else (), [x])
    g.b.emit(If(in_doubt, again, known, rarely=True))


def _first_to_last(
    g: Lowering,
    o: Reduce,
    way: Walk,
    kept: int,
    threads: int,
    join: Join,
    start: Operand | None,
) -> list[Buffer]:
    """Each thread combines its elements from first to last.

    No element is stored as it is, if there are several, so that a sum need not tell its NaNs from those of memory.
    """
    inner = way.inner
    partial = rooms(g, o, (threads, *inner))
    with g.b.nest(Kind.PARALLEL, (threads, *inner)) as at:
        found = [g.at(v, way.at(g, at[0], at[1:])) for v in o.operands_]
        if start is not None:
            found = join([start], found)
        if kept > 1:
            second = way.at(g, g.b.add(index(threads), at[0]), at[1:])
            found = join(found, [g.at(v, second) for v in o.operands_])
        stores(g, partial, at, found)
    if kept <= 2:
        return partial
    with g.b.loop(Kind.SERIAL, index(kept), index(2), name="r") as loop:
        begin = g.b.mul(loop.index, index(threads))
        with g.b.nest(Kind.PARALLEL, (threads, *inner)) as at:
            place = way.at(g, g.b.add(begin, at[0]), at[1:])
            made = join(loads(g, partial, at), [g.at(v, place) for v in o.operands_])
            stores(g, partial, at, made)
    return partial


def _in_pairs(
    g: Lowering,
    o: Reduce,
    way: Walk,
    kept: int,
    threads: int,
    join: Join,
    start: Operand | None,
) -> list[Buffer]:
    """Each thread combines neighbours, then neighbouring pairs, and so on."""
    inner = way.inner
    partial = rooms(g, o, (kept * threads, *inner))
    with g.b.nest(Kind.PARALLEL, (kept * threads, *inner)) as at:
        stores(g, partial, at, [g.at(v, way.at(g, at[0], at[1:])) for v in o.operands_])
    while kept > 1:
        kept //= 2
        # Pair `k` is stored where its elements, or those of earlier pairs, were: the order matters.
        with g.b.loop(Kind.SERIAL, index(kept), name="r") as loop:
            result = g.b.mul(loop.index, index(threads))
            first = g.b.mul(loop.index, index(2 * threads))
            second = g.b.add(first, index(threads))
            with g.b.nest(Kind.PARALLEL, (threads, *inner)) as (t, *rest):
                pair = [loads(g, partial, (g.b.add(x, t), *rest)) for x in (first, second)]
                stores(g, partial, (g.b.add(result, t), *rest), join(*pair))
    return partial


def _halve(
    g: Lowering,
    join: Join,
    partial: list[Buffer],
    groups: tuple[int, int],
    each: tuple[int, int],
    distance: int,
    inner: tuple[int, ...],
) -> None:
    """Combine `each[0]` elements of every group with those at a distance; `groups` is how many, and how far apart."""
    count, apart = groups
    with g.b.nest(Kind.PARALLEL, (count, each[0], *inner)) as (group, i, *rest):
        t = g.b.add(g.b.mul(group, index(apart)), i)
        pair = [loads(g, partial, (x, *rest)) for x in (t, g.b.add(t, index(distance)))]
        stores(g, partial, (t, *rest), join(*pair))


# ---------------------------------------------------------------- scan


@lowers(Scan)
def scan(g: Lowering, o: Scan) -> None:
    """Elements of a group combine with those 1, 2, 4 and so on before; then groups combine, one after the other."""
    sizes, held = shape(o.operands_[0]), g.held[o.operands_[0]]
    group = group_size(sizes, o.dim)
    order = tuple(range(len(sizes)))
    if isinstance(held, Turned) and all(map(g.may_turn, o.results_)):
        order = held.order
    turned = [sizes[d] for d in order]
    results = [g.b.declare(element_of(v.type), () if is_scalar(v) else turned) for v in o.results_]
    with _walks(g, o, sizes[o.dim]) as way:
        if prod(way.inner) == 1 and not g.checks:
            _scan_row(g, o, way, group, results, order)
        else:
            _scan_columns(g, o, way, group, results, order)
    for v, room in zip(o.results_, results):
        if room.shape:
            g.hold(v, room, order)
        else:
            g.held[v] = g.b.load(room)


def _scan_row(g: Lowering, o: Scan, way: Walk, group: int, results: Sequence[Buffer], order: tuple[int, ...]) -> None:
    """Scan neighbours, one group after the other, each in registers.

    The first elements of a group combine with one that they should not, and keep their value. A check might notice.
    """
    size = shape(o.operands_[0])[o.dim]
    rest = [index(0)] * len(way.inner)
    total = [g.b.variable(element_of(v.type), "total") for v in o.operands_]

    def scan_group(first: Operand, continues: bool) -> None:
        def place(i: Operand) -> list[Operand]:
            return way.at(g, _turned(g, o, g.b.add(first, i), size), rest)

        current = rooms(g, o, (group,))
        with g.b.nest(Kind.PARALLEL, (group,)) as (i,):
            stores(g, current, (i,), [g.at(v, place(i)) for v in o.operands_])
        distance = 1
        while distance < group:
            new = rooms(g, o, (group,))
            with g.b.nest(Kind.PARALLEL, (group,)) as (i,):
                before = g.b.integer("smax", g.b.sub(i, index(distance)), index(0))
                here = loads(g, current, (i,))
                made = combine(g, o, loads(g, current, (before,)), here)
                alone = g.b.integer("slt", i, index(distance))
                stores(g, new, (i,), [g.b.select(alone, x, y) for x, y in zip(here, made)])
            current, distance = new, 2 * distance
        if continues:
            new = rooms(g, o, (group,))
            with g.b.nest(Kind.PARALLEL, (group,)) as (i,):
                stores(g, new, (i,), combine(g, o, loads(g, total, ()), loads(g, current, (i,))))
            current = new
        stores(g, total, (), loads(g, current, (index(group - 1),)))
        with g.b.nest(Kind.PARALLEL, (group,)) as (i,):
            at = place(i)
            stores(g, results, [at[d] for d in order] if results[0].shape else (), loads(g, current, (i,)))

    scan_group(index(0), False)
    if size > group:
        with g.b.loop(Kind.SERIAL, index(size), index(group), group, name="r") as loop:
            scan_group(loop.index, True)


def _scan_columns(
    g: Lowering, o: Scan, way: Walk, group: int, results: Sequence[Buffer], order: tuple[int, ...]
) -> None:
    """Scan elements whose neighbours are in other rows of the scan."""
    size, inner = shape(o.operands_[0])[o.dim], way.inner
    current = rooms(g, o, (size, *inner))
    with g.b.nest(Kind.PARALLEL, (size, *inner)) as (i, *rest):
        stores(g, current, (i, *rest), [g.at(v, way.at(g, _turned(g, o, i, size), rest)) for v in o.operands_])
    distance = 1
    while distance < group:
        current = _scan_step(g, o, current, group, distance)
        distance *= 2
    if size > group:
        current = _scan_groups(g, o, current, group)
    with g.b.nest(Kind.PARALLEL, (size, *inner)) as (i, *rest):
        at = way.at(g, _turned(g, o, i, size), rest)
        stores(g, results, [at[d] for d in order] if results[0].shape else (), loads(g, current, (i, *rest)))


def _turned(g: Lowering, o: Scan, i: Operand, size: int) -> Operand:
    """Return the position of an element in the order of the scan."""
    return g.b.sub(index(size - 1), i) if o.reverse else i


def _scan_step(g: Lowering, o: Scan, current: list[Buffer], group: int, distance: int) -> list[Buffer]:
    """Combine each element of a group with the one at a distance before, if there is one."""
    size, *inner = current[0].shape
    new = rooms(g, o, (size, *inner))
    with g.b.nest(Kind.PARALLEL, (size // group, distance, *inner)) as (n, i, *rest):
        at = (g.b.add(g.b.mul(n, index(group)), i), *rest)
        stores(g, new, at, loads(g, current, at))
    with g.b.nest(Kind.PARALLEL, (size // group, group - distance, *inner)) as (n, i, *rest):
        before = g.b.add(g.b.mul(n, index(group)), i)
        at = (g.b.add(before, index(distance)), *rest)
        stores(g, new, at, combine(g, o, loads(g, current, (before, *rest)), loads(g, current, at)))
    return new


def _scan_groups(g: Lowering, o: Scan, current: list[Buffer], group: int) -> list[Buffer]:
    """Scan the last elements of the groups, then combine them with the elements of the group after."""
    size, *inner = current[0].shape
    groups = size // group
    totals, new = rooms(g, o, (groups, *inner)), rooms(g, o, (size, *inner))
    with g.b.nest(Kind.PARALLEL, inner) as rest:
        stores(g, totals, (index(0), *rest), loads(g, current, (index(group - 1), *rest)))
    with g.b.loop(Kind.SERIAL, index(groups), index(1), name="r") as loop, g.b.nest(Kind.PARALLEL, inner) as rest:
        last = g.b.add(g.b.mul(loop.index, index(group)), index(group - 1))
        before = loads(g, totals, (g.b.sub(loop.index, index(1)), *rest))
        stores(g, totals, (loop.index, *rest), combine(g, o, before, loads(g, current, (last, *rest))))
    with g.b.nest(Kind.PARALLEL, (group, *inner)) as at:
        stores(g, new, at, loads(g, current, at))
    with g.b.nest(Kind.PARALLEL, (groups - 1, group, *inner)) as (n, i, *rest):
        at = (g.b.add(g.b.mul(g.b.add(n, index(1)), index(group)), i), *rest)
        stores(g, new, at, combine(g, o, loads(g, totals, (n, *rest)), loads(g, current, at)))
    return new
