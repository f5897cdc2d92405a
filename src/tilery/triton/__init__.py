"""Triton kernels (pip `triton`) without a GPU: show their Tile IR, run and debug them, run their tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .modules import bytecode, compile_file, module
    from .session import on
    from .tensors import device_tensor
    from .translation import translate

__all__ = ["bytecode", "compile_file", "device_tensor", "module", "on", "translate"]

_HOMES = {
    "bytecode": "modules",
    "compile_file": "modules",
    "device_tensor": "tensors",
    "module": "modules",
    "on": "session",
    "translate": "translation",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module 'tilery.triton' has no attribute {name!r}")
