"""The reference engine: numerics, memory, control flow and launches. It needs NumPy, which nothing below it does."""

from __future__ import annotations

from importlib import import_module

CHAPTERS = ("floating", "integer", "conversion", "shape", "reduce", "mma", "memory", "views", "atomics", "misc", "grid")


def load_operations() -> None:
    """Import the modules that say how operations are executed."""
    for chapter in CHAPTERS:
        import_module(f"{__name__}.ops.{chapter}")
