"""Measure what checks of the sanitizer cost on engine cpu, on six cuTile kernels, and write a page.

    python bench/checked.py [--rounds 15] [--quick] [--report docs/reports/lab/checked.md]

Times are of the processor, on one thread, so that other work on the machine matters less; each is the best of several
rounds that take turns. A launch that the instrumented code could not
clear would be run by the reference engine: that is counted, and must not happen here.
"""

from __future__ import annotations

import argparse
import platform
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tilery
from cases import HERE, Case, Sizes, cases
from run import aligned
from run_page import geomean
from tilery.engines.reference.launch import ReferenceKernel

FULL = Sizes(heads=16)
"""The sizes of `bench/run.py`, but for the heads: the kernel promises that their number is a multiple of 16."""
QUICK = Sizes(flat=1 << 20, rows=256, edge=512, heads=16, length=256)
WAYS = {
    "bounds": "bounds",
    "bounds, uninit, undefined": "bounds,uninit,undefined",
    "and promise": "bounds,uninit,undefined,promise",
    "and nan": "bounds,uninit,undefined,promise,nan",
}
SLOW = 1
"""Rounds of the reference engine."""


def milliseconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return (time.process_time() - start) * 1e3


def measure(case: Case, rounds: int) -> dict[str, float]:
    """Return the best time of a kernel without checks, with each set of them, and on the reference engine."""
    case.args[:] = [aligned(x) for x in case.args]
    module = tilery.parse((HERE / "kernels" / f"{case.name}.mlir").read_text())
    fast, slow = tilery.compile(module, engine="cpu"), tilery.compile(module)

    def on(kernel: Any, checks: str | None) -> Callable[[], object]:
        return lambda: kernel.launch(case.grid, case.args, convention="cutile", sanitize=checks, threads=1)

    calls = {"plain": on(fast, None)} | {name: on(fast, checks) for name, checks in WAYS.items()}
    for name, call in calls.items():
        case.args[-1][...] = 0
        call()
        case.check()
        assert not Counted.launches, f"{case.name}: the reference engine ran the launch with {name}"
    best: dict[str, float] = {}
    for _ in range(rounds):
        for name, call in calls.items():
            best[name] = min(milliseconds(call), best.get(name, 1e9))
    reference = on(slow, WAYS["bounds, uninit, undefined"])
    best["reference"] = min(milliseconds(reference) for _ in range(SLOW))
    Counted.launches = 0
    return best


class Counted:
    """Counts launches of the reference engine."""

    launches = 0

    @classmethod
    def install(cls) -> None:
        run = ReferenceKernel.run

        def counted(self: ReferenceKernel, launch: Any) -> Any:
            cls.launches += 1
            return run(self, launch)

        ReferenceKernel.run = counted  # type: ignore[method-assign]  # to count


def page(found: dict[str, dict[str, float]], args: argparse.Namespace) -> str:
    """Render the times."""
    names = list(WAYS)
    lines = [
        "# Checks of the sanitizer on engine cpu",
        "",
        textwrap.fill(
            f"`python bench/checked.py` wrote this page: CPython {platform.python_version()}, time of the processor on "
            f"one thread, best of {args.rounds} rounds that take turns. Milliseconds without checks; then how many "
            "times as long a launch takes with checks, and with `bounds,uninit,undefined` on the reference engine.",
            120,
        ),
        "",
        f"| kernel | ms | {' | '.join(names)} | reference engine |",
        "|---|--:|" + "--:|" * (len(names) + 1),
    ]
    for kernel, times in found.items():
        ratios = [times[name] / times["plain"] for name in [*names, "reference"]]
        lines.append(f"| {kernel} | {times['plain']:.2f} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |")
    means = [geomean([times[name] / times["plain"] for times in found.values()]) for name in [*names, "reference"]]
    lines.append(f"| geometric mean | | {' | '.join(f'{mean:.2f}' for mean in means)} |")
    return "\n".join([*lines, "", "## Not measured", "", NOT_MEASURED])


NOT_MEASURED = """\
The time to compile a kernel with checks, which happens once for each set of checks. Launches with something to report:
the reference engine runs them after the instrumented code has stopped. Kernels that update arrays in place, which are
copied before the launch. Several threads, and other processors."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    Counted.install()
    found = {case.name: measure(case, args.rounds) for case in cases(QUICK if args.quick else FULL)}
    text = page(found, args) + "\n"
    if args.report is not None:
        args.report.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
