"""Float arithmetic on bit patterns by exact rational arithmetic, for every element type and rounding mode.

Each function returns the bits of the result, or None if the operation does not define them: for NaN, infinite operands
of arithmetic, overflow of a type without infinities, or a mode that only hardware defines.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Protocol

from ..enums import ComparisonOrdering, ComparisonPredicate, RoundingMode, Signedness
from .comparison import HOLDS
from .formats import FloatType, is_nan, nearest, scaled, split

UP, DOWN = RoundingMode.POSITIVE_INF, RoundingMode.NEGATIVE_INF
NEAREST, AWAY, ZERO = RoundingMode.NEAREST_EVEN, RoundingMode.NEAREST_AWAY, RoundingMode.ZERO
DEFINED = (NEAREST, AWAY, ZERO, UP, DOWN)
"""The modes that determine which of its two neighbours an inexact result becomes."""


class IntType(Protocol):
    """An integer element type as these functions see it: a `Scalar`."""

    @property
    def bits(self) -> int: ...


def value(type: FloatType, bits: int) -> Fraction | None:
    """Return the number that the bits represent, or None if it is not finite.

    >>> from tilery.types import F32
    >>> value(F32, 0xC0400000)
    Fraction(-3, 1)
    """
    parts = scaled(type, bits)
    if parts is None:
        return None
    negative, mantissa, exponent = parts
    size = Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)
    return -size if negative else size


def is_negative(type: FloatType, bits: int) -> bool:
    """Return whether the sign bit is set; zeros, infinities and NaN have one, too."""
    return split(type, bits)[0]


def signed(type: FloatType, negative: bool, rest: int) -> int | None:
    """Return the bits with the given sign, or None if the type cannot represent a negative number."""
    if not negative:
        return rest
    return rest | type.format.sign if type.format.signed else None


def rounded(type: FloatType, number: Fraction, mode: RoundingMode, negative: bool = False) -> int | None:
    """Round an exact result; `negative` is the sign of a zero.

    >>> from tilery.types import F16
    >>> [hex(rounded(F16, Fraction(1, 3), mode)) for mode in (NEAREST, ZERO, UP)]
    ['0x3555', '0x3555', '0x3556']
    """
    form = type.format
    if mode not in DEFINED:
        return None
    if number:
        negative = number < 0
    elif not form.subnormals:
        return None
    size = abs(number)
    if not form.subnormals and size < Fraction(1, 1 << form.bias):
        return None
    rest = _round_size(type, size, mode, outward=mode is (DOWN if negative else UP))
    if rest <= form.top:
        return signed(type, negative, rest)
    return signed(type, negative, form.top + 1) if form.base else None


def _round_size(type: FloatType, size: Fraction, mode: RoundingMode, outward: bool) -> int:
    """Round a magnitude; on overflow, return one more than the bits of the largest finite number."""
    top = type.format.top
    close = nearest(type, False, size)
    if mode is NEAREST:
        return top + 1 if close is None else close
    below = top if close is None else close
    if _size(type, below) > size:
        below -= 1
    low = _size(type, below)
    if low == size or mode is ZERO or (mode in (UP, DOWN) and not outward):
        return below
    if mode in (UP, DOWN):
        return below + 1
    # The step above the largest finite number is as wide as the step below it.
    high = _size(type, below + 1) if below < top else 2 * low - _size(type, below - 1)
    return below + 1 if 2 * size >= low + high else below


def _size(type: FloatType, bits: int) -> Fraction:
    number = value(type, bits)
    assert number is not None
    return number


# ---------------------------------------------------------------- flushing of subnormals


def flushed(type: FloatType, bits: int) -> int:
    """Replace a subnormal by a zero of the same sign."""
    rest = split(type, bits)[1]
    if rest >> type.format.mantissa == 0:
        return bits - rest
    return bits


def _finish(type: FloatType, number: Fraction, mode: RoundingMode, ftz: bool, negative: bool) -> int | None:
    bits = rounded(type, number, mode, negative)
    if bits is None or not ftz:
        return bits
    smallest = _size(type, 1 << type.format.mantissa)
    if 0 < abs(number) < smallest and flushed(type, bits) == bits and split(type, bits)[1]:
        return None  # rounded up to a normal number: whether that is flushed is not defined
    return flushed(type, bits)


def _inputs(type: FloatType, ftz: bool, *operands: int) -> tuple[list[int], list[Fraction]] | None:
    """Return the operands after flushing, as bits and as numbers, or None if one is not finite."""
    patterns = [flushed(type, bits) if ftz else bits for bits in operands]
    numbers = [value(type, bits) for bits in patterns]
    finite = [number for number in numbers if number is not None]
    return (patterns, finite) if len(finite) == len(numbers) else None


def _zero_sign(left: bool, right: bool, mode: RoundingMode) -> bool:
    """Return the sign of a sum that is exactly zero."""
    return left if left == right else mode is DOWN


# ---------------------------------------------------------------- arithmetic


def add(type: FloatType, a: int, b: int, mode: RoundingMode, ftz: bool = False) -> int | None:
    """Add.

    >>> from tilery.types import F32
    >>> hex(add(F32, 0x3F800000, 0x33800000, UP))
    '0x3f800001'
    """
    if (found := _inputs(type, ftz, a, b)) is None:
        return None
    (p, q), (x, y) = found
    zero = _zero_sign(is_negative(type, p), is_negative(type, q), mode)
    return _finish(type, x + y, mode, ftz, zero)


def sub(type: FloatType, a: int, b: int, mode: RoundingMode, ftz: bool = False) -> int | None:
    """Subtract."""
    opposite = neg(type, b)
    return None if opposite is None else add(type, a, opposite, mode, ftz)


def mul(type: FloatType, a: int, b: int, mode: RoundingMode, ftz: bool = False) -> int | None:
    """Multiply."""
    if (found := _inputs(type, ftz, a, b)) is None:
        return None
    (p, q), (x, y) = found
    return _finish(type, x * y, mode, ftz, is_negative(type, p) != is_negative(type, q))


def div(type: FloatType, a: int, b: int, mode: RoundingMode, ftz: bool = False) -> int | None:
    """Divide; division by zero is not defined."""
    if (found := _inputs(type, ftz, a, b)) is None:
        return None
    (p, q), (x, y) = found
    if y == 0:
        return None
    return _finish(type, x / y, mode, ftz, is_negative(type, p) != is_negative(type, q))


def fma(type: FloatType, a: int, b: int, c: int, mode: RoundingMode, ftz: bool = False) -> int | None:
    """Multiply and add `c`, rounding once."""
    if (found := _inputs(type, ftz, a, b, c)) is None:
        return None
    (p, q, r), (x, y, z) = found
    product = is_negative(type, p) != is_negative(type, q)
    zero = _zero_sign(product, is_negative(type, r), mode)
    return _finish(type, x * y + z, mode, ftz, zero)


def sqrt(type: FloatType, a: int, mode: RoundingMode, ftz: bool = False) -> int | None:
    """Take the square root. That of a negative number is not defined; that of -0 is -0."""
    if (found := _inputs(type, ftz, a)) is None:
        return None
    (p,), (x,) = found
    if x < 0:
        return None
    if x == 0:
        return p if mode in DEFINED else None
    # Compute enough digits that of the rest only its presence matters, which one more bit records.
    shift = 2 * type.format.mantissa + 8 + x.denominator.bit_length()
    square = (x.numerator << 2 * shift) // x.denominator
    root = isqrt(square)
    inexact = root * root * x.denominator != x.numerator << 2 * shift
    return _finish(type, Fraction(2 * root + inexact, 2 << shift), mode, ftz, False)


def neg(type: FloatType, a: int) -> int | None:
    """Negate."""
    return None if is_nan(type, a) else signed(type, not is_negative(type, a), split(type, a)[1])


def absolute(type: FloatType, a: int) -> int | None:
    """Take the absolute value."""
    return None if is_nan(type, a) else split(type, a)[1]


# ---------------------------------------------------------------- order


def _key(type: FloatType, bits: int) -> int:
    """Return an integer that orders all numbers including infinities, with -0 just below +0."""
    negative, rest = split(type, bits)
    return -1 - rest if negative else rest


def extreme(type: FloatType, a: int, b: int, largest: bool, propagate_nan: bool, ftz: bool = False) -> int | None:
    """Return the larger or smaller of two numbers. A single NaN is ignored unless it propagates."""
    if ftz:
        a, b = flushed(type, a), flushed(type, b)
    nans = is_nan(type, a), is_nan(type, b)
    if all(nans) or (any(nans) and propagate_nan):
        return None
    if any(nans):
        return b if nans[0] else a
    return (max if largest else min)(a, b, key=lambda bits: _key(type, bits))


def compare(predicate: ComparisonPredicate, ordering: ComparisonOrdering, type: FloatType, a: int, b: int) -> bool:
    """Return whether the comparison holds; zeros of both signs are equal."""
    if is_nan(type, a) or is_nan(type, b):
        return ordering is ComparisonOrdering.UNORDERED
    x, y = (_key(type, bits) if split(type, bits)[1] else 0 for bits in (a, b))
    holds: bool = HOLDS[predicate](x, y)
    return holds


# ---------------------------------------------------------------- conversions


def convert(source: FloatType, target: FloatType, a: int, mode: RoundingMode) -> int | None:
    """Convert to another float type."""
    number = value(source, a)
    if number is not None:
        return rounded(target, number, mode, is_negative(source, a))
    if is_nan(source, a) or not target.format.base or mode not in DEFINED:
        return None
    return signed(target, is_negative(source, a), target.format.top + 1)


def from_int(source: IntType, target: FloatType, a: int, signedness: Signedness, mode: RoundingMode) -> int | None:
    """Convert an integer to a float."""
    if signedness is Signedness.SIGNED and a >> (source.bits - 1):
        if source.bits == 1:
            return None  # whether a signed i1 holds 1 or -1 is not defined
        a -= 1 << source.bits
    return rounded(target, Fraction(a), mode)


def to_int(source: FloatType, target: IntType, a: int, signedness: Signedness, saturating: bool) -> int | None:
    """Convert a float to an integer, rounding towards zero; out of range is defined only if it saturates.

    The i1 of a fraction is not defined: hardware returns 1, the specification says 0.
    """
    number = value(source, a)
    if number is None:
        return None
    whole = int(number)
    if target.bits == 1 and whole != number:
        return None
    low, high = 0, (1 << target.bits) - 1
    if signedness is Signedness.SIGNED:
        if target.bits == 1:
            return None if whole else 0
        low, high = -(1 << target.bits - 1), (1 << target.bits - 1) - 1
    if not low <= whole <= high:
        if not saturating:
            return None
        whole = max(low, min(high, whole))
    return whole & ((1 << target.bits) - 1)
