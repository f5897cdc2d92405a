"""The table of what lowers each operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...ir import Op

Apply = Callable[..., str]
"""From the writer, the operation, the width and a chunk of each operand to a chunk of the result."""
Emit = Callable[[Any, Any], None]
"""Writes the code of an operation where it stands."""

ELEMENTWISE: dict[type[Op], Apply] = {}
EMITTED: dict[type[Op], Emit] = {}
HEAVY: set[type[Op]] = set()
"""Element-wise operations that are not computed twice."""


def applies(*classes: type[Op], heavy: bool = False) -> Callable[[Apply], Apply]:
    """Register what computes element-wise operations."""

    def add(function: Apply) -> Apply:
        for cls in classes:
            ELEMENTWISE[cls] = function
            if heavy:
                HEAVY.add(cls)
        return function

    return add


def emits(*classes: type[Op]) -> Callable[[Emit], Emit]:
    """Register what writes the code of operations."""

    def add(function: Emit) -> Emit:
        for cls in classes:
            EMITTED[cls] = function
        return function

    return add
