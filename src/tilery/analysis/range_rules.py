"""The range of each operation's results, from the ranges of its operands: one function per kind of operation.

A function returns the range of all results, a list with one for each, or None where nothing is known. Operations
without a function may return anything.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import and_, or_, xor
from typing import Any, Protocol, TypeVar

from ..attrs import Bounded, ComparisonPredicate, IntegerOverflow, RoundingMode, Signedness
from ..ir import Op, Value
from ..ops import (
    AbsI,
    AddI,
    AndI,
    Assume,
    Bitcast,
    Broadcast,
    Cat,
    CmpI,
    Constant,
    DivI,
    ExtI,
    Extract,
    GetNumTileBlocks,
    GetTensorShape,
    GetTileBlockId,
    Insert,
    Iota,
    MaxI,
    MinI,
    MulhiI,
    MulI,
    NegI,
    OrI,
    Permute,
    RemI,
    Reshape,
    Select,
    ShLI,
    ShRI,
    SubI,
    TruncI,
    XOrI,
)
from ..types import DYNAMIC, TensorView, Tile
from .intervals import Range, element, hull, is_integer, read, signed_limits, unsigned_limits, wrap

SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED
FALSE, TRUE, EITHER = Range(0, 0), Range(1, 1), Range(0, 1)
MAX_GRID = (1 << 31) - 1


class KnownRanges(Protocol):
    """The ranges found so far, and whether promises are believed."""

    trust: bool

    def __getitem__(self, value: Value) -> Range: ...


Found = Range | list[Range | None] | None
Rule = Callable[[Any, KnownRanges], Found]
RuleT = TypeVar("RuleT", bound=Rule)
Exact = Callable[[Range, Range], Range]

RULES: dict[type[Op], Rule] = {}


def rule(*classes: type[Op]) -> Callable[[RuleT], RuleT]:
    """Declare the function for these operations."""

    def declare(run: RuleT) -> RuleT:
        RULES.update(dict.fromkeys(classes, run))
        return run

    return declare


def _read(known: KnownRanges, value: Value, signedness: Signedness) -> Range:
    return read(known[value], element(value), signedness)


# ---------------------------------------------------------------- sources


@rule(Constant)
def constant(o: Constant, known: KnownRanges) -> Found:
    """The elements"""
    if not is_integer(o.result):
        return None
    kind = element(o.result)
    high = signed_limits(kind).hi if kind.bits > 1 else 1
    return hull(bits if bits <= high else bits - (1 << kind.bits) for bits in o.value.stored())


@rule(Iota)
def iota(o: Iota, known: KnownRanges) -> Found:
    """0 to n - 1"""
    assert isinstance(o.result.type, Tile)
    return wrap(Range(0, o.result.type.size - 1), element(o.result))


@rule(GetTileBlockId)
def block_id(o: GetTileBlockId, known: KnownRanges) -> Found:
    """0 to the size of the largest grid, exclusive"""
    return Range(0, MAX_GRID - 1)


@rule(GetNumTileBlocks)
def grid_size(o: GetNumTileBlocks, known: KnownRanges) -> Found:
    """1 to the size of the largest grid"""
    return Range(1, MAX_GRID)


@rule(GetTensorShape)
def tensor_shape(o: GetTensorShape, known: KnownRanges) -> Found:
    """The sizes that the type of the tensor fixes"""
    assert isinstance(o.src.type, TensorView)
    sizes = zip(o.src.type.shape, o.result)
    return [None if size == DYNAMIC else wrap(Range(size, size), element(value)) for size, value in sizes]


@rule(Assume)
def assume(o: Assume, known: KnownRanges) -> Found:
    """The same, within the promised bounds"""
    if not is_integer(o.value):
        return None
    found, promise = known[o.value], o.predicate
    if not known.trust or not isinstance(promise, Bounded):
        return found
    signed = read(found, element(o.value), SIGNED)
    top = signed_limits(element(o.value))
    lo, hi = (limit if bound is None else bound for bound, limit in zip((promise.lb, promise.ub), top))
    return wrap(signed.meet(Range(lo, hi)), element(o.value))


# ---------------------------------------------------------------- elements that move


@rule(Broadcast, Extract, Permute, Reshape)
def moved(o: Broadcast | Extract | Permute | Reshape, known: KnownRanges) -> Found:
    """Elements of the source"""
    return known[o.source] if is_integer(o.source) else None


@rule(Cat, Insert)
def united(o: Cat | Insert, known: KnownRanges) -> Found:
    """Elements of either operand"""
    a, b = (o.lhs, o.rhs) if isinstance(o, Cat) else (o.source, o.destination)
    return known[a].join(known[b]) if is_integer(a) else None


@rule(Select)
def select(o: Select, known: KnownRanges) -> Found:
    """Elements of one arm if the condition is known, else of either"""
    if not is_integer(o.result):
        return None
    match known[o.cond].constant:
        case None:
            return known[o.val_if_true].join(known[o.val_if_false])
        case 0:
            return known[o.val_if_false]
    return known[o.val_if_true]


# ---------------------------------------------------------------- arithmetic that wraps around


def corners(compute: Callable[[int, int], int]) -> Exact:
    """The range of a function that is monotonic in each argument."""
    return lambda a, b: hull(compute(x, y) for x in a for y in b)


def wrapping(o: Any, result: Value, known: KnownRanges, exact: Callable[[Signedness], Range]) -> Range:
    """The range of a result that wraps around unless `overflow` promises that it does not."""
    kind = element(result)
    promise = o.overflow if known.trust else IntegerOverflow.NONE
    signed = exact(SIGNED)
    if promise in (IntegerOverflow.NSW, IntegerOverflow.NW):
        signed = signed.meet(signed_limits(kind))
    found = wrap(signed, kind)
    if promise in (IntegerOverflow.NUW, IntegerOverflow.NW):
        found = found.meet(wrap(exact(UNSIGNED).meet(unsigned_limits(kind)), kind))
    return found


def _binary(o: Any, known: KnownRanges, exact: Exact) -> Range:
    return wrapping(o, o.result, known, lambda sign: exact(_read(known, o.lhs, sign), _read(known, o.rhs, sign)))


EXACT: dict[type[Op], Exact] = {
    AddI: lambda a, b: Range(a.lo + b.lo, a.hi + b.hi),
    SubI: lambda a, b: Range(a.lo - b.hi, a.hi - b.lo),
    MulI: corners(lambda a, b: a * b),
    ShLI: corners(lambda a, n: a << n),
}
"""The range of results before they wrap around."""


@rule(AddI, SubI, MulI)
def arithmetic(o: AddI | SubI | MulI, known: KnownRanges) -> Found:
    """[a, b] + [c, d] is [a + c, b + d]; [a, b] - [c, d] is [a - d, b - c]; products lie between those of the limits"""
    return _binary(o, known, EXACT[type(o)])


@rule(NegI)
def neg(o: NegI, known: KnownRanges) -> Found:
    """-[a, b] is [-b, -a]"""

    def exact(sign: Signedness) -> Range:
        source = _read(known, o.source, sign)
        return Range(-source.hi, -source.lo)

    return wrapping(o, o.result, known, exact)


@rule(TruncI)
def trunc(o: TruncI, known: KnownRanges) -> Found:
    """The same integers, if they fit"""
    return wrapping(o, o.to, known, lambda sign: _read(known, o.from_, sign))


@rule(ShLI)
def shift_left(o: ShLI, known: KnownRanges) -> Found:
    """Like a product with a power of two; unknown where the shift may reach the width"""
    by = _read(known, o.rhs, UNSIGNED)
    if by.hi >= element(o.lhs).bits:
        return None
    return wrapping(o, o.result, known, lambda sign: EXACT[ShLI](_read(known, o.lhs, sign), by))


# ---------------------------------------------------------------- arithmetic that reads with a signedness


@rule(AbsI)
def absolute(o: AbsI, known: KnownRanges) -> Found:
    """The absolute values, which are unsigned"""
    a = _read(known, o.source, SIGNED)
    least = 0 if a.lo <= 0 <= a.hi else min(abs(a.lo), abs(a.hi))
    return wrap(Range(least, max(abs(a.lo), abs(a.hi))), element(o.result))


@rule(MulhiI)
def mul_high(o: MulhiI, known: KnownRanges) -> Found:
    """The upper halves of the unsigned products of the limits"""
    kind = element(o.result)
    a, b = _read(known, o.x, UNSIGNED), _read(known, o.y, UNSIGNED)
    return wrap(Range(a.lo * b.lo >> kind.bits, a.hi * b.hi >> kind.bits), kind)


@rule(MinI, MaxI)
def extreme(o: MinI | MaxI, known: KnownRanges) -> Found:
    """The extremes of the limits"""
    choose = min if isinstance(o, MinI) else max
    a, b = _read(known, o.lhs, o.signedness), _read(known, o.rhs, o.signedness)
    return wrap(Range(choose(a.lo, b.lo), choose(a.hi, b.hi)), element(o.result))


@rule(DivI)
def div(o: DivI, known: KnownRanges) -> Found:
    """Between the quotients of the limits; unknown where the divisor may be zero"""
    a, b = _read(known, o.lhs, o.signedness), _read(known, o.rhs, o.signedness)
    if b.lo <= 0 <= b.hi:
        return None
    return wrap(corners(lambda x, y: quotient(x, y, o.rounding))(a, b), element(o.result))


def quotient(x: int, y: int, rounding: RoundingMode) -> int:
    """The quotient, rounded to zero, to the floor or to the ceiling."""
    floor, rest = divmod(x, y)
    up = rounding is RoundingMode.POSITIVE_INF or (rounding is RoundingMode.ZERO and floor < 0)
    return floor + (rest != 0 and up)


@rule(RemI)
def rem(o: RemI, known: KnownRanges) -> Found:
    """Smaller than the divisor, with the sign of the dividend; unknown where the divisor may be zero"""
    a, b = _read(known, o.lhs, o.signedness), _read(known, o.rhs, o.signedness)
    if b.lo <= 0 <= b.hi:
        return None
    most = max(abs(b.lo), abs(b.hi)) - 1
    if a.lo >= 0 and a.hi < min(abs(b.lo), abs(b.hi)):
        return wrap(a, element(o.result))
    return wrap(Range(max(min(a.lo, 0), -most), min(max(a.hi, 0), most)), element(o.result))


@rule(ShRI)
def shift_right(o: ShRI, known: KnownRanges) -> Found:
    """Between the shifted limits; unknown where the shift may reach the width"""
    a, by = _read(known, o.lhs, o.signedness), _read(known, o.rhs, UNSIGNED)
    if by.hi >= element(o.lhs).bits:
        return None
    return wrap(corners(lambda x, n: x >> n)(a, by), element(o.result))


@rule(ExtI)
def extend(o: ExtI, known: KnownRanges) -> Found:
    """The same integers"""
    return wrap(_read(known, o.from_, o.signedness), element(o.to))


@rule(Bitcast)
def bitcast(o: Bitcast, known: KnownRanges) -> Found:
    """The same integers, if they were integers of the same width"""
    return known[o.source] if o.source.type is o.result.type and is_integer(o.source) else None


# ---------------------------------------------------------------- bits and comparisons

BITWISE: dict[type[Op], Callable[[int, int], int]] = {AndI: and_, OrI: or_, XOrI: xor}


@rule(AndI, OrI, XOrI)
def bitwise(o: AndI | OrI | XOrI, known: KnownRanges) -> Found:
    """Exact for constants; for integers that are not negative, as many bits as they have"""
    a, b = known[o.lhs], known[o.rhs]
    if a.lo == a.hi and b.lo == b.hi:
        number = BITWISE[type(o)](a.lo, b.lo)
        return Range(number, number)
    positive = [x for x in (a, b) if x.lo >= 0]
    if isinstance(o, AndI):
        return Range(0, min(x.hi for x in positive)) if positive else None
    if len(positive) < 2:
        return None
    bits = max(a.hi, b.hi).bit_length()
    return Range(max(a.lo, b.lo) if isinstance(o, OrI) else 0, (1 << bits) - 1)


@rule(CmpI)
def compare(o: CmpI, known: KnownRanges) -> Found:
    """True or false where the ranges decide it"""
    a, b = _read(known, o.lhs, o.signedness), _read(known, o.rhs, o.signedness)
    match o.comparison_predicate:
        case ComparisonPredicate.EQUAL:
            return _equal(a, b)
        case ComparisonPredicate.NOT_EQUAL:
            return _not(_equal(a, b))
        case ComparisonPredicate.LESS_THAN:
            return _below(a, b)
        case ComparisonPredicate.GREATER_THAN:
            return _below(b, a)
        case ComparisonPredicate.LESS_THAN_OR_EQUAL:
            return _not(_below(b, a))
    return _not(_below(a, b))


def _below(a: Range, b: Range) -> Range:
    return TRUE if a.hi < b.lo else FALSE if a.lo >= b.hi else EITHER


def _equal(a: Range, b: Range) -> Range:
    if a.lo == a.hi == b.lo == b.hi:
        return TRUE
    return FALSE if a.hi < b.lo or b.hi < a.lo else EITHER


def _not(a: Range) -> Range:
    return Range(1 - a.hi, 1 - a.lo)
