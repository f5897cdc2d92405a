"""`fold-int`: constant folding of integers.

Undefined behaviour is not folded: division by zero, shifts by the width or more, a broken promise about overflow. Nor
are signed operations on i1 if the sign would matter.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import and_, or_, xor

from ..attrs import Dense, IntegerOverflow, RoundingMode, Signedness
from ..floats.comparison import EQ, HOLDS, NE
from ..ir import Op, Value
from ..ops import (
    AbsI,
    AddI,
    AndI,
    Broadcast,
    CmpI,
    Constant,
    DivI,
    ExtI,
    MaxI,
    MinI,
    MulhiI,
    MulI,
    NegI,
    OrI,
    Permute,
    RemI,
    Reshape,
    ShLI,
    ShRI,
    SubI,
    TruncI,
    XOrI,
)
from ..rewrite import Report, Rules, apply
from ..types import I1, Scalar, Tile
from .constants import constant, filled, fold_elements
from .registry import register

rule = Rules()


class Integers:
    """The integers of one width."""

    __slots__ = ("bits", "mask", "top")

    def __init__(self, value: Value) -> None:
        assert isinstance(value.type, Tile) and isinstance(value.type.element, Scalar)
        self.bits = value.type.element.bits
        self.mask = (1 << self.bits) - 1
        self.top = 1 << (self.bits - 1)

    def signed(self, bits: int) -> int:
        return bits - ((bits & self.top) << 1)

    def read(self, bits: int, signedness: Signedness) -> int:
        return self.signed(bits) if signedness is Signedness.SIGNED else bits

    def wrapped(self, promise: IntegerOverflow, signed: int, unsigned: int) -> int | None:
        """The bits of an exact result, given for signed and unsigned operands; None if it breaks the promise."""
        if promise in (IntegerOverflow.NSW, IntegerOverflow.NW) and not -self.top <= signed < self.top:
            return None
        if promise in (IntegerOverflow.NUW, IntegerOverflow.NW) and not 0 <= unsigned <= self.mask:
            return None
        return unsigned & self.mask


def sign_unclear(value: Value, signedness: Signedness) -> bool:
    """Whether the result depends on the sign of an i1."""
    return signedness is Signedness.SIGNED and isinstance(value.type, Tile) and value.type.element is I1


# ---------------------------------------------------------------- arithmetic

WRAPPING: dict[type[Op], Callable[[int, int], int]] = {
    AddI: lambda a, b: a + b,
    SubI: lambda a, b: a - b,
    MulI: lambda a, b: a * b,
}
BITWISE: dict[type[Op], Callable[[int, int], int]] = {AndI: and_, OrI: or_, XOrI: xor}


@rule(AddI, SubI, MulI)
def fold_arithmetic(o: AddI | SubI | MulI) -> Op | None:
    """addi, subi, muli of constants is the constant result, if it does what `overflow` promises"""
    kind, compute = Integers(o.result), WRAPPING[type(o)]

    def one(a: int, b: int) -> int | None:
        return kind.wrapped(o.overflow, compute(kind.signed(a), kind.signed(b)), compute(a, b))

    return fold_elements(o.result, one, o.lhs, o.rhs)


@rule(AndI, OrI, XOrI)
def fold_bitwise(o: AndI | OrI | XOrI) -> Op | None:
    """andi, ori, xori of constants is the constant result"""
    return fold_elements(o.result, BITWISE[type(o)], o.lhs, o.rhs)


@rule(MulhiI)
def fold_high_half(o: MulhiI) -> Op | None:
    """mulhii of constants is the upper half of their unsigned product"""
    bits = Integers(o.result).bits
    return fold_elements(o.result, lambda a, b: a * b >> bits, o.x, o.y)


@rule(NegI)
def fold_negation(o: NegI) -> Op | None:
    """negi of a constant is the constant result, if it does what `overflow` promises"""
    kind = Integers(o.result)
    return fold_elements(o.result, lambda a: kind.wrapped(o.overflow, -kind.signed(a), -a), o.source)


@rule(AbsI)
def fold_absolute(o: AbsI) -> Op | None:
    """absi of a constant is the constant result, unsigned"""
    kind = Integers(o.result)
    return fold_elements(o.result, lambda a: abs(kind.signed(a)) & kind.mask, o.source)


@rule(MaxI, MinI)
def fold_extreme(o: MaxI | MinI) -> Op | None:
    """maxi, mini of constants is the larger, smaller one"""
    if sign_unclear(o.lhs, o.signedness):
        return None
    kind, choose = Integers(o.result), max if isinstance(o, MaxI) else min

    def one(a: int, b: int) -> int:
        return choose(kind.read(a, o.signedness), kind.read(b, o.signedness)) & kind.mask

    return fold_elements(o.result, one, o.lhs, o.rhs)


# ---------------------------------------------------------------- division and shifts


@rule(DivI)
def fold_division(o: DivI) -> Op | None:
    """divi of constants is the quotient, rounded as declared; not by zero, nor the smallest integer by -1"""
    return _divided(o, lambda x, y: quotient(x, y, o.rounding))


@rule(RemI)
def fold_remainder(o: RemI) -> Op | None:
    """remi of constants is the remainder with the sign of the dividend; not by zero, nor the smallest integer by -1"""
    return _divided(o, remainder)


def quotient(x: int, y: int, rounding: RoundingMode) -> int:
    """Divide integers, rounded as declared."""
    floor, rest = divmod(x, y)
    up = rounding is RoundingMode.POSITIVE_INF or (rounding is RoundingMode.ZERO and floor < 0)
    return floor + (rest != 0 and up)


def remainder(x: int, y: int) -> int:
    """Return the remainder with the sign of the dividend."""
    return -(-x % abs(y)) if x < 0 else x % abs(y)


def _divided(o: DivI | RemI, compute: Callable[[int, int], int]) -> Op | None:
    if sign_unclear(o.lhs, o.signedness):
        return None
    kind = Integers(o.result)

    def one(a: int, b: int) -> int | None:
        x, y = kind.read(a, o.signedness), kind.read(b, o.signedness)
        if y == 0 or (y == -1 and x == -kind.top):
            return None
        return compute(x, y) & kind.mask

    return fold_elements(o.result, one, o.lhs, o.rhs)


@rule(ShLI)
def fold_shift_left(o: ShLI) -> Op | None:
    """shli of constants is the shifted integer, if fewer bits than there are and as `overflow` promises"""
    kind = Integers(o.result)

    def one(a: int, b: int) -> int | None:
        return None if b >= kind.bits else kind.wrapped(o.overflow, kind.signed(a) << b, a << b)

    return fold_elements(o.result, one, o.lhs, o.rhs)


@rule(ShRI)
def fold_shift_right(o: ShRI) -> Op | None:
    """shri of constants is the shifted integer, if fewer bits than there are"""
    if sign_unclear(o.lhs, o.signedness):
        return None
    kind = Integers(o.result)

    def one(a: int, b: int) -> int | None:
        return None if b >= kind.bits else kind.read(a, o.signedness) >> b & kind.mask

    return fold_elements(o.result, one, o.lhs, o.rhs)


# ---------------------------------------------------------------- comparison and conversion


@rule(CmpI)
def fold_comparison(o: CmpI) -> Op | None:
    """cmpi of constants is whether it holds"""
    ordered = o.comparison_predicate not in (EQ, NE)
    if ordered and sign_unclear(o.lhs, o.signedness):
        return None
    kind, holds = Integers(o.lhs), HOLDS[o.comparison_predicate]

    def one(a: int, b: int) -> int:
        return int(holds(kind.read(a, o.signedness), kind.read(b, o.signedness)))

    return fold_elements(o.result, one, o.lhs, o.rhs)


@rule(ExtI)
def fold_extension(o: ExtI) -> Op | None:
    """exti of a constant is the same integer in the wider type"""
    if sign_unclear(o.from_, o.signedness):
        return None
    kind, wide = Integers(o.from_), Integers(o.to)
    return fold_elements(o.to, lambda a: kind.read(a, o.signedness) & wide.mask, o.from_)


@rule(TruncI)
def fold_truncation(o: TruncI) -> Op | None:
    """trunci of a constant is its lower bits, if it does what `overflow` promises"""
    kind, narrow = Integers(o.from_), Integers(o.to)
    return fold_elements(o.to, lambda a: narrow.wrapped(o.overflow, kind.signed(a), a), o.from_)


# ---------------------------------------------------------------- shapes


@rule(Broadcast, Permute, Reshape)
def fold_shape(o: Broadcast | Permute | Reshape) -> Op | None:
    """broadcast, permute, reshape of a constant with equal integers is such a constant; reshape of any keeps them"""
    dense, t = constant(o.source), o.result.type
    if dense is None or not dense.element.is_int or not isinstance(t, Tile):
        return None
    if dense.splat is not None:
        return filled(t, dense.splat)
    return Constant(value=Dense(t, dense.data)) if isinstance(o, Reshape) else None


@register("fold-int")
def fold_int(root: Op, report: Report) -> None:
    """Fold integer operations on constants."""
    apply(root, rule, report)
