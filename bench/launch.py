"""The cost of a launch on a GPU: bound once, bound anew each time, and as part of a graph.

python bench/launch.py [--engine tileiras] [--json FILE]      (with a GPU)
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src")]

import tilery  # noqa: E402
from tilery.engines.cuda.launch import LaunchGraph  # noqa: E402
from tilery.engines.registry import load_engine  # noqa: E402

EMPTY = """entry @empty(%x: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>) {
  return
}"""
ROUNDS, LAUNCHES = 20, 500


def best(function: Callable[[], Any], finish: Callable[[], Any], count: int = LAUNCHES) -> float:
    """Return the microseconds of a call: the best of several rounds, before the stream is full."""
    found = []
    for _ in range(ROUNDS):
        finish()
        started = time.perf_counter()
        for _ in range(count):
            function()
        found.append((time.perf_counter() - started) / count)
    finish()
    return min(found) * 1e6


def measure(engine: str) -> dict[str, float]:
    """Return microseconds by kind of launch."""
    loaded: Any = load_engine(engine).load(tilery.parse(EMPTY))
    kernel, driver = loaded.kernel(), loaded.driver
    address = driver.allocate(256)
    args = [address, 64, 1]
    bound = kernel.bind(1, args)

    def anew() -> None:
        with kernel.bind(1, args) as fresh:
            fresh.launch()

    figures = {
        "bound once": best(bound.launch, driver.synchronize, 50),
        "bound once, stream full": best(bound.launch, driver.synchronize, 4000),
        "bound anew": best(anew, driver.synchronize, 50),
        "the driver's function alone": best(_raw(bound), driver.synchronize, 50),
        "cuLaunchKernel alone": best(_older(bound), driver.synchronize, 50),
    }
    if (loop := _in_c(bound, 50)) is not None:
        figures["cuLaunchKernel from C"] = best(loop, driver.synchronize, 1) / 50
    with LaunchGraph(driver) as graph:
        inside = [kernel.bind(1, args, stream=graph.stream) for _ in range(100)]
        graph.record(inside)
        figures["in a graph of 100"] = best(graph.replay, lambda: driver.synchronize(graph.stream), 20) / 100
    return figures


def _raw(bound: Any) -> Callable[[], Any]:
    """Return a call of the launching function with everything prepared, which is the floor of ctypes."""
    function, arguments = bound._launch, bound._arguments
    return lambda: function(*arguments)


def _older(bound: Any) -> Callable[[], Any]:
    """Return a call of cuLaunchKernel, which has eleven arguments instead of a pointer to a structure."""
    function, (_, handle, table, extra) = bound._driver.function("cuLaunchKernel"), bound._arguments
    threads, shared = bound.kernel.binary.contract.threads, bound.kernel.binary.contract.shared_bytes
    sizes = [ctypes.c_uint(n) for n in (*bound.grid, threads, 1, 1, shared)]
    arguments = (handle, *sizes, ctypes.c_void_p(bound.stream), table, extra)
    return lambda: function(*arguments)


LOOP = """
typedef unsigned u;
typedef int (*launch)(void *, u, u, u, u, u, u, u, void *, void *, void *);
int loop(launch f, void *function, unsigned threads, unsigned shared, void *stream, void *table, int count) {
  int code = 0;
  for (int i = 0; i < count; i++) code |= f(function, 1, 1, 1, threads, 1, 1, shared, stream, table, 0);
  return code;
}
"""


def _in_c(bound: Any, count: int) -> Callable[[], Any] | None:
    """Return a call that launches many times from C, or None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    folder = tempfile.mkdtemp()
    source, library = Path(folder, "loop.c"), Path(folder, "loop.so")
    source.write_text(LOOP, "utf-8")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    loop, contract = ctypes.CDLL(str(library)).loop, bound.kernel.binary.contract
    _, handle, table, _ = bound._arguments
    launch = ctypes.cast(bound._driver.function("cuLaunchKernel"), ctypes.c_void_p)
    stream = ctypes.c_void_p(bound.stream)
    return lambda: loop(launch, handle, contract.threads, contract.shared_bytes, stream, table, count)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", default="tileiras")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    figures = measure(args.engine)
    for name, figure in figures.items():
        print(f"{name:32} {figure:8.2f} µs")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
