"""Functions that no finite arithmetic gives exactly: computed in f64, then rounded once to the type.

So f16, bf16 and f32 results are the nearest number in all but a few cases in a billion; f64 results are NumPy's, within
an ULP or so. NaNs are those of arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..tiles import Array
from .rounding import BF16, F16, F64, doubled, in_chunks, mended, narrowed, shortened, widened


def apply(function: Callable[..., Array], *operands: Array) -> Array:
    """A function over f64 for elements of any of the four types."""
    dtype = operands[0].dtype

    def chunk(*parts: Array) -> Array:
        # Contiguous operands, since NumPy has other code for the others, with other last bits.
        result = function(*(np.ascontiguousarray(doubled(x)) for x in parts))
        return mended(result, *reversed(parts)) if dtype == F64 else mended(narrowed(result, dtype))

    return in_chunks(chunk, dtype, None, *operands)


def rsqrt(a: Array) -> Array:
    """One over the square root."""
    return apply(lambda x: np.divide(1.0, np.sqrt(x)), a)


def powi(a: Array, n: Array) -> Array:
    """The power with an integer exponent, by squaring and multiplying in f32 or f64, as hardware does it.

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
    result = mended(result, a)
    np.copyto(result, a, where=n == 1)
    return result if a.dtype == F64 else mended(result)
