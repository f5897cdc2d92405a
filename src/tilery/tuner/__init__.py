"""Find the fastest way to compile a kernel for the GPU of this machine, by measuring."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .search import NotTunable, Result, tune

__all__ = ["NotTunable", "Result", "tune"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import search as home

        return getattr(home, name)
    raise AttributeError(f"module 'tilery.tuner' has no attribute {name!r}")
