"""How fast tilery is: each step on its own and whole processes, on made-up modules of growing size and on real files.

    python bench/ir.py [--sizes 1000 10000 100000 1000000] [--out docs/reports]

Writes speed.json, speed.md and speed.svg. Times are the best of a few runs on one machine at one time, so only ratios
within a report mean something; steps within this process are measured in CPU time, which other work on the machine does
not stretch as much. tileirdisasm, xDSL (XDSL_PYTHON names a Python that has it) and the corpus are used where found.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "bench")]

import oracle  # noqa: E402  # found only now
from modules import chain, chained, mixed, nested  # noqa: E402
from plot import line_plot  # noqa: E402
from processes import start_up, whole, xdsl_seconds  # noqa: E402

from tilery.bytecode.reader import read  # noqa: E402
from tilery.bytecode.writer import write  # noqa: E402
from tilery.cli.progress import progress  # noqa: E402
from tilery.ir import walk  # noqa: E402
from tilery.ops import Module  # noqa: E402
from tilery.passes import parse_pipeline, run_pipeline  # noqa: E402
from tilery.text.parse.parser import parse  # noqa: E402
from tilery.text.print.printer import show  # noqa: E402
from tilery.verifier.verify import verify  # noqa: E402

Made = TypeVar("Made")
CASES: dict[str, Callable[[int], Module]] = {"chain": chain, "mixed": mixed}
STEPS = ("decode", "verify", "print", "parse", "encode", "canonicalize")
NESTED = 10_000
XDSL_SIZE = 10_000
PASSES = parse_pipeline("canonicalize")


def best(prepare: Callable[[], Made], run: Callable[[Made], object], times: int) -> float:
    """The shortest of some runs in seconds, without what prepares each."""
    found = float("inf")
    for _ in range(times):
        given = prepare()
        gc.collect()
        start = time.process_time()
        made = run(given)
        found = min(found, time.process_time() - start)
        del given, made
    return found


def measure(name: str, module: Module) -> dict[str, Any]:
    """Operations per second of each step, and bytes of memory per operation."""
    data, text = write(module), show(module)
    count = sum(1 for _ in walk(read(data)))
    times = 5 if count <= 200_000 else 1
    seconds = {
        "decode": best(lambda: data, read, times),
        "verify": best(lambda: module, verify, times),
        "print": best(lambda: module, show, times),
        "parse": best(lambda: text, parse, times),
        "encode": best(lambda: module, write, times),
        "canonicalize": best(lambda: read(data), lambda m: run_pipeline(m, PASSES), min(times, 3)),
    }
    return {
        "case": name,
        "ops": count,
        "ops_per_second": {step: count / seconds[step] for step in STEPS},
        "bytes_per_op": memory(data) / count,
    }


def memory(data: bytes) -> int:
    """What a module takes once it is read."""
    read(data)  # what is made once is not counted
    gc.collect()
    tracemalloc.start()
    module = read(data)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del module
    return used


def corpus() -> dict[str, Any] | None:
    """All real files, one after the other."""
    files = [path.read_bytes() for path in sorted(oracle.CORPUS.glob("*.tileirbc"))] if oracle.CORPUS.is_dir() else []
    if not files:
        return None
    modules = [read(data) for data in files]
    texts = [show(module) for module in modules]
    count = sum(1 for module in modules for _ in walk(module))

    def each(items: list[Any], run: Callable[[Any], object]) -> float:
        return best(lambda: items, lambda given: [run(item) is None for item in given], 2)

    seconds = {
        "decode": each(files, read),
        "verify": each(modules, verify),
        "print": each(modules, show),
        "parse": each(texts, parse),
        "encode": each(modules, write),
    }
    rates = {step: count / taken for step, taken in seconds.items()}
    return {"case": "corpus", "files": len(files), "ops": count, "ops_per_second": rates}


def optimiser(name: str, module: Module) -> dict[str, Any]:
    """What `canonicalize` takes, and how often its rules fire."""
    data = write(module)
    del module
    again = read(data)
    count = sum(1 for _ in walk(again))
    fired = run_pipeline(again, PASSES).counts.total()
    del again
    times = 3 if count <= 200_000 else 1
    taken = best(lambda: read(data), lambda m: run_pipeline(m, PASSES), times)
    reading = best(lambda: data, read, times)
    return {"case": name, "ops": count, "fired": fired, "read_us": reading / count * 1e6, "opt_us": taken / count * 1e6}


# ---------------------------------------------------------------- the run


def run(sizes: list[int], times: int) -> dict[str, Any]:
    large = min(max(sizes), 100_000)
    medium = [n for n in sizes if 10_000 <= n <= 100_000]
    optimised = [(f"nothing fires, {n:,}", lambda n=n: chain(n)) for n in medium]
    optimised += [(f"a fifth fires, {n:,}", lambda n=n: chain(n, 5)) for n in medium]
    optimised += [(f"chained ifs, {n:,}", lambda n=n: chained(n)) for n in (NESTED // 4, NESTED)]
    optimised += [(f"nested ifs, {n:,}", lambda n=n: nested(n)) for n in (NESTED // 4, NESTED)]
    total = len(CASES) * (len(sizes) + 1) + len(optimised) + 3
    with progress(total, "measurements") as step:

        def done(value: Made) -> Made:
            step()
            return value

        return {
            "machine": f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}",
            "processes": [done(whole(f"{name}, {large:,}", make(large), times)) for name, make in CASES.items()],
            "start_up": done(start_up(mixed(20), 3 * times)),
            "steps": [done(measure(name, make(size))) for name, make in CASES.items() for size in sizes],
            "corpus": done(corpus()),
            "xdsl": done({"ops": XDSL_SIZE, "seconds": xdsl_seconds(XDSL_SIZE)}),
            "optimiser": [done(optimiser(name, make())) for name, make in optimised],
        }


# ---------------------------------------------------------------- the report


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)] + [""]


def thousands(rate: float | None) -> str:
    return "" if rate is None else f"{rate / 1e3:,.0f}"


def process_rows(found: dict[str, Any]) -> list[list[str]]:
    rows = []
    for row in found["processes"]:
        peer = row["seconds"].get("tileirdisasm")
        for name, taken in row["seconds"].items():
            ratios = [f"{t / p:.2f}" for t, p in zip(taken, peer)] if peer else ["", ""]
            rows.append([row["case"], name, f"{taken[0]:.2f}", ratios[0], f"{taken[1]:.2f}", ratios[1]])
    return rows


def report(found: dict[str, Any]) -> str:
    """The numbers of a run for people."""
    step_rows = []
    for row in [*found["steps"], *([found["corpus"]] if found["corpus"] else [])]:
        rates = [thousands(row["ops_per_second"].get(step)) for step in STEPS]
        size = f"{row['bytes_per_op']:.0f}" if "bytes_per_op" in row else ""
        step_rows.append([row["case"], f"{row['ops']:,}", *rates, size])
    xdsl = found["xdsl"]["seconds"]
    rate = xdsl if isinstance(xdsl, str) else f"{found['xdsl']['ops'] / xdsl:,.0f} operations a second of CPU time"
    opt_rows = [
        [r["case"], f"{r['ops']:,}", f"{r['fired']:,}", f"{r['read_us']:.2f}", f"{r['opt_us']:.2f}",
         f"{r['opt_us'] / r['read_us']:.1f}"]
        for r in found["optimiser"]
    ]  # fmt: skip
    return "\n".join(
        [
            "# Speed",
            "",
            f"`python bench/ir.py` on {found['machine']}; the best of a few runs each. The numbers are of one machine",
            "at one time: compare them with one another, not with those of another run.",
            "",
            "## Whole processes",
            "",
            "`tilery dis` reads bytecode, verifies and prints, as NVIDIA's C++ `tileirdisasm` does, whose time is 1.",
            "",
            *table(["module", "command", "seconds", "ratio", "CPU seconds", "ratio"], process_rows(found)),
            "Starting: "
            + ", ".join(
                f"{name} {taken[0] * 1000:.0f} ms, {taken[1] * 1000:.0f} ms of them CPU time"
                for name, taken in found["start_up"].items()
            )
            + ". On a busy machine only the CPU time says something.",
            "",
            "## Each step",
            "",
            "Thousands of operations per second of CPU time; the last column is the memory of a module in bytes per",
            "operation. `chain` is a chain of additions; `mixed` has loops, branches, views, constants and debug",
            "information; `corpus` is all real files, most of them small.",
            "",
            *table(["module", "operations", *STEPS, "bytes/op"], step_rows),
            "![operations per second by size](speed.svg)",
            "",
            f"xDSL parses a chain of {found['xdsl']['ops']:,} additions of its own dialect: {rate}.",
            "",
            "## The optimiser",
            "",
            "`canonicalize`, in microseconds per operation, against reading the same module's bytecode.",
            "",
            *table(["module", "operations", "rules fired", "reading", "canonicalize", "ratio"], opt_rows),
        ]
    )


def drawing(found: dict[str, Any]) -> str:
    series = {
        f"{step}": [(row["ops"], row["ops_per_second"][step]) for row in found["steps"] if row["case"] == "mixed"]
        for step in STEPS
    }
    return line_plot("Mixed modules", "operations in the module", "operations per second", series)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--times", type=int, default=7, help="how often each process is run")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "reports")
    args = parser.parse_args()
    found = run(sorted(args.sizes), args.times)
    text = report(found)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, content in (("json", json.dumps(found, indent=2) + "\n"), ("md", text), ("svg", drawing(found))):
        (args.out / f"speed.{name}").write_text(content, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
