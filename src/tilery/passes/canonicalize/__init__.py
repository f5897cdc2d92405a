"""`canonicalize`: NVIDIA's rules, and what MLIR's canonicalizer adds for constants and dead code.

It differs where NVIDIA's produces illegal modules: an `if` that yields tiles of i1 is not replaced by its scalar
condition, and no `select` of f4E2M1FN is created. Selects of constants with more than FOLD_LIMIT elements are not
folded.
"""

from __future__ import annotations

from ...ir import Op, Value
from ...ops import AddF, Assume, MulF
from ...rewrite import Report, Rules, apply
from ..registry import Option, register
from .branches import rule as branch_rules
from .gather import gather_constants
from .selects import rule as select_rules

rule = Rules(branch_rules, select_rules)


@rule(AddF)
def product_first(o: AddF) -> Op | None:
    """x + (y * z) is (y * z) + x"""
    if isinstance(o.rhs.owner, MulF) and not isinstance(o.lhs.owner, MulF):
        o.lhs, o.rhs = o.rhs, o.lhs
        return o
    return None


@rule(Assume)
def assume_twice(o: Assume) -> Value | None:
    """assume(p, assume(p, x)) is assume(p, x)"""
    inner = o.value.owner
    return o.value if isinstance(inner, Assume) and inner.predicate == o.predicate else None


DISABLED = Option("disable-patterns", "", "patterns that are not applied, with commas between them")


@register("canonicalize", DISABLED)
def canonicalize(root: Op, report: Report, disable_patterns: str = "") -> None:
    """Canonicalize control flow, selects and constants as NVIDIA's tools do."""
    rules = rule.without(disable_patterns.split(",")) if disable_patterns else rule
    apply(root, rules, report, prepare=gather_constants)
