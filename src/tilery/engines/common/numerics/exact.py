"""Error-free transformations of f64: the error of a rounded sum or product is itself a float.

All require rounding to nearest and no overflow; products also require no underflow.
"""

from __future__ import annotations

import numpy as np

from ..tiles import Array

SPLITTER = 134217729.0  # 2**27 + 1


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum and its error (Knuth)."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, error


def _halves(a: Array) -> tuple[Array, Array]:
    """Split `a` into two floats of 26 bits (Veltkamp)."""
    scaled = SPLITTER * a
    high = scaled - (scaled - a)
    return high, a - high


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The product and its error (Dekker)."""
    product = a * b
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    error = a0 * b0 - (((product - a1 * b1) - a0 * b1) - a1 * b0)
    return product, error


def odd(rounded: Array, error: Array) -> Array:
    """`rounded + error` rounded to odd, where `rounded` is that sum rounded to nearest. Overwrites `rounded`.

    Rounded to odd means: a number that is not exact gets an odd last bit. With two bits more than the target that
    keeps all that a second rounding needs.
    """
    word = rounded.view(np.int64)
    # An even number moves one step towards the error: away from zero if both have the same sign.
    step = np.where((error > 0) == (rounded > 0), 1, -1)
    word += step * ((word & 1 == 0) & (error != 0) & np.isfinite(rounded))
    return rounded
