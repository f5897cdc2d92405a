"""Trial launches: run a kernel on arguments that are made up, and keep what goes wrong whatever they are.

A kernel runs on the reference engine under the sanitizer's checks, on small grids and several sets of arguments. A
fault is reported if it happens in every launch that does as much as one in which it happens: then it follows from the
kernel and not from an argument. Arguments point to memory without end, so that nothing is said about the sizes of
arrays.
"""

from __future__ import annotations

from .findings import TrialRules
from .verdict import Found, run_trials

__all__ = ["Found", "TrialRules", "run_trials"]
