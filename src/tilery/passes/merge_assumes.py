"""`merge-assumes`: drop promises that follow from others about the same value, and merge bounds."""

from __future__ import annotations

from ..analysis.effects import has_no_effect
from ..attrs import Bounded, DivBy, Predicate, SameElements
from ..ir import Op, Value
from ..ops import Assume
from ..rewrite import Place, Report, Rules, apply
from .registry import register

rule = Rules()
NEAR = 64
"""How many operations to look back for a promise."""


@rule(Assume)
def assume_implied(o: Assume) -> Value | None:
    """assume(p, x) is x if promises about x imply p"""
    inner = o.value.owner
    while isinstance(inner, Assume):
        if implies(inner.predicate, o.predicate):
            return o.value
        inner = inner.value.owner
    return None


@rule(Assume)
def assume_stronger(o: Assume, at: Place) -> Value | Op | None:
    """assume(p, assume(q, x)) is assume(p, x) if p implies q"""
    inner = o.value.owner
    if isinstance(inner, Assume) and implies(o.predicate, inner.predicate):
        return _merged(inner, o.predicate, at)
    return None


@rule(Assume)
def assume_bounds(o: Assume, at: Place) -> Value | Op | None:
    """assume(bounded<a, ?>, assume(bounded<?, b>, x)) is assume(bounded<a, b>, x)"""
    inner = o.value.owner
    if not isinstance(inner, Assume):
        return None
    p, q = o.predicate, inner.predicate
    if not isinstance(p, Bounded) or not isinstance(q, Bounded):
        return None
    lower = [bound for bound in (p.lb, q.lb) if bound is not None]
    upper = [bound for bound in (p.ub, q.ub) if bound is not None]
    both = Bounded(max(lower, default=None), min(upper, default=None))
    if both.lb is not None and both.ub is not None and both.lb > both.ub:
        return None  # the promises contradict each other, which no single predicate can say
    return _merged(inner, both, at)


def _merged(inner: Assume, predicate: Predicate, at: Place) -> Value | Op:
    """Put the predicate in the place of the inner one if nothing else uses that, else make a promise of its own.

    A promise must not move up across an operation after which it might not have been made.
    """
    if at.uses(inner.result) > 1 or not _is_just_before(inner, at):
        return Assume(value=inner.value, predicate=predicate)
    inner.predicate = predicate
    return inner.result


def _is_just_before(inner: Assume, at: Place) -> bool:
    """Return whether only promises and operations without effects are between a promise and this place."""
    for o in reversed(at.before[-NEAR:]):
        if o is inner:
            return True
        if not isinstance(o, Assume) and (o.blocks or not has_no_effect(o)):
            return False
    return False


def implies(p: Predicate, q: Predicate) -> bool:
    """Return whether every tile for which `p` holds is one for which `q` holds.

    >>> implies(DivBy(16), DivBy(8)), implies(DivBy(8), DivBy(16))
    (True, False)
    >>> implies(Bounded(0, 9), Bounded(0, None)), implies(Bounded(0, None), Bounded(0, 9))
    (True, False)
    """
    match p, q:
        case DivBy(), DivBy():
            return p.divisor % q.divisor == 0 and (p.every, p.along) == (q.every, q.along)
        case Bounded(), Bounded():
            above = q.lb is None or (p.lb is not None and p.lb >= q.lb)
            return above and (q.ub is None or (p.ub is not None and p.ub <= q.ub))
        case SameElements(), SameElements():
            return all(size % other == 0 for size, other in zip(p.values, q.values))
    return False


@register("merge-assumes")
def merge_assumes(root: Op, report: Report) -> None:
    """Merge chains of promises about one value; what they promise together stays."""
    apply(root, rule, report)
