"""Run hostile kernels on arrays between pages of memory that nothing may touch.

    python scripts/guard_pages.py [--count N] [--seconds S] [--seed S] [--jobs N] [--engine NAME] [--report FILE.md]

An access outside memory kills a worker, and each write beside an array changes bytes that are checked. The only
exception allowed is TileError. Needs Linux, and nothing but this checkout.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import time
import traceback
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import checkout
from support.hostile import guarded
from tilery.cli.progress import progress

BATCH = 50
"""Kernels per task."""
HOW = ("ended", "faulted", "refused")
Task = tuple[int, int, int, str]
"""The seed, the numbers of the first kernel and of the one after the last, and the engine."""


def run_batch(task: Task) -> tuple[Counter[str], list[str]]:
    """Run some kernels; return outcomes and findings."""
    seed, first, last, engine = task
    regions = (guarded.Region(), guarded.Region())
    outcomes: Counter[str] = Counter()
    findings = []
    for number in range(first, last):
        try:
            outcomes += guarded.exercise(seed, number, regions, engine)
        except Exception:  # whatever it is, it is a finding
            findings.append(f"kernel {number}: {traceback.format_exc(limit=-2).strip()}")
    return outcomes, findings


def run(args: argparse.Namespace) -> tuple[Counter[str], list[str]]:
    """Run all kernels, or as many as the time allows."""
    last = -(-args.count // guarded.LAUNCHES)
    tasks = [(args.seed, at, min(at + BATCH, last), args.engine) for at in reversed(range(0, last, BATCH))]
    deadline = time.monotonic() + (args.seconds or 1e9)
    outcomes: Counter[str] = Counter()
    findings: list[str] = []
    context = multiprocessing.get_context("spawn")
    with progress(len(tasks), "batches") as step:
        while tasks and time.monotonic() < deadline:
            running: dict[Future[tuple[Counter[str], list[str]]], Task] = {}
            try:
                with ProcessPoolExecutor(args.jobs, context) as pool:
                    while running or (tasks and time.monotonic() < deadline):
                        while tasks and len(running) < 2 * args.jobs and time.monotonic() < deadline:
                            task = tasks.pop()
                            running[pool.submit(run_batch, task)] = task
                        for future in wait(running, return_when=FIRST_COMPLETED).done:
                            found, wrong = future.result()
                            del running[future]
                            outcomes += found
                            findings += wrong
                            step()
            except BrokenProcessPool:
                findings += [f"a worker died in one of the kernels {a} to {b - 1}" for _, a, b, _ in running.values()]
    return outcomes, findings


def page(args: argparse.Namespace, outcomes: Counter[str], findings: list[str], seconds: float) -> str:
    """Return the report."""
    launches = sum(outcomes.values())
    options = f"--count {args.count} --seed {args.seed} --jobs {args.jobs}"
    options += f" --seconds {args.seconds:g}" if args.seconds else ""
    options += f" --engine {args.engine}" if args.engine != "reference" else ""
    text = (
        f"It made {launches:,} launches of {launches // guarded.LAUNCHES:,} random kernels on the engine "
        f"`{args.engine}`. The kernels load, store, and use atomics and compare-and-swap through offsets, forged "
        "addresses, masks and the three kinds of views, with numbers that are likely to be at an edge. On one side, "
        "each array touches a page that may not be accessed. Arrays are plain, strided, overlapping, read-only (for "
        "the processor too), or read-only inside a writable array. After each launch, every byte beside the arrays, "
        "in the gaps of strided ones and in read-only ones must be the same as before."
    )
    rows = sorted({name.partition(":")[0] for name in outcomes})
    lines = [
        "# Guard pages",
        "",
        f"`python scripts/guard_pages.py {options}` wrote this page (CPython {platform.python_version()}, "
        f"{seconds:.0f} s).",
        "",
        checkout.fill(text),
        "",
        f"| arrays | {' | '.join(HOW)} |",
        "|---|---|---|---|",
        *(
            f"| {row} | "
            + " | ".join(f"{outcomes[f'{row}: {how}']:,}" for how in ("ended", "faulted", "refused"))
            + " |"
            for row in rows
        ),
        "",
        "## Findings",
        "",
        *([f"* {finding}" for finding in findings] or ["None."]),
        "",
        "## Not measured",
        "",
        "Reads beside an array inside its own pages are not detected. Grids have one tile block, views one dimension.",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="launches")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--engine", default="reference")
    parser.add_argument("--report", type=Path, help="write a report in Markdown")
    args = parser.parse_args()
    started = time.monotonic()
    outcomes, findings = run(args)
    checkout.publish(page(args, outcomes, findings, time.monotonic() - started), args.report)
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
