"""Floats by their bits, in exact integer arithmetic: their value, the bits of a value, and LLVM's decimal text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..declare.fastclass import dataclass
from ..types import Scalar

if TYPE_CHECKING:
    from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Format:
    """How the bits of an element type are read. A type without subnormals has no zero either."""

    mantissa: int
    bias: int
    top: int
    """The bits of the largest finite number."""
    signed: bool = True
    infinity: bool = False
    subnormals: bool = True

    @property
    def lowest(self) -> int:
        """The power of two of the last bit of the smallest number."""
        return (1 if self.subnormals else 0) - self.bias - self.mantissa


FORMATS = {
    "f16": Format(10, 15, 0x7BFF, infinity=True),
    "bf16": Format(7, 127, 0x7F7F, infinity=True),
    "f32": Format(23, 127, 0x7F7FFFFF, infinity=True),
    "tf32": Format(10, 127, 0x3FBFF, infinity=True),
    "f64": Format(52, 1023, 0x7FEFFFFFFFFFFFFF, infinity=True),
    "f8E4M3FN": Format(3, 7, 0x7E),
    "f8E5M2": Format(2, 15, 0x7B, infinity=True),
    "f8E8M0FNU": Format(0, 127, 0xFE, signed=False, subnormals=False),
    "f4E2M1FN": Format(1, 1, 0x7),
    "fnv8E5M3FNU": Format(3, 15, 0xFE, signed=False),
}


def split(type: Scalar, bits: int) -> tuple[bool, int]:
    """The sign, and the bits without it."""
    sign = 1 << (type.bits - 1) if FORMATS[type.name].signed else 0
    return bool(bits & sign), bits & ~sign


def is_nan(type: Scalar, bits: int) -> bool:
    form = FORMATS[type.name]
    rest = split(type, bits)[1]
    return rest > form.top + form.infinity


def scaled(type: Scalar, bits: int) -> tuple[bool, int, int] | None:
    """A finite number as sign, `m` and `e` of m * 2**e; None for infinities and NaN.

    >>> from tilery.types import F32
    >>> scaled(F32, 0xC0400000)
    (True, 12582912, -22)
    """
    form = FORMATS[type.name]
    negative, rest = split(type, bits)
    if rest > form.top:
        return None
    exponent, mantissa = rest >> form.mantissa, rest & ((1 << form.mantissa) - 1)
    if exponent == 0 and form.subnormals:
        return negative, mantissa, form.lowest
    step = exponent - 1 if form.subnormals else exponent
    return negative, mantissa | 1 << form.mantissa, form.lowest + step


def nearest(type: Scalar, negative: bool, value: Fraction) -> int | None:
    """The bits of the number nearest to a value that is not negative, ties to even; None where it overflows.

    >>> from fractions import Fraction
    >>> from tilery.types import F16
    >>> hex(nearest(F16, True, Fraction("0.1")))
    '0xae66'
    """
    from fractions import Fraction

    form = FORMATS[type.name]
    top, bottom = value.numerator, value.denominator
    last = form.lowest
    if top:
        power = top.bit_length() - bottom.bit_length()
        power -= value < Fraction(2) ** power
        last = max(power - form.mantissa, last)
    if last < 0:
        top <<= -last
    else:
        bottom <<= last
    whole, rest = divmod(top, bottom)
    whole += 2 * rest > bottom or (2 * rest == bottom and whole & 1)
    bits = (last - form.lowest << form.mantissa) + whole - (0 if form.subnormals else 1 << form.mantissa)
    if not 0 <= bits <= form.top:
        return None
    return bits | negative << (type.bits - 1) if form.signed else bits


def whole_number(type: Scalar, bits: int) -> int | None:
    """The number as an unsigned 64-bit integer, where it is exactly one (and not -0)."""
    parts = scaled(type, bits)
    if parts is None or parts[0]:
        return None
    _, mantissa, exponent = parts
    if exponent < 0:
        if mantissa & ((1 << -exponent) - 1):
            return None
        value = mantissa >> -exponent
    else:
        value = mantissa << exponent
    return value if value < 1 << 64 else None


@lru_cache(maxsize=1 << 14)
def float_text(type: Scalar, bits: int) -> str:
    """A float as MLIR prints it: six digits if they are enough, else all, else (and for infinities and NaN) its bits.

    >>> from tilery.types import F32, F64
    >>> [float_text(F32, n) for n in (0x3F000000, 0x3DCCCCCE, 0x4CBEBC21, 0x7FC00000)]
    ['5.000000e-01', '0.100000009', '0x4CBEBC21', '0x7FC00000']
    """
    from fractions import Fraction  # slow to import, and many files have no float to print

    parts = scaled(type, bits)
    if parts is not None:
        negative, mantissa, exponent = parts
        sign = "-" if negative else ""
        if mantissa == 0:
            return sign + "0.000000e+00"
        precision = FORMATS[type.name].mantissa + 1
        digits, power = _decimal(mantissa, exponent, 6)
        if nearest(type, negative, int(digits) * Fraction(10) ** power) == bits:
            power += len(digits) - 1
            mark = "-" if power < 0 else "+"
            return f"{sign}{digits[0]}.{digits[1:]:0<6}e{mark}{abs(power):02}"
        # As many digits as every number of this precision can need, by LLVM's estimate.
        limit = 2 + precision * 59 // 196
        text = _plain(*_decimal(mantissa, exponent, limit), limit)
        if "." in text:
            return sign + text
    return f"0x{bits:X}"


def _decimal(mantissa: int, exponent: int, limit: int) -> tuple[str, int]:
    """At most `limit` decimal digits, without zeros at the end, and the power of ten of the last one.

    LLVM first cuts, then rounds half up, so that the last digit is not always the nearest one.
    """
    zeros = (mantissa & -mantissa).bit_length() - 1
    mantissa >>= zeros
    exponent += zeros
    power = 0
    if exponent >= 0:
        mantissa <<= exponent
    else:
        mantissa *= 5**-exponent
        power = exponent
    excess = mantissa.bit_length() - (limit * 196 + 58) // 59
    if excess > 0:
        cut = excess * 59 // 196
        mantissa //= 10**cut
        power += cut
    digits, power = _strip(str(mantissa), power)
    if len(digits) > limit:
        power += len(digits) - limit
        digits, power = _strip(str(int(digits[:limit]) + (digits[limit] >= "5")), power)
    return digits, power


def _strip(digits: str, power: int) -> tuple[str, int]:
    kept = digits.rstrip("0")
    return kept, power + len(digits) - len(kept)


def _plain(digits: str, power: int, limit: int) -> str:
    """LLVM's default form: plain digits, or `1.5E+9` where those would need more than three zeros."""
    count = len(digits)
    leading = power + count - 1
    if power >= 0:
        scientific = power > 3 or count + power > limit
    else:
        scientific = leading < -3
    if scientific:
        mark = "-" if leading < 0 else "+"
        return f"{digits[0]}.{digits[1:] or '0'}E{mark}{abs(leading)}"
    if power >= 0:
        return digits + "0" * power
    point = count + power
    return f"{digits[:point]}.{digits[point:]}" if point > 0 else f"0.{'0' * -point}{digits}"
