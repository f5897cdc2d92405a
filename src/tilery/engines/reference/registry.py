"""The table of functions that execute operations. The functions are in `ops/`, one file per chapter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ...ir import Op

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Executor:
    """The function that executes an operation, and how to call it.

    `function(o, *operands)` takes the operation and one value per operand field, in the order of the declaration (None
    for an absent optional operand, a tuple for a variadic one). It returns the result, or a tuple of results if the
    operation has several result fields. With `batch`, the batch of tile blocks comes before the operands, for
    operations that depend on the block or access memory. With `reuses`, it also takes `out=`: None, or an array of the
    result's shape and type that it may overwrite, often one of the operands; its result shares memory with nothing.
    """

    function: Callable[..., Any]
    batch: bool = False
    reuses: bool = False


RUNS: dict[type[Op], Executor] = {}


def executes(*classes: type[Op], batch: bool = False, reuses: bool = False) -> Callable[[F], F]:
    """Register the decorated function as the one that executes these operations."""

    def register(function: F) -> F:
        for cls in classes:
            assert cls not in RUNS, f"{cls.__name__} is executed twice"
            RUNS[cls] = Executor(function, batch, reuses)
        return function

    return register
