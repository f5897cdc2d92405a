"""Floating-point arithmetic and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....analysis.powers import is_two
from ....enums import ComparisonOrdering
from ....enums import RoundingMode as R
from ....ops import (
    AbsF,
    AddF,
    Atan2,
    Ceil,
    CmpF,
    Cos,
    CosH,
    DivF,
    Exp,
    Exp2,
    Floor,
    Fma,
    FPowF,
    FPowI,
    Log,
    Log2,
    MaxF,
    MinF,
    MulF,
    NegF,
    RemF,
    Rsqrt,
    Sin,
    SinH,
    Sqrt,
    SubF,
    Tan,
    TanH,
)
from ..emit import Val
from ..floats import truncate
from ..registry import lowers
from ..state import Lowering
from .integer import PREDICATES

SUFFIX = {R.ZERO: ("rz", "rtz"), R.NEGATIVE_INF: ("rd", "rtn"), R.POSITIVE_INF: ("ru", "rtp")}
"""The directed rounding modes of libdevice and of ocml."""
ROUNDINGS = {
    R.NEAREST_EVEN: "rn", R.ZERO: "rz", R.NEGATIVE_INF: "rm", R.POSITIVE_INF: "rp", R.APPROX: "approx", R.FULL: "full",
}  # fmt: skip
"""The rounding modes of PTX."""
NAMES = {AddF: "add", SubF: "sub", MulF: "mul", DivF: "div", Fma: "fma", Sqrt: "sqrt"}
NARROW = ("f16", "bf16")


def in_f32(low: Lowering, compute: Callable[..., Val], *args: Val) -> Val:
    """Compute f16 and bf16 in f32, and round."""
    wide = compute(*(low.cast("arith.extf", a, "f32") for a in args))
    return low.cast("arith.truncf", wide, args[0].element)


def flush(low: Lowering, value: Val) -> Val:
    """An f32 with subnormals replaced by zero of the same sign."""
    small = low.compare("olt", low.map("math.absf", value), low.constant(0x00800000, value.shape, "f32"))
    bits = low.bitcast(value, "i32")
    zero = low.bitcast(low.map("arith.andi", bits, low.like(0x80000000, bits)), "f32")
    return low.select(small, zero, value)


def flushing(low: Lowering, o: Any, args: tuple[Val, ...], compute: Callable[..., Val]) -> Val:
    """Compute with operands and result flushed, if the operation says so."""
    if not o.flush_to_zero:
        return compute(*args)
    args = tuple(flush(low, a) for a in args)
    found = flush(low, compute(*args))
    return _without_tiny(low, found, args, compute) if isinstance(o, (MulF, Fma)) else found


def _without_tiny(low: Lowering, found: Val, args: tuple[Val, ...], compute: Callable[..., Val]) -> Val:
    """A product that only becomes the smallest normal number because subnormals have fewer bits is flushed too.

    The same is computed 2**64 times as large, where no bits are lost. The smaller factor is scaled, which overflows
    only if the result is large.
    """
    a, b, *rest = args
    smaller = low.compare("olt", low.map("math.absf", a), low.map("math.absf", b))
    least, most = low.select(smaller, a, b), low.select(smaller, b, a)
    scale = low.real(2.0**64, a)
    large = compute(low.map("arith.mulf", least, scale), most, *(low.map("arith.mulf", c, scale) for c in rest))
    tiny = low.compare("olt", low.map("math.absf", large), low.real(2.0**-62, a))
    bits = low.bitcast(found, "i32")
    return low.select(tiny, low.bitcast(low.map("arith.andi", bits, low.like(0x80000000, bits)), "f32"), found)


def directed(low: Lowering, o: Any, *args: Val) -> Val:
    """Arithmetic rounded in a direction: functions of the target's library. Narrow types are rounded twice in the same
    direction, which is the same as once."""
    name, mode, element = NAMES[o.__class__], o.rounding_mode, args[0].element
    if element in NARROW:
        wide = directed(low, o, *(low.cast("arith.extf", a, "f32") for a in args))
        return truncate(low, wide, element, mode)
    nvidia, amd = SUFFIX[mode]
    if low.target.nvidia:
        double = element == "f64"
        symbol = (
            f"__nv_fma{'' if double else 'f'}_{nvidia}"
            if name == "fma"
            else f"__nv_{'d' if double else 'f'}{name}_{nvidia}"
        )
    elif name in ("div", "sqrt"):
        raise low.refuse(f"AMD's library has no {name} that rounds to {mode.text}")
    else:
        symbol = f"__ocml_{name}_{amd}_{element}"
    return low.external(symbol, element, *args)


@lowers(AddF, SubF, MulF, Fma)
def arithmetic(low: Lowering, o: Any, *args: Val) -> Val:
    name = "math.fma" if isinstance(o, Fma) else f"arith.{o.name}"
    if o.flush_to_zero and low.target.nvidia:
        return _ptx(low, f"{NAMES[o.__class__]}.{ROUNDINGS[o.rounding_mode]}.ftz.f32", *args)
    if o.rounding_mode is not R.NEAREST_EVEN:
        return flushing(low, o, args, lambda *a: directed(low, o, *a))
    return flushing(low, o, args, lambda *a: low.map(name, *a))


def _ptx(low: Lowering, instruction: str, *args: Val) -> Val:
    """A PTX instruction on f32."""
    places = ", ".join(f"${i}" for i in range(len(args) + 1))
    return low.assembly(f"{instruction} {places};", "=f" + ",f" * len(args), "f32", *args)


@lowers(DivF)
def divf(low: Lowering, o: DivF, lhs: Val, rhs: Val) -> Val:
    if o.rounding_mode in SUFFIX and not (o.flush_to_zero and low.target.nvidia):
        return flushing(low, o, (lhs, rhs), lambda a, b: directed(low, o, a, b))
    if lhs.element in NARROW:
        return in_f32(low, lambda a, b: low.map("tt.precise_divf", a, b), lhs, rhs)
    if lhs.element == "f64":
        return low.map("arith.divf", lhs, rhs)
    if low.target.nvidia and (o.flush_to_zero or o.rounding_mode is not R.NEAREST_EVEN):
        kind = ROUNDINGS[o.rounding_mode]
        return _ptx(low, f"div.{kind}{'.ftz' if o.flush_to_zero else ''}.f32", lhs, rhs)
    return flushing(low, o, (lhs, rhs), lambda a, b: low.map("tt.precise_divf", a, b))


@lowers(Sqrt)
def sqrt(low: Lowering, o: Sqrt, source: Val) -> Val:
    if o.rounding_mode in SUFFIX and not (o.flush_to_zero and low.target.nvidia):
        return flushing(low, o, (source,), lambda a: directed(low, o, a))
    if source.element in NARROW:
        return in_f32(low, lambda a: low.map("tt.precise_sqrt", a), source)
    if source.element == "f64":
        return low.external("__nv_dsqrt_rn", "f64", source) if low.target.nvidia else low.map("math.sqrt", source)
    if low.target.nvidia and (o.flush_to_zero or o.rounding_mode is R.APPROX):
        kind = ROUNDINGS[o.rounding_mode]
        return _ptx(low, f"sqrt.{kind}{'.ftz' if o.flush_to_zero else ''}.f32", source)
    return flushing(low, o, (source,), lambda a: low.map("tt.precise_sqrt", a))


@lowers(MaxF, MinF)
def extreme(low: Lowering, o: MaxF | MinF, lhs: Val, rhs: Val) -> Val:
    """The larger or smaller one; f64 has no instruction that keeps NaN."""
    name = o.name[:3]

    def compute(a: Val, b: Val) -> Val:
        if not o.propagate_nan:
            return _number(low, name, a, b)
        if a.element != "f64" and low.target.nvidia:
            return low.map(f"arith.{name}imumf", a, b)
        nan = low.compare("uno", a, b)
        return low.select(nan, _nan(low, a), _number(low, name, a, b))

    return flushing(low, o, (lhs, rhs), compute)


def _number(low: Lowering, name: str, a: Val, b: Val) -> Val:
    return low.map(f"arith.{name}numf", a, b)


def _nan(low: Lowering, like: Val) -> Val:
    bits = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF, "f64": 0x7FF8 << 48}[like.element]
    return low.constant(bits, like.shape, like.element)


@lowers(CmpF)
def cmpf(low: Lowering, o: CmpF, lhs: Val, rhs: Val) -> Val:
    kind = "u" if o.comparison_ordering is ComparisonOrdering.UNORDERED else "o"
    return low.compare(kind + PREDICATES[o.comparison_predicate], lhs, rhs)


@lowers(AbsF)
def absf(low: Lowering, o: AbsF, source: Val) -> Val:
    return low.map("math.absf", source)


@lowers(NegF)
def negf(low: Lowering, o: NegF, source: Val) -> Val:
    """The sign bit is flipped: arithmetic would lose that of NaN, unless arithmetic loses it next."""
    if all(isinstance(user, (AddF, SubF, MulF, Fma)) for user in low.uses.of(o.result)):
        return low.map("arith.subf", low.real(-0.0, source), source)
    bits = low.bitcast(source, f"i{source.bits}")
    return low.bitcast(low.map("arith.xori", bits, low.like(1 << source.bits - 1, bits)), source.element)


@lowers(Floor, Ceil)
def round_to_integer(low: Lowering, o: Floor | Ceil, source: Val) -> Val:
    if source.element in NARROW:
        return in_f32(low, lambda a: low.map(f"math.{o.name}", a), source)
    return low.map(f"math.{o.name}", source)


# ---------------------------------------------------------------- functions

LIBRARY = {
    Exp: "exp", Exp2: "exp2", Log: "log", Log2: "log2", Sin: "sin", Cos: "cos", Tan: "tan", SinH: "sinh",
    CosH: "cosh", TanH: "tanh", Atan2: "atan2", FPowF: "pow", Rsqrt: "rsqrt", RemF: "fmod",
}  # fmt: skip
"""The functions, by the names that libdevice and ocml share."""


def call(low: Lowering, name: str, *args: Val) -> Val:
    """A function of the target's library, accurate to its documented bounds."""
    if args[0].element in NARROW:
        return in_f32(low, lambda *a: call(low, name, *a), *args)
    element = args[0].element
    symbol = f"__nv_{name}{'f' if element == 'f32' else ''}" if low.target.nvidia else f"__ocml_{name}_{element}"
    return low.external(symbol, element, *args)


@lowers(*(cls for cls in LIBRARY if cls not in (Exp, TanH, Exp2, Rsqrt, FPowF)))
def function(low: Lowering, o: Any, *args: Val) -> Val:
    return call(low, LIBRARY[o.__class__], *args)


@lowers(Exp, TanH)
def approximated(low: Lowering, o: Exp | TanH, source: Val) -> Val:
    if o.rounding_mode is R.APPROX and low.target.nvidia:
        if isinstance(o, TanH):
            return _ptx(low, "tanh.approx.f32", source)
        return low.map("math.exp", source)
    return call(low, LIBRARY[o.__class__], source)


@lowers(Exp2, Rsqrt)
def flushed(low: Lowering, o: Exp2 | Rsqrt, source: Val) -> Val:
    if o.flush_to_zero and low.target.nvidia:
        return _ptx(low, "ex2.approx.ftz.f32" if isinstance(o, Exp2) else "rsqrt.approx.ftz.f32", source)
    return flushing(low, o, (source,), lambda a: call(low, LIBRARY[o.__class__], a))


@lowers(FPowF)
def fpowf(low: Lowering, o: FPowF, source: Val, exponent: Val) -> Val:
    """A power; the square is a product, which is the correctly rounded result."""
    if is_two(o.exponent):
        return low.map("arith.mulf", source, source)
    return call(low, "pow", source, exponent)


@lowers(FPowI)
def fpowi(low: Lowering, o: FPowI, source: Val, exponent: Val) -> Val:
    power = low.integer(exponent, "i32", signed=True)
    element = source.element
    wide = low.cast("arith.extf", source, "f32") if element in NARROW else source
    if low.target.nvidia:
        symbol = "__nv_powi" if wide.element == "f64" else "__nv_powif"
    else:
        symbol = f"__ocml_pown_{wide.element}"
    made = low.external(symbol, wide.element, wide, power)
    return low.cast("arith.truncf", made, element) if element in NARROW else made
