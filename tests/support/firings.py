"""How often the rules of `canonicalize` fire on random modules: a rule that never fired has demonstrated nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import tilery
from tilery.passes.canonicalize import rule
from tilery.rewrite import Report
from tilery.smith import smith

GENERAL = ("constants", "dead")
"""Counts of `canonicalize` besides its rules: constants that were moved or merged, and operations removed as dead."""


def rule_names() -> list[str]:
    """The rules of `canonicalize`, in the order in which they are tried."""
    dead = [run.__name__ for rules in rule.dead_by_class.values() for run in rules]
    return [*(each.name for each in rule.all()), *dead, *GENERAL]


def firings(seed: int) -> Counter[str]:
    """How often each rule fires on one module."""
    report = Report()
    tilery.optimize(smith(seed), "canonicalize", report=report)
    return report.counts


def count_firings(seeds: Iterable[int]) -> dict[str, int]:
    """Every rule and how often it fires on these modules together, 0 included."""
    total: Counter[str] = Counter()
    for seed in seeds:
        total += firings(seed)
    return {name: total[name] for name in rule_names()}


def table(counts: dict[str, int]) -> list[str]:
    """The counts as the lines of a Markdown table."""
    return ["| Rule | fired |", "|---|--:|", *(f"| {name} | {count} |" for name, count in counts.items())]
