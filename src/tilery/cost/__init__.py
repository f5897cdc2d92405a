"""The cost of kernels: bytes, float operations and arithmetic intensity, and the limits of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .counting import measure
    from .gpus import GPUS, Gpu, find_gpu
    from .model import KernelCost, OpCost
    from .roofline import Roofline, roofline_svg
    from .static import launch_cost, static_cost

__all__ = [
    "GPUS", "Gpu", "KernelCost", "OpCost", "Roofline", "find_gpu", "launch_cost", "measure", "roofline_svg",
    "static_cost",
]  # fmt: skip

_HOMES = {
    **dict.fromkeys(["GPUS", "Gpu", "find_gpu"], "gpus"),
    **dict.fromkeys(["KernelCost", "OpCost"], "model"),
    **dict.fromkeys(["Roofline", "roofline_svg"], "roofline"),
    **dict.fromkeys(["launch_cost", "static_cost"], "static"),
    "measure": "counting",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module 'tilery.cost' has no attribute {name!r}")
