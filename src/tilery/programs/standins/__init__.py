"""Stand-ins for what GPU programs use beside their kernels: torch on a GPU, CuPy, `triton.testing`, NVIDIA's `cuda`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from .. import device

if TYPE_CHECKING:
    from ...sanitize import Sanitizer


@contextmanager
def without_gpu(capability: tuple[int, int], sanitizer: Sanitizer | None = None) -> Iterator[None]:
    """Let programs use torch's `cuda`, CuPy and NVIDIA's `cuda`, of a GPU of a compute capability.

    A sanitizer is told of memory that the program allocates without a value, and of what torch reads and writes.
    """
    from .modules import stand_ins
    from .torch_patches import torch_on_cpu
    from .watching import watching

    with (
        patch.object(device.STATE, "captures", {}),
        patch.object(device.STATE, "capability", capability),
        torch_on_cpu(),
        stand_ins(),
        watching(sanitizer),
    ):
        yield
