"""The functions that execute operations, one file per chapter. Importing this package fills `RUNS`."""

from __future__ import annotations

from ..registry import RUNS
from . import atomics, conversion, floating, grid, integer, memory, misc, mma, reduce, shape, views

__all__ = [
    "RUNS",
    "atomics",
    "conversion",
    "floating",
    "grid",
    "integer",
    "memory",
    "misc",
    "mma",
    "reduce",
    "shape",
    "views",
]
