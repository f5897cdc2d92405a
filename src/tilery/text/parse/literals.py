"""Convert number literals to bits: integers of any width, and floats, correctly rounded, of any element type."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from ...floats.formats import nearest
from ...types import Scalar
from ..lexer import integer_value

# Digits beyond these only matter for rounding if they are not all zero; one digit represents them.
_DIGITS = 1200
_POWERS = 2000


def integer_bits(type: Scalar, token: str, negative: bool) -> int | None:
    """Return the bits of an integer literal, or None if it fits neither as signed nor as unsigned.

    >>> from tilery.types import I8
    >>> integer_bits(I8, "0xFF", False), integer_bits(I8, "128", True), integer_bits(I8, "256", False)
    (255, 128, None)
    """
    value = integer_value(token)
    if negative:
        return (1 << type.bits) - value if 0 < value <= 1 << type.bits - 1 else None if value else 0
    return value if value < 1 << type.bits else None


@lru_cache(maxsize=1 << 14)
def float_bits(type: Scalar, token: str, negative: bool) -> int:
    """Return the bits of the float nearest to a decimal literal.

    A number that is too large becomes infinity; without infinities NaN; without NaNs the largest number.

    >>> from tilery.types import F16, F32
    >>> hex(float_bits(F32, "0.1", False)), hex(float_bits(F16, "70000.0", True))
    ('0x3dcccccd', '0xfc00')
    """
    form = type.format
    value = _decimal(token)
    bits = nearest(type, negative, value) if value else None
    if bits is not None:
        return bits
    sign = form.sign if negative else 0
    if value < 1:
        return sign  # zero, or less than the smallest number of a type without zero
    if form.infinity:
        return sign | form.top + 1
    return sign | form.nan


def _decimal(token: str) -> Fraction:
    """Return the value of a literal such as `1.5e-3`. Digits and exponents far beyond every type are cut."""
    mantissa, _, exponent = token.replace("E", "e").partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    power = max(-(10**9), min(10**9, int((exponent or "0")[:12]))) - len(part)
    if not digits:
        return Fraction(0)
    if len(digits) > _DIGITS:
        power += len(digits) - _DIGITS - 1
        digits = digits[:_DIGITS] + "1"
    if power + len(digits) > _POWERS:
        return Fraction(10**_POWERS)
    if power + len(digits) < -_POWERS:
        return Fraction(1, 10**_POWERS)
    return Fraction(int(digits)) * Fraction(10) ** power
