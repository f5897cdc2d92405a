"""Floating-point arithmetic on chunks, bit for bit as the reference engine computes it.

A result of f32 may hold any NaN: it is made canonical where its bits are seen. Results of other types are final.
"""

from __future__ import annotations

from typing import Any

from ....attrs import ComparisonOrdering, ComparisonPredicate, RoundingMode
from ....ops import AbsF, AddF, Ceil, CmpF, DivF, Floor, Fma, MaxF, MinF, MulF, NegF, Sqrt, SubF
from ....types import BF16, F16, F32, F64
from ...semantics import APPROXIMATE
from ..abi import NotLowered
from ..registry import applies
from ..text import Text
from ..tiles import element, reg
from .floats import (
    NEAREST,
    SMALLEST_NORMAL,
    bits_of,
    doubled,
    finished_ftz,
    fixed64,
    float_of,
    flushed,
    from_f32,
    narrowed,
    odd_sum,
    widened,
)

INSTRUCTIONS = {AddF: "fadd", SubF: "fsub", MulF: "fmul", DivF: "fdiv"}
NAN_BOUND = {F16: 0x7C00, BF16: 0x7F80}
PREDICATES = {
    ComparisonPredicate.EQUAL: "eq",
    ComparisonPredicate.NOT_EQUAL: "ne",
    ComparisonPredicate.LESS_THAN: "lt",
    ComparisonPredicate.LESS_THAN_OR_EQUAL: "le",
    ComparisonPredicate.GREATER_THAN: "gt",
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: "ge",
}


def ieee(mode: RoundingMode) -> RoundingMode:
    return NEAREST if mode in APPROXIMATE else mode


@applies(AddF, SubF, MulF)
@applies(DivF, heavy=True)
def arithmetic(g: Text, o: Any, w: int, a: str, b: str) -> str:
    e, mode, name = element(o.result), ieee(o.rounding_mode), INSTRUCTIONS[type(o)]
    if e is F64:
        if mode is not NEAREST:
            raise NotLowered(o.name)
        first = (a, b) if isinstance(o, DivF) else (b, a)
        return fixed64(g, g.op(name, "double", w, a, b), w, *first)
    if mode is not NEAREST:
        return _careful(g, o, w, mode, a, b)
    if not o.flush_to_zero:
        result = from_f32(g, g.op(name, "float", w, widened(g, a, e, w), widened(g, b, e, w)), e, w)
    else:
        result = _flushing(g, name, w, a, b)
    if isinstance(o, DivF) and o.rounding_mode is RoundingMode.APPROX and e is F32:
        return _approximate(g, w, a, b, result)
    return result


def _approximate(g: Text, w: int, a: str, b: str, quotient: str) -> str:
    """The quotient as a product with the reciprocal, which is zero for divisors above 2**126."""
    large = g.compare("ogt", "float", w, g.intrinsic("fabs", "float", w, b), g.const(2.0**126, "float", w))
    sign = g.op("and", "i32", w, bits_of(g, b, "float", w), g.const(0x80000000, "i32", w))
    product = g.op("fmul", "float", w, a, float_of(g, sign, "float", w))
    return g.select(large, "float", w, product, quotient)


def _flushing(g: Text, name: str, w: int, a: str, b: str) -> str:
    """f32, with subnormals flushed."""
    x, y = flushed(g, a, w), flushed(g, b, w)
    result = g.op(name, "float", w, x, y)
    exact = g.op(name, "double", w, *(g.cast("fpext", v, "float", "double", w) for v in (x, y)))
    return g.select(_doubtful(g, result, w), "float", w, finished_ftz(g, exact, w, NEAREST), result)


def _doubtful(g: Text, result: str, w: int) -> str:
    """Test for results that are as small as the smallest normal number, but not zero."""
    size = g.intrinsic("fabs", "float", w, result)
    small = g.compare("ole", "float", w, size, g.const(SMALLEST_NORMAL, "float", w))
    return g.op("and", "i1", w, small, g.compare("one", "float", w, result, g.const(0.0, "float", w)))


def _careful(g: Text, o: Any, w: int, mode: RoundingMode, *operands: str) -> str:
    """Exactly, or rounded to odd, in f64, then rounded once."""
    e, d = element(o.result), "double"
    ftz = o.flush_to_zero
    wide = [doubled(g, flushed(g, x, w) if ftz else x, e, w) for x in operands]
    match o:
        case AddF():
            exact = odd_sum(g, wide[0], wide[1], w, mode)
        case SubF():
            exact = odd_sum(g, wide[0], g.let(f"fneg {_type(d, w)} {wide[1]}"), w, mode)
        case Fma():
            exact = odd_sum(g, g.op("fmul", d, w, *wide[:2]), wide[2], w, mode)
        case Sqrt():
            exact = g.intrinsic("sqrt", d, w, *wide)
        case _:
            exact = g.op(INSTRUCTIONS[type(o)], d, w, *wide)
    if ftz:
        return finished_ftz(g, exact, w, mode)
    return narrowed(g, exact, e, w, mode) if e is F32 else _with_nan(g, narrowed(g, exact, e, w, mode), exact, w)


def _with_nan(g: Text, bits: str, exact: str, w: int) -> str:
    return g.select(g.compare("uno", "double", w, exact, exact), "i16", w, g.const(0x7FFF, "i16", w), bits)


def _type(t: str, w: int) -> str:
    return t if w == 1 else f"<{w} x {t}>"


@applies(Fma)
def fma(g: Text, o: Fma, w: int, a: str, b: str, c: str) -> str:
    e, mode = element(o.result), o.rounding_mode
    if e is F64:
        if mode is not NEAREST:
            raise NotLowered(o.name)
        return fixed64(g, g.intrinsic("fma", "double", w, a, b, c), w, b, c, a)
    if mode is not NEAREST:
        return _careful(g, o, w, mode, a, b, c)
    if e is F32 and not o.flush_to_zero:
        return g.intrinsic("fma", "float", w, a, b, c)
    if e is F32:
        x, y, z = (flushed(g, v, w) for v in (a, b, c))
        result = g.intrinsic("fma", "float", w, x, y, z)
        wide = [g.cast("fpext", v, "float", "double", w) for v in (x, y, z)]
        exact = odd_sum(g, g.op("fmul", "double", w, *wide[:2]), wide[2], w)
        return g.select(_doubtful(g, result, w), "float", w, finished_ftz(g, exact, w, NEAREST), result)
    wide = [doubled(g, v, e, w) for v in (a, b, c)]
    exact = odd_sum(g, g.op("fmul", "double", w, *wide[:2]), wide[2], w)
    return _with_nan(g, narrowed(g, exact, e, w), exact, w)


@applies(Sqrt, heavy=True)
def sqrt(g: Text, o: Sqrt, w: int, x: str) -> str:
    e, mode = element(o.result), ieee(o.rounding_mode)
    if e is F64:
        if mode is not NEAREST:
            raise NotLowered(o.name)
        return fixed64(g, g.intrinsic("sqrt", "double", w, x), w, x)
    if mode is not NEAREST or o.flush_to_zero:
        return _careful(g, o, w, mode, x)
    return from_f32(g, g.intrinsic("sqrt", "float", w, widened(g, x, e, w)), e, w)


@applies(MaxF, MinF)
def extreme(g: Text, o: Any, w: int, a: str, b: str) -> str:
    e, largest = element(o.result), isinstance(o, MaxF)
    name = ("maximum" if largest else "minimum") + ("" if o.propagate_nan else "num")
    if e is F64:
        result = fixed64(g, g.intrinsic(name, "double", w, a, b), w, b, a)
        if not o.propagate_nan:
            return result
        nan = g.compare("uno", "double", w, result, result)
        fixed = g.select(nan, "i64", w, g.const(0x7FF8 << 48, "i64", w), bits_of(g, result, "double", w))
        return float_of(g, fixed, "double", w)
    x, y = widened(g, a, e, w), widened(g, b, e, w)
    if o.flush_to_zero:
        x, y = flushed(g, x, w), flushed(g, y, w)
    return from_f32(g, g.intrinsic(name, "float", w, x, y), e, w)


@applies(CmpF)
def cmpf(g: Text, o: CmpF, w: int, a: str, b: str) -> str:
    e = element(o.lhs)
    kind = "o" if o.comparison_ordering is ComparisonOrdering.ORDERED else "u"
    t = "double" if e is F64 else "float"
    return g.compare(
        kind + PREDICATES[o.comparison_predicate], t, w, widen_for(g, a, o.lhs, w), widen_for(g, b, o.rhs, w)
    )


def widen_for(g: Text, x: str, value: Any, w: int) -> str:
    """A chunk as `float`, or as `double` if it is one."""
    return x if element(value) is F64 else widened(g, x, element(value), w)


@applies(AbsF, NegF)
def signs(g: Text, o: Any, w: int, x: str) -> str:
    e, t = element(o.result), reg(o.result)
    absolute = isinstance(o, AbsF)
    if e in (F32, F64):
        made = g.intrinsic("fabs", t, w, x) if absolute else g.let(f"fneg {_type(t, w)} {x}")
        return made if e is F32 else fixed64(g, made, w, x)
    size = g.op("and", "i16", w, x, g.const(0x7FFF, "i16", w))
    nan = g.compare("ugt", "i16", w, size, g.const(NAN_BOUND[e], "i16", w))
    made = size if absolute else g.op("xor", "i16", w, x, g.const(0x8000, "i16", w))
    return g.select(nan, "i16", w, g.const(0x7FFF, "i16", w), made)


@applies(Floor, Ceil)
def integral(g: Text, o: Any, w: int, x: str) -> str:
    e, name = element(o.result), "floor" if isinstance(o, Floor) else "ceil"
    if e is F64:
        return fixed64(g, g.intrinsic(name, "double", w, x), w, x)
    return from_f32(g, g.intrinsic(name, "float", w, widened(g, x, e, w)), e, w)
