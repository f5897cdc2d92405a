"""Transcendental functions and powers.

f16, bf16 and f32 results are the nearest number, on every host: computed in f64, and again with a hundred digits in the
one case in ten million where the error of f64 matters. f64 results are NumPy's, within an ULP or two, and their last
bit depends on the host. NaNs are those of arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ..tiles import Array, unsigned
from ..watch import check
from . import precise
from .rounding import BF16, F16, F32, F64, doubled, fix_nans, in_chunks, narrowed, shortened, widened

DOUBT = 2.0**-49
"""An upper bound on the relative error of every f64 function: 16 ULP."""

LIMITS = {F16: 2.0**16, BF16: 2.0**128, F32: 2.0**128}
"""The number that infinity represents in rounding: one step after the largest one."""


@dataclass(frozen=True, slots=True)
class ExactFunction:
    """A function of f64 arrays, and the same function of one number with many digits."""

    fast: Callable[..., Array]
    precise: Callable[..., Decimal]


def _power(x: Array, y: Array) -> Array:
    """NumPy's power, fixed for hosts that return NaN for a signalling NaN to the power of zero."""
    result: Array = np.power(x, y)
    np.copyto(result, 1.0, where=(x == 1) | (y == 0))
    return result


EXP, EXP2 = ExactFunction(np.exp, precise.exp), ExactFunction(np.exp2, precise.exp2)
LOG, LOG2 = ExactFunction(np.log, precise.log), ExactFunction(np.log2, precise.log2)
SIN, COS, TAN = (
    ExactFunction(np.sin, precise.sin),
    ExactFunction(np.cos, precise.cos),
    ExactFunction(np.tan, precise.tan),
)
SINH, COSH = ExactFunction(np.sinh, precise.sinh), ExactFunction(np.cosh, precise.cosh)
TANH = ExactFunction(np.tanh, precise.tanh)
RSQRT = ExactFunction(lambda x: np.divide(1.0, np.sqrt(x)), precise.rsqrt)
ATAN2, POW = ExactFunction(np.arctan2, precise.arctan2), ExactFunction(_power, precise.power)


def apply(function: ExactFunction, *operands: Array) -> Array:
    """Apply a function to elements of any of the four types."""
    dtype = operands[0].dtype
    if dtype in (F16, BF16) and len(operands) == 1:
        table = _table(function, dtype)
        return in_chunks(lambda x: table[unsigned(x)], dtype, None, *operands)
    return in_chunks(lambda *parts: _apply(function, dtype, *parts), dtype, None, *operands)


@cache
def _table(function: ExactFunction, dtype: np.dtype[Any]) -> Array:
    """Return all values of a function of 16 bits. A lookup takes a fifth of the time."""
    return _apply(function, dtype, np.arange(1 << 16, dtype=np.uint16).view(dtype))


def _apply(function: ExactFunction, dtype: np.dtype[Any], *operands: Array) -> Array:
    # Contiguous operands: for others NumPy has different code, with different last bits.
    wide = [np.ascontiguousarray(doubled(x)) for x in operands]
    result = function.fast(*wide)
    if dtype == F64:
        return fix_nans(result, *reversed(operands))
    return fix_nans(_nearest(function, result, dtype, wide))


def _nearest(function: ExactFunction, rough: Array, dtype: np.dtype[Any], operands: list[Array]) -> Array:
    """Return the number nearest to the function's exact value, of which `rough` is an approximation."""
    low, high = narrowed(rough * (1 - DOUBT), dtype), narrowed(rough * (1 + DOUBT), dtype)
    doubtful = unsigned(low) != unsigned(high)
    if doubtful.any():
        doubtful &= ~np.isnan(rough)
        numbers = [np.broadcast_to(x, rough.shape)[doubtful].tolist() for x in operands]
        ends = [np.clip(doubled(x[doubtful]), -LIMITS[dtype], LIMITS[dtype]).tolist() for x in (low, high)]
        odd = (unsigned(low)[doubtful] % 2).tolist()
        up = []
        for row in zip(zip(*numbers), *ends, odd):
            check()
            up.append(_is_above(function, *row))
        low[doubtful] = np.where(up, high[doubtful], low[doubtful])
    return low


@lru_cache(maxsize=1 << 16)
def _is_above(function: ExactFunction, numbers: tuple[float, ...], low: float, high: float, odd: int) -> bool:
    """Tell whether the exact value rounds to the larger of two neighbours; the midpoint does if the smaller is odd."""
    middle = (Fraction(low) + Fraction(high)) / 2
    with localcontext(Context(prec=precise.DIGITS)):
        exact = Fraction(function.precise(*map(Decimal, numbers)))
    if abs(exact - middle) < abs(middle) / 10**110:
        return bool(odd)
    return abs(exact) > abs(middle)


def powi(a: Array, n: Array) -> Array:
    """Return the power with an integer exponent, by squaring and multiplying in f32 or f64, as hardware does.

    A negative power is the reciprocal of the positive one, so it is zero where that overflows. A set i1 is -1.
    """
    return in_chunks(_powi, a.dtype, None, a, n if n.dtype != bool else -n.astype(np.int8))


def _powi(a: Array, n: Array) -> Array:
    base, count = widened(a), np.abs(n.astype(np.int64))
    result: Array = np.ones(np.broadcast_shapes(a.shape, n.shape), base.dtype)
    while True:
        np.multiply(result, base, out=result, where=(count & 1).astype(np.bool_))
        count >>= 1
        if not count.any():
            break
        base = base * base
    np.divide(1, result, out=result, where=n < 0)
    if a.dtype in (F16, BF16):
        return shortened(result, a.dtype)
    result = fix_nans(result, a)
    np.copyto(result, a, where=n == 1)
    return result if a.dtype == F64 else fix_nans(result)
