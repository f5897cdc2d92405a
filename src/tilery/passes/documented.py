"""`documented`: the canonicalizer that a public description of the dialect describes, and nothing else.

Greedy rules run to a fixed point (the fold of `addf`, the rules of `if`, the rules of `select` in their fixed order),
then the expression simplifier runs once. The rules of `if` are narrower than those of `canonicalize`, as described, and
one is wider: a `return` at the end of one branch is enough.

One thing differs from the description on purpose: nested ifs are merged only if both paths around the inner branch
yield the same value. The description requires only that the outer `else` yields something undefined, and drops what the
inner `else` yields, which is wrong if the outer condition holds and the inner one does not.
"""

from __future__ import annotations

from ..ir import Op, Value
from ..ops import AddF, If, Return, Select
from ..rewrite import Place, Report, Rewrite, Rules, apply
from .canonicalize import DISABLED
from .canonicalize import branches as branch
from .canonicalize import selects as select
from .constants import negated
from .fold_float import fold_binary
from .registry import register
from .simplify import simplify

rule = Rules()

rule(If)(branch.if_inverted)
rule.dead(If)(branch.RemoveUnusedResults)


@rule(If)
def ReplaceYieldWithValue(o: If, at: Place) -> Rewrite | None:
    """a result is x where both branches yield x"""
    yes, no = branch.yielded(o.thenRegion), branch.yielded(o.elseRegion)
    if yes is None or no is None:
        return None
    values = [a if a is b and at.uses(result) else result for a, b, result in zip(yes, no, o.results_)]
    return None if values == list(o.results_) else Rewrite([o], values)


rule(If)(branch.RemoveStaticCondition)


@rule(If)
def ConvertToSelect(o: If) -> Rewrite | None:
    """an if whose branches only yield is a select between what they yield"""
    blocks = (o.thenRegion, o.elseRegion)
    if any(block is None or len(block.ops) != 1 or branch.yielded(block) is None for block in blocks):
        return None
    return branch.ConvertToSelect(o)


rule(If)(branch.RemoveEmptyElseBranch)


@rule(If)
def CombineIfs(o: If, at: Place) -> Op | Rewrite | None:
    """if (c) A else B; if (c) C else D is if (c) {A; C} else {B; D}"""
    return branch.combine(o, at, inverses=False)


@rule(If)
def CombineNestedIfs(o: If) -> Rewrite | None:
    """if (a) { if (b) A } is if (a and b) A, where the outer if yields what the inner one does"""
    first = o.thenRegion.ops[0] if o.thenRegion.ops else None
    if not isinstance(first, If) or branch.yielded(o.thenRegion) != tuple(first.results_):
        return None
    return branch.CombineNestedIfs(o)


@rule(If)
def MoveTerminatorToParent(o: If, at: Place) -> Rewrite | None:
    """if (c) {A; return} else B is if (c) {A; return}; B, and if (c) A else {B; return} is if (not c) {B; return}; A"""
    if o.elseRegion is None:
        return None
    yes, no = (isinstance(branch.last(block), Return) for block in (o.thenRegion, o.elseRegion))
    if yes and no:
        return branch.MoveTerminatorToParent(o, at)
    stays, goes = (o.thenRegion, o.elseRegion) if yes else (o.elseRegion, o.thenRegion)
    values = branch.yielded(goes)
    if yes == no or values is None:
        return None
    flip = [] if yes else negated(o.condition)
    only = If(condition=flip[-1].results[0] if flip else o.condition, results_=(), thenRegion=stays, elseRegion=None)
    only.loc = o.loc
    return Rewrite([*flip, only, *goes.ops[:-1]], values)


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


@register("documented", DISABLED)
def documented(root: Op, report: Report, disable_patterns: str = "") -> None:
    """Canonicalize as the documents describe it: rules until none applies, then the expression simplifier."""
    apply(root, rule.without(disable_patterns.split(",")) if disable_patterns else rule, report)
    simplify(root, report)
