"""Contiguity, divisibility and constancy of each operation's results: one function per kind of operation.

A function returns the facts about all results, or None where nothing is known. Operations without a function may
return anything; where they work on each element by itself, equal operands give equal results.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Any, Protocol, TypeVar

from ..attrs import ComparisonPredicate, DivBy, RoundingMode, SameElements, Signedness
from ..ir import Op, Value
from ..ops import (
    AbsI,
    AddI,
    Alloca,
    AndI,
    Assume,
    Broadcast,
    Cat,
    CmpI,
    Constant,
    DivI,
    ExtI,
    Extract,
    GetGlobal,
    Insert,
    IntToPtr,
    Iota,
    MaxI,
    MinI,
    MulI,
    NegI,
    Offset,
    OrI,
    Permute,
    PtrToInt,
    PtrToPtr,
    RemI,
    Reshape,
    Select,
    ShLI,
    ShRI,
    SubI,
    TruncI,
    XOrI,
)
from .axes import (
    LARGEST,
    Axis,
    AxisInfo,
    dimensions,
    either,
    info,
    measured,
    power_of_two,
    step_of,
    uniform,
)
from .intervals import element, is_integer, read, whole
from .ranges import Ranges

SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED
MEASURED = 1 << 12
"""The elements of larger constants are not compared with each other."""


class KnownAxes(Protocol):
    """The facts found so far."""

    ranges: Ranges
    trust: bool
    globals: dict[str, int]

    def __getitem__(self, value: Value) -> AxisInfo: ...


Found = AxisInfo | None
Rule = Callable[[Any, KnownAxes], Found]
RuleT = TypeVar("RuleT", bound=Rule)

RULES: dict[type[Op], Rule] = {}


def rule(*classes: type[Op]) -> Callable[[RuleT], RuleT]:
    """Declare the function for these operations."""

    def declare(run: RuleT) -> RuleT:
        RULES.update(dict.fromkeys(classes, run))
        return run

    return declare


def elementwise(o: Op, known: KnownAxes, divisor: int = 1) -> AxisInfo:
    """Equal operands give equal results; all results are multiples of the divisor."""
    operands = [known[v].constancy for v in o.operands]
    result = o.results[0].type
    return info(result, (Axis(1, min(divisor, LARGEST), gcd(*sizes)) for sizes in zip(*operands)))


# ---------------------------------------------------------------- sources


@rule(Iota)
def iota(o: Iota, known: KnownAxes) -> Found:
    """0, 1, 2, ... is one group"""
    return info(o.result.type, [Axis(dimensions(o.result.type)[0], LARGEST, 1)])


@rule(Constant)
def constant(o: Constant, known: KnownAxes) -> Found:
    """The facts that the elements show"""
    if not is_integer(o.result):
        return None
    dense = o.value
    if dense.splat is not None:
        return uniform(dense.type, power_of_two(dense.splat))
    return measured(dense.type, dense.elements()) if dense.type.size <= MEASURED else None


@rule(Alloca)
def alloca(o: Alloca, known: KnownAxes) -> Found:
    """An address that is aligned as declared"""
    return uniform(o.result.type, power_of_two(o.alignment)) if step_of(o.result.type) else None


@rule(GetGlobal)
def get_global(o: GetGlobal, known: KnownAxes) -> Found:
    """An address that is aligned as the variable declares"""
    return uniform(o.result.type, known.globals.get(o.name_, 1)) if step_of(o.result.type) else None


@rule(Assume)
def assume(o: Assume, known: KnownAxes) -> Found:
    """The same, with what is promised"""
    if not step_of(o.value.type):
        return None
    found, promise = known[o.value], o.predicate
    if known.trust and isinstance(promise, SameElements):
        sizes = promise.values or (1,)
        axes = (a._replace(constancy=_promised(a.constancy, size)) for a, size in zip(found.axes, sizes))
        return info(o.result.type, axes)
    if known.trust and isinstance(promise, DivBy):
        return info(o.result.type, (_divisible(a, n, promise) for n, a in enumerate(found.axes)))
    return found


def _promised(constancy: int, size: int) -> int:
    return max(constancy, size) if size and size & (size - 1) == 0 else constancy


def _divisible(axis: Axis, dim: int, promise: DivBy) -> Axis:
    """The first element of every group is divisible, if a promise covers all first elements of the axis."""
    every = promise.every
    if every is not None:
        covers = every > 0 and (axis.contiguity % every == 0 or axis.constancy % every == 0)
        if dim != promise.along or not covers:
            return axis
    return axis._replace(divisibility=max(axis.divisibility, min(promise.divisor, LARGEST)))


# ---------------------------------------------------------------- sums


@rule(AddI)
def add(o: AddI, known: KnownAxes) -> Found:
    """contiguous + constant is contiguous"""
    return info(o.result.type, map(_sum, known[o.lhs].axes, known[o.rhs].axes))


def _sum(a: Axis, b: Axis) -> Axis:
    group = max(gcd(a.contiguity, b.constancy), gcd(a.constancy, b.contiguity))
    return Axis(group, min(a.first(group, 1), b.first(group, 1)), gcd(a.constancy, b.constancy))


@rule(SubI)
def sub(o: SubI, known: KnownAxes) -> Found:
    """contiguous - constant is contiguous"""
    return info(o.result.type, map(_difference, known[o.lhs].axes, known[o.rhs].axes))


def _difference(a: Axis, b: Axis) -> Axis:
    group = gcd(a.contiguity, b.constancy)
    return Axis(group, min(a.first(group, 1), b.first(group, 1)), gcd(a.constancy, b.constancy))


@rule(Offset)
def offset(o: Offset, known: KnownAxes) -> Found:
    """constant pointer + contiguous offset, and contiguous pointers + constant offset, are contiguous"""
    size = step_of(o.result.type)
    if not size:
        return None
    axes = []
    for p, n in zip(known[o.ptr].axes, known[o.offset].axes):
        n = unwrapped(n, o.offset, SIGNED, known)
        group = max(gcd(p.contiguity, n.constancy), gcd(p.constancy, n.contiguity))
        divisor = min(p.first(group, size), n.first(group, 1) * size)
        axes.append(Axis(group, divisor, gcd(p.constancy, n.constancy)))
    return info(o.result.type, axes)


def unwrapped(axis: Axis, value: Value, signedness: Signedness, known: KnownAxes) -> Axis:
    """An axis of integers with groups in which they do not wrap around, as that signedness reads them."""
    kind = element(value)
    found = known.ranges[value]
    if signedness is SIGNED:
        ends = whole(kind)
        wraps = found.lo == ends.lo and found.hi == ends.hi
    else:
        wraps = found.lo < 0 <= found.hi
    if not wraps and kind.bits > 1:
        return axis
    # A group that starts at a multiple of its size does not reach across a limit of the type.
    limit = 1 << (kind.bits - 1 if signedness is SIGNED else kind.bits)
    group = gcd(axis.contiguity, axis.divisibility, limit)
    return Axis(group, axis.first(group, 1), axis.constancy)


# ---------------------------------------------------------------- products and quotients


@rule(MulI)
def mul(o: MulI, known: KnownAxes) -> Found:
    """divisors multiply; 1 * x is x"""
    for one, other in ((o.lhs, o.rhs), (o.rhs, o.lhs)):
        if known.ranges.constant(one) == 1:
            return known[other]
    return elementwise(o, known, known[o.lhs].divisor * known[o.rhs].divisor)


@rule(ShLI)
def shift_left(o: ShLI, known: KnownAxes) -> Found:
    """x << n is divisible by 2 to the power of n; unknown where the shift may reach the width"""
    by = read(known.ranges[o.rhs], element(o.rhs), UNSIGNED)
    if by.hi >= element(o.lhs).bits:
        return None
    return elementwise(o, known, known[o.lhs].divisor << by.lo)


@rule(ShRI)
def shift_right(o: ShRI, known: KnownAxes) -> Found:
    """contiguous >> n is constant in groups; unknown where the shift may reach the width"""
    by = read(known.ranges[o.rhs], element(o.rhs), UNSIGNED)
    if by.hi >= element(o.lhs).bits:
        return None
    return elementwise(o, known) if by.constant is None else _divided(o, known, 1 << by.lo, True)


@rule(DivI)
def div(o: DivI, known: KnownAxes) -> Found:
    """contiguous / d is constant in groups; unknown where the divisor may be zero"""
    by = read(known.ranges[o.rhs], element(o.rhs), o.signedness)
    if by.lo <= 0 <= by.hi:
        return None
    if by.constant is None or by.lo < 0:
        return elementwise(o, known)
    return _divided(o, known, by.lo, _floors(o, known))


def _floors(o: DivI, known: KnownAxes) -> bool:
    """Whether a division rounds down."""
    if o.rounding is RoundingMode.ZERO:
        return o.signedness is UNSIGNED or known.ranges[o.lhs].lo >= 0
    return o.rounding is RoundingMode.NEGATIVE_INF


def _divided(o: DivI | ShRI, known: KnownAxes, by: int, floors: bool) -> AxisInfo:
    lhs = known[o.lhs]
    half = 1 << (element(o.lhs).bits - 1)
    divisor = lhs.divisor // by if lhs.divisor % by == 0 else 1
    axes = []
    for a, b in zip(lhs.axes, known[o.rhs].axes):
        constancy = gcd(a.constancy, b.constancy)
        if floors:
            # Integers from a multiple of the group's size on, which divides the divisor, have one quotient.
            constancy = max(constancy, gcd(a.contiguity, a.divisibility, by, half, b.constancy))
        axes.append(Axis(1, divisor, constancy))
    return info(o.result.type, axes)


@rule(RemI)
def rem(o: RemI, known: KnownAxes) -> Found:
    """contiguous % d is contiguous in groups; unknown where the divisor may be zero"""
    by = read(known.ranges[o.rhs], element(o.rhs), o.signedness)
    if by.lo <= 0 <= by.hi:
        return None
    lhs, rhs = known[o.lhs], known[o.rhs]
    floors = by.constant is not None and by.lo > 0 and (o.signedness is UNSIGNED or known.ranges[o.lhs].lo >= 0)
    half = 1 << (element(o.lhs).bits - 1)
    divisor, axes = min(lhs.divisor, rhs.divisor), []
    for a, b in zip(lhs.axes, rhs.axes):
        group = gcd(a.contiguity, a.divisibility, power_of_two(by.lo), half, b.constancy) if floors else 1
        first = min(a.first(group, 1), power_of_two(by.lo)) if group > 1 else divisor
        axes.append(Axis(group, first, gcd(a.constancy, b.constancy)))
    return info(o.result.type, axes)


# ---------------------------------------------------------------- other arithmetic


@rule(AbsI, NegI)
def sign(o: AbsI | NegI, known: KnownAxes) -> Found:
    """-x and |x| are divisible by what x is divisible by"""
    return elementwise(o, known, known[o.source].divisor)


@rule(AndI)
def conjunction(o: AndI, known: KnownAxes) -> Found:
    """x & y has the zeros of both"""
    return elementwise(o, known, max(known[o.lhs].divisor, known[o.rhs].divisor))


@rule(OrI, XOrI, MinI, MaxI)
def common(o: OrI | XOrI | MinI | MaxI, known: KnownAxes) -> Found:
    """x | y, x ^ y, min and max are divisible by what both are divisible by"""
    return elementwise(o, known, min(known[o.lhs].divisor, known[o.rhs].divisor))


@rule(CmpI)
def compare(o: CmpI, known: KnownAxes) -> Found:
    """contiguous < constant is constant in groups, if both are multiples of the group's size"""
    lhs, rhs = o.lhs, o.rhs
    match o.comparison_predicate:
        case ComparisonPredicate.LESS_THAN | ComparisonPredicate.GREATER_THAN_OR_EQUAL:
            moving, fixed = known[lhs], known[rhs]
        case ComparisonPredicate.GREATER_THAN | ComparisonPredicate.LESS_THAN_OR_EQUAL:
            moving, fixed = known[rhs], known[lhs]
        case _:
            return elementwise(o, known)
    half = 1 << (element(lhs).bits - 1)
    axes = []
    for a, b in zip(moving.axes, fixed.axes):
        group = gcd(a.contiguity, a.divisibility, b.constancy, fixed.divisor, half)
        axes.append(Axis(1, 1, max(group, gcd(a.constancy, b.constancy))))
    return info(o.result.type, axes)


@rule(Select)
def select(o: Select, known: KnownAxes) -> Found:
    """Where the condition is constant, the group comes from one arm"""
    if not step_of(o.result.type):
        return None
    yes, no = known[o.val_if_true], known[o.val_if_false]
    match known.ranges.constant(o.cond):
        case None:
            return either(yes, no, known[o.cond].constancy)
        case 0:
            return no
    return yes


# ---------------------------------------------------------------- conversions


@rule(ExtI)
def extend(o: ExtI, known: KnownAxes) -> Found:
    """The same integers; a group must not wrap around"""
    return info(o.to.type, (unwrapped(a, o.from_, o.signedness, known) for a in known[o.from_].axes))


@rule(TruncI)
def trunc(o: TruncI, known: KnownAxes) -> Found:
    """The same integers modulo the width"""
    return info(o.to.type, known[o.from_].axes)


@rule(PtrToInt, IntToPtr, PtrToPtr)
def recast(o: PtrToInt | IntToPtr | PtrToPtr, known: KnownAxes) -> Found:
    """The same addresses; contiguous only if neighbours are as far apart as before"""
    if not step_of(o.source.type) or not step_of(o.result.type):
        return None
    source = known[o.source]
    if source.step == step_of(o.result.type):
        return info(o.result.type, source.axes)
    return info(o.result.type, (Axis(1, source.divisor, a.constancy) for a in source.axes))


# ---------------------------------------------------------------- shapes


@rule(Broadcast)
def broadcast(o: Broadcast, known: KnownAxes) -> Found:
    """Along a new dimension all elements are equal"""
    if not step_of(o.source.type):
        return None
    sizes = zip(known[o.source].axes, dimensions(o.source.type), dimensions(o.result.type))
    return info(o.result.type, (a if old == new else Axis(1, a.divisibility, new) for a, old, new in sizes))


@rule(Permute)
def permute(o: Permute, known: KnownAxes) -> Found:
    """The dimensions in their new order"""
    axes = known[o.source].axes
    return info(o.result.type, (axes[dim] for dim in o.permutation)) if step_of(o.source.type) else None


@rule(Extract)
def extract(o: Extract, known: KnownAxes) -> Found:
    """A part that starts at a multiple of its size"""
    step = step_of(o.source.type)
    if not step:
        return None
    sizes = zip(known[o.source].axes, dimensions(o.result.type))
    return info(o.result.type, (_part(axis, size, step) for axis, size in sizes))


def _part(axis: Axis, size: int, step: int) -> Axis:
    group = gcd(axis.contiguity, size)
    return Axis(group, axis.first(group, step), gcd(axis.constancy, size))


@rule(Cat)
def cat(o: Cat, known: KnownAxes) -> Found:
    """Groups of either operand"""
    return either(known[o.lhs], known[o.rhs]) if step_of(o.lhs.type) else None


@rule(Insert)
def insert(o: Insert, known: KnownAxes) -> Found:
    """Groups of either operand"""
    return either(known[o.destination], known[o.source]) if step_of(o.source.type) else None


@rule(Reshape)
def reshape(o: Reshape, known: KnownAxes) -> Found:
    """Dimensions of size one come and go; otherwise only the last dimension keeps its groups"""
    if not step_of(o.source.type):
        return None
    source, step = known[o.source], step_of(o.source.type)
    old, new = dimensions(o.source.type), dimensions(o.result.type)
    divisor = source.divisor
    inner = [(a, size) for a, size in zip(source.axes, old) if size > 1]
    if [size for size in new if size > 1] == [size for _, size in inner]:
        rest = iter(inner)
        return info(o.result.type, (next(rest)[0] if size > 1 else Axis(1, divisor, 1) for size in new))
    if all(a.constancy == size for a, size in inner):
        return uniform(o.result.type, divisor)
    last = max(dim for dim, size in enumerate(new) if size > 1)
    axes = [Axis(1, divisor, 1)] * len(new)
    axes[last] = _part(inner[-1][0], new[last], step)
    return info(o.result.type, axes)
