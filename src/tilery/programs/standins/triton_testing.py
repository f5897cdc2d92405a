"""The parts of Triton that programs without Triton kernels use: its benchmark, and two functions on integers."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

MOST = 100
"""Launches of a benchmark, at most: a kernel takes much longer here than on a GPU."""


def cdiv(x: int, y: int) -> int:
    """Divide and round up."""
    return -(-x // y)


def next_power_of_2(n: int) -> int:
    """Return the smallest power of two that is at least n."""
    return 1 if n <= 1 else 1 << (n - 1).bit_length()


class testing:  # a module's name
    """`triton.testing`: times are those of this machine."""

    @staticmethod
    def do_bench(
        fn: Callable[[], object],
        warmup: float = 25,
        rep: float = 100,
        grad_to_none: Sequence[Any] | None = None,
        quantiles: Sequence[float] | None = None,
        return_mode: str = "mean",
        **more: Any,
    ) -> Any:
        """Call a function for `rep` milliseconds, at least once; return a time in milliseconds, or quantiles."""
        fn()
        times: list[float] = []
        while sum(times) < rep and len(times) < MOST:
            for tensor in grad_to_none or ():
                tensor.grad = None
            start = time.perf_counter()
            fn()
            times.append(1e3 * (time.perf_counter() - start))
        if quantiles is not None:
            found = [_quantile(sorted(times), q) for q in quantiles]
            return found[0] if len(found) == 1 else found
        if return_mode == "all":
            return times
        if return_mode in ("min", "max"):
            return min(times) if return_mode == "min" else max(times)
        return statistics.median(times) if return_mode == "median" else statistics.fmean(times)

    @staticmethod
    def do_bench_cudagraph(fn: Callable[[], object], rep: float = 20, **options: Any) -> Any:
        """The same without a graph."""
        return testing.do_bench(fn, rep=rep, **options)


def _quantile(times: list[float], q: float) -> float:
    position = q * (len(times) - 1)
    low = int(position)
    high = min(low + 1, len(times) - 1)
    return times[low] + (times[high] - times[low]) * (position - low)
