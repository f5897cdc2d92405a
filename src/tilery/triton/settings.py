"""Settings of the current `on`, for the backend and the driver that Triton calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..programs.launches import LaunchSession


@dataclass(slots=True)
class Settings:
    """One object per process, because Triton has one active driver."""

    session: LaunchSession | None = None
    strict: bool = False
    capability: tuple[int, int] = (9, 0)
    time_configurations: bool = False
    """Whether autotuning times configurations; it takes the first one that compiles otherwise."""
    trying: bool = False
    """Whether kernels are only compiled, because autotuning tries a configuration."""
    chosen: bool | None = None
    """While an autotuned kernel looks for a configuration, whether it has found one."""


SETTINGS = Settings()
