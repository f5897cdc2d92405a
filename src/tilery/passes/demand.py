"""Positions of tiles that matter: `read_what_matters`.

    rows = (start + iota) % m;  x = load(p + rows * stride);  ...;  store(..., mask = start + iota < m)

What is stored does not depend on the rows from `m - start` on, so the kernel need not read them, and before them
`rows` is `start + iota`. The remainder was there to keep addresses inside the matrix.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ..analysis.affine import ONE, Form, Forms, Polynomial, Product, moved, plus, range_of
from ..analysis.flow import Flow, flow
from ..analysis.intervals import is_integer
from ..attrs import ComparisonPredicate, Signedness
from ..attrs import MemoryOrderingSemantics as Ordering
from ..declare.relations import ELEMENTWISE
from ..ir import Op, Value, walk
from ..ops import (
    AddI,
    AndI,
    Assume,
    AtomicRMWTko,
    Break,
    Broadcast,
    CmpI,
    Continue,
    DivI,
    For,
    If,
    Iota,
    LoadPtrTko,
    Loop,
    MinI,
    MmaF,
    MmaI,
    MulI,
    Permute,
    Reduce,
    RemI,
    Reshape,
    Scan,
    Select,
    StorePtrTko,
    SubI,
    Yield,
)
from ..ops.effects import is_effect_free
from ..rewrite.editing import replace_uses
from ..types import I1, I32, I64, Tile
from .constants import filled
from .emitter import Appender
from .places import Places
from .views import SMALL, Masks

Limit: TypeAlias = frozenset[tuple[Product, int]]
"""The terms of a polynomial."""
DEPTH = 8
"""How many sums and products of scalars are looked through."""
Needs: TypeAlias = tuple[frozenset[Limit], ...]
"""The limits of each dimension: only the elements before all of them matter."""


def read_what_matters(entry: Op, masks: Masks) -> int:
    """Replace remainders and limits of positions where they only change elements that do not matter.

    Return how many were replaced. Loads that depend on them no longer read those elements. The addresses that they
    would read are those of elements that matter to other tile blocks, or to other elements of the tile.
    """
    plain = {o.results[0]: found for o in walk(entry) if (found := plain_before(o, masks)) is not None}
    if not plain:
        return 0
    order = flow(entry)
    needs = Demand(order, masks).found
    places = Places(entry)
    values: dict[Value, Value] = {}
    limits: dict[LoadPtrTko, dict[Limit, Polynomial]] = {}
    for result, (value, bounds) in plain.items():
        needed = needs.get(result, ())
        missing = any(not needed or _terms(bound, masks.forms) not in needed[dim] for dim, bound in bounds)
        reached = [] if missing else _reached({result}, order)
        if missing or not all(places.precedes(result.owner, o) for o in reached):
            continue
        values[result] = value
        for o in reached:
            if isinstance(o, LoadPtrTko):
                limits.setdefault(o, {}).update((_terms(bound, masks.forms), bound) for _, bound in bounds)
            elif isinstance(o, Assume):  # it may not hold for elements that do not matter
                values[o.result] = o.value
    for load, bounds_of in limits.items():
        _limit(load, needs.get(load.result, ()), bounds_of, places, masks)
    while not values.keys().isdisjoint(values.values()):
        values = {old: values.get(new, new) for old, new in values.items()}
    replace_uses(entry, values)
    return len(values)


def _terms(p: Polynomial, forms: Forms) -> Limit:
    """Return the terms of a polynomial, in which scalars that are sums or products are those of their operands."""
    for _ in range(DEPTH):
        sums = [v for product in p for v in product if isinstance(v.owner, AddI | SubI | MulI)]
        sums = [v for v in sums if not forms.wraps(v.owner)]
        if not sums:
            break
        for product, factor in list(p.items()):
            if sums[0] in product:
                rest = list(product)
                rest.remove(sums[0])
                parts = forms.times({tuple(rest): factor}, _parts(sums[0].owner, forms))
                p = plus(plus(p, {product: factor}, -1), parts)
    return frozenset(p.items())


def _parts(o: Any, forms: Forms) -> Polynomial:
    """Return the polynomial of the operands of a sum or product of scalars."""
    a, b = forms[o.lhs], forms[o.rhs]
    assert a is not None and b is not None
    if isinstance(o, MulI):
        return forms.times(a.start, b.start)
    return plus(a.start, b.start, -1 if isinstance(o, SubI) else 1)


def plain_before(o: Op, masks: Masks) -> tuple[Value, list[tuple[int, Polynomial]]] | None:
    """Return the operand that a result is equal to before a limit along each of some dimensions."""
    if not isinstance(o, RemI | MinI | Select) or not is_integer(o.results[0]):
        return None
    known, forms = masks.known, masks.forms
    if isinstance(o, Select):
        limits = masks.limits(o.cond)
        if limits is None or limits.conditions or limits.after is not None:
            return None
        bounds = [(dim, bound) for dim, each in enumerate(limits.before) for bound in each]
        return o.val_if_true, _uncertain(o, bounds, masks)
    for value, other in ((o.lhs, o.rhs), (o.rhs, o.lhs))[: 1 if isinstance(o, RemI) else 2]:
        x, end = forms[value], forms[other]
        if x is None or end is None or not end.uniform or known[value].lo < 0:
            continue
        if o.signedness is Signedness.UNSIGNED and known[other].lo < 0:
            continue
        after = end.start if isinstance(o, RemI) else plus(end.start, {(): 1})
        if (dim := _along(x, value)) is not None:
            return value, _uncertain(o, [(dim, plus(after, x.start, -1))], masks)
    return None


def _uncertain(o: Op, bounds: list[tuple[int, Polynomial]], masks: Masks) -> list[tuple[int, Polynomial]]:
    """Return the limits that an element of a tile may reach."""
    (result,) = o.results
    assert isinstance(result.type, Tile)
    shape = result.type.shape
    return [(dim, bound) for dim, bound in bounds if range_of(bound, masks.known).lo < shape[dim]]


def _along(x: Form, value: Value) -> int | None:
    """Return the dimension along which a tile counts upwards; None if it does something else."""
    assert isinstance(value.type, Tile)
    along = [dim for dim, step in enumerate(x.steps) if step and value.type.shape[dim] > 1]
    return along[0] if len(along) == 1 and x.steps[along[0]] == ONE else None


def _reached(start: set[Value], order: Flow) -> list[Op]:
    """Return the operations that depend on some values, through control flow too."""
    values, found, before = set(start), dict[Op, None](), -1
    while before != len(values):
        before = len(values)
        for o in order.ops:
            if not o.nested and not values.isdisjoint(o.operands):
                found[o] = None
                values.update(v for v in o.results if isinstance(v.type, Tile))
        values.update(v for v, sources in order.copies.items() if any(each in values for each, _ in sources))
    return list(found)


def _limit(o: LoadPtrTko, needs: Needs, bounds: dict[Limit, Polynomial], places: Places, masks: Masks) -> None:
    """Let a load read only what comes before those limits that hold for its result."""
    assert isinstance(o.result.type, Tile)
    shape, made, mask = o.result.type.shape, Appender(masks.known, o.loc), o.mask
    for dim, each in enumerate(needs):
        for bound in (bounds[terms] for terms in each if terms in bounds):
            kind = I32 if range_of(bound, masks.known).within(*SMALL) else I64
            numbers = made.add(Iota(result=Value(Tile((shape[dim],), kind)))).result
            end = made.spread(made.scalar(bound, kind), (shape[dim],))
            before = CmpI(
                comparison_predicate=ComparisonPredicate.LESS_THAN, lhs=numbers, rhs=end, signedness=Signedness.SIGNED
            )
            ones = Tile(tuple(size if d == dim else 1 for d, size in enumerate(shape)), I1)
            line = made.add(Reshape(source=made.add(before).result, result=Value(ones))).result
            inside = made.add(Broadcast(source=line, result=Value(Tile(shape, I1)))).result
            mask = inside if mask is None else made.add(AndI(lhs=mask, rhs=inside)).result
    if o.mask is None and mask is not None:
        o.paddingValue = made.add(filled(o.result.type, 0)).result
    o.mask = mask
    places.insert(o, made.ops)


class Demand:
    """The elements of tiles on which the stored elements may depend."""

    def __init__(self, order: Flow, masks: Masks) -> None:
        self.masks = masks
        self.found: dict[Value, Needs] = {}
        """Nothing depends on the values that it does not have."""
        self.changed = True
        self._solve(order)
        loads = [o for o in order.ops if isinstance(o, LoadPtrTko) and o.result not in self.found]
        for o in loads:  # they stay as they are
            self._all(o.result)
        self._solve(order)

    def _solve(self, order: Flow) -> None:
        while self.changed:
            self.changed = False
            for o in reversed(order.ops):
                self._operation(o)
            for value, sources in order.copies.items():
                if value in self.found:
                    for source, _ in sources:
                        self._need(source, self.found[value])

    def _need(self, value: Value | None, needs: Needs) -> None:
        """Add a use of a value; what matters is what matters to any of them."""
        if value is None or not isinstance(value.type, Tile):
            return
        old = self.found.get(value)
        new = needs if old is None else tuple(a & b for a, b in zip(old, needs))
        if new != old:
            self.found[value] = new
            self.changed = True

    def _all(self, value: Value | None) -> None:
        if value is not None and isinstance(value.type, Tile):
            self._need(value, (frozenset(),) * len(value.type.shape))

    def _operation(self, o: Op) -> None:
        match o:
            case For():
                for value in (o.lowerBound, o.upperBound, o.step):
                    self._all(value)
            case If():
                self._all(o.condition)
            case Loop() | Continue() | Break():
                pass
            case Yield():
                if all(isinstance(v.type, Tile) and not v.type.shape for v in o.operands):
                    for value in o.operands:  # of a reduction, perhaps
                        self._all(value)
            case StorePtrTko(destination=pointers, value=value, mask=mask):
                self._under_mask(mask, pointers, value)
            case AtomicRMWTko(pointers=pointers, arg=value, mask=mask):
                self._under_mask(mask, pointers, value)
            case LoadPtrTko(memory_ordering_semantics=Ordering.WEAK):
                if (needs := self.found.get(o.result)) is not None:
                    for operand in (o.source, o.mask, o.paddingValue):
                        self._need(operand, needs)
            case _ if o.results and all(v not in self.found for v in o.results) and not isinstance(o, Reduce | Scan):
                if not is_effect_free(o) and not isinstance(o, Assume):
                    self._everything(o)
            case MmaF() | MmaI():
                *batch, rows, columns = self.found[o.result]
                every: frozenset[Limit] = frozenset()
                self._need(o.acc, self.found[o.result])
                self._need(o.lhs, (*batch, rows, every))
                self._need(o.rhs, (*batch, every, columns))
            case Broadcast(source=source) | Reshape(source=source) | Permute(source=source):
                self._need(source, _before(o, source, self.found[o.results[0]]))
            case Assume():
                self._need(o.value, self.found[o.result])
            case RemI() | DivI():  # a divisor that does not matter may be zero
                self._all(o.rhs)
                divisor = self.masks.known[o.rhs]
                self._need(o.lhs, self.found[o.result]) if divisor.lo > 0 else self._all(o.lhs)
            case _ if ELEMENTWISE in o.opdef.traits:
                for value in o.operands:
                    self._need(value, self.found[o.results[0]])
            case _:
                self._everything(o)

    def _under_mask(self, mask: Value | None, *values: Value) -> None:
        self._all(mask)
        limits = None if mask is None else self.masks.limits(mask)
        for value in values:
            if limits is None:
                self._all(value)
            else:
                self._need(
                    value, tuple(frozenset(_terms(bound, self.masks.forms) for bound in each) for each in limits.before)
                )

    def _everything(self, o: Op) -> None:
        for value in o.operands:
            self._all(value)


def _before(o: Op, source: Value, needs: Needs) -> Needs:
    """Return what matters of the operand of an operation that broadcasts, permutes, or adds dimensions of size one."""
    assert isinstance(source.type, Tile)
    dims = moved(o, source, tuple(range(len(source.type.shape))), None)
    every: frozenset[Limit] = frozenset()
    if dims is None:
        return (every,) * len(source.type.shape)
    return tuple(needs[dims.index(dim)] if dim in dims else every for dim in range(len(source.type.shape)))
