"""Functions of single numbers to a hundred digits, for the rare cases where f64 cannot decide the rounding.

Arguments are finite and inside the domain of the function.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import cache

DIGITS = 160
"""The working precision: it leaves 100 digits for the sine of the largest f32."""

TINY = Decimal(10) ** -DIGITS
ONE, TWO = Decimal(1), Decimal(2)


def exp(x: Decimal) -> Decimal:
    """e to this power."""
    return x.exp()


def exp2(x: Decimal) -> Decimal:
    """Two to this power."""
    return (x * TWO.ln()).exp()


def log(x: Decimal) -> Decimal:
    """The natural logarithm."""
    return x.ln()


def log2(x: Decimal) -> Decimal:
    """The logarithm to base two."""
    return x.ln() / TWO.ln()


def rsqrt(x: Decimal) -> Decimal:
    """One over the square root."""
    return ONE / x.sqrt()


def power(x: Decimal, y: Decimal) -> Decimal:
    """The power; a negative base has an integer exponent."""
    if abs(y) < 1000 and y == int(y):
        return x ** int(y)
    size = (y * abs(x).ln()).exp()
    return -size if x < 0 and y % 2 else size


def sinh(x: Decimal) -> Decimal:
    """The hyperbolic sine, by its series where the difference of exponentials would lose digits."""
    return _series(x, x * x) if abs(x) < 1 else (x.exp() - (-x).exp()) / 2


def cosh(x: Decimal) -> Decimal:
    """The hyperbolic cosine."""
    return (x.exp() + (-x).exp()) / 2


def tanh(x: Decimal) -> Decimal:
    """The hyperbolic tangent."""
    return sinh(x) / cosh(x)


def sin(x: Decimal) -> Decimal:
    """The sine."""
    turns, rest = _quarter(x)
    size = _cosine(rest) if turns % 2 else _series(rest, -rest * rest)
    return -size if turns % 4 >= 2 else size


def cos(x: Decimal) -> Decimal:
    """The cosine."""
    turns, rest = _quarter(x)
    size = _series(rest, -rest * rest) if turns % 2 else _cosine(rest)
    return -size if turns % 4 in (1, 2) else size


def tan(x: Decimal) -> Decimal:
    """The tangent."""
    return sin(x) / cos(x)


def arctan2(y: Decimal, x: Decimal) -> Decimal:
    """The angle whose tangent is y / x, in the quadrant of the two signs."""
    angle = arctan(abs(y) / abs(x))
    if x < 0:
        angle = pi() - angle
    return -angle if y < 0 else angle


def arctan(x: Decimal) -> Decimal:
    """The angle whose tangent is this, between 0 and pi / 2."""
    if x > 1:
        return pi() / 2 - arctan(1 / x)
    half = x / (1 + (1 + x * x).sqrt())
    quarter = half / (1 + (1 + half * half).sqrt())
    return 4 * _arctan(quarter)


@cache
def pi() -> Decimal:
    """Compute pi by Machin's formula."""
    with localcontext(Context(prec=DIGITS)):
        return 16 * _arctan(ONE / 5) - 4 * _arctan(ONE / 239)


def _arctan(x: Decimal) -> Decimal:
    power, total, n = x, x, 1
    while abs(power) > abs(x) * TINY:
        power *= -x * x
        n += 2
        total += power / n
    return total


def _quarter(x: Decimal) -> tuple[int, Decimal]:
    """Return the nearest multiple of pi / 2, and the remainder."""
    turns = (x * 2 / pi()).to_integral_value()
    return int(turns), x - turns * pi() / 2


def _series(x: Decimal, square: Decimal) -> Decimal:
    """Sum x + x * square / 3! + x * square**2 / 5! + ..."""
    term, total, n = x, x, 1
    while abs(term) > abs(x) * TINY:
        term *= square / ((n + 1) * (n + 2))
        n += 2
        total += term
    return total


def _cosine(x: Decimal) -> Decimal:
    half = _series(x / 2, -x * x / 4)
    return 1 - 2 * half * half
