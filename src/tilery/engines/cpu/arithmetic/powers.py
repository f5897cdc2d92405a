"""Powers: with a floating-point exponent in f64 and rounded once, with an integer one by squaring and multiplying.

Many powers lie halfway between two numbers of f16 or f32, or next to there, so `fpowf` may be one unit in the last
place off. With `exact` the reference engine computes it.
"""

from __future__ import annotations

from math import factorial
from typing import Any

from ....ops import FPowF, FPowI
from ....types import F64, I1
from ..abi import NotLowered
from ..registry import applies
from ..text import Text, vector
from ..tiles import element, reg
from .floats import bits_of, doubled, float_of, from_f32, widened
from .mathlib import ATANH, LN2, LOG2E, MAGIC, clamped, nearest, polynomial

SERIES = [1 / factorial(n) for n in range(13, -1, -1)]
"""exp(r), highest power first: for |r| <= ln(2) / 2 the next term is below 2**-57."""
DOUBTFUL = 3
"""The last bits of a result, which may be wrong."""
LOG2E_LOW = 2.0355273740931033e-17
"""The difference between the logarithm of e and LOG2E."""


def pair_of_log2(g: Text, x: str, w: int) -> tuple[str, str]:
    """The logarithm of a positive, finite, normal `double` as a sum of two numbers, the second one tiny."""
    t, i = "double", "i64"
    b = bits_of(g, x, t, w)
    moved = g.op("sub", i, w, b, g.const(0x3FE6A09E667F3BCD, i, w))
    n = g.op("ashr", i, w, moved, g.const(52, i, w))
    m = float_of(g, g.op("sub", i, w, b, g.op("shl", i, w, n, g.const(52, i, w))), t, w)
    f, d = g.op("fsub", t, w, m, g.const(1.0, t, w)), g.op("fadd", t, w, m, g.const(1.0, t, w))
    s = g.op("fdiv", t, w, f, d)
    # m has few digits, so f and d are exact, and so is what the quotient leaves.
    left = g.intrinsic("fma", t, w, _minus(g, s, w), d, f)
    z = g.op("fmul", t, w, s, s)
    tail = g.op("fmul", t, w, z, polynomial(g, t, w, z, ATANH[:-1]))
    tail = g.intrinsic("fma", t, w, s, tail, g.op("fdiv", t, w, left, d))
    high, low = (g.op("fadd", t, w, part, part) for part in (s, tail))
    scale = g.const(LOG2E, t, w)
    product = g.op("fmul", t, w, high, scale)
    rest = g.intrinsic("fma", t, w, high, scale, _minus(g, product, w))
    rest = g.intrinsic("fma", t, w, high, g.const(LOG2E_LOW, t, w), rest)
    rest = g.intrinsic("fma", t, w, low, scale, rest)
    number = g.cast("sitofp", n, i, t, w)
    total = g.op("fadd", t, w, number, product)
    # Where `number` is not 0 it is the larger one.
    lost = g.op("fsub", t, w, product, g.op("fsub", t, w, total, number))
    zero = g.compare("oeq", t, w, number, g.const(0.0, t, w))
    return total, g.op("fadd", t, w, g.select(zero, t, w, g.const(0.0, t, w), lost), rest)


def power_of_positive(g: Text, x: str, y: str, w: int) -> str:
    """A positive, finite, normal `double` to some power."""
    t, i = "double", "i64"
    high, low = pair_of_log2(g, x, w)
    product = g.op("fmul", t, w, y, high)
    rest = g.intrinsic("fma", t, w, y, low, g.intrinsic("fma", t, w, y, high, _minus(g, product, w)))
    bounded = clamped(g, t, w, product, -160.0, 130.0)
    magic = g.const(MAGIC, t, w)
    big = g.op("fadd", t, w, bounded, magic)
    part = g.op("fsub", t, w, bounded, g.op("fsub", t, w, big, magic))
    same = g.compare("oeq", t, w, bounded, product)
    part = g.op("fadd", t, w, part, g.select(same, t, w, rest, g.const(0.0, t, w)))
    p = polynomial(g, t, w, g.op("fmul", t, w, part, g.const(LN2, t, w)), SERIES)
    e = g.op("shl", i, w, bits_of(g, big, t, w), g.const(52, i, w))
    found = g.op("add", i, w, e, bits_of(g, p, t, w))
    # Powers of small numbers end in zeros, and may lie halfway between two results: what is nearly zeros is zeros.
    found = g.op("and", i, w, g.op("add", i, w, found, g.const(1 << DOUBTFUL - 1, i, w)), g.const(-1 << DOUBTFUL, i, w))
    return float_of(g, found, t, w)


def power(g: Text, x: str, y: str, w: int) -> str:
    """Any `double` that came from a narrower float to the power of another; NaN if one of them is."""
    t, infinity = "double", float("inf")
    zero, one, nan = (g.const(n, t, w) for n in (0.0, 1.0, float("nan")))
    size, exponent = (g.intrinsic("fabs", t, w, v) for v in (x, y))
    made = power_of_positive(g, size, y, w)
    rising = g.compare("ogt", t, w, y, zero)
    for bound, up, down in ((0.0, 0.0, infinity), (infinity, infinity, 0.0)):
        ends = g.select(rising, t, w, g.const(up, t, w), g.const(down, t, w))
        made = g.select(g.compare("oeq", t, w, size, g.const(bound, t, w)), t, w, ends, made)
    endless = g.compare("oeq", t, w, exponent, g.const(infinity, t, w))
    grows = g.op("xor", "i1", w, g.compare("olt", t, w, size, one), rising)
    ends = g.select(grows, t, w, g.const(infinity, t, w), zero)
    made = g.select(endless, t, w, g.select(g.compare("oeq", t, w, size, one), t, w, one, ends), made)
    # An odd exponent keeps the sign; one that is not whole has no real result for a negative number.
    half = g.op("fmul", t, w, y, g.const(0.5, t, w))
    odd = g.compare("oeq", t, w, g.op("fsub", t, w, half, g.intrinsic("floor", t, w, half)), g.const(0.5, t, w))
    negative = g.compare("slt", "i64", w, bits_of(g, x, t, w), g.const(0, "i64", w))
    made = g.select(g.op("and", "i1", w, odd, negative), t, w, _minus(g, made, w), made)
    broken = g.compare("une", t, w, y, g.intrinsic("floor", t, w, y))
    below = g.op("and", "i1", w, g.compare("olt", t, w, x, zero), g.compare("one", t, w, size, g.const(infinity, t, w)))
    made = g.select(g.op("and", "i1", w, below, broken), t, w, nan, made)
    made = g.select(g.compare("uno", t, w, x, y), t, w, nan, made)
    sure = g.op("or", "i1", w, g.compare("oeq", t, w, x, one), g.compare("oeq", t, w, y, zero))
    return g.select(sure, t, w, one, made)


def _minus(g: Text, x: str, w: int) -> str:
    return g.let(f"fneg {vector('double', w)} {x}")


@applies(FPowF, heavy=True)
def fpowf(g: Text, o: Any, w: int, x: str, y: str) -> str:
    e = element(o.result)
    if e is F64:
        raise NotLowered(o.name)
    return nearest(g, power(g, doubled(g, x, e, w), doubled(g, y, e, w), w), e, w)


@applies(FPowI, heavy=True)
def fpowi(g: Text, o: Any, w: int, x: str, n: str) -> str:
    """As the reference engine: bit by bit of the exponent, in f32. A negative power is a reciprocal."""
    e, t = element(o.result), reg(o.exponent)
    if e is F64:
        raise NotLowered(o.name)
    f = "float"
    wide = widened(g, x, e, w)
    signed = "i8" if element(o.exponent) is I1 else t
    n = g.cast("sext", n, t, signed, w)
    zero, one = g.const(0, signed, w), g.const(1, signed, w)
    negative = g.compare("slt", signed, w, n, zero)
    count = g.select(negative, signed, w, g.op("sub", signed, w, zero, n), n)
    result, base = g.const(1.0, f, w), wide
    for k in range(int(signed[1:])):
        bit = g.op("and", signed, w, g.op("lshr", signed, w, count, g.const(k, signed, w)), one)
        chosen = g.compare("ne", signed, w, bit, zero)
        result = g.select(chosen, f, w, g.op("fmul", f, w, result, base), result)
        base = g.op("fmul", f, w, base, base)
    result = g.select(negative, f, w, g.op("fdiv", f, w, g.const(1.0, f, w), result), result)
    return from_f32(g, result, e, w)
