"""Accesses through affine pointers as accesses through views: `views_of_pointers`.

A tile of pointers that is affine is a box of memory, and a mask that compares positions with limits cuts it off. A view
says both, so an engine checks a box once instead of each address, and reads whole rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from ..analysis.affine import ONE, Form, Forms, Polynomial, moved, number, plus, range_of
from ..analysis.intervals import Range, element, is_integer
from ..analysis.ranges import Ranges
from ..attrs import ComparisonPredicate, Signedness
from ..attrs import MemoryOrderingSemantics as Ordering
from ..enums import PaddingValue
from ..ir import Op, Value, walk
from ..ops import (
    AddI,
    AndI,
    Broadcast,
    CmpI,
    Constant,
    ExtI,
    LoadPtrTko,
    LoadViewTko,
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
    TruncI,
)
from ..rewrite.deadcode import erase_dead
from ..rewrite.editing import replace_uses
from ..types import DYNAMIC, I32, I64, PartitionView, Ptr, Scalar, TensorView, Tile
from .constants import filled

OpT = TypeVar("OpT", bound=Op)
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


class Masks:
    """What the masks of a kernel leave, computed once for each."""

    def __init__(self, forms: Forms, known: Ranges) -> None:
        self.forms, self.known = forms, known
        self.found: dict[Value, MaskLimits | None] = {}

    def limits(self, mask: Value, depth: int = 0) -> MaskLimits | None:
        """Return what a mask leaves; None if that is no box at the start of the tile, or not known to be one."""
        if mask not in self.found:
            found = self._limits(mask, depth) if depth < DEPTH else None
            count = 0 if found is None else len(found.conditions) + sum(map(len, found.before))
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
                if a is None or b is None:
                    return None
                return MaskLimits(tuple(x + y for x, y in zip(a.before, b.before)), a.conditions + b.conditions)
            case Broadcast(source=source) | Reshape(source=source) | Permute(source=source):
                found = self.limits(source, depth + 1)
                dims = None if found is None else moved(mask.owner, source, found.before, ())
                return None if found is None or dims is None else MaskLimits(dims, found.conditions)
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
    if o.signedness is Signedness.UNSIGNED and min(known[left].lo, known[right].lo) < 0:
        return None
    a, b = forms[left], forms[right]
    if a is None or b is None or not b.uniform:
        return None
    end = b.start if predicate is LESS else plus(b.start, {(): 1})
    along = [d for d, step in enumerate(a.steps) if step and shape[d] > 1]
    if not along:
        return MaskLimits(((),) * len(shape), (plus(end, a.start, -1),))
    if len(along) != 1 or number(a.steps[along[0]]) != 1:
        return None
    before = plus(end, a.start, -1)
    return MaskLimits(tuple((before,) if d == along[0] else () for d in range(len(shape))))


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
    made = Emitter(masks.known, o.loc)
    view = _view(made, form, shape, pointee, limits, o)
    if view is None:
        return None
    zero = made.add(filled(Tile((), I32), 0)).result
    index = (zero,) * len(shape)
    if isinstance(o, StorePtrTko):
        stored = StoreViewTko(
            memory_ordering_semantics=Ordering.WEAK, tile=o.value, view=view, index=index, token=o.token
        )
        made.add(stored)
        return Made(made.ops, {o.result_token: stored.result_token})
    loaded = made.add(LoadViewTko(memory_ordering_semantics=Ordering.WEAK, view=view, index=index, token=o.token))
    result = loaded.tile
    if o.mask is not None and o.paddingValue is not None and padding_of(o.paddingValue) is None:
        result = made.add(Select(cond=o.mask, val_if_true=result, val_if_false=o.paddingValue)).result
    return Made(made.ops, {o.result: result, o.result_token: loaded.result_token})


def _view(
    made: Emitter, form: Form, shape: tuple[int, ...], pointee: Scalar, limits: MaskLimits, o: LoadPtrTko | StorePtrTko
) -> Value | None:
    """Build a view whose first tile are the elements of an access; None if it has no view."""
    base, start = form.base, form.start
    assert base is not None
    steps = [ONE if size == 1 else step for size, step in zip(shape, form.steps)]
    fixed = [number(step) for step in steps]
    moving = [step for step, n in zip(steps, fixed) if n is None]
    ranges = [range_of(p, made.known) for p in (*moving, *limits.conditions, *(p for d in limits.before for p in d))]
    if any(n is not None and n < 1 for n in fixed) or not all(r.within(*LARGE) for r in ranges):
        return None
    if any(range_of(step, made.known).lo < 1 for step in moving):
        return None
    kind = I32 if all(r.within(*SMALL) for r in ranges) else I64
    sizes = [
        made.size(size, before, limits.conditions if d == 0 else (), kind)
        for d, (size, before) in enumerate(zip(shape, limits.before))
    ]
    strides = [made.scalar(step, kind) if n is None else n for step, n in zip(steps, fixed)]
    if start:
        near = range_of(start, made.known).within(*SMALL)
        base = made.add(
            Offset(ptr=base, offset=made.scalar(start, I32 if near else I64), result=Value(base.type))
        ).result
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
    view = PartitionView(shape, tensor, padding_value=padding)
    return made.add(MakePartitionView(tensor_view=whole.result, result=Value(view))).result


def padding_of(value: Value) -> PaddingValue | None:
    """Return the padding value of a view whose bits all elements of a constant have."""
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


class Emitter:
    """Builds operations in front of an access."""

    def __init__(self, known: Ranges, loc: Any) -> None:
        self.known, self.loc = known, loc
        self.ops: list[Op] = []

    def add(self, o: OpT) -> OpT:
        o.loc = self.loc
        self.ops.append(o)
        return o

    def number(self, n: int, kind: Scalar) -> Value:
        return self.add(filled(Tile((), kind), n % (1 << kind.bits))).result

    def scalar(self, p: Polynomial, kind: Scalar) -> Value:
        """Build the value of a polynomial, modulo the width of a type."""
        total: Value | None = None
        for product, factor in p.items():
            term = None if product and factor == 1 else self.number(factor, kind)
            for value in product:
                atom = self.cast(value, kind)
                term = atom if term is None else self.add(MulI(lhs=term, rhs=atom)).result
            assert term is not None, "a product without factors is a number"
            total = term if total is None else self.add(AddI(lhs=total, rhs=term)).result
        return self.number(0, kind) if total is None else total

    def cast(self, value: Value, kind: Scalar) -> Value:
        bits = element(value).bits
        if bits == kind.bits:
            return value
        if bits < kind.bits:
            return self.add(ExtI(from_=value, signedness=Signedness.SIGNED, to=Value(Tile((), kind)))).to
        return self.add(TruncI(from_=value, to=Value(Tile((), kind)))).to

    def size(
        self, most: int, before: Sequence[Polynomial], conditions: Sequence[Polynomial], kind: Scalar
    ) -> int | Value:
        """Build the size of a dimension: the least limit, or none if a condition does not hold."""
        found: Value | None = None
        for limit in before:
            if range_of(limit, self.known).lo < most:
                value = self.scalar(limit, kind)
                found = value if found is None else self.add(MinI(lhs=found, rhs=value, signedness=SIGNED)).result
        zero = self.number(0, kind)
        if found is not None:
            found = self.add(MaxI(lhs=found, rhs=zero, signedness=SIGNED)).result
        for condition in conditions:
            if range_of(condition, self.known).lo < 1:
                positive = ComparisonPredicate.GREATER_THAN
                value = self.scalar(condition, kind)
                holds = self.add(CmpI(comparison_predicate=positive, lhs=value, rhs=zero, signedness=SIGNED)).result
                found = self.number(most, kind) if found is None else found
                found = self.add(Select(cond=holds, val_if_true=found, val_if_false=zero)).result
        return most if found is None else found
