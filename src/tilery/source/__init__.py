"""The front door for input, and the source lines that debug information names."""

from __future__ import annotations

from ..checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from .input import Input, Kind
    from .lines import MAX_PLACES, Place, annotate, column, comments, excerpt, innermost, places

__all__ = [
    "MAX_PLACES",
    "Input",
    "Kind",
    "Place",
    "annotate",
    "column",
    "comments",
    "excerpt",
    "innermost",
    "places",
]


def __getattr__(name: str) -> Any:
    # Imported when first used: reading a file needs no source lines.
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'tilery.source' has no attribute {name!r}")
    return getattr(import_module(".input" if name in ("Input", "Kind") else ".lines", __name__), name)
