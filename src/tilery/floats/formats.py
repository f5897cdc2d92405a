"""Float formats, in exact integer arithmetic: bits to value, value to bits, and LLVM's decimal text."""

from __future__ import annotations

from functools import lru_cache

from ..checking import TYPE_CHECKING

if TYPE_CHECKING:
    from fractions import Fraction
    from typing import Protocol
else:
    Protocol = object


IEEE, NAN_ONLY, NUMBERS_ONLY = 0, 1, 2
"""The codes after the largest finite number: infinity and NaNs, a single NaN, or nothing."""


class Format:
    """The layout of a float: sign, exponent, mantissa. A format without subnormals has no zero either."""

    __slots__ = (
        "base", "bias", "bits", "exponent", "infinity", "lowest", "mantissa", "sign", "signed", "subnormals", "top",
    )  # fmt: skip
    sign: int
    """The sign bit, or 0 if there is none."""
    top: int
    """The bits of the largest finite number."""
    lowest: int
    """The power of two of the last bit of the smallest number."""
    base: bool
    """Whether arithmetic works on the type. Overflow of such a type gives an infinity."""

    def __init__(
        self,
        exponent: int,
        mantissa: int,
        special: int = IEEE,
        *,
        signed: bool = True,
        subnormals: bool = True,
        base: bool = False,
    ) -> None:
        size = exponent + mantissa
        above = {IEEE: 1 << mantissa, NAN_ONLY: 1, NUMBERS_ONLY: 0}[special]
        self.exponent, self.mantissa = exponent, mantissa
        self.signed, self.subnormals, self.base = signed, subnormals, base
        self.bits = size + signed
        self.sign = 1 << size if signed else 0
        self.infinity = special == IEEE
        self.top = (1 << size) - above - 1
        self.bias = (1 << exponent - 1) - 1
        self.lowest = subnormals - self.bias - mantissa

    @property
    def nan(self) -> int:
        """The bits of a quiet NaN without payload, or of the largest number if there is no NaN."""
        if self.infinity:
            return self.top + 1 | 1 << self.mantissa - 1
        return (1 << self.exponent + self.mantissa) - 1

    @property
    def range(self) -> tuple[int, int]:
        """The exponents of the smallest normal number and of the largest number, as LLVM counts them."""
        return self.subnormals - self.bias, (self.top >> self.mantissa) - self.bias

    def fits_in(self, other: Format) -> bool:
        """Return whether the other format represents every finite number of this one."""
        (low, high), (floor, ceiling) = self.range, other.range
        return floor <= low and high <= ceiling and self.mantissa <= other.mantissa


class FloatType(Protocol):
    """A float element type as these functions see it: a `Scalar`, or a row of `elements`."""

    @property
    def format(self) -> Format: ...


def split(type: FloatType, bits: int) -> tuple[bool, int]:
    """Return whether the sign bit is set, and the bits without it."""
    sign = type.format.sign
    return bool(bits & sign), bits & ~sign


def is_nan(type: FloatType, bits: int) -> bool:
    form = type.format
    rest = split(type, bits)[1]
    return rest > form.top + form.infinity


def scaled(type: FloatType, bits: int) -> tuple[bool, int, int] | None:
    """Return a finite number as sign, `m` and `e` of m * 2**e, or None for infinities and NaN.

    >>> from tilery.types import F32
    >>> scaled(F32, 0xC0400000)
    (True, 12582912, -22)
    """
    form = type.format
    negative, rest = split(type, bits)
    if rest > form.top:
        return None
    exponent, mantissa = rest >> form.mantissa, rest & ((1 << form.mantissa) - 1)
    if exponent == 0 and form.subnormals:
        return negative, mantissa, form.lowest
    step = exponent - 1 if form.subnormals else exponent
    return negative, mantissa | 1 << form.mantissa, form.lowest + step


def nearest(type: FloatType, negative: bool, value: Fraction) -> int | None:
    """Return the bits of the float nearest to a magnitude, ties to even, or None on overflow.

    >>> from fractions import Fraction
    >>> from tilery.types import F16
    >>> hex(nearest(F16, True, Fraction("0.1")))
    '0xae66'
    """
    return nearest_ratio(type, negative, value.numerator, value.denominator)


def nearest_ratio(type: FloatType, negative: bool, top: int, bottom: int) -> int | None:
    """Like `nearest`, of the quotient of two integers: `fractions` takes long to import."""
    form = type.format
    last = form.lowest
    if top:
        power = top.bit_length() - bottom.bit_length()
        power -= top << -power < bottom if power < 0 else top < bottom << power
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
    return bits | form.sign if negative else bits


def whole_number(type: FloatType, bits: int) -> int | None:
    """Return the number as an unsigned 64-bit integer if it is exactly one (and not -0), or None."""
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
def float_text(type: FloatType, bits: int) -> str:
    """Return a float as MLIR prints it: six digits if they suffice, else all digits, else its bits in hexadecimal.

    >>> from tilery.types import F32, F64
    >>> [float_text(F32, n) for n in (0x3F000000, 0x3DCCCCCE, 0x4CBEBC21, 0x7FC00000)]
    ['5.000000e-01', '0.100000009', '0x4CBEBC21', '0x7FC00000']
    """
    parts = scaled(type, bits)
    if parts is not None:
        negative, mantissa, exponent = parts
        sign = "-" if negative else ""
        if mantissa == 0:
            return sign + "0.000000e+00"
        precision = type.format.mantissa + 1
        digits, power = _decimal(mantissa, exponent, 6)
        if nearest_ratio(type, negative, int(digits) * 10 ** max(power, 0), 10 ** max(-power, 0)) == bits:
            power += len(digits) - 1
            mark = "-" if power < 0 else "+"
            return f"{sign}{digits[0]}.{digits[1:]:0<6}e{mark}{abs(power):02}"
        # The most digits that a number of this precision can need, by LLVM's estimate.
        limit = 2 + precision * 59 // 196
        text = _plain(*_decimal(mantissa, exponent, limit), limit)
        if "." in text:
            return sign + text
    return f"0x{bits:X}"


def _decimal(mantissa: int, exponent: int, limit: int) -> tuple[str, int]:
    """Return at most `limit` decimal digits without trailing zeros, and the power of ten of the last digit.

    LLVM first truncates, then rounds half up, so the last digit is not always the nearest one.
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
    """Return LLVM's default form: plain digits, or `1.5E+9` if those would need more than three zeros."""
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
