"""`pow-to-product`: replace squares by products, which cost one instruction instead of a call."""

from __future__ import annotations

from ..ir import Op, Value
from ..ops import Broadcast, FPowF, FPowI, MulF, Reshape
from ..rewrite import Report, Rules, apply
from ..types import F64
from .constants import constant, element_of
from .registry import register

rule = Rules()


@rule(FPowF, FPowI)
def square(o: FPowF | FPowI) -> Op | None:
    """x to the power of 2 becomes x * x"""
    if element_of(o.source) is F64 or not _is_two(o.exponent):
        return None
    return MulF(lhs=o.source, rhs=o.source)


def _is_two(value: Value) -> bool:
    while isinstance(value.owner, (Broadcast, Reshape)):
        value = value.owner.source
    dense = constant(value)
    if dense is None or dense.splat is None:
        return False
    if dense.element.is_int:
        return dense.splat == 2
    form = dense.element.format
    return dense.splat == (form.bias + 1) << form.mantissa


@register("pow-to-product", on="function")
def pow_to_product(root: Op, report: Report) -> None:
    """Replace squares by products. Not in f64, where powers are not always the nearest number."""
    apply(root, rule, report)
