"""`tilery run --repeat`: how long launches take, and the rates that follow from what the kernel does."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..engines.common.kernel import Kernel
    from ..engines.common.limits import Stats

WARM_UP = 1
"""Launches before the first that is timed: an engine compiles in the first one."""


@dataclass(slots=True)
class Timing:
    """The times of launches in seconds, and what one launch does; None for what is not known."""

    seconds: list[float]
    clock: str
    flops: int | None
    bytes: int | None

    def as_dict(self) -> dict[str, object]:
        """Return the times as plain data, for `--json`."""
        middle = median(self.seconds)
        return {
            "launches": len(self.seconds),
            "clock": self.clock,
            "seconds": self.seconds,
            "median_seconds": middle,
            "flops": self.flops,
            "bytes": self.bytes,
            "gflops_per_second": _rate(self.flops, middle),
            "gigabytes_per_second": _rate(self.bytes, middle),
        }

    def __str__(self) -> str:
        from .units import seconds

        middle, low, high = median(self.seconds), min(self.seconds), max(self.seconds)
        count = f"{len(self.seconds)} launch{'es' * (len(self.seconds) != 1)} by the clock of the {self.clock}"
        rates = [
            f"{unit} not counted" if (rate := _rate(amount, middle)) is None else f"{rate:,.4g} {unit}"
            for amount, unit in ((self.bytes, "GB/s"), (self.flops, "GFLOP/s"))
        ]
        return f"{count}: median {seconds(middle)} ({seconds(low)} to {seconds(high)}), {', '.join(rates)}"


def _rate(amount: int | None, seconds: float) -> float | None:
    return None if amount is None or not seconds else amount / seconds / 1e9


def repeat(start: Callable[[], Stats], arrays: Sequence[Any], count: int) -> tuple[Stats, list[float], str]:
    """Launch again and again on the same inputs; return the last statistics, the times, and whose clock measured them.

    Arrays have their first content before each launch, which is not part of the time.
    """
    first = [array.copy() for array in arrays]
    times, device = [], []
    for number in range(WARM_UP + count):
        for array, content in zip(arrays, first):
            array[...] = content
        before = time.perf_counter()
        stats = start()
        if number >= WARM_UP:
            times.append(time.perf_counter() - before)
            device.append(stats.device_nanoseconds * 1e-9)
    return (stats, device, "GPU") if all(device) else (stats, times, "host")


def work(kernel: Kernel, grid: Sequence[int], slots: Sequence[bytes], stats: Stats) -> tuple[int | None, int | None]:
    """Return the float operations and bytes of a launch: as the engine counted them, or by the text of the kernel.

    `slots` holds the value of each parameter.
    """
    if stats.complete:
        return stats.flops, stats.bytes_read + stats.bytes_written
    from ..cost import launch_cost

    found = launch_cost(kernel.entry, prod(grid), slots)
    return (None, None) if found.is_partial else (found.flops, found.bytes)
