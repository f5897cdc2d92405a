"""Float operations on constants, by Z3's own floats and by fractions: none of it is shared with the folding of passes.

What an operation leaves open has no value here: NaN, `approx` and `full`, integers and types that cannot hold a result.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import z3  # type: ignore[import-untyped]  # it has no types

from ... import ops
from ...enums import ComparisonOrdering, RoundingMode, Signedness
from ...ir import Op
from ...types import SCALARS, Scalar, Tile

NEAREST, AWAY, ZERO = RoundingMode.NEAREST_EVEN, RoundingMode.NEAREST_AWAY, RoundingMode.ZERO
UP, DOWN = RoundingMode.POSITIVE_INF, RoundingMode.NEGATIVE_INF
MODES = {NEAREST: z3.RNE(), AWAY: z3.RNA(), ZERO: z3.RTZ(), UP: z3.RTP(), DOWN: z3.RTN()}
BINARY = {ops.AddF: z3.fpAdd, ops.SubF: z3.fpSub, ops.MulF: z3.fpMul, ops.DivF: z3.fpDiv}
SIGNS = (ops.NegF, ops.AbsF)
ARITHMETIC = (*BINARY, ops.Fma, ops.Sqrt, *SIGNS, ops.MinF, ops.MaxF, ops.CmpF)
CONVERSIONS = (ops.FToF, ops.FToI, ops.IToF)
MOST_CASES = 4096
MOST_TERMS = 8192


def is_ieee(t: Scalar) -> bool:
    """Tell whether a type has the layout of IEEE 754, so that Z3 has it too."""
    return bool(t.is_float and t.format.infinity and t.format.signed)


def sort_of(t: Scalar) -> Any:
    return z3.FPSort(t.format.exponent, t.format.mantissa + 1)


# ---------------------------------------------------------------- numbers


@cache
def numbers(name: str) -> dict[int, Fraction]:
    """Return the finite numbers of a type of at most 8 bits, by their bits."""
    form = SCALARS[name].format
    found = {}
    for bits in range(1 << form.bits):
        rest = bits & ~form.sign
        if rest <= form.top:
            found[bits] = exact(SCALARS[name], bits)
    return found  # type: ignore[return-value]  # all are finite


def exact(t: Scalar, bits: int) -> Fraction | None:
    """Return the number that bits represent; None for infinities and NaN."""
    form = t.format
    rest = bits & ~form.sign
    if rest > form.top:
        return None
    power, mantissa = rest >> form.mantissa, rest & ((1 << form.mantissa) - 1)
    if power or not form.subnormals:
        mantissa += 1 << form.mantissa
    else:
        power = 1
    return (-1 if bits & form.sign else 1) * mantissa * Fraction(2) ** (power - form.bias - form.mantissa)


def rounded(t: Scalar, value: Fraction, negative: bool, mode: RoundingMode) -> int | None:
    """Return the bits of a small type for a number within its range."""
    form = t.format
    if negative and not form.signed:
        return None
    table = [(n, bits) for bits, n in numbers(t.name).items() if bool(bits & form.sign) == negative]
    below = max((p for p in table if p[0] <= value), default=None)
    above = min((p for p in table if p[0] >= value), default=None)
    if below is None or above is None:
        return None
    if below[0] == above[0]:
        return below[1]
    if mode in (UP, DOWN):
        return above[1] if mode is UP else below[1]
    near, far = (above, below) if negative else (below, above)
    if mode is ZERO:
        return near[1]
    left, right = abs(value - near[0]), abs(far[0] - value)
    if left != right:
        return (near if left < right else far)[1]
    if mode is AWAY:
        return far[1]
    return None if not form.mantissa else next(bits for _, bits in (near, far) if not bits & 1)


def _number(t: Scalar, bits: int, ftz: bool) -> Any:
    form = t.format
    if ftz and (bits & ~form.sign) >> form.mantissa == 0:
        bits &= form.sign
    return z3.fpBVToFP(z3.BitVecVal(bits, form.bits), sort_of(t))


def _holds(condition: Any) -> bool:
    return bool(z3.is_true(z3.simplify(condition)))


def _bits(t: Scalar, number: Any, ftz: bool = False) -> int | None:
    found = z3.simplify(number)
    if _holds(z3.fpIsNaN(found)):
        return None
    made: int = z3.simplify(z3.fpToIEEEBV(found)).as_long()
    form = t.format
    return made & form.sign if ftz and (made & ~form.sign) >> form.mantissa == 0 else made


# ---------------------------------------------------------------- operations


def evaluate(o: Op, args: list[int]) -> int | None:
    """Compute one element of an operation from the bits of its operands; None if its value is left open."""
    if isinstance(o, CONVERSIONS):
        return _convert(o, args[0])
    if not isinstance(o, ARITHMETIC):
        return None
    kinds = [_element(v.type) for v in o.operands]
    if not all(t is not None and is_ieee(t) for t in kinds):
        return None
    ftz, t = bool(getattr(o, "flush_to_zero", False)), kinds[0]
    assert t is not None
    x = [_number(t, a, ftz) for a in args]
    mode = MODES.get(getattr(o, "rounding_mode", None) or NEAREST)
    match o:
        case ops.NegF() | ops.AbsF():
            return _bits(t, z3.fpNeg(*x) if isinstance(o, ops.NegF) else z3.fpAbs(*x))
        case ops.MinF() | ops.MaxF():
            return _extreme(o, t, x, ftz)
        case ops.CmpF():
            if any(_holds(z3.fpIsNaN(n)) for n in x):
                return int(o.comparison_ordering is ComparisonOrdering.UNORDERED)
            return int(_holds(_compared(o, *x)))
    if mode is None:
        return None
    match o:
        case ops.Fma():
            return _bits(t, z3.fpFMA(mode, *x), ftz)
        case ops.Sqrt():
            return _bits(t, z3.fpSqrt(mode, *x), ftz)
    return _bits(t, BINARY[type(o)](mode, *x), ftz)


def _extreme(o: ops.MinF | ops.MaxF, t: Scalar, x: list[Any], ftz: bool) -> int | None:
    nans = [_holds(z3.fpIsNaN(n)) for n in x]
    if any(nans):
        return None if o.propagate_nan or all(nans) else _bits(t, x[nans[0]])
    low, high = sorted(x, key=lambda n: _holds(z3.fpIsNegative(n)), reverse=True)
    if not _holds(z3.And(z3.fpIsZero(low), z3.fpIsZero(high))) and not _holds(z3.fpLEQ(low, high)):
        low, high = high, low
    return _bits(t, low if isinstance(o, ops.MinF) else high, ftz)


def _compared(o: ops.CmpF, a: Any, b: Any) -> Any:
    name = o.comparison_predicate.name
    run = {"EQUAL": z3.fpEQ, "LESS_THAN": z3.fpLT, "LESS_THAN_OR_EQUAL": z3.fpLEQ, "GREATER_THAN": z3.fpGT}
    if name == "NOT_EQUAL":
        return z3.Not(z3.fpEQ(a, b))
    return run.get(name, z3.fpGEQ)(a, b)


def _convert(o: Any, bits: int) -> int | None:
    source, out = _element(o.operands[0].type), _element(o.results[0].type)
    if source is None or out is None:
        return None
    if isinstance(o, ops.FToI):
        return _to_integer(o, source, out, bits)
    mode = o.rounding_mode
    if mode not in MODES:
        return None
    if isinstance(o, ops.FToF):
        if is_ieee(source) and is_ieee(out):
            return _bits(out, z3.fpFPToFP(MODES[mode], _number(source, bits, False), sort_of(out)))
        value, negative = exact(source, bits), bool(bits & source.format.sign)
    else:
        if o.signedness is Signedness.SIGNED and source.bits == 1 and bits:
            return None  # whether that is 1 or -1 is not defined
        number = bits - (1 << source.bits) if o.signedness is Signedness.SIGNED and bits >> source.bits - 1 else bits
        value, negative = Fraction(number), number < 0
    if value is None:
        return None
    if not is_ieee(out):
        return rounded(out, value, negative, mode)
    if value == 0:
        return out.format.sign if negative else 0
    return _bits(out, z3.fpRealToFP(MODES[mode], z3.Q(value.numerator, value.denominator), sort_of(out)))


def _to_integer(o: ops.FToI, source: Scalar, out: Scalar, bits: int) -> int | None:
    value, signed = exact(source, bits), o.signedness is Signedness.SIGNED
    if value is None:
        return None
    number = int(value)  # towards zero
    if out.bits == 1 and number != value:
        return None  # hardware returns 1, the specification says 0
    if signed and out.bits == 1:
        return 0 if number == 0 else None  # whether 1 or -1 is the one that it has is not defined
    low, high = (-(1 << out.bits - 1), (1 << out.bits - 1) - 1) if signed else (0, (1 << out.bits) - 1)
    if not low <= number <= high:
        if not o.saturating:
            return None
        number = low if number < low else high
    return number & ((1 << out.bits) - 1)


def on_constants(
    args: list[Any], widths: list[int], compute: Callable[[list[int]], Any], otherwise: Callable[[list[Any]], Any]
) -> Any:
    """Return what an operation computes from constants, or from a choice of constants; None if it is something else.

    A tile of different constants is a chain of choices by the index. `compute` gets the bits of the operands and
    returns a term or None; then the result is what `otherwise` returns for the terms.
    """
    left = [MOST_CASES]

    def cases(terms: list[Any], known: dict[int, bool]) -> Any:
        chain: list[tuple[Any, Any]] = []
        while True:
            left[0] -= 1
            if left[0] < 0:
                raise _NotConstant
            terms = [_chosen(t, known) for t in terms]
            choice = next((t for t in terms if z3.is_app_of(t, z3.Z3_OP_ITE)), None)
            if choice is None:
                break
            condition = choice.arg(0)
            here = [t.arg(1) if z3.is_app_of(t, z3.Z3_OP_ITE) and t.arg(0).eq(condition) else t for t in terms]
            chain.append((condition, cases(here, known | {condition.get_id(): True})))
            known = known | {condition.get_id(): False}
        bits = [_literal(t, w) for t, w in zip(terms, widths)]
        made = compute(bits)
        made = otherwise(terms) if made is None else made
        for condition, value in reversed(chain):
            made = z3.If(condition, value, made)
        return made

    try:
        return cases([z3.simplify(t) if _is_small(t) else t for t in args], {})
    except _NotConstant:
        return None


class _NotConstant(Exception):
    """An operand is neither a constant nor a choice of constants."""


def _is_small(t: Any) -> bool:
    """Tell whether a term is worth simplifying: it is a literal, or has no unknowns of its own."""
    todo, seen = [t], 0
    while todo:
        x = todo.pop()
        seen += 1
        if seen > MOST_TERMS:
            return False
        if z3.is_app_of(x, z3.Z3_OP_ITE):
            todo += [x.arg(1), x.arg(2)]
        elif z3.is_const(x) and x.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            return False
        else:
            todo += x.children()
    return True


def _chosen(t: Any, known: dict[int, bool]) -> Any:
    while z3.is_app_of(t, z3.Z3_OP_ITE) and t.arg(0).get_id() in known:
        t = t.arg(1) if known[t.arg(0).get_id()] else t.arg(2)
    return t


def _literal(t: Any, width: int) -> int:
    if not (z3.is_bv_value(t) or z3.is_int_value(t)):
        raise _NotConstant
    number: int = t.as_long()
    return number & ((1 << width) - 1)


def _element(t: Any) -> Scalar | None:
    return t.element if isinstance(t, Tile) and isinstance(t.element, Scalar) else None
