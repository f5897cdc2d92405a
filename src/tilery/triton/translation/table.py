"""The table of translations: one function per operation of Triton IR, registered by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...ir import Value
    from ..mlir import TOp
    from .translator import Translator

    Made = Value | list[Value] | tuple[Value, ...] | None
    Rule = Callable[..., Made]

OPERATIONS: dict[str, Any] = {}
"""Of each operation, the function that builds it: it takes the translator, the operation and its operands."""


def translates(*names: str) -> Callable[[Rule], Rule]:
    """Register a function for operations."""

    def add(rule: Rule) -> Rule:
        for name in names:
            assert name not in OPERATIONS, name
            OPERATIONS[name] = rule
        return rule

    return add


def refuse(t: Translator, op: TOp, why: str) -> Any:
    """Raise the error of an operation that has no translation, with its source line."""
    raise t.error(f"{op.name}: {why}")


CHAPTERS = (
    *("arithmetic", "conversions", "shapes", "memory", "atomics", "reductions", "products", "control"),
    *("effects", "elementwise"),
)


def load_table() -> dict[str, Any]:
    """Import all chapters and return the table."""
    from importlib import import_module

    for chapter in CHAPTERS:
        import_module(f".{chapter}", __package__)
    return OPERATIONS
