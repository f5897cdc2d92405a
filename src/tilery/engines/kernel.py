"""The classes that callers of engines use, under the name that the documentation promises."""

from __future__ import annotations

from .common.errors import ExecutionError
from .common.kernel import Engine, Kernel, Loaded
from .common.launch import Launch
from .common.limits import Limits, Stats

__all__ = ["Engine", "ExecutionError", "Kernel", "Launch", "Limits", "Loaded", "Stats"]
