"""Sums, products, quotients, roots and fused products, rounded once in every mode, for f16, bf16, f32 and f64.

Nearest-even is the fast case: NumPy's f32 and f64 arithmetic is IEEE's, and f16 and bf16 go through f32, whose 24 bits
are enough that rounding twice is the same as rounding once (24 >= 2p + 2, and subnormals of bf16 are no worse). Other
modes of the narrow types go through f64, where products are exact, sums are rounded to odd, and quotients and roots
cannot come so near to a number of 25 bits or fewer that they would round to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...attrs import RoundingMode
from ..tiles import Array
from . import double
from .exact import odd, two_sum
from .rounding import (
    BF16,
    DOWN,
    F16,
    F32,
    F64,
    NEAREST,
    SMALLEST_NORMAL,
    doubled,
    flushed,
    has_nan,
    in_chunks,
    mended,
    narrowed,
    shortened,
    widened,
)

SHORT = (F16, BF16)
LEAST = np.iinfo(np.int64).min


def add(a: Array, b: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None) -> Array:
    """The sum."""
    if mode is NEAREST and not ftz:
        return _plain(np.add, a, b, out)
    if a.dtype == F64:
        return mended(double.add(a, b, mode), b, a)
    return _careful(lambda x, y: _sum(x, y, mode), mode, ftz, out, a, b)


def sub(a: Array, b: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None) -> Array:
    """The difference."""
    if mode is NEAREST and not ftz:
        return _plain(np.subtract, a, b, out)
    if a.dtype == F64:
        return mended(double.add(a, -b, mode), b, a)
    return _careful(lambda x, y: _sum(x, -y, mode), mode, ftz, out, a, b)


def mul(a: Array, b: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None) -> Array:
    """The product."""
    if mode is NEAREST and not ftz:
        return _plain(np.multiply, a, b, out)
    if a.dtype == F64:
        return mended(double.mul(a, b, mode), b, a)
    return _careful(np.multiply, mode, ftz, out, a, b)


def div(a: Array, b: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None) -> Array:
    """The quotient."""
    if mode is NEAREST and not ftz:
        return _plain(np.divide, a, b, out, first=True)
    if a.dtype == F64:
        return mended(double.div(a, b, mode), a, b)
    return _careful(np.divide, mode, ftz, out, a, b)


def div_approx(a: Array, b: Array, ftz: bool = False, out: Array | None = None) -> Array:
    """f32: the quotient as a product with the reciprocal, which is zero for divisors above 2**126."""
    large = np.abs(b) > 2.0**126
    if not large.any():
        return div(a, b, NEAREST, ftz, out)
    reciprocal = np.where(large, np.copysign(np.float32(0), b), np.float32(1))
    return np.where(large, mul(a, reciprocal), div(a, b, NEAREST, ftz))


def sqrt(a: Array, mode: RoundingMode = NEAREST, ftz: bool = False) -> Array:
    """The square root."""
    if a.dtype == F64:
        return mended(np.sqrt(a) if mode is NEAREST else double.sqrt(a, mode), a)
    if mode is NEAREST and not ftz:
        if a.dtype == F32:
            return mended(np.sqrt(a))
        return in_chunks(lambda x: shortened(np.sqrt(widened(x)), a.dtype), a.dtype, None, a)
    return _careful(np.sqrt, mode, ftz, None, a)


def fma(
    a: Array, b: Array, c: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None
) -> Array:
    """The product plus `c`, rounded once."""
    if a.dtype == F64:
        return mended(double.fma(a, b, c, mode), b, c, a)
    if mode is NEAREST and a.dtype == F32:
        compute = _fma_flushed if ftz else _fma
        return in_chunks(compute, F32, out, a, b, c)
    return _careful(lambda x, y, z: _sum(x * y, z, mode), mode, ftz, out, a, b, c)


# ---------------------------------------------------------------- the fast case


def _plain(ufunc: np.ufunc, a: Array, b: Array, out: Array | None, first: bool = False) -> Array:
    """NumPy's own operation; `first`: where both operands of f64 are NaN, the first one is passed on."""
    dtype = a.dtype
    if dtype in SHORT:
        return in_chunks(lambda x, y: shortened(ufunc(widened(x), widened(y)), dtype), dtype, out, a, b)
    if dtype == F32 or out is None:
        return mended(ufunc(a, b, out=out), *((a, b) if first else (b, a)))
    # The result may overwrite an operand, whose NaNs are then no longer there to be passed on.
    if has_nan(a) or has_nan(b):
        return _plain(ufunc, a, b, None, first)
    return mended(ufunc(a, b, out=out))


def _fma(a: Array, b: Array, c: Array) -> Array:
    """f32: the product is exact in f64, and rounding the sum twice only matters where it looks like a midpoint."""
    total: Array = np.multiply(a, b, dtype=F64)
    total = np.add(total, c, out=total if total.shape[0] >= c.shape[0] else None)
    result = total.astype(F32)
    # The last 29 bits of a midpoint are 1 and zeros; shifted to the top they are the least integer.
    middle = np.minimum.reduce(total.view(np.int64) << 35, axis=None, initial=0) == LEAST
    least = np.minimum.reduce(np.abs(result), axis=None, initial=np.inf)
    if least > SMALLEST_NORMAL and not middle:
        return result
    # Among subnormals the midpoints are elsewhere.
    doubtful = (total.view(np.int64) << 35 == LEAST) | ((np.abs(result) <= SMALLEST_NORMAL) & (total != 0))
    if doubtful.any():
        x, y, z = (np.broadcast_to(t, result.shape)[doubtful].astype(F64) for t in (a, b, c))
        result[doubtful] = _sum(x * y, z, NEAREST).astype(F32)
    return mended(result)


def _fma_flushed(a: Array, b: Array, c: Array) -> Array:
    a, b, c = flushed(a), flushed(b), flushed(c)
    result = _fma(a, b, c)
    if np.minimum.reduce(np.abs(result), axis=None, initial=np.inf) > SMALLEST_NORMAL:
        return result
    return _finished(_sum(doubled(a) * doubled(b), doubled(c), NEAREST), F32, NEAREST, True)


# ---------------------------------------------------------------- the other modes


def _careful(
    compute: Callable[..., Array], mode: RoundingMode, ftz: bool, out: Array | None, *operands: Array
) -> Array:
    """Exactly, or rounded to odd, in f64, then rounded once."""
    dtype = operands[0].dtype

    def chunk(*parts: Array) -> Array:
        wide = (doubled(flushed(x) if ftz else x) for x in parts)
        return _finished(compute(*wide), dtype, mode, ftz)

    return in_chunks(chunk, dtype, out, *operands)


def _finished(exact: Array, dtype: np.dtype[Any], mode: RoundingMode, ftz: bool) -> Array:
    result = narrowed(exact, dtype, mode)
    if ftz:
        # Flushing looks at the number before rounding: what would round up to a normal number is flushed too.
        np.copyto(result, np.copysign(np.float32(0), result), where=np.abs(exact) < SMALLEST_NORMAL)
    return mended(result)


def _sum(a: Array, b: Array, mode: RoundingMode) -> Array:
    """The sum rounded to odd; a zero has the sign that the mode gives it."""
    total = odd(*two_sum(a, b))
    if mode is DOWN:
        total = np.where((total == 0) & (np.signbit(a) | np.signbit(b)), -0.0, total)
    return total
