"""`Loaded` and `Kernel` under their former name; new code imports them from `tilery.engines.reference.launch`."""

from __future__ import annotations

from ..engines.reference.launch import Kernel, Loaded

__all__ = ["Kernel", "Loaded"]
