"""Functions that Tile IR does not have, composed of its operations in f64.

Arguments of f32 are widened, so that every step is far more accurate than the result.
docs/reports/lab/triton_functions.md has the measured error of each function.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

from ...builder import Builder
from ...ir import Value
from ...types import F32, F64, I64, Tile
from .translator import scalar, tile_type


def number(b: Builder, like: Value, value: float) -> Value:
    return b.const(value, like.type)


def in_f64(b: Builder, function: Callable[..., Value], *xs: Value) -> Value:
    """Apply a function in f64 and round once to the type of the arguments."""
    kind = scalar(xs[0])
    if kind is F64:
        return function(b, *xs)
    function = NARROW.get(function, function)
    wide = [b.value("ftof", x, to=Tile(tile_type(x).shape, F64)) for x in xs]
    return b.value("ftof", function(b, *wide), to=Tile(tile_type(xs[0]).shape, kind))


def less(b: Builder, x: Value, y: Value) -> Value:
    return b.value("cmpf", "less_than", "ordered", x, y)


def equal(b: Builder, x: Value, y: Value) -> Value:
    return b.value("cmpf", "equal", "ordered", x, y)


def is_nan(b: Builder, x: Value) -> Value:
    return b.value("cmpf", "not_equal", "unordered", x, x)


def with_sign_of(b: Builder, magnitude: Value, sign: Value) -> Value:
    """Return a magnitude with the sign of another float."""
    bits = I64 if scalar(magnitude) is F64 else "i32"
    top = -(1 << 63) if scalar(magnitude) is F64 else -(1 << 31)
    whole, other = b.bitcast(magnitude, bits), b.bitcast(sign, bits)
    kept = b.value("andi", whole, b.const(~top, whole.type))
    taken = b.value("andi", other, b.const(top, whole.type))
    return b.bitcast(b.value("ori", kept, taken), scalar(magnitude))


def polynomial(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluate a polynomial, given from the highest power down."""
    total = number(b, x, coefficients[0])
    for each in coefficients[1:]:
        total = b.value("fma", total, x, number(b, x, each))
    return total


def chebyshev(b: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """Evaluate a Chebyshev series by Clenshaw's recurrence."""
    twice = x + x
    one = two = number(b, x, 0.0)
    for each in reversed(coefficients[1:]):
        one, two = b.value("fma", twice, one, number(b, x, each) - two), one
    return b.value("fma", x, one, number(b, x, coefficients[0]) - two)


# ---------------------------------------------------------------- logarithms, exponentials, inverse functions


def log1p(b: Builder, x: Value) -> Value:
    """log(u) x / (u - 1) with u = 1 + x: the rounding of u cancels."""
    u = x + 1.0
    d = u - 1.0
    tiny = equal(b, d, number(b, x, 0.0))
    ratio = b.value("divf", x, b.select(tiny, number(b, x, 1.0), d))
    endless = equal(b, u, number(b, x, math.inf))
    return b.select(tiny, x, b.select(endless, u, b.value("log", u) * ratio))


def expm1(b: Builder, x: Value) -> Value:
    """(u - 1) x / log(u) with u = exp(x)."""
    u = b.value("exp", x)
    d = u - 1.0
    one = equal(b, u, number(b, x, 1.0))
    far = b.value("ori", less(b, b.value("absf", d), number(b, x, math.inf)), is_nan(b, d))
    plain = b.value("cmpf", "greater_than", "ordered", b.value("absf", x), number(b, x, 40.0))
    log = b.value("log", b.select(one, number(b, x, 2.0), u))
    near = d * b.value("divf", x, log)
    return b.select(one, x, b.select(b.value("ori", plain, b.value("xori", far, b.const(True, far.type))), d, near))


def asin(b: Builder, x: Value) -> Value:
    one = number(b, x, 1.0)
    return b.value("atan2", x, b.value("sqrt", (one - x) * (one + x)))


def acos(b: Builder, x: Value) -> Value:
    one = number(b, x, 1.0)
    return b.value("atan2", b.value("sqrt", (one - x) * (one + x)), x)


def atan(b: Builder, x: Value) -> Value:
    return b.value("atan2", x, number(b, x, 1.0))


def asinh(b: Builder, x: Value) -> Value:
    a = b.value("absf", x)
    big = b.value("cmpf", "greater_than", "ordered", a, number(b, x, 1e100))
    c = b.select(big, number(b, x, 1.0), a)
    near = log1p(b, c + b.value("divf", c * c, b.value("sqrt", c * c + 1.0) + 1.0))
    return with_sign_of(b, b.select(big, b.value("log", a) + math.log(2), near), x)


def acosh(b: Builder, x: Value) -> Value:
    d = x - 1.0
    big = b.value("cmpf", "greater_than", "ordered", x, number(b, x, 1e100))
    c = b.select(big, number(b, x, 1.0), d)
    near = log1p(b, c + b.value("sqrt", c * (c + 2.0)))
    return b.select(big, b.value("log", x) + math.log(2), near)


def atanh(b: Builder, x: Value) -> Value:
    a = b.value("absf", x)
    return with_sign_of(b, log1p(b, b.value("divf", a + a, number(b, x, 1.0) - a)) * 0.5, x)


def log10(b: Builder, x: Value) -> Value:
    return b.value("log2", x) * math.log10(2)


def exp10(b: Builder, x: Value) -> Value:
    return b.value("exp2", x * math.log2(10))


def cbrt(b: Builder, x: Value) -> Value:
    root = b.value("fpowf", b.value("absf", x), number(b, x, 1 / 3))
    return with_sign_of(b, root, x)


def rcbrt(b: Builder, x: Value) -> Value:
    root = b.value("fpowf", b.value("absf", x), number(b, x, -1 / 3))
    return with_sign_of(b, root, x)


def norm(b: Builder, *xs: Value) -> Value:
    """The root of the sum of squares; infinite if any argument is, even beside NaN."""
    total = xs[0] * xs[0]
    for x in xs[1:]:
        total = b.value("fma", x, x, total)
    made = b.value("sqrt", total)
    for x in xs:
        made = b.select(equal(b, b.value("absf", x), number(b, x, math.inf)), b.value("absf", x), made)
    return made


def rnorm(b: Builder, *xs: Value) -> Value:
    return b.value("divf", number(b, xs[0], 1.0), norm(b, *xs))


def in_half_turns(b: Builder, x: Value) -> tuple[Value, Value]:
    """Return the nearest integer, and the exact rest in [-1/2, 1/2]; infinities have none."""
    nearest = rint(b, x)
    return nearest, x - nearest


def rint(b: Builder, x: Value) -> Value:
    """Round to the nearest integer, ties to even: adding 2^(digits - 1) leaves no room for a fraction."""
    big = 2.0 ** (52 if scalar(x) is F64 else 23 if scalar(x) is F32 else 10)
    a = b.value("absf", x)
    moved = (a + big) - big
    return with_sign_of(b, b.select(less(b, a, number(b, x, big)), moved, a), x)


def odd(b: Builder, whole: Value) -> Value:
    half = whole * 0.5
    return b.value("cmpf", "not_equal", "unordered", b.value("floor", half), half)


def sinpi(b: Builder, x: Value) -> Value:
    nearest, rest = in_half_turns(b, x)
    made = b.value("sin", rest * math.pi)
    return b.select(odd(b, nearest), b.value("negf", made), made)


def cospi(b: Builder, x: Value) -> Value:
    """Beyond a quarter turn the cosine is small, and the sine of what is left of the half turn has its digits."""
    nearest, rest = in_half_turns(b, x)
    a = b.value("absf", rest)
    outer = b.value("cmpf", "greater_than", "ordered", a, number(b, x, 0.25))
    made = b.select(outer, b.value("sin", (number(b, x, 0.5) - a) * math.pi), b.value("cos", a * math.pi))
    return b.select(odd(b, nearest), b.value("negf", made), made)


# ---------------------------------------------------------------- the error function

TERMS = 32
CENTRE = 3.75
"""x is mapped to (x - CENTRE) / (x + CENTRE), which is in [-1, 1] for positive x."""


@cache
def erfcx_series() -> tuple[float, ...]:
    """Return the Chebyshev series of (1 + 2 x) exp(x^2) erfc(x), which is smooth and bounded for positive x."""
    count = 4 * TERMS
    angles = [math.pi * (k + 0.5) / count for k in range(count)]
    samples = []
    for angle in angles:
        t = math.cos(angle)
        x = CENTRE * (1 + t) / (1 - t)
        samples.append((1 + 2 * x) * erfcx_value(x))
    series = [2 / count * math.fsum(s * math.cos(n * angle) for s, angle in zip(samples, angles)) for n in range(TERMS)]
    return (series[0] / 2, *series[1:])


def erfcx_value(x: float) -> float:
    """Return exp(x^2) erfc(x) of a positive number: by the C library, or by a continued fraction where x^2 is large."""
    if x < 1.5:
        return math.exp(x * x) * math.erfc(x)
    fraction = x
    for k in range(400, 0, -1):
        fraction = x + k / 2 / fraction
    return 1 / (math.sqrt(math.pi) * fraction)


SMALL = 0.75
"""Below this the Taylor series of erf is used, and above it 1 - erfc."""
TAYLOR = tuple(2 / math.sqrt(math.pi) * (-1) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(16, -1, -1))


def erfcx_positive(b: Builder, x: Value) -> Value:
    t = b.value("divf", x - CENTRE, x + CENTRE)
    endless = equal(b, x, number(b, x, math.inf))
    t = b.select(endless, number(b, x, 1.0), t)
    return b.value("divf", chebyshev(b, t, erfcx_series()), b.value("fma", x, number(b, x, 2.0), number(b, x, 1.0)))


def exp_minus_square(b: Builder, x: Value) -> Value:
    """exp(-x^2); the part of the square that rounding loses is put back."""
    square = x * x
    lost = b.value("fma", x, x, b.value("negf", square))
    lost = b.select(less(b, square, number(b, x, 1e4)), lost, number(b, x, 0.0))
    made = b.value("exp", b.value("negf", square))
    return b.value("fma", b.value("negf", lost), made, made)


def erfc_positive(b: Builder, x: Value) -> Value:
    return exp_minus_square(b, x) * erfcx_positive(b, x)


def erf_small(b: Builder, x: Value) -> Value:
    return x * polynomial(b, x * x, TAYLOR)


def clamped(b: Builder, x: Value, low: float, high: float) -> Value:
    """Limit a number, and keep NaN."""
    raised = b.value("maxf", x, number(b, x, low), propagate_nan=True)
    return b.value("minf", raised, number(b, x, high), propagate_nan=True)


WIDEST = 4.0
"""erf of more than this is 1 in f32."""


@cache
def erf_series() -> tuple[float, ...]:
    """Return the Chebyshev series of erf(x) / x in x^2 / 8 - 1, for numbers up to 4."""
    count, terms = 128, 27
    angles = [math.pi * (k + 0.5) / count for k in range(count)]
    roots = [math.sqrt(WIDEST**2 / 2 * (1 + math.cos(angle))) for angle in angles]
    samples = [math.erf(x) / x for x in roots]
    series = [2 / count * math.fsum(s * math.cos(n * a) for s, a in zip(samples, angles)) for n in range(terms)]
    return (series[0] / 2, *series[1:])


def erf_of_f32(b: Builder, x: Value) -> Value:
    """erf, in f64, of numbers that were f32: one series, whose error is below a quarter of a unit of f32."""
    a = clamped(b, x, -WIDEST, WIDEST)
    t = b.value("fma", a, a * (2 / WIDEST**2), number(b, x, -1.0))
    return clamped(b, a * chebyshev(b, t, erf_series()), -1.0, 1.0)


def erf(b: Builder, x: Value) -> Value:
    a = b.value("absf", x)
    small = less(b, a, number(b, x, SMALL))
    far = number(b, x, 1.0) - erfc_positive(b, clamped(b, a, 0.0, 10.0))
    return b.select(small, erf_small(b, x), with_sign_of(b, far, x))


def erfc(b: Builder, x: Value) -> Value:
    a = b.value("absf", x)
    one = number(b, x, 1.0)
    far = erfc_positive(b, clamped(b, a, 0.0, 40.0))
    negative = less(b, x, number(b, x, 0.0))
    made = b.select(negative, number(b, x, 2.0) - far, far)
    return b.select(less(b, a, number(b, x, SMALL)), one - erf_small(b, x), made)


def erfcx(b: Builder, x: Value) -> Value:
    a = b.value("absf", x)
    positive = erfcx_positive(b, a)
    square = a * a
    grown = b.value("exp", square) * 2.0 - positive
    return b.select(less(b, x, number(b, x, 0.0)), grown, positive)


def normcdf(b: Builder, x: Value) -> Value:
    return erfc(b, x * -math.sqrt(0.5)) * 0.5


NARROW: dict[Callable[..., Value], Callable[..., Value]] = {erf: erf_of_f32}
"""Cheaper functions for arguments that were narrower than f64."""
