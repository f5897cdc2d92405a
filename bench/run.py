"""Measure six cuTile kernels: in batches, with threads, block by block, and in Triton's interpreter.

    python bench/run.py [--triton PYTHON] [--threads 2] [--quick] [--out docs/reports]
    python bench/run.py --redraw [--out docs/reports]

Writes run.json and run.md; with --redraw, the page from an existing run.json. PYTHON is an interpreter with torch and
Triton; without it, that row is left out. Each time is the best of several rounds. Block by block and Triton's
interpreter run once, because they take minutes.
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

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "src"))

import tilery  # noqa: E402  # found only now


@dataclass
class Sizes:
    """Sizes of the flat arrays, the tables, the square matrices, and of attention."""

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
    """A kernel with its grid and arguments; the last argument must end up as `wanted`."""

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
    """Return the milliseconds of the fastest round."""
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


def page(found: dict[str, Any]) -> str:
    """Render the numbers of a run as a page."""
    results = found["ms"]
    facts = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    facts += f"; {found['cores']} cores"
    if "load" in found:
        facts += f", load average {found['load']:.1f} per core at the start"
    columns = list(dict.fromkeys(key for row in results.values() for key in row))
    lines = ["# How fast kernels run", ""]
    lines += [
        "`python bench/run.py` wrote this page. All rows ran the same six kernels on the same arrays",
        f"({facts}).",
        "",
    ]
    lines += ["| milliseconds | " + " | ".join(results) + " |", "|---|" + "--:|" * len(results)]
    for column in columns:
        cells = (f"{row[column]:,.1f}" if column in row else "" for row in results.values())
        lines.append(f"| {column} | " + " | ".join(cells) + " |")
    lines += ["", "How many times faster batched execution on one thread is:", ""]
    lines += ["| than | " + " | ".join(results) + " | geometric mean |", "|---|" + "--:|" * (len(results) + 1)]
    for column in columns:
        ratios = [row[column] / row["batched"] for row in results.values() if column in row]
        if column != "batched" and len(ratios) == len(results):
            lines.append(f"| {column} | " + " | ".join(f"{r:,.1f}" for r in ratios) + f" | {geomean(ratios):,.1f} |")
    return "\n".join([*lines, "", *NOT_MEASURED])


NOT_MEASURED = """\
## Not measured

A GPU, which is far faster than any of these; kernels that diverge, wait for one another or use atomics; and the time to
load and compile a module. "Block by block" and Triton's interpreter ran once; the other rows are the best of several
rounds.""".splitlines()


def triton_times(python: str, sizes: Sizes, names: list[str]) -> dict[str, Any]:
    """Run the same kernels in Triton's interpreter, in a Python that has it."""
    environment = {**os.environ, "SIZES": json.dumps(sizes.as_list())}
    command = [python, str(HERE / "triton_peer.py"), *names]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(args: argparse.Namespace) -> dict[str, Any]:
    """Measure all kernels; return plain data for run.json."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0] / cores
    sizes = QUICK if args.quick else Sizes()
    chosen = [c for c in cases(sizes) if not args.only or c.name in args.only]
    results = {case.name: measure(case, args.threads, args.rounds) for case in chosen}
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    if args.triton:
        peer = triton_times(args.triton, sizes, list(results))
        versions |= {"triton": peer["triton"], "torch": peer["torch"]}
        for name, ms in peer["ms"].items():
            results[name]["Triton's interpreter"] = ms
    return {"versions": versions, "cores": cores, "load": load, "ms": results}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--triton", metavar="PYTHON")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small arrays, to see that it works")
    parser.add_argument("--only", action="append")
    parser.add_argument("--out", type=Path, help="folder for run.json and run.md")
    parser.add_argument("--redraw", action="store_true", help="rewrite the page from run.json, without measuring")
    args = parser.parse_args()
    numbers = args.out / "run.json" if args.out else None
    if args.redraw:
        if numbers is None:
            parser.error("--redraw needs --out")
        found = json.loads(numbers.read_text("utf-8"))
    else:
        found = run(args)
    text = page(found)
    print(text)
    if args.out and numbers:
        numbers.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        (args.out / "run.md").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
