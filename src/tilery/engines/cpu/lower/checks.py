"""Checks of the sanitizer as loop IR: a fault wherever the sanitizer could have something to report.

They are a filter. A check may fail although nothing is wrong, since the reference engine then looks again and writes
the report; it must never hold if something is. `undefined` and `promise` follow `tilery.sanitize`, rule by rule.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ....attrs import Bounded, DivBy, IntegerOverflow, SameElements, Signedness
from ....ir import Op, Value
from ....ops import (
    AddI,
    Assume,
    AtomicCASTko,
    AtomicRedViewTko,
    AtomicRMWTko,
    Break,
    Continue,
    DivI,
    Extract,
    For,
    FToI,
    GetIndexSpaceShape,
    GetTensorShape,
    If,
    Insert,
    Loop,
    MmaF,
    MmaFScaled,
    MulI,
    NegI,
    Offset,
    PrintTko,
    RemI,
    Return,
    Select,
    ShLI,
    ShRI,
    StorePtrTko,
    StoreViewTko,
    SubI,
    TruncI,
    Yield,
)
from ....types import F64, I1, I8, I32, I64, TF32, Ptr, Scalar, Tile, TileView
from ...common.layout import layout
from ...common.numerics.convert import to_f64
from ...common.tiles import carrier, pointee_bits, pointee_bytes
from ..loops.builder import element_of
from ..loops.nodes import Const, Kind, Operand, index, truth
from .shapes import bits_type
from .state import BEFORE, Lower, Lowering, Tensor, shape

CHECKS = frozenset({"bounds", "alignment", "uninit", "undefined", "promise", "nan"})
"""The checks that kernels can be instrumented with."""
SIGNED = Signedness.SIGNED
NSW, NUW, NW = IntegerOverflow.NSW, IntegerOverflow.NUW, IntegerOverflow.NW
ElementRule = Callable[[Lowering, Any, list[Operand]], None]


def check_element(g: Lowering, o: Op, operands: list[Operand], result: Operand) -> None:
    """Check an element-wise operation on elements."""
    if "undefined" in g.checks and type(o) in UNDEFINED:
        UNDEFINED[type(o)](g, o, operands)
    if "promise" in g.checks and type(o) in OVERFLOWS:
        OVERFLOWS[type(o)](g, o, operands)
    if "nan" in g.checks and not isinstance(o, Select):
        check_nan(g, o, [x for x in operands if x.element.is_float], result)


def postpone(g: Lowering, o: Op) -> None:
    """Check an element-wise operation on tiles later, in a nest with others of the same shape.

    So the nest that defines the tile does nothing else, and can be fused with others.
    """
    if has_rule(g, o):
        g.pending.append(o)


def has_rule(g: Lowering, o: Op) -> bool:
    """Tell whether a check looks at the elements of an operation."""
    makes_float = element_of(o.results[0].type).is_float and not isinstance(o, Select)
    return (
        ("undefined" in g.checks and type(o) in UNDEFINED)
        or ("promise" in g.checks and type(o) in OVERFLOWS and bool(flags(o)))
        or ("nan" in g.checks and makes_float and any(element_of(v.type).is_float for v in o.operands))
    )


def check_pending(g: Lowering, o: Op | None = None) -> None:
    """Check what was postponed, before memory or what a loop carries changes, and where a region ends."""
    shapes = dict.fromkeys(shape(each.results[0]) for each in g.pending)
    for sizes in shapes:
        some = [each for each in g.pending if shape(each.results[0]) == sizes]
        with g.b.nest(Kind.PARALLEL, sizes) as at:
            g.wanted = []
            for each in some:
                check_element(g, each, [g.at(v, at) for v in each.operands], g.at(each.results[0], at))
            together: Operand = truth(True)
            for condition in g.wanted:
                together = g.b.both(together, condition)
            g.wanted = None
            require(g, some[0], together)
    g.pending.clear()


def check_results(g: Lowering, o: Op) -> None:
    """Check the results of an operation on whole tiles: a product of finite numbers may be infinite."""
    if "nan" in g.checks and isinstance(o, (MmaF, MmaFScaled)):
        (result,) = o.results
        with g.b.nest(Kind.PARALLEL, shape(result)) as at:
            require(g, o, is_finite(g, g.at(result, at)))


def require(g: Lowering, o: Op, condition: Operand) -> None:
    """Fault unless a condition holds: at once, or together with others that are collected."""
    if g.wanted is None:
        g.b.check(condition, g.numbers[o])
    else:
        g.wanted.append(condition)


# ---------------------------------------------------------------- integers


def wide(g: Lowering, x: Operand) -> Operand:
    """Return an integer in a type of whole bytes."""
    return g.b.resize(x, I8, signed=False) if x.element.bits < 8 else x


def number(x: Operand, value: int) -> Const:
    """Return a constant of the type of an operand."""
    return Const(x.element, value % (1 << x.element.bits))


def check_shift(g: Lowering, o: Any, operands: list[Operand]) -> None:
    by = wide(g, operands[1])
    require(g, o, g.b.integer("ult", by, number(by, operands[1].element.bits)))


def check_division(g: Lowering, o: Any, operands: list[Operand]) -> None:
    a, b = operands
    require(g, o, g.b.integer("ne", b, number(b, 0)))
    if o.signedness is SIGNED:
        least = g.b.integer("eq", a, number(a, 1 << a.element.bits - 1))
        require(g, o, g.b.opposite(g.b.both(least, g.b.integer("eq", b, number(b, -1)))))


def check_offset(g: Lowering, o: Offset, operands: list[Operand]) -> None:
    """The distance must not wrap as a signed integer, nor the address as an unsigned one."""
    b, (base, by) = g.b, operands
    assert isinstance(o.result.type, Tile) and isinstance(o.result.type.element, Ptr)
    bits = pointee_bits(o.result.type.element.pointee)
    distance = b.resize(by, I64, signed=True)
    if by.element is I64 and bits >= 8:
        most = ((1 << 63) - 1) // (bits // 8)
        require(g, o, b.both(b.integer("sle", distance, index(most)), b.integer("sle", index(-most - 1), distance)))
    if bits >= 8:
        distance = b.mul(distance, index(bits // 8))
    else:
        distance = b.integer("ashr", distance, index(1))
    end = b.add(base, distance)
    forward, backward = b.integer("ule", base, end), b.integer("ule", end, base)
    require(g, o, b.select(b.integer("sle", index(0), distance), forward, backward))


# ---------------------------------------------------------------- overflow


def flags(o: Any) -> list[bool]:
    """Return for which signednesses an operation promises not to wrap: True for signed."""
    return [signed for flag, signed in ((NSW, True), (NUW, False)) if o.overflow in (flag, NW)]


def check_overflow(g: Lowering, o: Any, operands: list[Operand]) -> None:
    for signed in flags(o):
        if operands[0].element is I64:
            require(g, o, fits_wide(g, o, operands, signed))
        else:
            require(g, o, fits(g, o, operands, signed))


def fits(g: Lowering, o: Any, operands: list[Operand], signed: bool) -> Operand:
    """Return whether a result of up to 32 bits does not wrap: it is exact in 64 bits."""
    b, element = g.b, operands[0].element
    x, y = (b.resize(v, I64, signed=signed) for v in (operands[0], operands[-1]))
    match o:
        case AddI():
            exact = b.add(x, y)
        case SubI():
            exact = b.sub(x, y)
        case MulI():
            exact = b.mul(x, y)
        case NegI():
            exact = b.sub(index(0), x)
        case _:  # a shift by the width or more is another fault
            y = b.resize(operands[1], I64, signed=False)
            small = b.integer("ult", y, index(element.bits))
            exact = b.select(small, b.integer("shl", x, b.integer("umin", y, index(31))), index(0))
    return unchanged(g, exact, element, signed)


def unchanged(g: Lowering, x: Operand, element: Scalar, signed: bool) -> Operand:
    """Return whether a number is the same in a narrower type."""
    return g.b.integer("eq", g.b.resize(g.b.resize(x, element, signed=signed), x.element, signed=signed), x)


def fits_wide(g: Lowering, o: Any, operands: list[Operand], signed: bool) -> Operand:
    """Return whether a result of 64 bits does not wrap; large factors are taken for one that does."""
    b, x, y = g.b, operands[0], operands[-1]
    match o:
        case AddI():
            total = b.add(x, y)
            if not signed:
                return b.integer("ule", x, total)
            return b.integer("sle", index(0), b.both(b.integer("xor", x, total), b.integer("xor", y, total)))
        case SubI():
            if not signed:
                return b.integer("ule", y, x)
            less = b.sub(x, y)
            return b.integer("sle", index(0), b.both(b.integer("xor", x, y), b.integer("xor", x, less)))
        case MulI():
            return b.both(unchanged(g, x, I32, signed), unchanged(g, y, I32, signed))
        case NegI():
            return b.integer("ne", x, index(-(1 << 63)))
    by = b.integer("umin", y, index(63))
    back = b.integer("ashr" if signed else "lshr", b.integer("shl", x, by), by)
    return b.either(b.integer("eq", back, x), b.integer("ule", index(64), y))


def check_truncation(g: Lowering, o: TruncI, operands: list[Operand]) -> None:
    for signed in flags(o):
        require(g, o, unchanged(g, operands[0], element_of(o.to.type), signed))


# ---------------------------------------------------------------- floats


def magnitude(g: Lowering, x: Operand) -> Operand:
    """Return the bits of a float without the sign."""
    element = x.element
    raw = g.b.integer("bits", x, to=bits_type(element))
    return g.b.both(raw, number(raw, _sign(element) - 1)) if element.format.signed else raw


def _sign(element: Scalar) -> int:
    return 1 << (32 if element is TF32 else element.bits) - 1


@lru_cache
def least_magnitude(element: Scalar, limit: float) -> int | None:
    """Return the bits of the least number that is at least a limit, or not a number; None if there is none.

    >>> hex(least_magnitude(F64, 2.0**31))
    '0x41e0000000000000'
    """
    if element.bits > 16 or element is TF32:
        dtype = np.dtype(np.float64 if element is F64 else np.float32)
        return int(np.array([limit], dtype).view(f"u{dtype.itemsize}")[0])
    patterns: Any = np.arange(_sign(element) if element.format.signed else 1 << element.bits)
    with np.errstate(all="ignore"):
        numbers = to_f64(patterns.astype(f"u{carrier(element).itemsize}").view(carrier(element)), element)
    found = np.flatnonzero(~(numbers < limit))
    return int(found[0]) if len(found) else None


def below(g: Lowering, x: Operand, limit: float) -> Operand:
    """Return whether a float is a number whose magnitude is less than a limit."""
    least = least_magnitude(x.element, limit)
    if least is None:
        return truth(True)
    size = magnitude(g, x)
    return g.b.integer("ult", size, number(size, least))


def is_finite(g: Lowering, x: Operand) -> Operand:
    return below(g, x, float("inf"))


def is_nan(g: Lowering, x: Operand) -> Operand:
    """Return whether a float is NaN."""
    form = x.element.format
    if not form.infinity:
        return g.b.opposite(is_finite(g, x))
    size = magnitude(g, x)
    infinity = least_magnitude(x.element, float("inf"))
    assert infinity is not None
    return g.b.integer("ult", number(size, infinity), size)


def check_conversion(g: Lowering, o: FToI, operands: list[Operand]) -> None:
    """The number must fit the integer; -2**31 and its like are taken for one that does not."""
    (x,), target = operands, element_of(o.to.type)
    if o.saturating or target is I1:
        return
    signed = o.signedness is SIGNED
    fits_in = below(g, x, 2.0 ** (target.bits - signed))
    require(g, o, fits_in)
    if not signed and x.element.format.signed:
        raw = g.b.integer("bits", x, to=bits_type(x.element))
        positive = g.b.integer("sle", number(raw, 0), raw)
        require(g, o, g.b.either(positive, below(g, x, 1.0)))


def check_nan(g: Lowering, o: Op, operands: list[Operand], result: Operand) -> None:
    """NaN must not be made from numbers, nor an infinity from finite ones."""
    if not operands or not result.element.is_float:
        return
    if all(x.element is result.element for x in operands) and least_magnitude(result.element, float("inf")):
        require(g, o, no_worse(g, operands, result))
        return
    b = g.b
    all_finite: Operand = truth(True)
    some_nan: Operand = truth(False)
    for x in operands:
        all_finite, some_nan = b.both(all_finite, is_finite(g, x)), b.either(some_nan, is_nan(g, x))
    new_nan = b.both(is_nan(g, result), b.opposite(some_nan))
    require(g, o, b.either(is_finite(g, result), b.opposite(b.either(all_finite, new_nan))))


def no_worse(g: Lowering, operands: list[Operand], result: Operand) -> Operand:
    """Return whether a result is finite, or infinite as an operand is, or NaN as an operand is.

    Magnitudes of infinities are above those of numbers, and those of NaN, which count as one, above them.
    """
    infinity = least_magnitude(result.element, float("inf"))
    assert infinity is not None
    sizes = [magnitude(g, x) for x in (result, *operands)]
    size, *others = (g.b.integer("umin", x, number(x, infinity + 1)) for x in sizes)
    most: Operand = number(size, infinity - 1)
    for x in others:
        most = g.b.integer("umax", most, x)
    return g.b.integer("ule", size, most)


# ---------------------------------------------------------------- tiles and views


def check_parts(g: Lowering, o: Extract | Insert) -> None:
    whole, part = (o.source, o.result) if isinstance(o, Extract) else (o.result, o.source)
    for v, size, inner in zip(o.indices, shape(whole), shape(part)):
        at = g.b.resize(g.operand(v), I64, signed=False)
        require(g, o, g.b.integer("ult", at, index(size // inner)))


def check_shapes(g: Lowering, o: GetTensorShape | GetIndexSpaceShape) -> None:
    """The sizes must fit the type of the result."""
    held = g.held[o.src]
    assert isinstance(held, Tensor)
    sizes = list(held.shape)
    if isinstance(o, GetIndexSpaceShape):
        assert isinstance(o.src.type, TileView)
        sizes = [
            g.b.integer("udiv", g.b.add(held.shape[dim], index(step - 1)), index(step))
            for dim, step in zip(*layout(o.src.type))
        ]
    for v, size in zip(o.results, sizes):
        require(g, o, g.b.integer("ult", size, index(1 << element_of(v.type).bits - 1)))


def check_scales(g: Lowering, o: MmaFScaled) -> None:
    """Scales must not be negative."""
    for v in (o.lhs_scale, o.rhs_scale):
        if not element_of(v.type).format.signed:
            continue
        with g.b.nest(Kind.PARALLEL, shape(v)) as at:
            x = g.at(v, at)
            raw, size = g.b.integer("bits", x, to=bits_type(x.element)), magnitude(g, x)
            positive = g.b.integer("sle", number(raw, 0), raw)
            require(g, o, g.b.either(positive, g.b.integer("eq", size, number(size, 0))))


# ---------------------------------------------------------------- assume


def check_assume(g: Lowering, o: Assume) -> None:
    if o in g.harmless:
        return
    held = g.held[o.value]
    match o.predicate:
        case DivBy(divisor=divisor) if isinstance(held, Tensor):
            require(g, o, _divisible(g, held.base, divisor))
        case DivBy() as predicate:
            _check_divisible(g, o, predicate)
        case SameElements(values=sizes):
            _check_same(g, o, sizes)
        case Bounded(lb=low, ub=high):
            with g.b.nest(Kind.PARALLEL, shape(o.value)) as at:
                x = g.b.resize(g.at(o.value, at), I64, signed=True)
                for condition in _within(g, x, low, high):
                    require(g, o, condition)


def _within(g: Lowering, x: Operand, low: int | None, high: int | None) -> list[Operand]:
    found: list[Operand] = []
    least, most = -(1 << 63), (1 << 63) - 1
    if low is not None and low > least:
        found.append(truth(False) if low > most else g.b.integer("sle", index(low), x))
    if high is not None and high < most:
        found.append(truth(False) if high < least else g.b.integer("sle", x, index(high)))
    return found


def _divisible(g: Lowering, x: Operand, divisor: int) -> Operand:
    x = wide(g, x)
    mask = number(x, divisor - 1)
    return g.b.integer("eq", g.b.both(x, mask), number(x, 0))


def _check_divisible(g: Lowering, o: Assume, predicate: DivBy) -> None:
    grouped = predicate.every is not None and predicate.along is not None and predicate.every > 0
    with g.b.nest(Kind.PARALLEL, shape(o.value)) as at:
        x = g.at(o.value, at)
        good = _divisible(g, x, predicate.divisor)
        if grouped:
            assert predicate.every is not None and predicate.along is not None
            i = at[predicate.along]
            first = g.b.integer("eq", g.b.integer("urem", i, index(predicate.every)), index(0))
            before = g.b.integer("smax", g.b.sub(i, index(1)), index(0))
            last = g.at(o.value, [before if d == predicate.along else n for d, n in enumerate(at)])
            follows = _follows(g, o.value, last, x)
            good = g.b.select(first, good, follows)
        require(g, o, good)


def _follows(g: Lowering, v: Value, before: Operand, x: Operand) -> Operand:
    """Return whether an element is the one before plus 1, or plus the size of what it points to."""
    assert isinstance(v.type, Tile)
    if x.element is I1:
        return truth(True)
    by = pointee_bytes(v.type.element.pointee) if isinstance(v.type.element, Ptr) else 1
    return g.b.integer("eq", g.b.sub(wide(g, x), wide(g, before)), number(wide(g, x), by))


def _check_same(g: Lowering, o: Assume, sizes: tuple[int, ...]) -> None:
    if element_of(o.value.type).is_float:
        require(g, o, truth(False))  # NaN differs from itself
        return
    with g.b.nest(Kind.PARALLEL, shape(o.value)) as at:
        group = [g.b.mul(g.b.integer("udiv", i, index(n)), index(n)) if n > 1 else i for i, n in zip(at, sizes)]
        require(g, o, g.b.integer("eq", g.at(o.value, at), g.at(o.value, group)))


UNDEFINED: dict[type[Op], ElementRule] = {
    **dict.fromkeys((ShLI, ShRI), check_shift),
    **dict.fromkeys((DivI, RemI), check_division),
    FToI: check_conversion,
    Offset: check_offset,
}
"""The rules of `undefined` for elements."""
OVERFLOWS: dict[type[Op], ElementRule] = {
    **dict.fromkeys((AddI, SubI, MulI, NegI, ShLI), check_overflow),
    TruncI: check_truncation,
}
"""The rules of `promise` for elements."""
WHOLE: dict[type[Op], Lower] = {
    **dict.fromkeys((Extract, Insert), check_parts),
    **dict.fromkeys((GetTensorShape, GetIndexSpaceShape), check_shapes),
    MmaFScaled: check_scales,
}
"""The rules of `undefined` for whole operations; that of `for` is in `control`."""
BARRIERS = (
    *(StoreViewTko, StorePtrTko, AtomicCASTko, AtomicRMWTko, AtomicRedViewTko, PrintTko),
    *(If, For, Loop, Yield, Continue, Break, Return),
)
"""The operations before which postponed checks are made."""
for _rules in BEFORE.values():
    _rules.update(dict.fromkeys(BARRIERS, check_pending))
BEFORE["undefined"].update(WHOLE)
BEFORE["promise"][Assume] = check_assume


def is_checked(o: Op) -> bool:
    """Tell whether `undefined` or `promise` have a rule for an operation."""
    flagged = type(o) in OVERFLOWS and bool(flags(o))
    return flagged or type(o) in UNDEFINED or type(o) in WHOLE or isinstance(o, Assume)
