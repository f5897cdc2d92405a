"""Reductions and scans, in the order of the reference engine (see `engines/reference/ops/reduce`).

The body is lowered anew for each place where elements are combined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from ....ops import MaxF, MinF, Reduce, Scan
from ....types import F32, I32
from ...common.threads import group_size, spread_over_threads
from ..abi import NotLowered
from ..loops.builder import element_of
from ..loops.nodes import Buffer, Const, Float, If, Kind, Operand, Scope, Stmt, Value, index
from .checks import check_pending
from .state import Lowering, is_scalar, lowers, shape

FEW = 128
"""Up to this many elements, partial results should be in registers."""


NEGATIVE = 1 << 31
INFINITY = 0x7F800000
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
    sizes, dim = shape(o.operands_[0]), o.dim
    results = [g.b.declare(element_of(v.type), () if is_scalar(v) else shape(v)) for v in o.results_]
    with g.b.nest(Kind.PARALLEL, sizes[:dim]) as outer:
        quick = _quick(g, o)
        if quick is None:
            _reduced(g, o, outer, results)
        else:
            _by_comparison(g, o, outer, results, quick)
    for v, room in zip(o.results_, results):
        g.held[v] = room if room.shape else g.b.load(room)


def _reduced(g: Lowering, o: Reduce, outer: tuple[Operand, ...], results: Sequence[Buffer]) -> None:
    """Store the results of some rows."""
    inner = shape(o.operands_[0])[o.dim + 1 :]
    partial = _tree(g, o, outer, lambda earlier, later: combine(g, o, earlier, later))
    with g.b.nest(Kind.PARALLEL, inner) as rest:
        at = (*outer, *rest) if results[0].shape else ()
        stores(g, results, at, loads(g, partial, (index(0), *rest)))


def _tree(g: Lowering, o: Reduce, outer: tuple[Operand, ...], join: Join, start: Operand | None = None) -> list[Buffer]:
    """Return buffers whose first elements are the results."""
    sizes, dim = shape(o.operands_[0]), o.dim
    kept, warps, lanes = spread_over_threads(sizes, dim)
    inner = sizes[dim + 1 :]
    fold = _first_to_last if len(o.body.ops) <= 2 else _in_pairs
    partial = fold(g, o, outer, kept, warps * lanes, join, start)
    half = lanes // 2
    while half:
        _halve(g, join, partial, (warps, lanes), (half, 1), half, inner)
        half //= 2
    half = warps // 2
    while half:
        _halve(g, join, partial, (half, lanes), (1, 1), half * lanes, inner)
        half //= 2
    return partial


def _quick(g: Lowering, o: Reduce) -> str | None:
    """Return the comparison that finds the largest or smallest f32 of a row, if no check looks at the operation."""
    op = o.body.ops[0]
    if g.checks or not isinstance(op, (MaxF, MinF)) or op.propagate_nan or op.flush_to_zero:
        return None
    if element_of(op.result.type) is not F32 or set(op.operands) != set(o.body.args):
        return None
    if len(o.body.ops) != 2 or tuple(o.body.ops[1].operands) != (op.result,):
        return None
    if prod(shape(o.operands_[0])[o.dim + 1 :]) != 1:
        return None
    return "larger" if isinstance(op, MaxF) else "smaller"


def _by_comparison(g: Lowering, o: Reduce, outer: tuple[Operand, ...], results: Sequence[Buffer], name: str) -> None:
    """Reduce by comparisons, which pass over NaN; again where those do not tell: zeros, and rows without a number."""
    worst = Const(F32, INFINITY | (NEGATIVE if name == "larger" else 0))

    def join(earlier: Sequence[Operand], later: Sequence[Operand]) -> list[Operand]:
        made = Value(F32)
        g.b.emit(Float(made, name, (*earlier, *later)))
        return [made]

    partial = _tree(g, o, outer, join, worst)
    x = g.b.load(partial[0], [index(0)] * len(partial[0].shape))
    bits = g.b.integer("bits", x, to=I32)
    zero = g.b.integer("eq", g.b.integer("shl", bits, Const(I32, 1)), Const(I32, 0))
    in_doubt = g.b.either(zero, g.b.integer("eq", bits, Const(I32, worst.bits)))
    again: list[Stmt] = []
    with g.b.within(again):
        _reduced(g, o, outer, results)
    known: list[Stmt] = []
    with g.b.within(known):
        rest = len(results[0].shape) - len(outer)
        stores(g, results, (*outer, *[index(0)] * rest) if results[0].shape else (), [x])
    g.b.emit(If(in_doubt, again, known, rarely=True))


def _first_to_last(
    g: Lowering,
    o: Reduce,
    outer: tuple[Operand, ...],
    kept: int,
    threads: int,
    join: Join,
    start: Operand | None,
) -> list[Buffer]:
    """Each thread combines its elements from first to last.

    No element is stored as it is, if there are several, so that a sum need not tell its NaNs from those of memory.
    """
    inner = shape(o.operands_[0])[o.dim + 1 :]
    partial = rooms(g, o, (threads, *inner))
    with g.b.nest(Kind.PARALLEL, (threads, *inner)) as at:
        found = [g.at(v, (*outer, *at)) for v in o.operands_]
        if start is not None:
            found = join([start], found)
        if kept > 1:
            second = (*outer, g.b.add(index(threads), at[0]), *at[1:])
            found = join(found, [g.at(v, second) for v in o.operands_])
        stores(g, partial, at, found)
    if kept <= 2:
        return partial
    with g.b.loop(Kind.SERIAL, index(kept), index(2), name="r") as loop:
        begin = g.b.mul(loop.index, index(threads))
        with g.b.nest(Kind.PARALLEL, (threads, *inner)) as at:
            place = (*outer, g.b.add(begin, at[0]), *at[1:])
            made = join(loads(g, partial, at), [g.at(v, place) for v in o.operands_])
            stores(g, partial, at, made)
    return partial


def _in_pairs(
    g: Lowering,
    o: Reduce,
    outer: tuple[Operand, ...],
    kept: int,
    threads: int,
    join: Join,
    start: Operand | None,
) -> list[Buffer]:
    """Each thread combines neighbours, then neighbouring pairs, and so on."""
    inner = shape(o.operands_[0])[o.dim + 1 :]
    partial = rooms(g, o, (kept * threads, *inner))
    with g.b.nest(Kind.PARALLEL, (kept * threads, *inner)) as at:
        stores(g, partial, at, [g.at(v, (*outer, *at)) for v in o.operands_])
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
    sizes, dim = shape(o.operands_[0]), o.dim
    group = group_size(sizes, dim)
    results = [g.b.declare(element_of(v.type), () if is_scalar(v) else shape(v)) for v in o.results_]
    with g.b.nest(Kind.PARALLEL, sizes[:dim]) as outer:
        if prod(sizes[dim + 1 :]) == 1 and not g.checks:
            _scan_row(g, o, outer, group, results)
        else:
            _scan_columns(g, o, outer, group, results)
    for v, room in zip(o.results_, results):
        g.held[v] = room if room.shape else g.b.load(room)


def _scan_row(g: Lowering, o: Scan, outer: tuple[Operand, ...], group: int, results: Sequence[Buffer]) -> None:
    """Scan neighbours, one group after the other, each in registers.

    The first elements of a group combine with one that they should not, and keep their value. A check might notice.
    """
    size = shape(o.operands_[0])[o.dim]
    rest = [index(0)] * (len(shape(o.operands_[0])) - o.dim - 1)
    total = [g.b.variable(element_of(v.type), "total") for v in o.operands_]

    def scan_group(first: Operand, continues: bool) -> None:
        def place(i: Operand) -> list[Operand]:
            return [*outer, _turned(g, o, g.b.add(first, i), size), *rest]

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
            stores(g, results, place(i) if results[0].shape else (), loads(g, current, (i,)))

    scan_group(index(0), False)
    if size > group:
        with g.b.loop(Kind.SERIAL, index(size), index(group), group, name="r") as loop:
            scan_group(loop.index, True)


def _scan_columns(g: Lowering, o: Scan, outer: tuple[Operand, ...], group: int, results: Sequence[Buffer]) -> None:
    """Scan elements whose neighbours are in other rows of the scan."""
    sizes = shape(o.operands_[0])
    size, inner = sizes[o.dim], sizes[o.dim + 1 :]
    current = rooms(g, o, (size, *inner))
    with g.b.nest(Kind.PARALLEL, (size, *inner)) as (i, *rest):
        stores(g, current, (i, *rest), [g.at(v, (*outer, _turned(g, o, i, size), *rest)) for v in o.operands_])
    distance = 1
    while distance < group:
        current = _scan_step(g, o, current, group, distance)
        distance *= 2
    if size > group:
        current = _scan_groups(g, o, current, group)
    with g.b.nest(Kind.PARALLEL, (size, *inner)) as (i, *rest):
        at = (*outer, _turned(g, o, i, size), *rest) if results[0].shape else ()
        stores(g, results, at, loads(g, current, (i, *rest)))


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
