"""Measure a grouped GEMM on engine reference beside busy processes, with and without the limit of BLAS to one thread.

    python bench/engines/quiet_cores.py [--rounds 3] [--edge 512] [--out docs/reports/quiet_cores.md]
    python bench/engines/quiet_cores.py --quick                     # small, and nothing is written

The two ways take turns in the same process. Each figure is the best of several rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import tilery
from tilery.engines.reference import cores

HERE = Path(__file__).resolve().parent.parent
PAGE = HERE.parent / "docs" / "reports" / "quiet_cores.md"
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"
"""A process that keeps a core busy until its parent is gone."""
Row = tuple[int, float, float]


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep processes busy."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        time.sleep(1)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def seconds(kernel: Any, arrays: list[Any], limited: bool) -> float:
    """Time one launch on the clock."""
    way = contextlib.nullcontext() if limited else patch.object(cores, "_controller", lambda: None)
    with way:
        start = time.perf_counter()
        kernel.launch((8,), arrays, convention="cutile", threads=1)
        return time.perf_counter() - start


def measure(edge: int, counts: list[int], rounds: int) -> list[Row]:
    """Return by number of busy processes: seconds with the limit, and without."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal((4, edge, edge), np.float32) for _ in range(2))
    arrays = [a, b, np.zeros_like(a)]
    text = (HERE / "kernels" / "more" / "grouped_gemm.mlir").read_text("utf-8")
    kernel = tilery.compile(tilery.parse(text), engine="reference")
    seconds(kernel, arrays, True)
    np.testing.assert_allclose(arrays[2], a @ b, rtol=1e-3, atol=1e-2)
    rows = []
    for count in counts:
        with busy(count):
            times = [(seconds(kernel, arrays, True), seconds(kernel, arrays, False)) for _ in range(rounds)]
        rows.append((count, min(limited for limited, _ in times), min(free for _, free in times)))
    return rows


def page(rows: list[Row], edge: int, rounds: int, load: float) -> str:
    """Render the measurements."""
    base = rows[0][1]
    count = os.cpu_count() or 1
    introduction = (
        f"`bench/engines/quiet_cores.py` wrote this page. A grouped GEMM (4 products of {edge} x {edge} in f32, "
        "tiles of 64 x 64) runs on engine `reference` beside processes that keep cores busy. BLAS is limited to one "
        "thread inside a launch, which is what tilery does, or has as many threads as it likes. Times are ratios to "
        f"a launch with the limit and no busy process; each is the best of {rounds} rounds that take turns."
    )
    lines = ["# BLAS with one thread inside a launch", "", textwrap.fill(introduction, 120), ""]
    lines += ["| busy processes | with the limit | without | without / with |", "|--:|--:|--:|--:|"]
    lines += [f"| {n} | {a / base:.2f} | {b / base:.2f} | {b / a:.2f} |" for n, a, b in rows]
    others = "busy too, so that even the first row has company" if load > 1 else "mostly idle"
    unmeasured = (
        f"The machine has {count} cores, and a load average of {load:.1f} before the measurement: other processes were "
        f"{others}. Machines with more cores, on which more threads wait for each other, were not measured, nor were "
        "larger tiles, for which several threads could gain more."
    )
    return "\n".join([*lines, "", "## Not measured", "", textwrap.fill(unmeasured, 120), ""])


def main() -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--edge", type=int, default=512, help="the size of each product, a multiple of 64")
    parser.add_argument("--quick", action="store_true", help="small, and nothing is written")
    parser.add_argument("--out", type=Path, default=PAGE)
    args = parser.parse_args()
    if cores._controller() is None:
        raise SystemExit("threadpoolctl is not installed, so there is no limit to measure")
    load = os.getloadavg()[0]
    edge, rounds = (128, 1) if args.quick else (args.edge, args.rounds)
    text = page(measure(edge, [0, 1] if args.quick else [0, 2, 4], rounds), edge, rounds, load)
    sys.stdout.write(text)
    if not args.quick:
        args.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
