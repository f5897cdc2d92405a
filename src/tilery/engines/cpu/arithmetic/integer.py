"""Integer arithmetic and conversions on chunks. Division and shifts are made safe for every operand."""

from __future__ import annotations

from typing import Any

from ....attrs import RoundingMode, Signedness
from ....ops import (
    AbsI,
    AddI,
    AndI,
    Assume,
    Bitcast,
    CmpI,
    DivI,
    ExtI,
    FToF,
    FToI,
    IntToPtr,
    IToF,
    MaxI,
    MinI,
    MulhiI,
    MulI,
    NegI,
    Offset,
    OrI,
    PtrToInt,
    PtrToPtr,
    RemI,
    Select,
    ShLI,
    ShRI,
    SubI,
    TruncI,
    XOrI,
)
from ....types import BF16, F16, F32, F64, I1, I4, TF32, Ptr, Scalar
from ...common.tiles import pointee_bits
from ..abi import NotLowered
from ..registry import applies
from ..text import MANGLED, Text, vector
from ..tiles import element, reg, tile
from .floating import PREDICATES
from .floats import (
    NEAREST,
    canonical,
    doubled,
    float_of,
    from_f32,
    keep_payload,
    narrowed,
    odd32,
    widened,
)

SIGNED = Signedness.SIGNED
PLAIN = {AddI: "add", SubI: "sub", MulI: "mul", AndI: "and", OrI: "or", XOrI: "xor"}


def bits(t: str) -> int:
    return int(t[1:])


@applies(*PLAIN)
def plain(g: Text, o: Any, w: int, a: str, b: str) -> str:
    return g.op(PLAIN[type(o)], reg(o.result), w, a, b)


@applies(MulhiI)
def mulhii(g: Text, o: MulhiI, w: int, a: str, b: str) -> str:
    t = reg(o.result)
    wide = f"i{2 * bits(t)}"
    product = g.op("mul", wide, w, g.cast("zext", a, t, wide, w), g.cast("zext", b, t, wide, w))
    return g.cast("trunc", g.op("lshr", wide, w, product, g.const(bits(t), wide, w)), wide, t, w)


@applies(AbsI)
def absi(g: Text, o: AbsI, w: int, x: str) -> str:
    t = reg(o.result)
    return x if t == "i1" else g.intrinsic("smax", t, w, x, g.op("sub", t, w, g.const(0, t, w), x))


@applies(NegI)
def negi(g: Text, o: NegI, w: int, x: str) -> str:
    return g.op("sub", reg(o.result), w, g.const(0, reg(o.result), w), x)


@applies(DivI, RemI, heavy=True)
def divide(g: Text, o: Any, w: int, a: str, b: str) -> str:
    t, signed = reg(o.result), o.signedness is SIGNED
    if t == "i1":
        x, y = (g.cast("sext" if signed else "zext", v, "i1", "i8", w) for v in (a, b))
        return g.cast("trunc", _divide(g, o, "i8", w, x, y), "i8", "i1", w)
    return _divide(g, o, t, w, a, b)


def _divide(g: Text, o: Any, t: str, w: int, a: str, b: str) -> str:
    signed = o.signedness is SIGNED
    kind, zero, one = "s" if signed else "u", g.const(0, t, w), g.const(1, t, w)
    by_zero = g.compare("eq", t, w, b, zero)
    safe = g.select(by_zero, t, w, one, b)
    minus = None
    if signed:
        minus = g.compare("eq", t, w, b, g.const(-1, t, w))
        safe = g.select(minus, t, w, one, safe)
    rest = g.op(kind + "rem", t, w, a, safe)
    if isinstance(o, RemI):
        return g.select(by_zero, t, w, _by_zero(g, t, w, a), rest)
    quotient = g.op(kind + "div", t, w, a, safe)
    if minus is not None:
        quotient = g.select(minus, t, w, g.op("sub", t, w, zero, a), quotient)
    if o.rounding is not RoundingMode.ZERO:
        moves = g.compare("ne", t, w, rest, zero)
        down = signed and o.rounding is RoundingMode.NEGATIVE_INF
        if signed:
            signs = g.compare("slt" if down else "sge", t, w, g.op("xor", t, w, a, b), zero)
            moves = g.op("and", "i1", w, moves, signs)
        moved = g.op("add", t, w, quotient, g.const(-1 if down else 1, t, w))
        quotient = g.select(moves, t, w, moved, quotient)
    return g.select(by_zero, t, w, _by_zero(g, t, w, a), quotient)


def _by_zero(g: Text, t: str, w: int, a: str) -> str:
    """Return the result of an H200 for a division by zero. Its 64-bit division tries one of 32 bits first."""
    ones = g.const(-1, t, w)
    if t != "i64":
        return ones
    short = g.compare("ult", t, w, a, g.const(1 << 32, t, w))
    return g.select(short, t, w, g.const(0xFFFFFFFF, t, w), ones)


@applies(CmpI)
def cmpi(g: Text, o: CmpI, w: int, a: str, b: str) -> str:
    name = PREDICATES[o.comparison_predicate]
    if name not in ("eq", "ne"):
        name = ("s" if o.signedness is SIGNED else "u") + name
    return g.compare(name, reg(o.lhs), w, a, b)


@applies(MaxI, MinI)
def extreme(g: Text, o: Any, w: int, a: str, b: str) -> str:
    kind = "s" if o.signedness is SIGNED else "u"
    if reg(o.result) == "i1":
        larger = g.compare(kind + ("gt" if isinstance(o, MaxI) else "lt"), "i1", w, a, b)
        return g.select(larger, "i1", w, a, b)
    return g.intrinsic(kind + ("max" if isinstance(o, MaxI) else "min"), reg(o.result), w, a, b)


@applies(ShLI, ShRI)
def shift(g: Text, o: Any, w: int, x: str, by: str) -> str:
    t = reg(o.result)
    most = g.const(bits(t) - 1, t, w) if t != "i1" else g.const(0, t, w)
    fits = g.compare("ule", t, w, by, most)
    amount = g.select(fits, t, w, by, most)
    if isinstance(o, ShRI) and o.signedness is SIGNED:
        return g.op("ashr", t, w, x, amount)
    moved = g.op("shl" if isinstance(o, ShLI) else "lshr", t, w, x, amount)
    return g.select(fits, t, w, moved, g.const(0, t, w))


@applies(Select)
def select(g: Text, o: Select, w: int, c: str, a: str, b: str) -> str:
    return g.select(c, reg(o.result), w, a, b)


@applies(Offset)
def offset(g: Text, o: Offset, w: int, pointer: str, by: str) -> str:
    pointee = tile(o.result).element
    assert isinstance(pointee, Ptr)
    moved = g.cast("sext", by, reg(o.offset), "i64", w)
    size = pointee_bits(pointee.pointee)
    if size % 8:
        moved = g.op("mul", "i64", w, moved, g.const(size, "i64", w))
        moved = g.op("ashr", "i64", w, moved, g.const(3, "i64", w))
    elif size > 8:
        moved = g.op("mul", "i64", w, moved, g.const(size // 8, "i64", w))
    return g.op("add", "i64", w, pointer, moved)


# ---------------------------------------------------------------- conversions


@applies(IntToPtr, PtrToInt, PtrToPtr, Assume)
def passed_on(g: Text, o: Any, w: int, x: str) -> str:
    return x


@applies(Bitcast)
def bitcast(g: Text, o: Bitcast, w: int, x: str) -> str:
    return g.cast("bitcast", x, reg(o.source), reg(o.result), w)


def integers(g: Text, x: str, e: Scalar, signed: bool, target: str, w: int) -> str:
    """Integers in a wider register."""
    t = "i1" if e is I1 else f"i{max(8, e.bits)}"
    if e is I4:
        x = g.op("and", "i8", w, x, g.const(15, "i8", w))
        if signed:
            x = g.op("sub", "i8", w, g.op("xor", "i8", w, x, g.const(8, "i8", w)), g.const(8, "i8", w))
    return g.cast("sext" if signed else "zext", x, t, target, w)


@applies(ExtI)
def exti(g: Text, o: ExtI, w: int, x: str) -> str:
    wide = integers(g, x, element(o.from_), o.signedness is SIGNED, reg(o.to), w)
    return g.op("and", "i8", w, wide, g.const(15, "i8", w)) if element(o.to) is I4 else wide


@applies(TruncI)
def trunci(g: Text, o: TruncI, w: int, x: str) -> str:
    low = g.cast("trunc", x, reg(o.from_), reg(o.to), w)
    return g.op("and", "i8", w, low, g.const(15, "i8", w)) if element(o.to) is I4 else low


@applies(FToF)
def ftof(g: Text, o: FToF, w: int, x: str) -> str:
    source, target, mode = element(o.from_), element(o.to), o.rounding_mode
    if source is target and source in (F32, F64):
        return x
    if target is F64:
        return doubled(g, x, source, w)
    if source is not F64:
        wide = widened(g, x, source, w)
        if source is F16 and target is TF32:  # some of these keep a payload, and f16 has none
            wide = float_of(g, canonical(g, wide, w), "float", w)
        return from_f32(g, wide, target, w, mode)
    if target is F32:
        return narrowed(g, x, F32, w, mode)
    result = from_f32(g, odd32(g, x, w), target, w, mode)
    return keep_payload(g, result, x, target, w) if target in (F16, BF16) and mode is NEAREST else result


@applies(IToF)
def itof(g: Text, o: IToF, w: int, x: str) -> str:
    signed, t, target = o.signedness is SIGNED, reg(o.from_), element(o.to)
    name = "sitofp" if signed else "uitofp"
    if target in (F32, F64):
        return g.cast(name, x, t, reg(o.to), w)
    if bits(t) < 32:
        return from_f32(g, g.cast(name, x, t, "float", w), target, w)
    if t == "i64":
        return from_f32(g, odd32(g, _odd64(g, x, signed, w), w), target, w)
    return from_f32(g, odd32(g, g.cast(name, x, t, "double", w), w), target, w)


def _odd64(g: Text, x: str, signed: bool, w: int) -> str:
    """i64 as f64 with enough of the number to be rounded to a narrower type."""
    t = "i64"
    negative = g.compare("slt", t, w, x, g.const(0, t, w)) if signed else g.const(0, "i1", w)
    size = g.select(negative, t, w, g.op("sub", t, w, g.const(0, t, w), x), x)
    some = g.compare("ne", t, w, g.op("and", t, w, size, g.const(0x7FF, t, w)), g.const(0, t, w))
    merged = g.op("or", t, w, size, g.select(some, t, w, g.const(0x800, t, w), g.const(0, t, w)))
    merged = g.op("and", t, w, merged, g.const(-0x800, t, w))
    long = g.compare("uge", t, w, size, g.const(1 << 53, t, w))
    wide = g.cast("uitofp", g.select(long, t, w, merged, size), t, "double", w)
    return g.select(negative, "double", w, g.let(f"fneg {vector('double', w)} {wide}"), wide)


@applies(FToI)
def ftoi(g: Text, o: FToI, w: int, x: str) -> str:
    source, target = element(o.from_), element(o.to)
    t = "double" if source is F64 else "float"
    wide = x if source is F64 else widened(g, x, source, w)
    if target is I1:
        return g.compare("une", t, w, wide, g.const(0.0, t, w))
    if target is I4:
        raise NotLowered(o.name)
    size = 16 if target.bits == 8 and not o.saturating else target.bits
    made = _saturated(g, wide, t, f"i{size}", o.signedness is SIGNED, w)
    if not o.saturating and (source is F64 or size == 64):
        nan = g.compare("uno", t, w, wide, wide)
        made = g.select(nan, f"i{size}", w, g.const(-(1 << size - 1), f"i{size}", w), made)
    return g.cast("trunc", made, f"i{size}", reg(o.to), w)


def _saturated(g: Text, x: str, t: str, target: str, signed: bool, w: int) -> str:
    v, count = vector(target, w), f"v{w}" if w > 1 else ""
    name = f"@llvm.fpto{'s' if signed else 'u'}i.sat.{count}{target}.{count}{MANGLED[t]}"
    g.needs[f"declare {v} {name}({vector(t, w)})"] = None
    return g.let(f"call {v} {name}({vector(t, w)} {x})")
