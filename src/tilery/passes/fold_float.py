"""`fold-float`: constant folding of floats, exact, with the rounding and flushing that the operation declares.

What an operation leaves open is not folded: NaN, infinities as inputs of arithmetic, the modes `approx` and `full`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..floats import arithmetic as softfloat
from ..ir import Op, Value
from ..ops import AbsF, AddF, CmpF, DivF, Fma, FToF, FToI, IToF, MaxF, MinF, MulF, NegF, Sqrt, SubF
from ..rewrite import Report, Rules, apply
from ..types import Scalar
from .constants import constant, element_of, fold_elements
from .registry import register

MAX_ELEMENTS = 1 << 12
"""Larger constants are folded only if all their elements are equal."""

rule = Rules()


def fold(result: Value, compute: Callable[..., int | None], *operands: Value) -> Op | None:
    """Fold an operation element by element; None if an operand or a result is unknown."""
    for value in operands:
        dense = constant(value)
        if dense is not None and dense.splat is None and dense.type.size > MAX_ELEMENTS:
            return None
    return fold_elements(result, compute, *operands)


def element(value: Value) -> Scalar:
    found = element_of(value)
    assert found is not None
    return found


@rule(AddF, SubF, MulF, DivF)
def fold_binary(o: AddF | SubF | MulF | DivF) -> Op | None:
    """x + y, x - y, x * y and x / y of finite constants, rounded and flushed as declared"""
    compute = {AddF: softfloat.add, SubF: softfloat.sub, MulF: softfloat.mul, DivF: softfloat.div}[type(o)]
    kind, mode, ftz = element(o.result), o.rounding_mode, o.flush_to_zero
    return fold(o.result, lambda a, b: compute(kind, a, b, mode, ftz), o.lhs, o.rhs)


@rule(Fma)
def fold_fma(o: Fma) -> Op | None:
    """fma(x, y, z) of finite constants, rounded once"""
    kind, mode, ftz = element(o.result), o.rounding_mode, o.flush_to_zero
    return fold(o.result, lambda a, b, c: softfloat.fma(kind, a, b, c, mode, ftz), o.lhs, o.rhs, o.acc)


@rule(Sqrt)
def fold_sqrt(o: Sqrt) -> Op | None:
    """The square root of a constant that is not negative, in the modes of IEEE 754"""
    kind, mode, ftz = element(o.result), o.rounding_mode, o.flush_to_zero
    return fold(o.result, lambda a: softfloat.sqrt(kind, a, mode, ftz), o.source)


@rule(NegF, AbsF)
def fold_sign(o: NegF | AbsF) -> Op | None:
    """-x and |x| of constants that are not NaN"""
    compute = softfloat.neg if isinstance(o, NegF) else softfloat.absolute
    kind = element(o.result)
    return fold(o.result, lambda a: compute(kind, a), o.source)


@rule(MinF, MaxF)
def fold_extreme(o: MinF | MaxF) -> Op | None:
    """The smaller or larger of constants, -0 below +0, unless the result is NaN"""
    kind, largest = element(o.result), isinstance(o, MaxF)
    keep, ftz = o.propagate_nan, o.flush_to_zero
    return fold(o.result, lambda a, b: softfloat.extreme(kind, a, b, largest, keep, ftz), o.lhs, o.rhs)


@rule(CmpF)
def fold_cmpf(o: CmpF) -> Op | None:
    """A comparison of constants, NaN included: false if ordered, true if unordered"""
    predicate, ordering, kind = o.comparison_predicate, o.comparison_ordering, element(o.lhs)
    return fold(o.result, lambda a, b: int(softfloat.compare(predicate, ordering, kind, a, b)), o.lhs, o.rhs)


@rule(FToF)
def fold_ftof(o: FToF) -> Op | None:
    """The conversion of a constant float that the other type can hold"""
    source, target, mode = element(o.from_), element(o.to), o.rounding_mode
    return fold(o.to, lambda a: softfloat.convert(source, target, a, mode), o.from_)


@rule(IToF)
def fold_itof(o: IToF) -> Op | None:
    """The conversion of a constant integer"""
    source, target, mode, sign = element(o.from_), element(o.to), o.rounding_mode, o.signedness
    return fold(o.to, lambda a: softfloat.from_int(source, target, a, sign, mode), o.from_)


@rule(FToI)
def fold_ftoi(o: FToI) -> Op | None:
    """The conversion of a constant float towards zero, within the range of the integer"""
    source, target, sign, saturating = element(o.from_), element(o.to), o.signedness, o.saturating
    return fold(o.to, lambda a: softfloat.to_int(source, target, a, sign, saturating), o.from_)


@register("fold-float")
def fold_float(root: Op, report: Report) -> None:
    """Fold float operations on constants, exactly."""
    apply(root, rule, report)
