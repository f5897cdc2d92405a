"""Atomic operations."""

from __future__ import annotations

from ...ir import Op
from ...ops import Entry


def commutes(o: Op, entry: Entry) -> bool:
    """Whether it does not matter in which order tile blocks execute an operation."""
    return False
