"""Accesses through affine pointers as accesses through views: `views_of_pointers`.

A tile of pointers that is affine is a box of memory, and a mask that compares positions with limits cuts it off. A view
says both, so an engine checks a box once instead of each address, and reads whole rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..analysis.affine import ONE, Form, Forms, Polynomial, moved, number, plus, range_of
from ..analysis.intervals import Range, element, is_integer
from ..analysis.ranges import Ranges
from ..attrs import ComparisonPredicate, Signedness
from ..attrs import MemoryOrderingSemantics as Ordering
from ..enums import PaddingValue
from ..ir import Op, Value, walk
from ..ops import (
    AndI,
    Broadcast,
    CmpI,
    Constant,
    Iota,
    LoadPtrTko,
    LoadViewTko,
    MakeGatherScatterView,
    MakePartitionView,
    MakeTensorView,
    MaxI,
    MinI,
    MulI,
    Offset,
    Permute,
    Reshape,
    Select,
    StorePtrTko,
    StoreViewTko,
    SubI,
)
from ..rewrite.deadcode import erase_dead
from ..rewrite.editing import replace_uses
from ..types import DYNAMIC, I32, I64, GatherScatterView, PartitionView, Ptr, Scalar, TensorView, Tile
from .emitter import Appender

SIGNED = Signedness.SIGNED
LESS, LESS_EQUAL = ComparisonPredicate.LESS_THAN, ComparisonPredicate.LESS_THAN_OR_EQUAL
MIRRORED = {
    ComparisonPredicate.GREATER_THAN: LESS,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: LESS_EQUAL,
}
SMALL = Range(-(1 << 31), (1 << 31) - 1)
LARGE = Range(-(1 << 62), 1 << 62)
DEPTH = 32
"""How many operations a mask may be composed of, one after the other."""
MOST_LIMITS = 8
"""How many comparisons a mask may have."""


def views_of_pointers(entry: Op, known: Ranges) -> int:
    """Access memory through views where pointers are known to be affine; return the number of accesses.

    The ranges must hold whenever the kernel runs. Which bytes are accessed, in which order of tokens, is the same;
    an access that is outside all memory is still one, but the operation that reports it is another.
    """
    made = 0
    values: dict[Value, Value] = {}
    masks = Masks(Forms(known), known)
    for block in [entry.body, *(b for o in walk(entry.body) if o.nested for b in o.blocks)]:  # type: ignore[attr-defined]
        ops: list[Op] = []
        for o in block.ops:
            new = _access(o, masks) if isinstance(o, LoadPtrTko | StorePtrTko) else None
            ops += [o] if new is None else new.ops
            if new is not None:
                made += 1
                values |= new.values
        block.ops = ops
    if made:
        replace_uses(entry, values)
        erase_dead(entry)
    return made


# ---------------------------------------------------------------- masks


class MaskLimits(NamedTuple):
    """The elements that a mask leaves: those before a limit along each dimension, if all conditions hold."""

    before: tuple[tuple[Polynomial, ...], ...]
    """The limits of each dimension."""
    conditions: tuple[Polynomial, ...] = ()
    """Numbers that must be positive."""
    after: tuple[int, Polynomial] | None = None
    """A dimension, and the first element along it that the mask leaves."""


class Masks:
    """The elements that each mask of a kernel keeps, computed once."""

    def __init__(self, forms: Forms, known: Ranges) -> None:
        self.forms, self.known = forms, known
        self.found: dict[Value, MaskLimits | None] = {}

    def limits(self, mask: Value, depth: int = 0) -> MaskLimits | None:
        """Return what a mask leaves; None if that is no box at the start of the tile, or not known to be one."""
        if mask not in self.found:
            found = self._limits(mask, depth) if depth < DEPTH else None
            count = 0 if found is None else len(found.conditions) + sum(map(len, found.before)) + bool(found.after)
            self.found[mask] = found if count <= MOST_LIMITS else None
        return self.found[mask]

    def _limits(self, mask: Value, depth: int) -> MaskLimits | None:
        assert isinstance(mask.type, Tile)
        shape = mask.type.shape
        if self.known.constant(mask) == 1:
            return MaskLimits(((),) * len(shape))
        match mask.owner:
            case AndI(lhs=lhs, rhs=rhs):
                a, b = self.limits(lhs, depth + 1), self.limits(rhs, depth + 1)
                if a is None or b is None or (a.after and b.after):
                    return None
                before = tuple(x + y for x, y in zip(a.before, b.before))
                return MaskLimits(before, a.conditions + b.conditions, a.after or b.after)
            case Broadcast(source=source) | Reshape(source=source) | Permute(source=source):
                found = self.limits(source, depth + 1)
                dims = None if found is None else moved(mask.owner, source, found.before, ())
                if found is None or dims is None or found.after is None:
                    return None if found is None or dims is None else MaskLimits(dims, found.conditions)
                along = moved(mask.owner, source, tuple(d == found.after[0] for d in range(len(found.before))), False)
                if along is None or True not in along:
                    return None
                return MaskLimits(dims, found.conditions, (along.index(True), found.after[1]))
            case CmpI():
                return _compared(mask.owner, shape, self.forms, self.known)
        return None


def _compared(o: CmpI, shape: tuple[int, ...], forms: Forms, known: Ranges) -> MaskLimits | None:
    """Return what `position < limit` leaves."""
    left, right, predicate = o.lhs, o.rhs, o.comparison_predicate
    if predicate in MIRRORED:
        left, right, predicate = right, left, MIRRORED[predicate]
    if predicate not in (LESS, LESS_EQUAL):
        return None
    a, b = forms[left], forms[right]
    if a is None or b is None:
        return None
    if o.signedness is Signedness.UNSIGNED and min(known[left].lo, known[right].lo) < 0:
        return _unsigned(a, b, predicate, shape) if known[right].lo >= 0 else None
    return _less(a, b, predicate, shape)


def _unsigned(a: Form, b: Form, predicate: ComparisonPredicate, shape: tuple[int, ...]) -> MaskLimits | None:
    """Return what `position < limit` leaves of unsigned numbers, if the limit is not negative: no negative position."""
    found = _less(a, b, predicate, shape)
    if found is None or found.after is not None:
        return None
    if a.uniform:
        return found._replace(conditions=(*found.conditions, plus(a.start, {(): 1})))
    first = _at_least({}, a, shape)
    return None if first is None else found._replace(after=first.after)


def _less(a: Form, b: Form, predicate: ComparisonPredicate, shape: tuple[int, ...]) -> MaskLimits | None:
    """Return what `position < limit` leaves, or `position <= limit`."""
    if a.uniform and not b.uniform:
        return _at_least(plus(a.start, {(): predicate is LESS}), b, shape)
    if not b.uniform:
        return None
    end = b.start if predicate is LESS else plus(b.start, {(): 1})
    along = [d for d, step in enumerate(a.steps) if step and shape[d] > 1]
    if not along:
        return MaskLimits(((),) * len(shape), (plus(end, a.start, -1),))
    if len(along) != 1 or number(a.steps[along[0]]) != 1:
        return None
    before = plus(end, a.start, -1)
    return MaskLimits(tuple((before,) if d == along[0] else () for d in range(len(shape))))


def _at_least(start: Polynomial, b: Form, shape: tuple[int, ...]) -> MaskLimits | None:
    """Return what `position >= start` leaves."""
    along = [d for d, step in enumerate(b.steps) if step and shape[d] > 1]
    if len(along) != 1 or number(b.steps[along[0]]) != 1:
        return None
    return MaskLimits(((),) * len(shape), after=(along[0], plus(start, b.start, -1)))


# ---------------------------------------------------------------- accesses


class Made(NamedTuple):
    ops: list[Op]
    values: dict[Value, Value]


def _access(o: LoadPtrTko | StorePtrTko, masks: Masks) -> Made | None:
    """Return the operations that replace an access, and the values that replace its results."""
    pointers = o.source if isinstance(o, LoadPtrTko) else o.destination
    assert isinstance(pointers.type, Tile) and isinstance(pointers.type.element, Ptr)
    shape, pointee = pointers.type.shape, pointers.type.element.pointee
    if not shape or o.memory_ordering_semantics is not Ordering.WEAK or not isinstance(pointee, Scalar):
        return None
    if pointee.bits < 8 or (form := masks.forms[pointers]) is None or form.base is None:
        return None
    limits = MaskLimits(((),) * len(shape)) if o.mask is None else masks.limits(o.mask)
    if limits is None:
        return None
    made = Appender(masks.known, o.loc)
    if limits.after is not None and (isinstance(o, StorePtrTko) or len(shape) < 2):
        return None
    order = _neighbours_last(form, shape)
    form, shape, limits = _in_order(form, shape, limits, order)
    found = _view(made, form, shape, pointee, limits, o)
    if found is None:
        return None
    view, index = found
    if isinstance(o, StorePtrTko):
        tile = _permuted(made, o.value, order)
        stored = StoreViewTko(memory_ordering_semantics=Ordering.WEAK, tile=tile, view=view, index=index, token=o.token)
        made.add(stored)
        return Made(made.ops, {o.result_token: stored.result_token})
    loaded = made.add(LoadViewTko(memory_ordering_semantics=Ordering.WEAK, view=view, index=index, token=o.token))
    result = _permuted(made, loaded.tile, tuple(map(order.index, range(len(order)))))
    if o.mask is not None and o.paddingValue is not None and padding_of(o.paddingValue) is None:
        result = made.add(Select(cond=o.mask, val_if_true=result, val_if_false=o.paddingValue)).result
    return Made(made.ops, {o.result: result, o.result_token: loaded.result_token})


def _neighbours_last(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions of a tile with that of neighbours in memory last, where engines want it."""
    dims = tuple(range(len(shape)))
    along = [d for d in dims if shape[d] > 1 and number(form.steps[d]) == 1]
    return (*(d for d in dims if d != along[-1]), along[-1]) if along else dims


def _in_order(
    form: Form, shape: tuple[int, ...], limits: MaskLimits, order: tuple[int, ...]
) -> tuple[Form, tuple[int, ...], MaskLimits]:
    """Return the form, the shape and the limits of a tile whose dimensions are permuted."""
    after = None if limits.after is None else (order.index(limits.after[0]), limits.after[1])
    return (
        form._replace(steps=tuple(form.steps[d] for d in order)),
        tuple(shape[d] for d in order),
        limits._replace(before=tuple(limits.before[d] for d in order), after=after),
    )


def _permuted(made: Appender, tile: Value, order: tuple[int, ...]) -> Value:
    assert isinstance(tile.type, Tile)
    if order == tuple(range(len(order))):
        return tile
    permuted = Tile(tuple(tile.type.shape[d] for d in order), tile.type.element)
    return made.add(Permute(source=tile, permutation=order, result=Value(permuted))).result


def _view(
    made: Appender, form: Form, shape: tuple[int, ...], pointee: Scalar, limits: MaskLimits, o: LoadPtrTko | StorePtrTko
) -> tuple[Value, tuple[Value, ...]] | None:
    """Build a view and the index of a tile, which are the elements of an access; None if there is no such view."""
    base, start = form.base, form.start
    assert base is not None
    steps = [ONE if size == 1 else step for size, step in zip(shape, form.steps)]
    fixed = [number(step) for step in steps]
    moving = [step for step, n in zip(steps, fixed) if n is None]
    ends = [p for d in limits.before for p in d] + ([] if limits.after is None else [limits.after[1]])
    ranges = [range_of(p, made.known) for p in (*moving, *limits.conditions, *ends)]
    if any(n is not None and n < 1 for n in fixed) or not all(r.within(*LARGE) for r in ranges):
        return None
    if any(range_of(step, made.known).lo < 1 for step in moving):
        return None
    kind = I32 if all(r.within(*SMALL) for r in ranges) else I64
    sizes = [
        _size(made, size, before, limits.conditions if d == 0 else (), kind)
        for d, (size, before) in enumerate(zip(shape, limits.before))
    ]
    strides = [made.scalar(step, kind) if n is None else n for step, n in zip(steps, fixed)]
    if start:
        near = range_of(start, made.known).within(*SMALL)
        base = made.add(
            Offset(ptr=base, offset=made.scalar(start, I32 if near else I64), result=Value(base.type))
        ).result
    index = [made.number(0, kind)] * len(shape)
    sparse = None
    if limits.after is not None:
        dim, after = limits.after
        first = made.scalar(after, kind)
        first = made.add(MaxI(lhs=first, rhs=made.number(0, kind), signedness=SIGNED)).result
        first = made.add(MinI(lhs=first, rhs=made.number(shape[dim], kind), signedness=SIGNED)).result
        base, sparse = _from_position(made, base, index, sizes, strides, shape, dim, first)
    tensor = TensorView(
        pointee,
        [DYNAMIC if isinstance(n, Value) else n for n in sizes],
        [DYNAMIC if isinstance(n, Value) else n for n in strides],
    )
    whole = made.add(
        MakeTensorView(
            base=base,
            dynamicShape=tuple(n for n in sizes if isinstance(n, Value)),
            dynamicStrides=tuple(n for n in strides if isinstance(n, Value)),
            result=Value(tensor),
        )
    )
    padding = None
    if isinstance(o, LoadPtrTko) and o.mask is not None and o.paddingValue is not None:
        padding = padding_of(o.paddingValue)
    if sparse is not None:
        gathered = GatherScatterView(shape, tensor, sparse, padding_value=padding)
        view = made.add(MakeGatherScatterView(tensor_view=whole.result, result=Value(gathered))).result
    else:
        tiled = PartitionView(shape, tensor, padding_value=padding)
        view = made.add(MakePartitionView(tensor_view=whole.result, result=Value(tiled))).result
    return view, tuple(index)


def _from_position(
    made: Appender, base: Value, index: list[Value], sizes: list[int | Value], strides: list[int | Value],
    shape: tuple[int, ...], dim: int, first: Value,
) -> tuple[Value, int]:  # fmt: skip
    """Change a tensor so that it begins at a position along a dimension of its tile; return the base and a sparse one.

    Only a view that gathers can begin before its tensor. Its sparse dimension is not that of neighbours.
    """
    kind = element(first)

    def scalar(n: int | Value) -> Value:
        return made.number(n, kind) if isinstance(n, int) else n

    distance = made.add(MulI(lhs=made.cast(first, I64), rhs=made.cast(scalar(strides[dim]), I64))).result
    base = made.add(Offset(ptr=base, offset=distance, result=Value(base.type))).result
    left = made.add(SubI(lhs=scalar(sizes[dim]), rhs=first)).result
    sizes[dim] = made.add(MaxI(lhs=left, rhs=made.number(0, kind), signedness=SIGNED)).result
    sparse = dim if dim < len(shape) - 1 else 0
    index[dim] = made.add(SubI(lhs=made.number(0, kind), rhs=first)).result
    positions = made.add(Iota(result=Value(Tile((shape[sparse],), kind)))).result
    if sparse == dim:  # those before the tensor are large unsigned numbers
        positions = made.add(SubI(lhs=positions, rhs=made.spread(first, (shape[dim],)))).result
    index[sparse] = positions
    return base, sparse


def _size(
    made: Appender, most: int, before: Sequence[Polynomial], conditions: Sequence[Polynomial], kind: Scalar
) -> int | Value:
    """Build the size of a dimension: the least limit, or none if a condition does not hold."""
    found: Value | None = None
    for limit in before:
        if range_of(limit, made.known).lo < most:
            value = made.scalar(limit, kind)
            found = value if found is None else made.add(MinI(lhs=found, rhs=value, signedness=SIGNED)).result
    zero = made.number(0, kind)
    if found is not None:
        found = made.add(MaxI(lhs=found, rhs=zero, signedness=SIGNED)).result
    for condition in conditions:
        if range_of(condition, made.known).lo < 1:
            positive = ComparisonPredicate.GREATER_THAN
            value = made.scalar(condition, kind)
            holds = made.add(CmpI(comparison_predicate=positive, lhs=value, rhs=zero, signedness=SIGNED)).result
            found = made.number(most, kind) if found is None else found
            found = made.add(Select(cond=holds, val_if_true=found, val_if_false=zero)).result
    return most if found is None else found


def padding_of(value: Value) -> PaddingValue | None:
    """Return the padding value of a view whose bits all elements of a constant have."""
    while isinstance(value.owner, Broadcast | Reshape):
        value = value.owner.source
    if not isinstance(value.owner, Constant) or (bits := value.owner.value.splat) is None:
        return None
    if bits == 0:
        return PaddingValue.ZERO
    form = element(value).format if not is_integer(value) else None
    if form is not None and form.infinity:
        infinity = form.top + 1
        found = {form.sign: PaddingValue.NEG_ZERO, infinity: PaddingValue.POS_INF}
        return found.get(bits, PaddingValue.NEG_INF if bits == form.sign | infinity else None)
    return None
