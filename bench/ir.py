"""Measure the speed of each step and of whole processes, on synthetic modules of growing size and on real files.

    python bench/ir.py [--sizes 1000 10000 100000 1000000] [--out docs/reports]
    python bench/ir.py --against COMMIT [--only canonicalize] [--rounds 5] [--out docs/reports]
    python bench/ir.py --redraw [--out docs/reports]

Writes speed.json, speed.md and speed.svg; with --redraw, the last two from an existing speed.json; with --against, to
which it adds a comparison of passes and steps with those of a commit, by instructions that valgrind counts and by time
in processes that take turns. With --only, it prints the comparison and writes nothing. Times are the best
of a few runs on one machine, so only ratios within a report are meaningful. Steps inside this process are measured in
CPU time. tileirdisasm, the corpus and xDSL (XDSL_PYTHON names a Python that has it) are used if they are found.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "bench")]

from counting.against import compare, rows_of  # noqa: E402  # found only now
from modules import chain, chained, mixed, nested  # noqa: E402
from plot import line_plot  # noqa: E402
from processes import start_up, whole, xdsl_seconds  # noqa: E402
from support import oracle  # noqa: E402
from tilery.api import dumps  # noqa: E402
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
STEPS = ("decode", "verify", "print", "parse", "encode", "verify and encode", "canonicalize")
NESTED = 10_000
XDSL_SIZE = 10_000
PASSES = parse_pipeline("canonicalize")


def best(prepare: Callable[[], Made], run: Callable[[Made], object], times: int) -> float:
    """Return the CPU seconds of the fastest run, not counting its preparation."""
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
    """Measure the operations per second of each step, and the bytes of memory per operation."""
    data, text = write(module), show(module)
    count = sum(1 for _ in walk(read(data)))
    times = 5 if count <= 200_000 else 1
    seconds = {
        "decode": best(lambda: data, read, times),
        "verify": best(lambda: module, verify, times),
        "print": best(lambda: module, show, times),
        "parse": best(lambda: text, parse, times),
        "encode": best(lambda: module, write, times),
        "verify and encode": best(lambda: module, dumps, times),
        "canonicalize": best(lambda: read(data), lambda m: run_pipeline(m, PASSES), min(times, 3)),
    }
    return {
        "case": name,
        "ops": count,
        "ops_per_second": {step: count / seconds[step] for step in STEPS},
        "bytes_per_op": memory(data) / count,
    }


def memory(data: bytes) -> int:
    """Return the memory that a module takes once it is read."""
    read(data)  # generates code that is kept; not counted
    gc.collect()
    tracemalloc.start()
    module = read(data)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del module
    return used


def corpus() -> dict[str, Any] | None:
    """Measure each step over all real files, or return None if there are none."""
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
        "verify and encode": each(modules, dumps),
    }
    rates = {step: count / taken for step, taken in seconds.items()}
    return {"case": "corpus", "files": len(files), "ops": count, "ops_per_second": rates}


def optimiser(name: str, module: Module) -> dict[str, Any]:
    """Measure `canonicalize` against reading, and count how often its rules fire."""
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
    optimised = [(f"nothing fires, {n:,}", partial(chain, n)) for n in medium]
    optimised += [(f"a fifth fires, {n:,}", partial(chain, n, 5)) for n in medium]
    optimised += [(f"chained ifs, {n:,}", partial(chained, n)) for n in (NESTED // 4, NESTED)]
    optimised += [(f"nested ifs, {n:,}", partial(nested, n)) for n in (NESTED // 4, NESTED)]
    total = len(CASES) * (len(sizes) + 1) + len(optimised) + 3
    with progress(total, "measurements") as step:

        def done(value: Made) -> Made:
            step()
            return value

        return {
            "machine": f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}",
            "load": os.getloadavg()[0] / (os.cpu_count() or 1),
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


def step_rows(found: dict[str, Any]) -> list[list[str]]:
    rows = []
    for row in [*found["steps"], *([found["corpus"]] if found["corpus"] else [])]:
        rates = [thousands(row["ops_per_second"].get(step)) for step in STEPS]
        size = f"{row['bytes_per_op']:.0f}" if "bytes_per_op" in row else ""
        rows.append([row["case"], f"{row['ops']:,}", *rates, size])
    return rows


def optimiser_rows(found: dict[str, Any]) -> list[list[str]]:
    return [
        [r["case"], f"{r['ops']:,}", f"{r['fired']:,}", f"{r['read_us']:.2f}", f"{r['opt_us']:.2f}",
         f"{r['opt_us'] / r['read_us']:.1f}"]
        for r in found["optimiser"]
    ]  # fmt: skip


def start_up_text(found: dict[str, Any]) -> str:
    parts = [f"{name} takes {t[0] * 1000:.0f} ms ({t[1] * 1000:.0f} ms CPU)" for name, t in found["start_up"].items()]
    return f"Start-up: {', '.join(parts)}."


def introduction(found: dict[str, Any]) -> list[str]:
    load = f" The load average at the start was {found['load']:.1f} per core." if "load" in found else ""
    return [
        f"`python bench/ir.py` wrote this page on {found['machine']}. Each time is the best of a few runs.{load}",
        "The numbers are from one machine: compare them with one another, not with those of another run.",
    ]


def report(found: dict[str, Any]) -> str:
    """Render the numbers of a run as a page."""
    xdsl = found["xdsl"]["seconds"]
    rate = xdsl if isinstance(xdsl, str) else f"{found['xdsl']['ops'] / xdsl:,.0f} operations per second of CPU time"
    return "\n".join(
        [
            "# Speed",
            "",
            *introduction(found),
            "",
            "## Whole processes",
            "",
            "`tilery dis` reads, verifies and prints bytecode, as NVIDIA's C++ `tileirdisasm` does, whose time is 1.",
            "",
            *table(["module", "command", "seconds", "ratio", "CPU seconds", "ratio"], process_rows(found)),
            start_up_text(found),
            "",
            "## Each step",
            "",
            *STEPS_TEXT,
            "",
            *table(["module", "operations", *STEPS, "bytes/op"], step_rows(found)),
            "![operations per second by size](speed.svg)",
            "",
            f"For comparison, xDSL parses a chain of {found['xdsl']['ops']:,} additions of its own dialect at {rate}.",
            "",
            "## The optimiser",
            "",
            "`canonicalize`, in microseconds per operation, against reading the bytecode of the same module.",
            "",
            *table(["module", "operations", "rules fired", "reading", "canonicalize", "ratio"], optimiser_rows(found)),
            *(against_text(found["against"]) if "against" in found else []),
            *NOT_MEASURED,
        ]
    )


def against_text(found: dict[str, Any]) -> list[str]:
    """Render the comparison with an earlier commit."""
    head = ["step", "module", "million instructions", "ratio", "CPU time, ratio"]
    load = f"with a load average of {found['load']:.1f} per core."
    times = f"Times are the best of {found['rounds']} pairs of processes that took turns, {load}"
    if not found["rounds"]:
        times = "Times were not measured."
    return [
        "## Against an earlier commit",
        "",
        f"`python bench/ir.py --against {found['before']}` compared commit {found['now']} with {found['before']}.",
        *AGAINST_TEXT,
        times,
        "",
        *table(head, rows_of(found)),
    ]


AGAINST_TEXT = """\
Ratios are of the later one to the earlier one: below 1 is faster. Instructions are those in user mode of one run, as
valgrind counts them in a process that has run the step before. Repeated, they differ by less than a hundredth, while
times differ by several per cent. Modules have about 2,000 operations.""".splitlines()

STEPS_TEXT = """\
Thousands of operations per second of CPU time. The last column is the memory that a module takes, in bytes per
operation. `chain` is a chain of additions; `mixed` has loops, branches, views, constants and debug information;
`corpus` is all real files, most of which are small.""".splitlines()

NOT_MEASURED = """\
## Not measured

Operations per second of passes other than `canonicalize`; `dump`, `diff` and `check`; other machines, and Python
versions other than the one above. Memory is measured for reading only.""".splitlines()


def drawing(found: dict[str, Any]) -> str:
    series = {
        f"{step}": [(row["ops"], row["ops_per_second"][step]) for row in found["steps"] if row["case"] == "mixed"]
        for step in STEPS
        if step in found["steps"][0]["ops_per_second"]
    }
    return line_plot("Mixed modules", "operations in the module", "operations per second", series)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--times", type=int, default=7, help="how often each process is run")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "reports")
    parser.add_argument("--redraw", action="store_true", help="rewrite the page from speed.json, without measuring")
    parser.add_argument("--against", metavar="COMMIT", help="compare with a commit, and add that to speed.json")
    parser.add_argument("--only", default="", metavar="TEXT", help="compare only rows whose name contains this")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of processes for the times of a comparison")
    args = parser.parse_args()
    if args.against and args.only:
        print("\n".join(against_text(compare(args.against, args.rounds, args.only))))
        return 0
    args.out.mkdir(parents=True, exist_ok=True)
    numbers = args.out / "speed.json"
    found = json.loads(numbers.read_text("utf-8")) if numbers.exists() else {}
    if args.against:
        found["against"] = compare(args.against, args.rounds)
    if not found.get("steps") or not (args.against or args.redraw):
        found |= run(sorted(args.sizes), args.times)
    numbers.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    text = report(found)
    (args.out / "speed.md").write_text(text + "\n", encoding="utf-8")
    (args.out / "speed.svg").write_text(drawing(found), encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
