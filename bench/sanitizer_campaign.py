"""Run the sanitizer on random modules, which have no fault, and write docs/reports/lab/sanitizer_campaign.md.

    python bench/sanitizer_campaign.py [--first 0] [--seeds 3900] [--checks all]

Every report would be a false one, of the sanitizer or of the generator.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from support.contract import arguments, random_case  # noqa: E402  # found only now
from tilery.engines.reference.launch import ReferenceLoaded  # noqa: E402  # found only now
from tilery.sanitize import Sanitizer  # noqa: E402  # found only now
from tilery.smith.contract import ALIGN  # noqa: E402  # found only now

PAGE = ROOT / "docs" / "reports" / "lab" / "sanitizer_campaign.md"


def run(seeds: range, checks: str) -> tuple[Counter[str], list[str]]:
    """Launch all kernels of the modules; what was looked at, and every report."""
    seen: Counter[str] = Counter()
    found: list[str] = []
    for seed in seeds:
        module, contract = random_case(seed)
        seen["modules"] += 1
        watched = Sanitizer(checks, together=True)
        for number, launch in enumerate(contract.launches):
            kernel = ReferenceLoaded(module).kernel(launch.entry)
            given = [aligned(value) for value in arguments(launch, seed + number)]
            stats = kernel.launch(launch.grid, given, output=lambda text: None, sanitize=watched)
            seen["launches"] += 1
            seen["operations"] += stats.operations
        found += [f"seed {seed}: {report.check}: {report.message}" for report in watched.reports]
    return seen, found


def aligned(value: Any) -> Any:
    """Copy an array to memory with the alignment that a contract promises."""
    if not isinstance(value, np.ndarray):
        return value
    raw = np.zeros(value.nbytes + ALIGN, np.uint8)
    start = -raw.ctypes.data % ALIGN
    copy = raw[start : start + value.nbytes].view(value.dtype)
    copy[:] = value
    return copy


def page(seen: Counter[str], found: list[str], checks: str, seeds: range) -> str:
    lines = [
        "# Random modules under the sanitizer",
        "",
        "`bench/sanitizer_campaign.py` wrote this page. The modules are random and keep their contract: no bad",
        "access, no broken promise, no race, and nothing undefined that matters. So every report would be a false one.",
        f"The seeds are {seeds[0]:,} to {seeds[-1]:,}; the launches of a module are one execution, in one stream.",
        "",
        "| modules | launches | operations of tile blocks | checks | reports |",
        "|--:|--:|--:|---|--:|",
        f"| {seen['modules']:,} | {seen['launches']:,} | {seen['operations']:,} | `{checks}` | {len(found)} |",
        "",
        *[f"* {line}" for line in found],
        *([""] if found else []),
        "## Not measured",
        "",
        "Whether faults are found: that is what the catalogue in `tests/sanitize` is for. Other schedules.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=3900)
    parser.add_argument("--checks", default="all")
    args = parser.parse_args()
    seeds = range(args.first, args.first + args.seeds)
    seen, found = run(seeds, args.checks)
    text = page(seen, found, args.checks, seeds)
    PAGE.write_text(text, "utf-8")
    sys.stdout.write(text)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
