"""The functions that lower operations, one file per chapter. Importing this package fills `LOWERS`."""

from __future__ import annotations

from ..registry import LOWERS
from . import atomics, control, conversion, floating, integer, memory, misc, mma, reduce, shape, views

__all__ = [
    "LOWERS",
    "atomics",
    "control",
    "conversion",
    "floating",
    "integer",
    "memory",
    "misc",
    "mma",
    "reduce",
    "shape",
    "views",
]
