"""`documented`: the canonicalizer that a public description of the dialect describes, and nothing else.

Greedy rules run to a fixed point (the fold of `addf`, the rules of `if`, the rules of `select` in their fixed order),
then the expression simplifier runs once. One thing differs on purpose: nested ifs are merged only if both paths around
the inner branch yield the same value. The description requires only that the outer `else` yields something undefined,
and drops what the inner `else` yields, which is wrong if the outer condition holds and the inner one does not.
"""

from __future__ import annotations

from ..ir import Op, Value
from ..ops import AddF, Select
from ..rewrite import Place, Report, Rules, apply
from .canonicalize import selects as select
from .canonicalize.branches import rule as branch_rules
from .fold_float import fold_binary
from .registry import register
from .simplify import simplify

rule = Rules(branch_rules)


@rule(AddF)
def fold_addf(o: AddF) -> Op | None:
    """x + y of finite constants, rounded and flushed as declared"""
    return fold_binary(o)


@rule(Select)
def ReplaceIdenticalSelect(o: Select) -> Value | None:
    """select(c, x, x) is x"""
    return select.select_same(o)


@rule(Select)
def ReplaceConstantSelect(o: Select) -> Value | None:
    """select(true, x, y) is x; select(false, x, y) is y"""
    return select.select_constant_condition(o)


rule(Select)(select.select_identity)
rule(Select)(select.select_compared)


@rule(Select)
def InverseConditionSelect(o: Select, at: Place) -> Op | None:
    """select(not c, x, y) is select(c, y, x)"""
    return select.select_inverted(o, at)


rule(Select)(select.select_nested)


@register("documented")
def documented(root: Op, report: Report) -> None:
    """Canonicalize as the documents describe it: rules until none applies, then the expression simplifier."""
    apply(root, rule, report)
    simplify(root, report)
