"""Time launches on a GPU: preheated, and interleaved with each other, because clocks drift while it works."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from ...diag import ErrorKind, TileError
from .driver import Driver, Handle

Key = TypeVar("Key", bound=Hashable)
Launch = Callable[[], object]
"""Puts work into a stream, without waiting for it."""

BLOCK_SECONDS = 0.02
"""How long launches that are timed together take."""
HEAT_SECONDS = 0.02
"""How long a launch is repeated before it is timed. Matrix products measure up to 13 % too fast without."""
SCREEN_SECONDS = 0.008
"""How long launches take that estimate a time, and those that heat the device before."""
MOST = 400
"""The most launches that are timed together."""
POLL_SECONDS = 20e-6


def elapsed(driver: Driver, launch: Launch, count: int, *, limit: float | None = None, stream: Handle = 0) -> float:
    """Return the seconds of one launch, as the mean of several; raise TileError if they take longer than a limit."""
    start, end = (driver.create("cuEventCreate") for _ in range(2))
    try:
        driver.call("cuEventRecord", start, stream)
        for _ in range(count):
            launch()
        driver.call("cuEventRecord", end, stream)
        deadline = None if limit is None else time.monotonic() + limit
        while not driver.is_done(end):
            if deadline is not None and time.monotonic() > deadline:
                raise TileError(f"it did not finish within {limit:g} seconds", kind=ErrorKind.TIMEOUT)
            time.sleep(POLL_SECONDS)
        return driver.elapsed(start, end) / count
    finally:
        for event in (start, end):
            driver.function("cuEventDestroy_v2")(event)


def screened(driver: Driver, launch: Launch, *, limit: float | None = None) -> float:
    """Return a first estimate: launches after warm ones."""
    first = elapsed(driver, launch, 1, limit=limit)
    if first > 0.25:
        return first
    rough = elapsed(driver, launch, 2, limit=limit)
    count = fitting(rough, SCREEN_SECONDS)
    elapsed(driver, launch, count, limit=limit)
    return elapsed(driver, launch, count, limit=limit)


def fitting(estimate: float, seconds: float) -> int:
    """Return how many launches take about that long; at least two.

    >>> fitting(0.001, 0.02), fitting(1.0, 0.02)
    (20, 2)
    """
    return max(2, min(MOST, int(seconds / max(estimate, 1e-6))))


def interleaved(
    driver: Driver,
    launches: Mapping[Key, tuple[Launch, float]],
    *,
    rounds: int = 5,
    beat: Callable[[], object] = lambda: None,
) -> dict[Key, list[float]]:
    """Time launches in turn, several rounds of it. Each comes with an estimate of its time; `beat` is called often."""
    found: dict[Key, list[float]] = {key: [] for key in launches}
    for _ in range(rounds):
        for key, (launch, estimate) in launches.items():
            for _ in range(fitting(estimate, HEAT_SECONDS)):
                launch()
            found[key].append(elapsed(driver, launch, fitting(estimate, BLOCK_SECONDS)))
            beat()
    return found


def median(values: list[float]) -> float:
    """Return the middle of some numbers.

    >>> median([3.0, 1.0, 2.0]), median([1.0, 2.0])
    (2.0, 1.5)
    """
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
