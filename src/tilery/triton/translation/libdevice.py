"""Functions of libdevice by their symbols, as operations of Tile IR or compositions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import Value
from ...types import F64, I1, I32, I64, SCALARS, Scalar, Tile
from . import special
from .translator import Translator, scalar, tile_type

Rule = Callable[..., Value]
"""Takes the translator, the type of the result, and the arguments."""

SYMBOLS: dict[str, Rule] = {}


def symbol(*names: str) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        for name in names:
            assert f"__nv_{name}" not in SYMBOLS, name
            SYMBOLS[f"__nv_{name}"] = rule
        return rule

    return add


def both(name: str) -> tuple[str, str]:
    """Return the names of a function for f64 and f32."""
    return name, f"{name}f"


# ---------------------------------------------------------------- operations of Tile IR

SAME = {name: name for name in ("exp", "exp2", "log", "log2", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt")} | {
    **{name: name for name in ("rsqrt", "floor", "ceil", "fma", "atan2")},
    "fabs": "absf",
    "pow": "fpowf",
    "fmod": "remf",
}
FAST = {"fast_expf": "exp", "fast_logf": "log", "fast_log2f": "log2", "fast_sinf": "sin", "fast_cosf": "cos"} | {
    "fast_tanf": "tan",
    "fast_powf": "fpowf",
    "fast_fdividef": "divf",
    "frsqrt_rn": "rsqrt",
}
ROUNDINGS = {"rn": "nearest_even", "rz": "zero", "rd": "negative_inf", "ru": "positive_inf"}


def direct(name: str, **more: Any) -> Rule:
    return lambda t, to, *xs: t.builder.value(name, *xs, **more)


for source, target in SAME.items():
    symbol(*both(source))(direct(target))
for source, target in FAST.items():
    symbol(source)(direct(target))
for short, mode in ROUNDINGS.items():
    for source, target in (("add", "addf"), ("sub", "subf"), ("mul", "mulf"), ("div", "divf"), ("sqrt", "sqrt")):
        symbol(f"f{source}_{short}", f"d{source}_{short}")(direct(target, rounding_mode=mode))
    symbol(f"fma_{short}", f"fmaf_{short}")(direct("fma", rounding_mode=mode))
    symbol(f"frcp_{short}", f"drcp_{short}")(
        lambda t, to, x, mode=mode: t.builder.value("divf", t.full(x, 1.0), x, rounding_mode=mode)
    )

# ---------------------------------------------------------------- compositions in f64

COMPOSED = {
    name: getattr(special, name)
    for name in (
        *("log1p", "expm1", "asin", "acos", "atan", "asinh", "acosh", "atanh", "log10", "exp10", "cbrt", "rcbrt"),
        *("sinpi", "cospi", "erf", "erfc", "erfcx", "normcdf"),
    )
} | {
    **dict.fromkeys(("hypot", "norm3d", "norm4d"), special.norm),
    **dict.fromkeys(("rhypot", "rnorm3d", "rnorm4d"), special.rnorm),
}
ONLY_F32 = {
    *("log1p", "expm1", "atanh", "cbrt", "rcbrt", "erf", "erfc", "erfcx", "normcdf", "exp10", "log10"),
    *("hypot", "norm3d", "norm4d", "rhypot", "rnorm3d", "rnorm4d"),
}
"""Compositions whose error in f64 is above the documented one, or whose squares overflow."""


def composed(function: Callable[..., Value]) -> Rule:
    return lambda t, to, *xs: special.in_f64(t.builder, function, *xs)


for source, function in COMPOSED.items():
    symbol(*([f"{source}f"] if source in ONLY_F32 else both(source)))(composed(function))
symbol("fast_exp10f")(composed(special.exp10))
symbol("fast_log10f")(composed(special.log10))

# ---------------------------------------------------------------- rounding, signs, parts


@symbol(*both("trunc"))
def trunc(t: Translator, to: Tile, x: Value) -> Value:
    b = t.builder
    return special.with_sign_of(b, b.value("floor", b.value("absf", x)), x)


@symbol(*both("rint"), *both("nearbyint"))
def rint(t: Translator, to: Tile, x: Value) -> Value:
    return special.rint(t.builder, x)


@symbol(*both("round"))
def round_away(t: Translator, to: Tile, x: Value) -> Value:
    """Round to the nearest integer, ties away from zero."""
    b = t.builder
    a = b.value("absf", x)
    low = b.value("floor", a)
    up = b.value("cmpf", "greater_than_or_equal", "ordered", a - low, t.full(x, 0.5))
    return special.with_sign_of(b, b.select(up, low + 1.0, low), x)


@symbol(*both("fdim"))
def fdim(t: Translator, to: Tile, x: Value, y: Value) -> Value:
    b = t.builder
    below = b.value("cmpf", "less_than_or_equal", "ordered", x, y)
    return b.select(below, t.full(x, 0.0), x - y)


@symbol(*both("copysign"))
def copysign(t: Translator, to: Tile, x: Value, y: Value) -> Value:
    return special.with_sign_of(t.builder, x, y)


@symbol("saturatef")
def saturate(t: Translator, to: Tile, x: Value) -> Value:
    b = t.builder
    return b.value("minf", b.value("maxf", x, t.full(x, 0.0)), t.full(x, 1.0))


@symbol(*both("ldexp"), *both("scalbn"))
def ldexp(t: Translator, to: Tile, x: Value, n: Value) -> Value:
    """Multiply by a power of two, in two steps, as one power may overflow; the first step is exact in f64."""
    b = t.builder
    wide = x if scalar(x) is F64 else b.cast(x, F64)
    limited = b.minimum(b.maximum(n, -2200), 2200)
    half = b.value("shri", limited, t.full(n, 1), "signed")
    for part in (half, limited - half):
        wide = wide * b.value("exp2", b.cast(part, F64))
    return b.cast(wide, scalar(x))


@symbol("powi", "powif")
def powi(t: Translator, to: Tile, x: Value, n: Value) -> Value:
    b = t.builder
    return special.in_f64(b, lambda b, v: b.value("fpowf", v, b.cast(n, F64)), x)


def flag(t: Translator, to: Tile, condition: Value) -> Value:
    """Return a condition as the integer that the function returns."""
    return condition if to.element is I1 else t.builder.value("exti", condition, "unsigned", to=to)


@symbol("isnanf", "isnand")
def isnan(t: Translator, to: Tile, x: Value) -> Value:
    return flag(t, to, special.is_nan(t.builder, x))


@symbol("isinff", "isinfd")
def isinf(t: Translator, to: Tile, x: Value) -> Value:
    b = t.builder
    return flag(t, to, special.equal(b, b.value("absf", x), t.full(x, float("inf"))))


@symbol("finitef", "isfinited")
def finite(t: Translator, to: Tile, x: Value) -> Value:
    b = t.builder
    return flag(t, to, special.less(b, b.value("absf", x), t.full(x, float("inf"))))


@symbol("signbitf", "signbitd")
def signbit(t: Translator, to: Tile, x: Value) -> Value:
    b = t.builder
    bits = b.bitcast(x, integer_like(x))
    return flag(t, to, b.value("cmpi", "less_than", bits, t.full(bits, 0), "signed"))


def integer_like(x: Value) -> Scalar:
    return SCALARS[f"i{scalar(x).bits}"]


@symbol(*both("nextafter"))
def nextafter(t: Translator, to: Tile, x: Value, y: Value) -> Value:
    """Step one bit pattern towards y: up if it is further from zero, and from zero to the smallest number."""
    b = t.builder
    zero = t.full(x, 0.0)
    bits = b.bitcast(x, integer_like(x))
    outward = b.value(
        "cmpi", "equal",
        b.value("exti", special.less(b, x, y), "unsigned", to=Tile(tile_type(x).shape, I32)),
        b.value("exti", special.less(b, zero, x), "unsigned", to=Tile(tile_type(x).shape, I32)),
        "signed",
    )  # fmt: skip
    moved = b.bitcast(b.select(outward, bits + 1, bits - 1), scalar(x))
    smallest = b.bitcast(t.full(bits, 1), scalar(x))
    moved = b.select(special.equal(b, x, zero), special.with_sign_of(b, smallest, y), moved)
    moved = b.select(special.equal(b, x, y), y, moved)
    return b.select(b.value("ori", special.is_nan(b, x), special.is_nan(b, y)), x + y, moved)


# ---------------------------------------------------------------- conversions

for source_name in ("float", "double"):
    for target_name, sign in {
        "int": "signed",
        "uint": "unsigned",
        "ll": "signed",
        "ull": "unsigned",
    }.items():
        for short, rounded in (("rn", rint), ("rz", None), ("rd", direct("floor")), ("ru", direct("ceil"))):

            def convert(t: Translator, to: Tile, x: Value, sign: str = sign, rounded: Rule | None = rounded) -> Value:
                """Round to an integer; numbers that do not fit become the nearest one that does, and NaN zero."""
                whole = x if rounded is None else rounded(t, to, x)
                return t.builder.value("ftoi", whole, sign, saturating=True, to=to)

            symbol(f"{source_name}2{target_name}_{short}")(convert)


@symbol("llrint", "llrintf")
def llrint(t: Translator, to: Tile, x: Value) -> Value:
    return t.builder.value("ftoi", special.rint(t.builder, x), "signed", saturating=True, to=to)


@symbol("llround", "llroundf")
def llround(t: Translator, to: Tile, x: Value) -> Value:
    return t.builder.value("ftoi", round_away(t, to, x), "signed", saturating=True, to=to)


for source_name, sign in (("int", "signed"), ("uint", "unsigned"), ("ll", "signed"), ("ull", "unsigned")):
    for target_name in ("float", "double"):
        symbol(f"{source_name}2{target_name}_rn")(lambda t, to, x, sign=sign: t.builder.value("itof", x, sign, to=to))
for each in ("float_as_int", "float_as_uint", "int_as_float", "uint_as_float", "double_as_longlong"):
    symbol(each)(lambda t, to, x: t.builder.value("bitcast", x, result=to))
symbol("longlong_as_double")(lambda t, to, x: t.builder.value("bitcast", x, result=to))
symbol("double2float_rn")(lambda t, to, x: t.builder.value("ftof", x, to=to))

# ---------------------------------------------------------------- integers

symbol("abs", "llabs")(direct("absi"))
symbol("umulhi", "umul64hi")(direct("mulhii"))
symbol("mul24")(lambda t, to, x, y: t.builder.value("muli", low24(t, x, "signed"), low24(t, y, "signed")))
symbol("umul24")(lambda t, to, x, y: t.builder.value("muli", low24(t, x, "unsigned"), low24(t, y, "unsigned")))


def low24(t: Translator, x: Value, sign: str) -> Value:
    b = t.builder
    return b.value("shri", b.value("shli", x, t.full(x, 8)), t.full(x, 8), sign)


@symbol("mulhi", "mul64hi")
def mulhi(t: Translator, to: Tile, x: Value, y: Value) -> Value:
    """The high half of a signed product: the unsigned one, less each factor where the other is negative."""
    b = t.builder
    high = b.value("mulhii", x, y)
    for one, other in ((x, y), (y, x)):
        negative = b.value("cmpi", "less_than", one, t.full(x, 0), "signed")
        high = high - b.select(negative, other, t.full(x, 0))
    return high


def shifted(t: Translator, x: Value, count: int) -> Value:
    return t.builder.value("shri", x, t.full(x, count), "unsigned")


def masks(x: Value) -> list[int]:
    """Return the patterns 0101..., 0011..., 00001111... of a width, as signed integers."""
    bits = scalar(x).bits
    found = []
    for size in (1, 2, 4):
        pattern = sum(((1 << size) - 1) << at for at in range(0, bits, 2 * size))
        found.append(pattern - (1 << bits) if pattern >> bits - 1 else pattern)
    return found


@symbol("popc", "popcll")
def popc(t: Translator, to: Tile, x: Value) -> Value:
    b = t.builder
    ones, twos, fours = masks(x)
    v = x - (shifted(t, x, 1) & ones)
    v = (v & twos) + (shifted(t, v, 2) & twos)
    v = (v + shifted(t, v, 4)) & fours
    bytes_ = sum(1 << at for at in range(0, scalar(x).bits, 8))
    v = shifted(t, v * bytes_, scalar(x).bits - 8)
    return v if v.type is to else b.value("trunci", v, to=to)


@symbol("clz", "clzll")
def clz(t: Translator, to: Tile, x: Value) -> Value:
    v, step = x, 1
    while step < scalar(x).bits:
        v = v | shifted(t, v, step)
        step *= 2
    count = popc(t, to, v)
    return t.full(count, scalar(x).bits) - count


@symbol("ffs", "ffsll")
def ffs(t: Translator, to: Tile, x: Value) -> Value:
    """One more than the position of the lowest set bit; 0 if none is set."""
    b = t.builder
    below = (x ^ -1) & (x - 1)
    position = popc(t, to, below) + 1
    return b.select(b.eq(x, 0), t.full(position, 0), position)


@symbol("brev", "brevll")
def brev(t: Translator, to: Tile, x: Value) -> Value:
    b, v, size = t.builder, x, 1
    bits = scalar(x).bits
    while size < bits:
        pattern = sum(((1 << size) - 1) << at for at in range(0, bits, 2 * size))
        low = pattern - (1 << bits) if pattern >> bits - 1 else pattern
        v = (shifted(t, v, size) & low) | b.value("shli", v & low, t.full(v, size))
        size *= 2
    return v


def difference_plus(sign: str) -> Rule:
    """Return a rule for |x - y| + z."""

    def rule(t: Translator, to: Tile, x: Value, y: Value, z: Value) -> Value:
        b = t.builder
        return b.value("maxi", x, y, sign) - b.value("mini", x, y, sign) + z

    return rule


symbol("sad")(difference_plus("signed"))
symbol("usad")(difference_plus("unsigned"))


def average(rounds: int, sign: str) -> Rule:
    """Return a rule for (x + y + rounds) / 2, which is computed in 64 bits."""

    def rule(t: Translator, to: Tile, x: Value, y: Value) -> Value:
        b = t.builder
        wide = [b.value("exti", v, sign, to=Tile(tile_type(v).shape, I64)) for v in (x, y)]
        total = wide[0] + wide[1] + rounds
        return b.value("trunci", b.value("shri", total, t.full(total, 1), "signed"), to=to)

    return rule


symbol("hadd")(average(0, "signed"))
symbol("rhadd")(average(1, "signed"))
symbol("uhadd")(average(0, "unsigned"))
symbol("urhadd")(average(1, "unsigned"))
