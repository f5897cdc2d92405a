"""Branches and loops without early exits; `structure` has the others."""

from __future__ import annotations

from typing import Any

from ....ops import Break, Continue, Entry, For, Global, If, Loop, Module, Return, Yield
from ..emit import Val
from ..registry import lowers
from ..state import Lowering
from ..structure import lower_for, lower_if, lower_loop


@lowers(If)
def if_(low: Lowering, o: If, condition: Val) -> Any:
    return lower_if(low, o, condition)


@lowers(For)
def for_(low: Lowering, o: For, lower: Val, upper: Val, step: Val, carried: tuple[Any, ...]) -> Any:
    return lower_for(low, o, lower, upper, step, carried)


@lowers(Loop)
def loop(low: Lowering, o: Loop, carried: tuple[Any, ...]) -> Any:
    return lower_loop(low, o, carried)


@lowers(Module, Entry, Global, Yield, Continue, Break, Return)
def structural(low: Lowering, o: Any, *operands: Any) -> Any:
    """Refuse an operation that `lower` and `structure` handle; it is never lowered on its own."""
    raise low.refuse("it cannot stand here")
