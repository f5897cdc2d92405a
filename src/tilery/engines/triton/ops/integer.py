"""Integer arithmetic and bitwise logic."""

from __future__ import annotations

from typing import Any

from ....attrs import RoundingMode, Signedness
from ....enums import ComparisonPredicate as P
from ....enums import IntegerOverflow
from ....ir import Value
from ....ops import AbsI, AddI, AndI, CmpI, DivI, MaxI, MinI, MulhiI, MulI, NegI, OrI, RemI, ShLI, ShRI, SubI, XOrI
from ..emit import INTEGERS, Val
from ..registry import lowers
from ..state import Lowering

PREDICATES = {
    P.EQUAL: "eq", P.NOT_EQUAL: "ne", P.LESS_THAN: "lt", P.LESS_THAN_OR_EQUAL: "le",
    P.GREATER_THAN: "gt", P.GREATER_THAN_OR_EQUAL: "ge",
}  # fmt: skip
OVERFLOW = {
    IntegerOverflow.NONE: "",
    IntegerOverflow.NSW: " overflow<nsw>",
    IntegerOverflow.NUW: " overflow<nuw>",
    IntegerOverflow.NW: " overflow<nsw, nuw>",
}


def is_signed(o: Any) -> bool:
    return bool(o.signedness is Signedness.SIGNED)


@lowers(AddI, SubI, MulI)
def wrapping(low: Lowering, o: Any, lhs: Val, rhs: Val) -> Val:
    """Sums and products, with the promises about overflow."""
    return low.map(f"arith.{o.name}", lhs, rhs, attributes=OVERFLOW[o.overflow])


@lowers(AndI, OrI, XOrI)
def bitwise(low: Lowering, o: Any, lhs: Val, rhs: Val) -> Val:
    return low.map(f"arith.{o.name}", lhs, rhs)


@lowers(NegI)
def negi(low: Lowering, o: NegI, source: Val) -> Val:
    return low.map("arith.subi", low.like(0, source), source, attributes=OVERFLOW[o.overflow])


@lowers(AbsI)
def absi(low: Lowering, o: AbsI, source: Val) -> Val:
    if source.element == "i1":  # -1 and its absolute value have the same bit
        return source
    return low.map("math.absi", source)


@lowers(MaxI, MinI)
def extreme(low: Lowering, o: MaxI | MinI, lhs: Val, rhs: Val) -> Val:
    return low.map(f"arith.{o.name[:3]}{'s' if is_signed(o) else 'u'}i", lhs, rhs)


@lowers(CmpI)
def cmpi(low: Lowering, o: CmpI, lhs: Val, rhs: Val) -> Val:
    name = PREDICATES[o.comparison_predicate]
    if name not in ("eq", "ne"):
        name = ("s" if is_signed(o) else "u") + name
    return low.compare(name, lhs, rhs)


@lowers(MulhiI)
def mulhii(low: Lowering, o: MulhiI, x: Val, y: Val) -> Val:
    """The upper half; narrow integers are multiplied in 32 bits."""
    if x.bits >= 32:
        return low.map("tt.mulhiui", x, y)
    wide = low.map("arith.muli", *(low.integer(v, "i32", signed=False) for v in (x, y)))
    return low.integer(low.map("arith.shrui", wide, low.like(x.bits, wide)), x.element, signed=False)


@lowers(DivI)
def divi(low: Lowering, o: DivI, lhs: Val, rhs: Val) -> Val:
    """The quotient; one is added or subtracted if there is a remainder and the rounding asks for it."""
    signed = is_signed(o)
    element = lhs.element
    if element == "i1":
        lhs, rhs = (low.integer(v, "i32", signed) for v in (lhs, rhs))
    kind = "s" if signed else "u"
    quotient = low.map(f"arith.div{kind}i", lhs, rhs)
    if o.rounding is not RoundingMode.ZERO:
        zero = low.like(0, lhs)
        moves = low.compare("ne", low.map(f"arith.rem{kind}i", lhs, rhs), zero)
        down = o.rounding is RoundingMode.NEGATIVE_INF
        if signed:
            signs = low.compare("slt" if down else "sge", low.map("arith.xori", lhs, rhs), zero)
            moves = low.map("arith.andi", moves, signs)
        one = low.integer(moves, lhs.element, signed=False)
        quotient = low.map("arith.subi" if down else "arith.addi", quotient, one)
    return low.integer(quotient, element, signed)


@lowers(RemI)
def remi(low: Lowering, o: RemI, lhs: Val, rhs: Val) -> Val:
    signed, element = is_signed(o), lhs.element
    if element == "i1":
        lhs, rhs = (low.integer(v, "i32", signed) for v in (lhs, rhs))
    return low.integer(low.map(f"arith.rem{'s' if signed else 'u'}i", lhs, rhs), element, signed)


def _fits(low: Lowering, amount: Value, bits: int) -> bool:
    """Whether a shift amount is known to be less than the width."""
    found = low.ranges[amount]
    return found.lo >= 0 and found.hi < bits


@lowers(ShLI)
def shli(low: Lowering, o: ShLI, lhs: Val, rhs: Val) -> Val:
    shifted = low.map("arith.shli", lhs, rhs, attributes=OVERFLOW[o.overflow])
    if _fits(low, o.rhs, lhs.bits):
        return shifted
    return low.select(_short(low, rhs), shifted, low.like(0, lhs))


@lowers(ShRI)
def shri(low: Lowering, o: ShRI, lhs: Val, rhs: Val) -> Val:
    if is_signed(o):
        if not _fits(low, o.rhs, lhs.bits):
            rhs = low.map("arith.minui", rhs, low.like(lhs.bits - 1, rhs))
        return low.map("arith.shrsi", lhs, rhs)
    shifted = low.map("arith.shrui", lhs, rhs)
    return shifted if _fits(low, o.rhs, lhs.bits) else low.select(_short(low, rhs), shifted, low.like(0, lhs))


def _short(low: Lowering, amount: Val) -> Val:
    """Whether a shift leaves bits; the width of an i1 does not fit an i1."""
    bits = INTEGERS[amount.element]
    return (
        low.compare("eq", amount, low.like(0, amount))
        if bits == 1
        else low.compare("ult", amount, low.like(bits, amount))
    )
