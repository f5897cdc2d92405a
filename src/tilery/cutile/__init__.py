"""cuTile kernels (pip `cuda-tile`) without a GPU: show their Tile IR, run and debug them, run their tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .modules import bytecode, module
    from .session import on

__all__ = ["bytecode", "module", "on"]

_HOMES = {"bytecode": "modules", "module": "modules", "on": "session"}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module 'tilery.cutile' has no attribute {name!r}")
