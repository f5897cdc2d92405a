"""The table of what computes each element-wise operation."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Op

Apply = Callable[..., str]
"""From the writer, the operation, the width and a chunk of each operand to a chunk of the result."""

ELEMENTWISE: dict[type[Op], Apply] = {}
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
