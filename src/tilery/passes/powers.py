"""`pow-to-product`: replace squares by products, which cost one instruction instead of a call."""

from __future__ import annotations

from ..analysis.powers import is_two
from ..ir import Op
from ..ops import FPowF, FPowI, MulF
from ..rewrite import Report, Rules, apply
from ..types import F64
from .constants import element_of
from .registry import register

rule = Rules()


@rule(FPowF, FPowI)
def square(o: FPowF | FPowI) -> Op | None:
    """x to the power of 2 becomes x * x"""
    if element_of(o.source) is F64 or not is_two(o.exponent):
        return None
    return MulF(lhs=o.source, rhs=o.source)


@register("pow-to-product", on="function")
def pow_to_product(root: Op, report: Report) -> None:
    """Replace squares by products. Not in f64, where powers are not always the nearest number."""
    apply(root, rule, report)
