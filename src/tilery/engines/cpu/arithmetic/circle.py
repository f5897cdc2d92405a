"""sin, cos and tan, in f64 and rounded once, however large the argument is.

An argument is a whole number of at most 24 bits times a power of two. How many quarters of a circle that power is, but
for whole circles, is in a table, with twice the digits of f64.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import cache
from math import factorial, pi
from typing import Any

from ....ops import Cos, Sin, Tan
from ....types import F64
from ...common.numerics import precise
from ..abi import NotLowered
from ..registry import applies
from ..text import Text, vector
from ..tiles import element
from .floats import bits_of, float_of, gathered
from .mathlib import MAGIC, polynomial, rounded

FIRST, LAST = -1, 127
"""The exponents of arguments in the table; smaller ones are left as they are."""
DIGITS = 23
"""The distance of the last bit of an argument from the first."""
SINE = [(-1) ** (n // 2) / factorial(n) for n in range(17, 0, -2)]
"""sin(r) / r in powers of r**2, highest first: for |r| <= pi / 4 the next term is below 2**-63."""
COSINE = [(-1) ** (n // 2) / factorial(n) for n in range(18, -1, -2)]


@cache
def quarters() -> tuple[list[float], list[float]]:
    """Return for each exponent the quarters of a circle that the last bit is, but for whole circles, in two parts."""
    high, low = [], []
    with localcontext(Context(prec=precise.DIGITS)):
        for power in range(FIRST, LAST + 1):
            exact = Decimal(2) ** (power - DIGITS) * 2 / precise.pi() % 4
            high.append(float(exact))
            low.append(float(exact - Decimal(high[-1])))
    return high, low


def table(g: Text, name: str, numbers: list[float], index: str, w: int) -> str:
    items = ", ".join(f"double {g.const(x, 'double')}" for x in numbers)
    g.functions[name] = f"{name} = internal constant [{len(numbers)} x double] [{items}]"
    return gathered(g, "double", name, index, w)


def reduced(g: Text, x: str, w: int) -> tuple[str, str]:
    """Return the rest of an angle beyond the nearest quarter of a circle, and the number of quarters, as i64."""
    t, i = "double", "i64"
    bits = bits_of(g, x, t, w)
    power = g.op("and", i, w, g.op("lshr", i, w, bits, g.const(52, i, w)), g.const(0x7FF, i, w))
    index = g.op("sub", i, w, power, g.const(1023 + FIRST, i, w))
    index = g.intrinsic("smax", i, w, index, g.const(0, i, w))
    index = g.intrinsic("smin", i, w, index, g.const(LAST - FIRST, i, w))
    rest = g.op("and", i, w, bits, g.const(0x800FFFFFFFFFFFFF, i, w))
    m = float_of(g, g.op("or", i, w, rest, g.const(1023 + DIGITS << 52, i, w)), t, w)
    high, low = (table(g, f"@{name}_quarters", part, index, w) for name, part in zip(("high", "low"), quarters()))
    product = g.op("fmul", t, w, m, high)
    magic = g.const(MAGIC, t, w)
    big = g.op("fadd", t, w, product, magic)
    part = g.op("fsub", t, w, product, g.op("fsub", t, w, big, magic))
    error = g.intrinsic("fma", t, w, m, high, g.let(f"fneg {vector(t, w)} {product}"))
    part = g.op("fadd", t, w, part, g.intrinsic("fma", t, w, m, low, error))
    r = g.op("fmul", t, w, part, g.const(pi / 2, t, w))
    small = g.compare("olt", t, w, g.intrinsic("fabs", t, w, x), g.const(2.0**FIRST, t, w))
    number = g.select(small, i, w, g.const(0, i, w), bits_of(g, big, t, w))
    return g.select(small, t, w, x, r), number


def wave(g: Text, o: Any, x: str, w: int) -> str:
    """The function of a finite `double` that came from a narrower float; anything for others."""
    t, i = "double", "i64"
    r, number = reduced(g, x, w)
    z = g.op("fmul", t, w, r, r)
    sine = g.op("fmul", t, w, r, polynomial(g, t, w, z, SINE))
    cosine = polynomial(g, t, w, z, COSINE)
    odd = g.compare("ne", i, w, g.op("and", i, w, number, g.const(1, i, w)), g.const(0, i, w))
    up, across = g.select(odd, t, w, cosine, sine), g.select(odd, t, w, sine, cosine)
    if isinstance(o, Tan):
        quotient = g.op("fdiv", t, w, up, across)
        return g.select(odd, t, w, g.let(f"fneg {vector(t, w)} {quotient}"), quotient)
    if isinstance(o, Cos):
        up, number = across, g.op("add", i, w, number, g.const(1, i, w))
    sign = g.op("shl", i, w, g.op("and", i, w, number, g.const(2, i, w)), g.const(62, i, w))
    return float_of(g, g.op("xor", i, w, bits_of(g, up, t, w), sign), t, w)


@applies(Sin, Cos, Tan, heavy=True)
def trigonometric(g: Text, o: Any, w: int, x: str) -> str:
    if element(o.result) is F64:
        raise NotLowered(o.name)
    t = "double"

    def compute(wide: str) -> str:
        size = g.intrinsic("fabs", t, w, wide)
        endless = g.compare("oeq", t, w, size, g.const(float("inf"), t, w))
        return g.select(endless, t, w, g.const(float("nan"), t, w), wave(g, o, wide, w))

    return rounded(g, o, x, w, compute)
