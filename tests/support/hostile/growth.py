"""Costs of a call that do not depend on the machine: Python steps, bytes allocated, and how both grow."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any


@dataclass
class Cost:
    """Calls of functions, bytes allocated in all (freed or not), and the most bytes held at once."""

    steps: int = 0
    traffic: int = 0
    peak: int = 0


def cost(run: Callable[[], object]) -> Cost:
    """Measure a call. Traffic is a lower bound: memory that is allocated and freed between two calls counts once."""
    spent = Cost()
    current = tracemalloc.get_traced_memory
    held = 0

    def step(*_: Any) -> None:
        nonlocal held
        spent.steps += 1
        now, peak = current()
        spent.traffic += max(0, peak - held)
        spent.peak = max(spent.peak, peak)
        held = now
        tracemalloc.reset_peak()

    gc.collect()
    tracemalloc.start()
    held = start = current()[0]
    sys.setprofile(step)
    try:
        run()
    finally:
        sys.setprofile(None)
        spent.peak = max(spent.peak, current()[1]) - start
        tracemalloc.stop()
    return spent


def peak_of(run: Callable[[], object]) -> int:
    """Return the most bytes that a call holds at once. This is much faster than `cost`."""
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def is_linear(make: Callable[[int], Callable[[], object]], size: int, slack: float = 1.15) -> bool:
    """Tell whether steps and traffic at most double, with some slack, from `size` to twice and four times of it."""
    make(size)()  # imports, caches, generated code
    costs = [cost(make(n)) for n in (size, 2 * size, 4 * size)]
    pairs = [p for x, y in pairwise(costs) for p in ((x.steps, y.steps), (x.traffic, y.traffic))]
    ratios = [b / max(a, 1) for a, b in pairs]
    assert min(c.steps for c in costs) > 0, "the profiler saw nothing"
    return max(ratios) <= 2 * slack
