"""The rules, one function each, by subject. The docstring of a function is the page of its rule."""

from __future__ import annotations

from ..rule import Rule
from . import accumulators, alloca, control, cost, memory, numbers, order, padding, promises, sharing, trial

RULES: dict[str, Rule] = {
    **order.rule,
    **sharing.rule,
    **memory.rule,
    **alloca.rule,
    **padding.rule,
    **promises.rule,
    **numbers.rule,
    **accumulators.rule,
    **control.rule,
    **cost.rule,
    **trial.rule,
}
"""All rules by their names, in the order in which they are listed."""
