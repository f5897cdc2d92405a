"""Floating-point arithmetic.

Operations that IEEE 754 defines are exact in every mode, to the bits of an H200, NaNs included. Other functions return
the nearest number in f16, bf16 and f32, and are within an ULP or two in f64.
"""

from __future__ import annotations

from collections.abc import Callable

from ....attrs import RoundingMode
from ....ir import Op
from ....ops import (
    AbsF,
    AddF,
    Atan2,
    Ceil,
    CmpF,
    Cos,
    CosH,
    DivF,
    Exp,
    Exp2,
    Floor,
    Fma,
    FPowF,
    FPowI,
    Log,
    Log2,
    MaxF,
    MinF,
    MulF,
    NegF,
    RemF,
    Rsqrt,
    Sin,
    SinH,
    Sqrt,
    SubF,
    Tan,
    TanH,
)
from ...common.numerics import arithmetic, order
from ...common.numerics import transcendental as functions
from ...common.numerics.rounding import NEAREST, flushed
from ...common.tiles import Array
from ...semantics import APPROXIMATE
from ..registry import executes


def ieee(mode: RoundingMode) -> RoundingMode:
    """Return the mode to compute in: approximate modes round to nearest."""
    return NEAREST if mode in APPROXIMATE else mode


@executes(AddF, reuses=True)
def addf(o: AddF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The sum."""
    return arithmetic.add(lhs, rhs, o.rounding_mode, o.flush_to_zero, out)


@executes(SubF, reuses=True)
def subf(o: SubF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The difference."""
    return arithmetic.sub(lhs, rhs, o.rounding_mode, o.flush_to_zero, out)


@executes(MulF, reuses=True)
def mulf(o: MulF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The product."""
    return arithmetic.mul(lhs, rhs, o.rounding_mode, o.flush_to_zero, out)


@executes(DivF, reuses=True)
def divf(o: DivF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The quotient."""
    if o.rounding_mode is RoundingMode.APPROX:
        return arithmetic.div_approx(lhs, rhs, o.flush_to_zero, out)
    return arithmetic.div(lhs, rhs, ieee(o.rounding_mode), o.flush_to_zero, out)


@executes(Fma, reuses=True)
def fma(o: Fma, lhs: Array, rhs: Array, acc: Array, out: Array | None = None) -> Array:
    """The product plus `acc`, rounded once."""
    return arithmetic.fma(lhs, rhs, acc, o.rounding_mode, o.flush_to_zero, out)


@executes(Sqrt)
def sqrt(o: Sqrt, source: Array) -> Array:
    """The square root."""
    return arithmetic.sqrt(source, ieee(o.rounding_mode), o.flush_to_zero)


@executes(MaxF, reuses=True)
def maxf(o: MaxF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The larger one; +0 is larger than -0."""
    return order.maximum(lhs, rhs, o.propagate_nan, o.flush_to_zero, out)


@executes(MinF, reuses=True)
def minf(o: MinF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The smaller one; -0 is smaller than +0."""
    return order.minimum(lhs, rhs, o.propagate_nan, o.flush_to_zero, out)


@executes(CmpF)
def cmpf(o: CmpF, lhs: Array, rhs: Array) -> Array:
    """Whether the comparison holds; with NaN, whether it is unordered."""
    return order.compare(o.comparison_predicate, o.comparison_ordering, lhs, rhs)


@executes(AbsF)
def absf(o: AbsF, source: Array) -> Array:
    """The number without its sign."""
    return order.absolute(source)


@executes(NegF)
def negf(o: NegF, source: Array) -> Array:
    """The number with the opposite sign."""
    return order.negative(source)


@executes(Floor)
def floor(o: Floor, source: Array) -> Array:
    """The largest integer that is not greater."""
    return order.floor(source)


@executes(Ceil)
def ceil(o: Ceil, source: Array) -> Array:
    """The smallest integer that is not less."""
    return order.ceil(source)


@executes(RemF)
def remf(o: RemF, lhs: Array, rhs: Array) -> Array:
    """The remainder of the division towards zero."""
    return order.remainder(lhs, rhs)


FUNCTIONS: dict[type[Op], functions.ExactFunction] = {
    Exp: functions.EXP,
    Exp2: functions.EXP2,
    Log: functions.LOG,
    Log2: functions.LOG2,
    Sin: functions.SIN,
    Cos: functions.COS,
    Tan: functions.TAN,
    SinH: functions.SINH,
    CosH: functions.COSH,
    TanH: functions.TANH,
    Atan2: functions.ATAN2,  # of x / y, in the quadrant of the two signs
    FPowF: functions.POW,
    Rsqrt: functions.RSQRT,
}


def applied(function: functions.ExactFunction) -> Callable[..., Array]:
    """Return a function that executes an operation of one or two operands."""

    def run(o: Op, *operands: Array) -> Array:
        if getattr(o, "flush_to_zero", False):  # few of them have it
            return flushed(functions.apply(function, *map(flushed, operands)))
        return functions.apply(function, *operands)

    return run


for _cls, _function in FUNCTIONS.items():
    executes(_cls)(applied(_function))


@executes(FPowI)
def fpowi(o: FPowI, source: Array, exponent: Array) -> Array:
    """The power with an integer exponent."""
    return functions.powi(source, exponent)
