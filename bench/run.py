"""How fast kernels run: six cuTile kernels, in batches, block by block, and in Triton's interpreter.

    python bench/run.py [--triton PYTHON] [--threads 2] [--quick] [--json FILE] [--report docs/reports/run.md]

PYTHON is an interpreter with torch and Triton; without it that column is left out. All in one run, best of several
rounds (Triton's interpreter once: it takes minutes).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np

import tilery

HERE = Path(__file__).parent


@dataclass
class Sizes:
    """Elements of the flat arrays, rows and columns, edge of the matrices; heads, length and width of attention."""

    flat: int = 1 << 24
    rows: int = 4096
    columns: int = 1024
    edge: int = 1024
    heads: int = 8
    length: int = 1024
    width: int = 64

    def as_list(self) -> list[int]:
        return [self.flat, self.rows, self.columns, self.edge, self.heads, self.length, self.width]


QUICK = Sizes(flat=1 << 20, rows=256, edge=512, heads=2, length=512)


@dataclass
class Case:
    """A kernel, its grid and arguments, and what must come out where."""

    name: str
    grid: tuple[int, ...]
    args: list[Any]
    wanted: Callable[[], Any]
    tolerance: float

    def check(self) -> None:
        got = np.asarray(self.args[-1], np.float64)
        np.testing.assert_allclose(got, self.wanted(), rtol=self.tolerance, atol=self.tolerance)


def cases(sizes: Sizes) -> list[Case]:
    rng = np.random.default_rng(7)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, np.float32)

    n, rows, columns, edge = sizes.flat, sizes.rows, sizes.columns, sizes.edge
    a, b = normal(n), normal(n)
    x, w, bias = normal(rows, columns), normal(columns), normal(columns)
    p, q = normal(edge, edge), normal(edge, edge)
    heads, length, width = sizes.heads, sizes.length, sizes.width
    query, key, value = (normal(heads, length, width).astype(np.float16) for _ in range(3))

    def flat() -> Any:
        return np.zeros(n, np.float32)

    def table() -> Any:
        return np.zeros((rows, columns), np.float32)

    return [
        Case("vadd", (n // 1024,), [a, b, flat()], lambda: a + b, 1e-6),
        Case("gelu", (n // 1024,), [a, flat()], lambda: gelu(a), 1e-5),
        Case("softmax", (rows,), [x, table()], lambda: softmax(x), 1e-5),
        Case("layernorm", (rows,), [x, w, bias, table()], lambda: layernorm(x, w, bias), 1e-4),
        Case("gemm", (edge // 128, edge // 128), [p, q, np.zeros((edge, edge), np.float32)], lambda: p @ q, 1e-2),
        Case(
            "attention",
            (length // 128, heads),
            [query, key, value, np.zeros_like(query)],
            lambda: attention(query, key, value),
            1e-2,
        ),
    ]


def gelu(x: Any) -> Any:
    x = x.astype(np.float64)
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def softmax(x: Any) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layernorm(x: Any, w: Any, b: Any) -> Any:
    x = x.astype(np.float64)
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b


def attention(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (t.astype(np.float64) for t in (q, k, v))
    return softmax(q @ k.transpose(0, 2, 1) / 8) @ v


def best(run: Callable[[], object], rounds: int) -> float:
    """Milliseconds of the quickest of several rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times)


def measure(case: Case, threads: int, rounds: int) -> dict[str, float]:
    kernel = tilery.compile(tilery.parse((HERE / "kernels" / f"{case.name}.mlir").read_text()))

    def launch(**options: Any) -> object:
        return kernel.launch(case.grid, case.args, convention="cutile", **options)

    launch()
    case.check()
    found = {"batched": best(launch, rounds)}
    found[f"{threads} threads"] = best(lambda: launch(threads=threads), rounds)
    case.args[-1][:] = 0
    found["block by block"] = best(lambda: launch(batch=1), 1)
    case.check()
    return found


def geomean(values: list[float]) -> float:
    return exp(sum(map(log, values)) / len(values))


def table(results: dict[str, dict[str, float]]) -> str:
    columns = list(dict.fromkeys(key for row in results.values() for key in row))
    lines = ["| milliseconds | " + " | ".join(results) + " |", "|---|" + "--:|" * len(results)]
    for column in columns:
        cells = (f"{row[column]:,.1f}" if column in row else "" for row in results.values())
        lines.append(f"| {column} | " + " | ".join(cells) + " |")
    lines += ["", "Times faster, batched on one thread:", ""]
    lines += ["| than | " + " | ".join(results) + " | geometric mean |", "|---|" + "--:|" * (len(results) + 1)]
    for column in columns:
        ratios = [row[column] / row["batched"] for row in results.values() if column in row]
        if column != "batched" and len(ratios) == len(results):
            lines.append(f"| {column} | " + " | ".join(f"{r:,.1f}" for r in ratios) + f" | {geomean(ratios):,.1f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triton", metavar="PYTHON")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small arrays, to see that it works")
    parser.add_argument("--only", action="append")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    sizes = QUICK if args.quick else Sizes()
    chosen = [c for c in cases(sizes) if not args.only or c.name in args.only]
    results = {case.name: measure(case, args.threads, args.rounds) for case in chosen}
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    if args.triton:
        environment = {**os.environ, "SIZES": json.dumps(sizes.as_list())}
        command = [args.triton, str(HERE / "triton_peer.py"), *results]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        peer = json.loads(done.stdout.splitlines()[-1])
        versions |= {"triton": peer["triton"], "torch": peer["torch"]}
        for name, ms in peer["ms"].items():
            results[name]["Triton's interpreter"] = ms
    text = table(results)
    print(text)
    if args.json:
        args.json.write_text(json.dumps({"versions": versions, "ms": results}, indent=2) + "\n")
    if args.report:
        facts = ", ".join(f"{name} {version}" for name, version in versions.items())
        head = "# How fast kernels run\n\nWritten by `bench/run.py`: the same six kernels in one run"
        args.report.write_text(f"{head} ({facts}; {os.cpu_count()} cores).\n\n{text}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
