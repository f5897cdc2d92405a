"""`dce`: dead-code elimination."""

from __future__ import annotations

from ..ir import Op
from ..rewrite import Report, erase_dead, isolated
from .canonicalize.branches import rule as branch_rules
from .registry import register


@register("dce")
def dce(root: Op, report: Report) -> None:
    """Eliminate dead code: operations without effect whose results are unused, and unused results of `if`."""
    for function in isolated(root):
        erase_dead(function, branch_rules, report)
