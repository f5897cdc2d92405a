"""Functions that no finite arithmetic gives exactly.

In f32, `exp` and `exp2` are at most one unit in the last place off; with `exact`, and all others always, they are
computed in f64 and rounded once, which gives the nearest number but for one case in many millions. f16 and bf16 go
through f64 and are the nearest number. What has no function here is left to the reference engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....ops import CosH, Exp, Exp2, Log, Log2, Rsqrt, SinH, TanH
from ....types import F32, F64, Scalar
from ..abi import NotLowered
from ..registry import applies
from ..text import Text
from ..tiles import element
from .floats import bits_of, doubled, float_of, flushed, from_f32, odd32

LANES = 16
LOG2E, LN2 = 1.4426950408889634, 0.6931471805599453
LN2_HIGH = 0.693359375
MAGIC = 6755399441055744.0
"""1.5 * 2**52: adding it leaves an integer in the last bits."""
MAGIC16 = 1.5 * 2.0**19
"""The same for f32 and sixteenths."""
LN2_SINGLE = 0.693147182464599609375
POWERS = [2.0 ** (k / 16) for k in range(16)]
SHORT_EXP = [0.1666703075170517, 0.5000162124633789, 1.0]
"""exp(r) is 1 plus r times this, for |r| <= ln(2) / 32; highest power first."""
SHORT_EXP2 = [0.05550345778465271, 0.24023427069187164, LN2_SINGLE]
"""The same for 2**r, |r| <= 1 / 32."""
EXP32 = [1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1]
"""exp(r) is 1 + r + r**2 times this, for |r| <= ln(2) / 2; highest power first."""
EXP64 = [
    2.7626357241447223e-07, 2.764018079620985e-06, 2.4801504346997686e-05, 0.00019841170270440067,
    0.0013888888932488599, 0.008333333385667782, 0.04166666666657314, 0.16666666666554406, 0.5000000000000006,
    1.0000000000000067, 1.0,
]  # fmt: skip
"""exp(r) with a relative error of 2**-47, highest power first."""
ATANH = [1 / n for n in range(29, 0, -2)]
"""The series of atanh(s) / s in powers of s**2, highest power first; |s| <= 0.172 leaves 2**-70."""


def polynomial(g: Text, t: str, w: int, x: str, factors: list[float]) -> str:
    total = g.const(factors[0], t, w)
    for factor in factors[1:]:
        total = g.intrinsic("fma", t, w, total, x, g.const(factor, t, w))
    return total


def clamped(g: Text, t: str, w: int, x: str, low: float, high: float) -> str:
    """A number between two others; a NaN stays."""
    for predicate, bound in (("olt", low), ("ogt", high)):
        c = g.const(bound, t, w)
        x = g.select(g.compare(predicate, t, w, x, c), t, w, c, x)
    return x


# ---------------------------------------------------------------- exp


def exp_single(g: Text, x: str, w: int, base_two: bool) -> str:
    if "avx512dq" not in g.target.features:
        return _by_polynomial(g, x, w, base_two)
    if w == 1:
        return g.part(_by_table(g, g.splat(x, "float", LANES), base_two), "float", LANES, 0, 1)
    if w < LANES:
        wide = g.shuffle(x, None, "float", w, [k % w for k in range(LANES)])
        return g.part(_by_table(g, wide, base_two), "float", LANES, 0, w)
    parts = [_by_table(g, g.part(x, "float", w, k, LANES), base_two) for k in range(0, w, LANES)]
    return g.joined(parts, "float", LANES)


def _by_table(g: Text, x: str, base_two: bool) -> str:
    """A power of two from a table, times exp(r), r being what is left of x after the nearest sixteenth of a power.

    For x too large or too small and for NaN, r is useless and the exponent alone decides.
    """
    t, w, v = "float", LANES, f"<{LANES} x float>"
    magic = g.const(MAGIC16, t, w)
    if base_two:
        big = g.op("fadd", t, w, x, magic)
        n = g.op("fsub", t, w, big, magic)
        r = g.op("fsub", t, w, x, n)
    else:
        big = g.intrinsic("fma", t, w, x, g.const(LOG2E, t, w), magic)
        n = g.op("fsub", t, w, big, magic)
        r = g.intrinsic("fma", t, w, n, g.const(-LN2_SINGLE, t, w), x)
        r = g.intrinsic("fma", t, w, n, g.const(LN2_SINGLE - LN2, t, w), r)
    # r itself, or 0.5 with its sign where that is smaller or r is NaN
    bounds = (v, r), (v, g.const(0.5, t, w)), ("i32", 2)
    r = g.call("x86.avx512.mask.range.ps.512", v, *bounds, (v, "zeroinitializer"), ("i16", -1), ("i32", 4))
    place = bits_of(g, big, t, w)
    power = g.call("x86.avx512.permvar.sf.512", v, (v, g.constants(POWERS, t)), (f"<{w} x i32>", place))
    p = polynomial(g, t, w, r, SHORT_EXP2 if base_two else SHORT_EXP)
    y = g.intrinsic("fma", t, w, g.op("fmul", t, w, power, r), p, power)
    return g.call("x86.avx512.mask.scalef.ps.512", v, (v, y), (v, n), (v, "zeroinitializer"), ("i16", -1), ("i32", 4))


def _by_polynomial(g: Text, x: str, w: int, base_two: bool) -> str:
    t = "float"
    x = clamped(g, t, w, x, *((-151.0, 129.0) if base_two else (-104.0, 89.0)))
    if base_two:
        n = g.intrinsic("roundeven", t, w, x)
        y = g.op("fsub", t, w, x, n)
        r = g.op("fmul", t, w, y, g.const(LN2, t, w))
        r = g.intrinsic("fma", t, w, y, g.const(LN2 - LN2_SINGLE, t, w), r)
    else:
        n = g.intrinsic("roundeven", t, w, g.op("fmul", t, w, x, g.const(LOG2E, t, w)))
        r = g.intrinsic("fma", t, w, n, g.const(-LN2_HIGH, t, w), x)
        r = g.intrinsic("fma", t, w, n, g.const(LN2_HIGH - LN2, t, w), r)
    p = polynomial(g, t, w, r, EXP32)
    p = g.intrinsic("fma", t, w, g.op("fmul", t, w, r, r), p, r)
    return _scaled(g, g.op("fadd", t, w, p, g.const(1.0, t, w)), n, w)


def _scaled(g: Text, y: str, n: str, w: int) -> str:
    """y times 2**n, n a whole number in [-151, 129] or NaN."""
    whole = g.cast("fptosi", g.select(g.compare("uno", "float", w, n, n), "float", w, g.const(0.0, "float", w), n),
                   "float", "i32", w)  # fmt: skip
    half = g.op("ashr", "i32", w, whole, g.const(1, "i32", w))
    for part in (half, g.op("sub", "i32", w, whole, half)):
        power = g.op("shl", "i32", w, g.op("add", "i32", w, part, g.const(127, "i32", w)), g.const(23, "i32", w))
        y = g.op("fmul", "float", w, y, float_of(g, power, "float", w))
    return y


def exp_double(g: Text, x: str, w: int, base_two: bool) -> str:
    """exp of a `double` in [-700, 700], with an error of some 2**-50; NaN gives anything."""
    t = "double"
    magic = g.const(MAGIC, t, w)
    if base_two:
        big = g.op("fadd", t, w, x, magic)
        n = g.op("fsub", t, w, big, magic)
        r = g.op("fmul", t, w, g.op("fsub", t, w, x, n), g.const(LN2, t, w))
    else:
        big = g.intrinsic("fma", t, w, x, g.const(LOG2E, t, w), magic)
        n = g.op("fsub", t, w, big, magic)
        r = g.intrinsic("fma", t, w, n, g.const(-LN2, t, w), x)
        r = g.intrinsic("fma", t, w, n, g.const(-2.3190468138462996e-17, t, w), r)
    p = polynomial(g, t, w, r, EXP64)
    e = g.op("shl", "i64", w, bits_of(g, big, t, w), g.const(52, "i64", w))
    return float_of(g, g.op("add", "i64", w, e, bits_of(g, p, t, w)), t, w)


# ---------------------------------------------------------------- log and hyperbolic functions


def log_double(g: Text, x: str, w: int, base_two: bool) -> str:
    """The logarithm of a positive, finite, normal `double`."""
    t, i = "double", "i64"
    b = bits_of(g, x, t, w)
    # The mantissa between 0.707 and 1.414, so that numbers near 1 keep all their digits.
    moved = g.op("sub", i, w, b, g.const(0x3FE6A09E667F3BCD, i, w))
    n = g.op("ashr", i, w, moved, g.const(52, i, w))
    m = float_of(g, g.op("sub", i, w, b, g.op("shl", i, w, n, g.const(52, i, w))), t, w)
    f = g.op("fsub", t, w, m, g.const(1.0, t, w))
    s = g.op("fdiv", t, w, f, g.op("fadd", t, w, m, g.const(1.0, t, w)))
    z = g.op("fmul", t, w, s, s)
    p = polynomial(g, t, w, z, ATANH)
    two_s = g.op("fadd", t, w, s, s)
    number = g.cast("sitofp", n, i, t, w)
    if base_two:
        part = g.op("fmul", t, w, g.op("fmul", t, w, two_s, p), g.const(LOG2E, t, w))
        return g.op("fadd", t, w, number, part)
    return g.intrinsic("fma", t, w, number, g.const(LN2, t, w), g.op("fmul", t, w, two_s, p))


def log_of(g: Text, x: str, w: int, base_two: bool) -> str:
    t = "double"
    made = log_double(g, x, w, base_two)
    zero, infinity = g.const(0.0, t, w), g.const(float("inf"), t, w)
    made = g.select(g.compare("oeq", t, w, x, infinity), t, w, infinity, made)
    made = g.select(g.compare("oeq", t, w, x, zero), t, w, g.const(float("-inf"), t, w), made)
    bad = g.compare("ult", t, w, x, zero)
    return g.select(bad, t, w, g.const(float("nan"), t, w), made)


def hyperbolic(g: Text, o: Any, x: str, w: int) -> str:
    """sinh, cosh and tanh of a `double`, from exp; small arguments by their series."""
    t = "double"
    size = clamped(g, t, w, g.intrinsic("fabs", t, w, x), 0.0, 40.0 if isinstance(o, TanH) else 100.0)
    one = g.const(1.0, t, w)
    e = exp_double(g, size, w, False)
    inverse = g.op("fdiv", t, w, one, e)
    total = g.op("fadd", t, w, e, inverse)
    if isinstance(o, CosH):
        return g.op("fmul", t, w, total, g.const(0.5, t, w))
    z = g.op("fmul", t, w, size, size)
    odd = [1.0, 1 / 6, 1 / 120, 1 / 5040, 1 / 362880, 1 / 39916800, 1 / 6227020800, 1 / 1307674368000]
    series = g.op("fmul", t, w, size, polynomial(g, t, w, z, odd[::-1]))
    large = g.op("fmul", t, w, g.op("fsub", t, w, e, inverse), g.const(0.5, t, w))
    small = g.compare("olt", t, w, size, g.const(0.5, t, w))
    sine = g.select(small, t, w, series, large)
    if isinstance(o, TanH):
        sine = g.op("fdiv", t, w, sine, g.op("fmul", t, w, total, g.const(0.5, t, w)))
    return g.intrinsic("copysign", t, w, sine, x)


# ---------------------------------------------------------------- operations


def in_double(g: Text, o: Any, x: str, w: int) -> str:
    """The function of a `double` that came from a narrower float, to more digits than that has."""
    t = "double"
    match o:
        case Exp():
            return exp_double(g, clamped(g, t, w, x, -110.0, 90.0), w, False)
        case Exp2():
            return exp_double(g, clamped(g, t, w, x, -160.0, 130.0), w, True)
        case Log() | Log2():
            return log_of(g, x, w, isinstance(o, Log2))
        case Rsqrt():
            return g.op("fdiv", t, w, g.const(1.0, t, w), g.intrinsic("sqrt", t, w, x))
    return hyperbolic(g, o, x, w)


@applies(Exp, Exp2, Log, Log2, Rsqrt, SinH, CosH, TanH, heavy=True)
def function(g: Text, o: Any, w: int, x: str) -> str:
    e = element(o.result)
    if e is F64:
        raise NotLowered(o.name)
    flushes = getattr(o, "flush_to_zero", False)
    if flushes:
        x = flushed(g, x, w)
    if e is F32 and isinstance(o, (Exp, Exp2)) and not g.wanted.exact:
        made = exp_single(g, x, w, isinstance(o, Exp2))
    else:
        made = rounded(g, o, x, w, lambda wide: in_double(g, o, wide, w))
    return flushed(g, made, w) if flushes else made


def rounded(g: Text, o: Any, x: str, w: int, compute: Callable[[str], str]) -> str:
    """The result of a function of a `double`, which `x` is made into; a NaN stays one."""
    e = element(o.result)
    wide = doubled(g, x, e, w)
    nan = g.compare("uno", "double", w, wide, wide)
    return nearest(g, g.select(nan, "double", w, wide, compute(wide)), e, w)


def nearest(g: Text, x: str, e: Scalar, w: int) -> str:
    """A `double` in f16, bf16 or f32."""
    return g.cast("fptrunc", x, "double", "float", w) if e is F32 else from_f32(g, odd32(g, x, w), e, w)
