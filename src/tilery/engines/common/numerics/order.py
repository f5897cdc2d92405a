"""Comparison, extremes, signs, rounding to integers and remainders, which are exact in every type."""

from __future__ import annotations

from math import isnan

import numpy as np

from ....attrs import ComparisonOrdering, ComparisonPredicate
from ....floats.comparison import HOLDS, INVERSE
from ..tiles import Array, unsigned
from .rounding import (
    BF16,
    CANONICAL,
    F16,
    F32,
    F64,
    fix_nans,
    flushed,
    in_chunks,
    is_nan,
    least_size,
    shortened,
    widened,
)

SIGNS = {F16: 0x8000, BF16: 0x8000, F32: 0x8000_0000, F64: 0x8000_0000_0000_0000}
PROPAGATED64 = 0x7FF8_0000_0000_0000
"""The result of f64 extremes with `propagate_nan` for any NaN."""


def compare(predicate: ComparisonPredicate, ordering: ComparisonOrdering, a: Array, b: Array) -> Array:
    """Tell where the comparison holds; with NaN, unordered comparisons do."""
    a, b = widened(a), widened(b)
    result: Array
    ordered = ordering is ComparisonOrdering.ORDERED
    # NumPy's comparisons with NaN are false, except not_equal.
    match predicate:
        case ComparisonPredicate.EQUAL if not ordered:
            result = (a == b) | (a != a) | (b != b)
        case ComparisonPredicate.NOT_EQUAL if ordered:
            result = (a != b) & (a == a) & (b == b)
        case ComparisonPredicate.NOT_EQUAL:
            result = a != b
        case _ if ordered:
            result = HOLDS[predicate](a, b)
        case _:
            result = ~HOLDS[INVERSE[predicate]](a, b)
    return result


# ---------------------------------------------------------------- extremes


def maximum(a: Array, b: Array, propagate_nan: bool = False, ftz: bool = False, out: Array | None = None) -> Array:
    """The larger one; +0 is larger than -0. A single NaN is ignored unless it propagates."""
    return _extreme(np.maximum, a, b, propagate_nan, ftz, out)


def minimum(a: Array, b: Array, propagate_nan: bool = False, ftz: bool = False, out: Array | None = None) -> Array:
    """The smaller one; -0 is smaller than +0. A single NaN is ignored unless it propagates."""
    return _extreme(np.minimum, a, b, propagate_nan, ftz, out)


def _extreme(ufunc: np.ufunc, a: Array, b: Array, propagate: bool, ftz: bool, out: Array | None) -> Array:
    """Fix NumPy's maximum or minimum for NaNs and zeros.

    Its result for zeros of opposite signs, and `fmax` of a signalling NaN, depend on the position in the array.
    """
    dtype = a.dtype

    def chunk(a: Array, b: Array) -> Array:
        a, b = widened(a), widened(b)
        if ftz:
            a, b = flushed(a), flushed(b)
        result: Array = ufunc(a, b)
        least = least_size(result)
        if not least > 0:
            _sign_zeros(result, a, b, ufunc is np.maximum)
        if isnan(least) and not propagate:
            np.copyto(result, np.where(np.isnan(a), b, a), where=np.isnan(result))
        if dtype in (F16, BF16):
            return shortened(result, dtype)
        result = fix_nans(result, b, a)
        if propagate and dtype == F64:
            unsigned(result)[np.isnan(result)] = PROPAGATED64
        return result

    return in_chunks(chunk, dtype, out, a, b)


def _sign_zeros(result: Array, a: Array, b: Array, largest: bool) -> None:
    """Of two zeros, the larger is -0 if both are, the smaller if either is."""
    both = (a == 0) & (b == 0)
    if both.any():
        x, y = unsigned(a), unsigned(b)
        np.copyto(unsigned(result), x & y if largest else x | y, where=both)


# ---------------------------------------------------------------- one operand


def absolute(a: Array) -> Array:
    """Clear the sign. NaNs come out as from arithmetic."""
    if a.dtype == F64:
        return fix_nans(np.abs(a), a)
    return _canonical(unsigned(a) & (SIGNS[a.dtype] - 1), a)


def negative(a: Array) -> Array:
    """Flip the sign. NaNs come out as from arithmetic."""
    if a.dtype == F64:
        return fix_nans(-a, a)
    return _canonical(unsigned(a) ^ SIGNS[a.dtype], a)


def _canonical(word: Array, a: Array) -> Array:
    """View bits as `a`'s type, with canonical NaNs."""
    result: Array = word.view(a.dtype)
    if a.dtype == F32:
        return fix_nans(result)
    word[is_nan(a)] = CANONICAL[a.dtype]
    return result


def floor(a: Array) -> Array:
    """The largest integer that is not greater."""
    return _integral(np.floor, a)


def ceil(a: Array) -> Array:
    """The smallest integer that is not less."""
    return _integral(np.ceil, a)


def _integral(ufunc: np.ufunc, a: Array) -> Array:
    if a.dtype in (F16, BF16):
        return in_chunks(lambda x: shortened(ufunc(widened(x)), a.dtype), a.dtype, None, a)
    return fix_nans(ufunc(a), a)


def remainder(a: Array, b: Array) -> Array:
    """The remainder of the division towards zero: exact, with the sign of `a`."""
    if a.dtype in (F16, BF16):
        return in_chunks(lambda x, y: shortened(np.fmod(widened(x), widened(y)), a.dtype), a.dtype, None, a, b)
    # In chunks, between which a launch can stop: a huge quotient takes microseconds.
    return in_chunks(lambda x, y: fix_nans(np.fmod(x, y), y, x), a.dtype, None, a, b)
