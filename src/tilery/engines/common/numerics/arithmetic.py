"""Add, subtract, multiply, divide, square root and fma, rounded once in every mode, for f16, bf16, f32 and f64.

Nearest-even is the fast case: NumPy's f32 and f64 arithmetic is IEEE's, and f16 and bf16 go through f32, whose 24 bits
are enough that rounding twice is the same as rounding once (24 >= 2p + 2, and subnormals of bf16 are no worse). Other
modes of the narrow types go through f64, where products are exact, sums are rounded to odd, and quotients and roots
cannot come so close to a number of 25 bits or fewer that they would round to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....attrs import RoundingMode
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
    fix_nans,
    flushed,
    has_nan,
    in_chunks,
    least_size,
    narrowed,
    shortened,
    widened,
)

SHORT = (F16, BF16)
LEAST = np.iinfo(np.int64).min


def add(a: Array, b: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None) -> Array:
    """The sum."""
    if mode is NEAREST:
        return _flushing(np.add, a, b, out) if ftz else _plain(np.add, a, b, out)
    if a.dtype == F64:
        return in_chunks(lambda x, y: fix_nans(double.add(x, y, mode), y, x), F64, None, a, b)
    return _careful(lambda x, y: _sum(x, y, mode), mode, ftz, out, a, b)


def sub(a: Array, b: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None) -> Array:
    """The difference."""
    if mode is NEAREST:
        return _flushing(np.subtract, a, b, out) if ftz else _plain(np.subtract, a, b, out)
    if a.dtype == F64:
        return in_chunks(lambda x, y: fix_nans(double.add(x, -y, mode), y, x), F64, None, a, b)
    return _careful(lambda x, y: _sum(x, -y, mode), mode, ftz, out, a, b)


def mul(a: Array, b: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None) -> Array:
    """The product."""
    if mode is NEAREST:
        return _flushing(np.multiply, a, b, out) if ftz else _plain(np.multiply, a, b, out)
    if a.dtype == F64:
        return in_chunks(lambda x, y: fix_nans(double.mul(x, y, mode), y, x), F64, None, a, b)
    return _careful(np.multiply, mode, ftz, out, a, b)


def div(a: Array, b: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None) -> Array:
    """The quotient."""
    if mode is NEAREST:
        return _flushing(np.divide, a, b, out) if ftz else _plain(np.divide, a, b, out, first=True)
    if a.dtype == F64:
        return in_chunks(lambda x, y: fix_nans(double.div(x, y, mode), x, y), F64, None, a, b)
    return _careful(np.divide, mode, ftz, out, a, b)


def div_approx(a: Array, b: Array, ftz: bool = False, out: Array | None = None) -> Array:
    """Divide f32 by multiplying with the reciprocal, which is zero for divisors above 2**126."""
    large = np.abs(b) > 2.0**126
    if not large.any():
        return div(a, b, NEAREST, ftz, out)
    reciprocal = np.where(large, np.copysign(np.float32(0), b), np.float32(1))
    return np.where(large, mul(a, reciprocal), div(a, b, NEAREST, ftz))


def sqrt(a: Array, mode: RoundingMode = NEAREST, ftz: bool = False) -> Array:
    """The square root."""
    if a.dtype == F64:
        return in_chunks(lambda x: fix_nans(np.sqrt(x) if mode is NEAREST else double.sqrt(x, mode), x), F64, None, a)
    if mode is NEAREST and not ftz:
        if a.dtype == F32:
            return fix_nans(np.sqrt(a))
        return in_chunks(lambda x: shortened(np.sqrt(widened(x)), a.dtype), a.dtype, None, a)
    return _careful(np.sqrt, mode, ftz, None, a)


def fma(
    a: Array, b: Array, c: Array, mode: RoundingMode = NEAREST, ftz: bool = False, out: Array | None = None
) -> Array:
    """The product plus `c`, rounded once."""
    if a.dtype == F64:
        return in_chunks(lambda x, y, z: fix_nans(double.fma(x, y, z, mode), y, z, x), F64, None, a, b, c)
    if mode is NEAREST:
        compute = _fma_short if a.dtype in SHORT else _fma_flushed if ftz else _fma
        return in_chunks(compute, a.dtype, out, a, b, c)
    return _careful(lambda x, y, z: _sum(x * y, z, mode), mode, ftz, out, a, b, c)


# ---------------------------------------------------------------- the fast case


def _plain(ufunc: np.ufunc, a: Array, b: Array, out: Array | None, first: bool = False) -> Array:
    """Apply NumPy's own operation. With `first`, if both f64 operands are NaN, the first one propagates."""
    dtype = a.dtype
    if dtype in SHORT:
        return in_chunks(lambda x, y: shortened(ufunc(widened(x), widened(y)), dtype), dtype, out, a, b)
    if dtype == F32 or out is None:
        return fix_nans(ufunc(a, b, out=out), *((a, b) if first else (b, a)))
    # The result may overwrite an operand, whose NaNs must propagate.
    if has_nan(a) or has_nan(b):
        return _plain(ufunc, a, b, None, first)
    return fix_nans(ufunc(a, b, out=out))


def _flushing(ufunc: np.ufunc, a: Array, b: Array, out: Array | None) -> Array:
    """Apply an operation to f32 with subnormals flushed."""

    def chunk(x: Array, y: Array) -> Array:
        x, y = flushed(x), flushed(y)
        result: Array = ufunc(x, y)
        if least_size(result) > SMALLEST_NORMAL:
            return result
        doubtful = (np.abs(result) <= SMALLEST_NORMAL) & (result != 0)
        if doubtful.any():
            exact = ufunc(*_chosen(doubtful, x, y))
            result[doubtful] = _finished(exact, F32, NEAREST, True)
        return fix_nans(result)

    return in_chunks(chunk, F32, out, a, b)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """Fma of f32: the product is exact in f64, and rounding the sum twice only matters near a midpoint."""
    total: Array = np.multiply(a, b, dtype=F64)
    total = np.add(total, c, out=total if total.shape[0] >= c.shape[0] else None)
    result = total.astype(F32)
    # The last 29 bits of a midpoint are 1 and zeros; shifted to the top they are the least integer.
    ends = total.view(np.int64) << 35
    if np.minimum.reduce(ends, axis=None, initial=0) != LEAST and least_size(result) > SMALLEST_NORMAL:
        return result
    # Subnormals have other midpoints.
    doubtful = (ends == LEAST) | ((np.abs(result) <= SMALLEST_NORMAL) & (total != 0))
    if doubtful.any():
        x, y, z = _chosen(doubtful, a, b, c)
        result[doubtful] = _sum(x * y, z, NEAREST).astype(F32)
    return fix_nans(result)


def _fma_flushed(a: Array, b: Array, c: Array) -> Array:
    a, b, c = flushed(a), flushed(b), flushed(c)
    result = _fma(a, b, c)
    doubtful = (np.abs(result) <= SMALLEST_NORMAL) & (result != 0)
    if doubtful.any():
        x, y, z = _chosen(doubtful, a, b, c)
        result[doubtful] = _finished(_sum(x * y, z, NEAREST), F32, NEAREST, True)
    return result


def _fma_short(a: Array, b: Array, c: Array) -> Array:
    """Fma of f16 and bf16. f64 can tell a sum of f16 from a nearby midpoint, but not always a sum of bf16."""
    x, y, z = doubled(a), doubled(b), doubled(c)
    product = x * y
    total = product + z
    if a.dtype == BF16:
        doubtful = total.view(np.int64) << 19 == LEAST
        doubtful |= (np.abs(total) <= SMALLEST_NORMAL) & (total != 0)
        if doubtful.any():
            products, addends = _chosen(doubtful, product, z)
            total[doubtful] = _sum(products, addends, NEAREST)
    return narrowed(total, a.dtype)


def _chosen(where: Array, *operands: Array) -> list[Array]:
    """Return the chosen elements of the operands as f64."""
    return [np.broadcast_to(x, where.shape)[where].astype(F64) for x in operands]


# ---------------------------------------------------------------- the other modes


def _careful(
    compute: Callable[..., Array], mode: RoundingMode, ftz: bool, out: Array | None, *operands: Array
) -> Array:
    """Compute in f64, exactly or rounded to odd, then round once."""
    dtype = operands[0].dtype

    def chunk(*parts: Array) -> Array:
        wide = (doubled(flushed(x) if ftz else x) for x in parts)
        return _finished(compute(*wide), dtype, mode, ftz)

    return in_chunks(chunk, dtype, out, *operands)


def _finished(exact: Array, dtype: np.dtype[Any], mode: RoundingMode, ftz: bool) -> Array:
    result = narrowed(exact, dtype, mode)
    if ftz:
        # A number is flushed if it is subnormal after rounding to 24 bits with unbounded exponent.
        small = np.abs(narrowed(exact * 2.0**64, F32, mode)) < SMALLEST_NORMAL * 2.0**64
        np.copyto(result, np.copysign(np.float32(0), result), where=small)
    return fix_nans(result)


def _sum(a: Array, b: Array, mode: RoundingMode) -> Array:
    """Return the sum rounded to odd; the mode decides the sign of zero."""
    total = odd(*two_sum(a, b))
    if mode is DOWN:
        total = np.where((total == 0) & (np.signbit(a) | np.signbit(b)), -0.0, total)
    return total
