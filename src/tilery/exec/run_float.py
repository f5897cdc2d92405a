"""Floating-point arithmetic."""

from __future__ import annotations

import numpy as np

from ..attrs import RoundingMode
from ..ops import (
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
from .numerics import arithmetic, order, transcendental
from .numerics.rounding import NEAREST, flushed
from .registry import executes
from .tiles import Array


def ieee(mode: RoundingMode) -> RoundingMode:
    """The mode to compute in: what is only approximate on hardware is rounded to nearest here."""
    return NEAREST if mode in (RoundingMode.APPROX, RoundingMode.FULL) else mode


@executes(AddF, reuses=True)
def addf(o: AddF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    return arithmetic.add(lhs, rhs, o.rounding_mode, o.flush_to_zero, out)


@executes(SubF, reuses=True)
def subf(o: SubF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    return arithmetic.sub(lhs, rhs, o.rounding_mode, o.flush_to_zero, out)


@executes(MulF, reuses=True)
def mulf(o: MulF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    return arithmetic.mul(lhs, rhs, o.rounding_mode, o.flush_to_zero, out)


@executes(DivF, reuses=True)
def divf(o: DivF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    if o.rounding_mode is RoundingMode.APPROX:
        return arithmetic.div_approx(lhs, rhs, o.flush_to_zero, out)
    return arithmetic.div(lhs, rhs, ieee(o.rounding_mode), o.flush_to_zero, out)


@executes(Fma, reuses=True)
def fma(o: Fma, lhs: Array, rhs: Array, acc: Array, out: Array | None = None) -> Array:
    return arithmetic.fma(lhs, rhs, acc, o.rounding_mode, o.flush_to_zero, out)


@executes(Sqrt)
def sqrt(o: Sqrt, source: Array) -> Array:
    return arithmetic.sqrt(source, ieee(o.rounding_mode), o.flush_to_zero)


@executes(MaxF, reuses=True)
def maxf(o: MaxF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    return order.maximum(lhs, rhs, o.propagate_nan, o.flush_to_zero, out)


@executes(MinF, reuses=True)
def minf(o: MinF, lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    return order.minimum(lhs, rhs, o.propagate_nan, o.flush_to_zero, out)


@executes(CmpF)
def cmpf(o: CmpF, lhs: Array, rhs: Array) -> Array:
    return order.compare(o.comparison_predicate, o.comparison_ordering, lhs, rhs)


@executes(AbsF)
def absf(o: AbsF, source: Array) -> Array:
    return order.absolute(source)


@executes(NegF)
def negf(o: NegF, source: Array) -> Array:
    return order.negative(source)


@executes(Floor)
def floor(o: Floor, source: Array) -> Array:
    return order.floor(source)


@executes(Ceil)
def ceil(o: Ceil, source: Array) -> Array:
    return order.ceil(source)


@executes(RemF)
def remf(o: RemF, lhs: Array, rhs: Array) -> Array:
    return order.remainder(lhs, rhs)


@executes(Exp)
def exp(o: Exp, source: Array) -> Array:
    return transcendental.apply(np.exp, source)


@executes(Exp2)
def exp2(o: Exp2, source: Array) -> Array:
    if o.flush_to_zero:
        return flushed(transcendental.apply(np.exp2, flushed(source)))
    return transcendental.apply(np.exp2, source)


@executes(Log)
def log(o: Log, source: Array) -> Array:
    return transcendental.apply(np.log, source)


@executes(Log2)
def log2(o: Log2, source: Array) -> Array:
    return transcendental.apply(np.log2, source)


@executes(Sin)
def sin(o: Sin, source: Array) -> Array:
    return transcendental.apply(np.sin, source)


@executes(Cos)
def cos(o: Cos, source: Array) -> Array:
    return transcendental.apply(np.cos, source)


@executes(Tan)
def tan(o: Tan, source: Array) -> Array:
    return transcendental.apply(np.tan, source)


@executes(SinH)
def sinh(o: SinH, source: Array) -> Array:
    return transcendental.apply(np.sinh, source)


@executes(CosH)
def cosh(o: CosH, source: Array) -> Array:
    return transcendental.apply(np.cosh, source)


@executes(TanH)
def tanh(o: TanH, source: Array) -> Array:
    return transcendental.apply(np.tanh, source)


@executes(Atan2)
def atan2(o: Atan2, x: Array, y: Array) -> Array:
    return transcendental.apply(np.arctan2, x, y)


@executes(FPowF)
def fpowf(o: FPowF, source: Array, exponent: Array) -> Array:
    return transcendental.apply(np.power, source, exponent)


@executes(Rsqrt)
def rsqrt(o: Rsqrt, source: Array) -> Array:
    if o.flush_to_zero:
        return flushed(transcendental.rsqrt(flushed(source)))
    return transcendental.rsqrt(source)


@executes(FPowI)
def fpowi(o: FPowI, source: Array, exponent: Array) -> Array:
    return transcendental.powi(source, exponent)
