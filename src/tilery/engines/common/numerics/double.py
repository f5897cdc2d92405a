"""f64 arithmetic that NumPy lacks: directed rounding, and fused multiply-add.

Most numbers use error-free transformations; the few whose intermediate results could overflow or underflow are computed
one by one with fractions. NaNs are left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf, nextafter

import numpy as np

from ....attrs import RoundingMode
from ..tiles import Array
from .exact import odd, two_product, two_sum
from .rounding import DOWN, NEAREST, UP, ZERO, stepped

# Within these no intermediate of a transformation overflows, and no part of a product underflows.
LARGE, SMALL = 2.0**990, 2.0**-900


def add(a: Array, b: Array, mode: RoundingMode) -> Array:
    """The sum."""
    total, error = two_sum(a, b)
    result = _signed_zero(_stepped(total, error, mode), a, b, mode)
    hard = ~(np.abs(total) < LARGE) & np.isfinite(a) & np.isfinite(b)
    return _exactly(lambda x, y: x + y, result, hard, mode, a, b)


def mul(a: Array, b: Array, mode: RoundingMode) -> Array:
    """The product."""
    product, error = two_product(a, b)
    easy = _ordinary(a) & _ordinary(b) & _ordinary(product)
    result = np.where(easy, _stepped(product, error, mode), product)
    return _exactly(lambda x, y: x * y, result, ~easy & _nonzero(a) & _nonzero(b), mode, a, b)


def div(a: Array, b: Array, mode: RoundingMode) -> Array:
    """The quotient."""
    quotient = a / b
    back, error = two_product(quotient, b)
    rest = (a - back) - error
    easy = _ordinary(a) & _ordinary(b) & _ordinary(quotient) & _ordinary(back)
    result = np.where(easy, _stepped(quotient, np.where(b < 0, -rest, rest), mode), quotient)
    return _exactly(lambda x, y: x / y, result, ~easy & _nonzero(a) & _nonzero(b), mode, a, b)


def sqrt(a: Array, mode: RoundingMode) -> Array:
    """The square root. It is never near an overflow, so scaling by an even power of two is enough."""
    scale = np.where(a < 2.0**-400, 2.0**300, np.where(a > 2.0**400, 2.0**-300, 1.0))
    number = a * scale * scale
    root = np.sqrt(number)
    square, error = two_product(root, root)
    stepped = _stepped(root, (number - square) - error, mode) / scale
    return np.where(_nonzero(a) & (a > 0), stepped, np.sqrt(a))


def fma(a: Array, b: Array, c: Array, mode: RoundingMode) -> Array:
    """The product plus `c`, rounded once (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008)."""
    plain = a * b + c
    high, low = two_product(a, b)
    total, rest = two_sum(c, low)
    total, error = two_sum(high, total)
    result, error = two_sum(total, odd(*two_sum(rest, error)))
    easy = _ordinary(a) & _ordinary(b) & _ordinary(high) & (np.abs(c) < LARGE)
    result = _signed_zero(_stepped(result, error, mode), high, c, mode)
    # With a zero factor, an infinity or NaN, the plain formula is right; not if only the product overflows.
    finite = np.isfinite(a) & np.isfinite(b)
    plain = np.where(finite & np.isinf(c), c, _signed_zero(plain, high, c, mode))
    result = np.where(easy, result, plain)
    hard = ~easy & _nonzero(a) & _nonzero(b) & np.isfinite(c)
    return _exactly(lambda x, y, z: x * y + z, result, hard, mode, a, b, c)


def _ordinary(x: Array) -> Array:
    size = np.abs(x)
    return (size > SMALL) & (size < LARGE)


def _nonzero(x: Array) -> Array:
    """Tell which numbers are neither zero nor infinite nor NaN."""
    size = np.abs(x)
    return (size > 0) & (size < inf)


def _signed_zero(result: Array, a: Array, b: Array, mode: RoundingMode) -> Array:
    """Fix the sign of zero: in the mode `negative_inf`, an exact zero is -0 unless both terms are +0."""
    if mode is not DOWN:
        return result
    return np.where((result == 0) & (np.signbit(a) | np.signbit(b)), -0.0, result)


def _stepped(near: Array, error: Array, mode: RoundingMode) -> Array:
    """Round `near + error`, where `near` is that sum rounded to nearest."""
    if mode is NEAREST:
        return near
    if mode is ZERO:
        wrong = (error != 0) & ((error > 0) != (near > 0))
    else:
        wrong = error < 0 if mode is DOWN else error > 0
    return stepped(near, wrong & np.isfinite(near), mode)


# ---------------------------------------------------------------- one by one


def _exactly(
    formula: Callable[..., Fraction], result: Array, hard: Array, mode: RoundingMode, *operands: Array
) -> Array:
    """Replace the hard elements of a result by the formula over fractions."""
    if not hard.any():
        return result
    chosen = [np.broadcast_to(x, result.shape)[hard].tolist() for x in operands]
    result[hard] = [_rounded(formula(*map(Fraction, numbers)), mode) for numbers in zip(*chosen)]
    return result


def _rounded(number: Fraction, mode: RoundingMode) -> float:
    """Round a fraction to f64. Zero is a sum of opposite terms here."""
    if not number:
        return -0.0 if mode is DOWN else 0.0
    try:
        near = float(number)
    except OverflowError:
        near = inf if number > 0 else -inf
    if mode is NEAREST:
        return near
    exact = None if near in (inf, -inf) else Fraction(near)
    above = near > 0 if exact is None else exact > number
    below = near < 0 if exact is None else exact < number
    if (above and (mode is DOWN or (mode is ZERO and number > 0))) or (
        below and (mode is UP or (mode is ZERO and number < 0))
    ):
        return nextafter(near, {ZERO: 0.0, DOWN: -inf, UP: inf}[mode])
    return near
