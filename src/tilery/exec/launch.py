"""The classes of the reference engine under their former names, which stay."""

from __future__ import annotations

from ..engines.reference.launch import ReferenceKernel as Kernel
from ..engines.reference.launch import ReferenceLoaded as Loaded

__all__ = ["Kernel", "Loaded"]
