"""A grouped GEMM beside busy processes: BLAS limited to one thread inside a launch, and not; writes the page.

    python bench/engines/quiet_cores.py [--rounds 2] [--out docs/reports/lab/quiet_cores.md]
    python bench/engines/quiet_cores.py --quick                     # small, and nothing is written

The ways take turns in the same process. Each figure is the best of several rounds.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
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
PAGE = HERE.parent / "docs" / "reports" / "lab" / "quiet_cores.md"
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"
"""A process that keeps a core busy until its parent is gone."""
GROUP = (512, 256, 128)
"""The edges of the products in a test of NVIDIA's TileGym, but for one of 1024, which takes too long with threads."""
SMALL = (256, 128)
MORE_THREADS = (2, 4, 8)


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


class Group:
    """Products on an engine, in tiles of 128 x 128 x 64 as TileGym's tuner tries."""

    def __init__(self, engine: str, edges: tuple[int, ...]) -> None:
        rng = np.random.default_rng(3)
        text = (HERE / "kernels" / "more" / "grouped_gemm.mlir").read_text("utf-8")
        text = re.sub(r"\b(1x)?(32|64)x(32|64)(?=\b|x)", lambda m: f"{m[1] or ''}{2 * int(m[2])}x{2 * int(m[3])}", text)
        self.kernel: Any = tilery.compile(tilery.parse(text), engine=engine)
        self.sets = [[*rng.standard_normal((2, 1, n, n), np.float32), np.zeros((1, n, n), np.float32)] for n in edges]
        self.seconds(1)
        for a, b, out in self.sets:
            np.testing.assert_allclose(out, a @ b, rtol=1e-3, atol=1e-2)

    def seconds(self, threads: int) -> float:
        """Time the products on the clock, with this many threads of BLAS and no other limit."""
        with cores._controller().limit(limits=threads), patch.object(cores, "_controller", lambda: None):
            start = time.perf_counter()
            for arrays in self.sets:
                self.kernel.launch((8,), arrays, convention="cutile", threads=1)
            return time.perf_counter() - start

    def best(self, threads: list[int], rounds: int) -> list[float]:
        """Return the best time for each number of threads, which take turns."""
        return [min(times) for times in zip(*[[self.seconds(n) for n in threads] for _ in range(rounds)])]


def measure(engine: str, edges: tuple[int, ...], counts: list[int], rounds: int) -> list[list[str]]:
    """Return rows: the engine, the busy processes, and times with one thread of BLAS and with one per core."""
    group = Group(engine, edges)
    rows, base = [], 0.0
    for count in counts:
        with busy(count):
            one, free = group.best([1, os.cpu_count() or 1], rounds)
        base = base or one
        rows.append([engine, str(count), f"{one / base:.2f}", f"{free / base:.2f}", f"{free / one:.2f}"])
    return rows


def more_threads(threads: tuple[int, ...], edges: tuple[int, ...]) -> list[list[str]]:
    """Return rows: numbers of threads, and times as ratios to one thread, all beside four busy processes."""
    group = Group("reference", edges)
    with busy(4):
        one, *others = group.best([1, *threads], 1)
    return [[str(n), f"{taken / one:.1f}"] for n, taken in zip(threads, others)]


def table(head: str, rows: list[list[str]]) -> list[str]:
    names = head.split(" | ")
    right = ["---" if name == "engine" else "--:" for name in names]
    return [f"| {head} |", f"|{'|'.join(right)}|", *(f"| {' | '.join(row)} |" for row in rows), ""]


def page(rows: list[list[str]], more: list[list[str]], rounds: int, load: float) -> str:
    """Render the measurements."""
    count = os.cpu_count() or 1
    paragraphs = {
        "what": "`bench/engines/quiet_cores.py` wrote this page. It runs a grouped GEMM beside processes that keep "
        "cores "
        f"busy: products of square f32 matrices with edges of {', '.join(map(str, GROUP))}, in tiles of 128 x 128 x "
        "64. "
        "(A test of NVIDIA's TileGym has products of these sizes.) BLAS has one thread inside a launch, as tilery sets "
        f"it, or one per core; this machine has {count} cores. Times are ratios to one thread and no busy process on "
        f"the same engine; each is the best of {rounds} rounds that take turns.",
        "why": "A product of tiles with several threads ends when the last of them has had its turn on a core. Engine "
        "`cpu` compiles products itself and does not use BLAS. OpenBLAS uses one thread for products of smaller tiles, "
        "such as 64 x 64 x 32, whatever the limit.",
        "more": "There may be more threads than cores, for example if a container has fewer cores than its machine "
        "shows. "
        f"Products with edges of {' and '.join(map(str, SMALL))} on engine `reference`, beside four busy processes, "
        "then take this long, as ratios to one thread:",
        "not": f"The load average was {load:.1f} before the measurement: "
        + ("other processes were busy too, also in the rows without busy processes." if load > 1 else "mostly idle.")
        + " Machines with more cores, and idle ones, on which several threads can gain time, were not measured.",
    }
    wrapped = {name: textwrap.fill(text, 120) for name, text in paragraphs.items()}
    head = "engine | busy processes | one thread | one per core | one per core / one thread"
    lines = ["# BLAS with one thread inside a launch", "", wrapped["what"], "", *table(head, rows), wrapped["why"], ""]
    lines += [wrapped["more"], "", *table("threads | time", more), "## Not measured", "", wrapped["not"], ""]
    return "\n".join(lines)


def main() -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="small, and nothing is written")
    parser.add_argument("--out", type=Path, default=PAGE)
    args = parser.parse_args()
    if cores._controller() is None:
        raise SystemExit("threadpoolctl is not installed, so there is no limit to measure")
    load = os.getloadavg()[0]
    edges, counts, rounds = ((128,), [0, 1], 1) if args.quick else (GROUP, [0, 4], args.rounds)
    rows = [row for engine in ("reference", "cpu") for row in measure(engine, edges, counts, rounds)]
    text = page(rows, more_threads((2,) if args.quick else MORE_THREADS, (128,) if args.quick else SMALL), rounds, load)
    sys.stdout.write(text)
    if not args.quick:
        args.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
