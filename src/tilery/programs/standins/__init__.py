"""Stand-ins for what GPU programs use beside their kernels: torch on a GPU, CuPy, `triton.testing`, NVIDIA's `cuda`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from .. import device


@contextmanager
def without_gpu(capability: tuple[int, int]) -> Iterator[None]:
    """Let programs use torch's `cuda`, CuPy and NVIDIA's `cuda`, of a GPU of a compute capability."""
    from .modules import stand_ins
    from .torch_patches import torch_on_cpu

    with (
        patch.object(device.STATE, "captures", {}),
        patch.object(device.STATE, "capability", capability),
        torch_on_cpu(),
        stand_ins(),
    ):
        yield
