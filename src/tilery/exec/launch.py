"""`Loaded` and `Kernel` under their former name; new code imports them from `tilery.engines.reference.launch`."""

from __future__ import annotations

from ..engines.reference.launch import Loaded
from ..engines.reference.launch import ReferenceKernel as Kernel

__all__ = ["Kernel", "Loaded"]
