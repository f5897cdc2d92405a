"""Floating-point arithmetic.

What IEEE 754 defines is exact in every mode: bit for bit what an H200 gives, NaNs included. Other functions give the
nearest number in f16, bf16 and f32, and f64 within an ULP or two; their notes say how far an H200 was from that, over
hundreds of millions of f32 arguments of the functions of one operand and millions of others.
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
from ..numerics import arithmetic, order
from ..numerics import transcendental as functions
from ..numerics.rounding import NEAREST, flushed
from ..registry import always, executes
from ..tiles import Array

APPROXIMATE = (RoundingMode.APPROX, RoundingMode.FULL)


def within(f32: int, f64: int, more: str = "") -> str:
    """The note of a function that is not exact: the largest distance seen between an H200 and here."""
    return f"Not exact in f64. An H200 differs by at most {f32} ULP in f32, {f64} in f64, 1 in f16 and bf16.{more}"


def ieee(mode: RoundingMode) -> RoundingMode:
    """The mode to compute in: what is only approximate on hardware is rounded to nearest here."""
    return NEAREST if mode in APPROXIMATE else mode


def approximate(o: DivF | Sqrt) -> bool:
    return o.rounding_mode in APPROXIMATE


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


@executes(
    DivF, reuses=True, note="`approx` and `full` round to nearest. An H200 differs by at most 2 ULP.", loose=approximate
)
def divf(o: DivF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """The quotient."""
    if o.rounding_mode is RoundingMode.APPROX:
        return arithmetic.div_approx(lhs, rhs, o.flush_to_zero, out)
    return arithmetic.div(lhs, rhs, ieee(o.rounding_mode), o.flush_to_zero, out)


@executes(Fma, reuses=True)
def fma(o: Fma, lhs: Array, rhs: Array, acc: Array, out: Array | None = None) -> Array:
    """The product plus `acc`, rounded once."""
    return arithmetic.fma(lhs, rhs, acc, o.rounding_mode, o.flush_to_zero, out)


@executes(Sqrt, note="`approx` rounds to nearest. An H200 differs by at most 1 ULP.", loose=approximate)
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
    """The number with the other sign."""
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


FUNCTIONS: dict[type[Op], tuple[functions.Function, str]] = {
    Exp: (functions.EXP, within(2, 1, " `approx` differs by up to 53.")),
    Exp2: (functions.EXP2, within(2, 1)),
    Log: (functions.LOG, within(1, 1)),
    Log2: (functions.LOG2, within(1, 1)),
    Sin: (functions.SIN, within(1, 1)),
    Cos: (functions.COS, within(2, 1)),
    Tan: (functions.TAN, within(3, 2)),
    SinH: (functions.SINH, within(3, 1)),
    CosH: (functions.COSH, within(2, 1)),
    TanH: (functions.TANH, within(2, 2, " `approx` differs by up to 134.")),
    Atan2: (functions.ATAN2, within(2, 2)),  # of x / y, in the quadrant of the two signs
    FPowF: (functions.POW, within(1, 1)),
    Rsqrt: (functions.RSQRT, within(2, 1)),
}


def applied(function: functions.Function) -> Callable[..., Array]:
    """What executes an operation that is this function, of one operand or two."""

    def run(o: Op, *operands: Array) -> Array:
        if getattr(o, "flush_to_zero", False):  # few of them have it
            return flushed(functions.apply(function, *map(flushed, operands)))
        return functions.apply(function, *operands)

    return run


for _cls, (_function, _note) in FUNCTIONS.items():
    executes(_cls, note=_note, loose=always)(applied(_function))


@executes(FPowI, note="Squared and multiplied in f32 or f64, bit for bit as an H200 does it. A set i1 counts as -1.")
def fpowi(o: FPowI, source: Array, exponent: Array) -> Array:
    """The power with an integer exponent."""
    return functions.powi(source, exponent)
