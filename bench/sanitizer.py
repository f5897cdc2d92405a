"""Measure what each check of the sanitizer costs on six cuTile kernels, and write docs/reports/sanitizer.md.

    python bench/sanitizer.py [--rounds 5] [--quick] [--before SRC] [--out docs/reports]
    python bench/sanitizer.py --redraw [--before SRC] [--out docs/reports]

Times are of the processor, as ratios to a launch without the sanitizer in the same process; rounds take turns, and each
is the best of several. SRC is the `src` folder of a checkout from before the sanitizer: its launches without any check
are compared with ours, in processes that take turns. With --redraw, the page is made from sanitizer.json; SRC then adds
the instructions that a launch takes, which valgrind counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import tilery
from cases import HERE, Case, Sizes, cases
from counting.instructions import count_instructions
from run_page import geomean

NONE = "no check"
SMALL = Sizes(flat=1 << 22, rows=1024, edge=512, heads=16, length=256)
"""Sizes that keep what the kernels promise about them."""
TINY = Sizes(flat=1 << 18, rows=64, edge=256, heads=16, length=128)


def kernel_of(case: Case) -> Any:
    return tilery.compile(tilery.parse((HERE / "kernels" / f"{case.name}.mlir").read_text()))


def timed(kernel: Any, case: Case, checks: str | None) -> float:
    """Milliseconds of processor time of one launch: other processes matter less than for the time on a clock."""
    watched: dict[str, Any] = {}
    if checks is not None:
        from tilery.sanitize import Sanitizer  # an earlier source has none

        watched["sanitize"] = Sanitizer(checks)
    start = time.process_time()
    kernel.launch(case.grid, case.args, convention="cutile", **watched)
    taken = (time.process_time() - start) * 1e3
    if checks is not None:
        faults = watched["sanitize"].reports.faults
        assert not faults, faults[0].message
    return taken


def measure(case: Case, rounds: int) -> dict[str, float]:
    """The best times of a kernel: without the sanitizer, with each check, and with all."""
    from tilery.sanitize import CHECKS

    kernel = kernel_of(case)
    ways: dict[str, str | None] = {NONE: None, **{name: name for name in CHECKS}, "all": "all"}
    found: dict[str, float] = {}
    for _ in range(rounds):
        for name, checks in ways.items():
            taken = timed(kernel, case, checks)
            found[name] = min(taken, found.get(name, taken))
    return found


def off(sizes: Sizes, before: Path, rounds: int) -> dict[str, float]:
    """For each kernel how long a launch without checks takes now, relative to the earlier source."""
    best: dict[str, dict[str, float]] = {}
    here = Path(tilery.__file__).parents[1]
    for _ in range(rounds):
        for source in (before, here):
            environment = {**os.environ, "PYTHONPATH": str(source), "SIZES": json.dumps(sizes.as_list())}
            command = [sys.executable, __file__, "--plain"]
            done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
            for name, ms in json.loads(done.stdout).items():
                times = best.setdefault(str(source), {})
                times[name] = min(ms, times.get(name, ms))
    return {name: best[str(here)][name] / ms for name, ms in best[str(before)].items()}


def plain() -> dict[str, float]:
    """The best of a few launches of each kernel without any check, with whatever source is on the path."""
    sizes = Sizes(*json.loads(os.environ["SIZES"]))
    found = {}
    for case in cases(sizes):
        kernel = kernel_of(case)
        found[case.name] = min(timed(kernel, case, None) for _ in range(7))
    return found


def instructions(sizes: Sizes, before: Path) -> dict[str, float]:
    """For each kernel the instructions of a launch without checks, relative to the earlier source: two launches more in
    a process, under valgrind."""
    here = Path(tilery.__file__).parents[1]

    def count(source: Path, name: str, launches: int) -> int:
        environment = {**os.environ, "PYTHONPATH": str(source), "SIZES": json.dumps(sizes.as_list())}
        return count_instructions([sys.executable, __file__, "--launch", name, str(launches)], environment)

    def ratio(name: str) -> float:
        taken = [count(source, name, 3) - count(source, name, 1) for source in (here, before)]
        return taken[0] / taken[1]

    names = [case.name for case in cases(sizes)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(names, pool.map(ratio, names)))


def page(found: dict[str, Any]) -> str:
    """Render the numbers of a run as a page."""
    results = found["ms"]
    facts = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    lines = [
        "# What the sanitizer costs",
        "",
        f"`python bench/sanitizer.py` wrote this page ({facts}; {found['cores']} cores,",
        f"load average {found['load']:.1f} per core at the start). The kernels are those of [the page on",
        "speed](run.md). A cell is the processor time of a launch with a check over that of one without the sanitizer,",
        "each the best of several rounds that take turns. Hints are not part of `all`. No launch has a fault.",
        "",
        "| check | " + " | ".join(results) + " | geometric mean |",
        "|---|" + "--:|" * (len(results) + 1),
    ]
    for name in [each for each in next(iter(results.values())) if each != NONE]:
        ratios = [row[name] / row[NONE] for row in results.values()]
        lines.append(f"| `{name}` | " + " | ".join(f"{r:.2f}" for r in ratios) + f" | {geomean(ratios):.2f} |")
    for name, title in OFF.items():
        if by_kernel := found.get(name):
            ratios = list(by_kernel.values())
            lines += [
                "",
                title,
                "",
                "| " + " | ".join(by_kernel) + " | geometric mean |",
                "|" + "--:|" * (len(ratios) + 1),
                "| " + " | ".join(f"{r:.3f}" for r in ratios) + f" | {geomean(ratios):.3f} |",
            ]
    left = [] if found.get("off") else ["", *NO_BEFORE]
    return "\n".join([*lines, "", *NOT_MEASURED, *left])


OFF = {
    "off": "Without the sanitizer, the processor time of a launch over that of the source before it had a sanitizer:",
    "instructions": (
        "Times of short launches differ by several per cent from run to run. Instructions do not; the same ratios:"
    ),
}
"""Measures of launches without the sanitizer, and the sentence before each table."""
NOT_MEASURED = """\
## Not measured

Kernels with faults, whose reports take time of their own; kernels with undefined values, for which `uninit` has to keep
shadows (these six have none, so the row shows what looking for them costs); memory; and the race detector over many
schedules.""".splitlines()
NO_BEFORE = """\
This run did not compare launches without any check with a source from before the sanitizer.""".splitlines()


def run(args: argparse.Namespace) -> dict[str, Any]:
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0] / cores
    sizes = TINY if args.quick else SMALL
    results = {case.name: measure(case, args.rounds) for case in cases(sizes)}
    versions = {"python": platform.python_version(), "numpy": np.__version__}
    compared = {} if args.before is None else off(sizes, args.before.resolve(), args.rounds)
    return {"versions": versions, "cores": cores, "load": load, "ms": results, "off": compared}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small arrays, to see that it works")
    parser.add_argument("--before", type=Path, metavar="SRC")
    parser.add_argument("--out", type=Path, help="folder for sanitizer.json and sanitizer.md")
    parser.add_argument("--redraw", action="store_true", help="rewrite the page from sanitizer.json, without measuring")
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--launch", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.launch:
        (case,) = (each for each in cases(Sizes(*json.loads(os.environ["SIZES"]))) if each.name == args.launch[0])
        kernel = kernel_of(case)
        for _ in range(int(args.launch[1])):
            kernel.launch(case.grid, case.args, convention="cutile")
        return 0
    if args.plain:
        print(json.dumps(plain()))
        return 0
    numbers = args.out / "sanitizer.json" if args.out else None
    if args.redraw:
        if numbers is None:
            parser.error("--redraw needs --out")
        found = json.loads(numbers.read_text("utf-8"))
        if args.before:
            found["instructions"] = instructions(SMALL, args.before.resolve())
    else:
        found = run(args)
    text = page(found)
    print(text)
    if args.out and numbers:
        numbers.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        (args.out / "sanitizer.md").write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
