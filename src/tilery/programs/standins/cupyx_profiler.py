"""`cupyx` on the host: its benchmark, which calls a function once."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np


class Times:
    """The result of a benchmark. The function ran once, so all times are the same; none says anything about a GPU."""

    def __init__(self, name: str, seconds: float, count: int) -> None:
        self.name = name
        self.cpu_times = np.full(count, seconds)
        self.gpu_times = np.full((1, count), seconds)

    def to_str(self, show_gpu: bool = False) -> str:
        return f"{self.name:<20}: {1e6 * self.cpu_times[0]:9.3f} us, on the host"

    def __str__(self) -> str:
        return self.to_str()


def benchmark(
    function: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    n_repeat: int = 10000,
    *,
    name: str | None = None,
    n_warmup: int = 10,
    max_duration: float = float("inf"),
    devices: Any = None,
) -> Times:
    """`cupyx.profiler.benchmark`."""
    start = time.perf_counter()
    function(*args, **(kwargs or {}))
    shown = name if name is not None else str(getattr(function, "__name__", "function"))
    return Times(shown, time.perf_counter() - start, max(1, n_repeat))


profiler = SimpleNamespace(benchmark=benchmark, profile=None, __doc__="`cupyx.profiler`.")
