"""`fuse-fma`: fuse a product into the only sum or difference that uses it, which then rounds once, not twice."""

from __future__ import annotations

from ..ir import Op, Value
from ..ops import AddF, Fma, MulF, NegF, SubF
from ..rewrite import Place, Report, Rewrite, Rules, apply
from .canonicalize import product_first
from .registry import register

rule = Rules()
rule(AddF)(product_first)


@rule(AddF)
def multiply_add(o: AddF, at: Place) -> Op | None:
    """a * b + c becomes fma(a, b, c)"""
    product = _product(o, at)
    return None if product is None else _fma(o, product, o.rhs)


@rule(SubF)
def multiply_subtract(o: SubF, at: Place) -> Rewrite | None:
    """a * b - c becomes fma(a, b, -c)"""
    product = _product(o, at)
    if product is None:
        return None
    negated = NegF(source=o.rhs)
    fused = _fma(o, product, negated.result)
    return Rewrite([negated, fused], [fused.result])


def _product(o: AddF | SubF, at: Place) -> MulF | None:
    """The product on the left, if nothing else uses it and it is rounded and flushed like the sum."""
    product = o.lhs.owner
    if not isinstance(product, MulF) or at.uses(product.result) != 1:
        return None
    same = product.rounding_mode is o.rounding_mode and product.flush_to_zero == o.flush_to_zero
    return product if same else None


def _fma(o: AddF | SubF, product: MulF, acc: Value) -> Fma:
    return Fma(lhs=product.lhs, rhs=product.rhs, acc=acc, rounding_mode=o.rounding_mode, flush_to_zero=o.flush_to_zero)


@register("fuse-fma", on="function")
def fuse_fma(root: Op, report: Report) -> None:
    """Fuse multiplications into the additions that use them. This changes results: products are not rounded."""
    apply(root, rule, report)
