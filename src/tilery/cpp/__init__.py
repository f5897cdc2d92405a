"""CUDA Tile C++ kernels without a GPU: compile them to Tile IR with NVIDIA's NVRTC, show, check and run them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .compiler import Program, build, bytecode, module

__all__ = ["Program", "build", "bytecode", "module"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in __all__:
        return getattr(import_module(".compiler", __name__), name)
    raise AttributeError(f"module 'tilery.cpp' has no attribute {name!r}")
