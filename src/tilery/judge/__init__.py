"""Judge kernels of others: are they right, and how fast are they."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .batch import judge_all
    from .jail import Jail, Limits
    from .judging import Judge
    from .plan import Plan
    from .problem import Argument, Case, Metamorphic, Problem, Shape, parse_problem, read_problem
    from .results import FaultKind, Result, StageResult, junit, table
    from .starting import start

__all__ = [
    "Argument", "Case", "FaultKind", "Jail", "Judge", "Limits", "Metamorphic", "Plan", "Problem", "Result", "Shape",
    "StageResult", "judge_all", "junit", "parse_problem", "read_problem", "start", "table",
]  # fmt: skip

_HOMES = {
    "Jail": "jail", "Limits": "jail", "Judge": "judging", "judge_all": "batch", "start": "starting",
    **dict.fromkeys(("Argument", "Case", "Metamorphic", "Problem", "Shape"), "problem"),
    **dict.fromkeys(("parse_problem", "read_problem"), "problem"), "Plan": "plan",
    **dict.fromkeys(("FaultKind", "Result", "StageResult", "junit", "table"), "results"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module 'tilery.judge' has no attribute {name!r}")
