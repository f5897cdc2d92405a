"""The table of functions that lower operations. The functions are in `ops/`, one file per chapter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...ir import Op

F = TypeVar("F", bound=Callable[..., Any])

LOWERS: dict[type[Op], Callable[..., Any]] = {}
"""`function(low, o, *operands)` takes the lowering, the operation and one value per operand field, in the order of the
declaration (None for an absent optional operand, a tuple for a variadic one). It returns the results: one value, or a
tuple if there are several, or None."""


def lowers(*classes: type[Op]) -> Callable[[F], F]:
    """Register the decorated function as the one that lowers these operations."""

    def register(function: F) -> F:
        for cls in classes:
            assert cls not in LOWERS, f"{cls.__name__} is lowered twice"
            LOWERS[cls] = function
        return function

    return register
