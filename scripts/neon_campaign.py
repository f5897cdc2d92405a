"""Compare kernels that engine cpu compiles for Arm (NEON) with the reference engine, in an emulator.

    python scripts/neon_campaign.py [--modules N] [--shaped N] [--seed S] [--results FILE] [--seconds N]
                                    [--report docs/reports/lab/neon.md]

Needs Debian's gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user. Every launch is compiled with `exact`, linked
with a small program, and run in QEMU's user mode; memory and globals must be the same bytes as after the reference
engine. Modules are those of `support.contract.random_case`, and `--shaped` counts kernels of `hand_shaped.py`. Results
are kept in FILE, a line per case, and a case that is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import checkout
import tilery
from parts.shaped import launch as shaped
from parts.shaped.memory import Slots
from support.contract import arguments, random_case
from support.emulated import COMPILER, EMULATOR, Emulator, Skipped
from tilery.engines.common.limits import Limits
from tilery.engines.reference.launch import ReferenceLoaded

SECONDS = 20.0
"""How long the reference engine may take."""
SAME, FAULTS, DIFFERS, OTHER, CRASHED = "same", "both fault", "differ", "only one faults", "died"
KINDS = {"modules": "random modules", "shaped": "hand-shaped kernels"}
WRONG = (DIFFERS, OTHER, CRASHED)
Outcome = tuple[Counter[str], str]
"""How the launches of a case ended, and details of one that is wrong."""


class Cases:
    """Runs cases by their numbers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def modules(self, number: int) -> Outcome:
        module, contract = random_case(number)
        found: Counter[str] = Counter()
        detail, emulator = "", Emulator(self.folder)
        for at, launch in enumerate(contract.launches):
            left: list[list[bytes]] = []
            errors: list[str | None] = []

            def here(loaded: ReferenceLoaded, args: list[Any], launch: Any = launch) -> str | None:
                try:
                    kernel = loaded.kernel(launch.entry)
                    kernel.launch(launch.grid, args, limits=Limits(seconds=SECONDS), output=lambda _: None)
                except tilery.TileError as error:
                    return error.message
                return None

            def there(loaded: ReferenceLoaded, args: list[Any], launch: Any = launch) -> str | None:
                return emulator.launch(loaded, launch.entry, launch.grid, args)

            try:
                for way in (there, here):
                    loaded, args = ReferenceLoaded(module), arguments(launch, number + at)
                    errors.append(way(loaded, args))
                    memory = [a.tobytes() for a in args if isinstance(a, np.ndarray)]
                    left.append(memory + [loaded.content(o.sym_name) for o in module.globals])
            except Skipped as why:
                found[str(why)] += 1
                continue
            outcome = judge(errors, left)
            found[outcome] += 1
            detail = detail or f"{launch.entry}: {errors}" * (outcome in WRONG)
        return found, detail

    def shaped(self, number: int) -> Outcome:
        _, case = shaped.make(number)
        module = tilery.parse(case.text)
        if tilery.verify(module):
            return Counter({"illegal": 1}), ""
        slots, errors, left = Slots(), [], []
        try:
            for which in ("there", "here"):
                slots.place(case.regions, shaped.way_of(number).before)
                loaded, args = ReferenceLoaded(module), slots.arguments(case.args)
                error: str | None = None
                if which == "there":
                    error = Emulator(self.folder).launch(loaded, None, case.grid, args)
                else:
                    try:
                        loaded.kernel(None).launch(
                            case.grid, args, limits=Limits(seconds=SECONDS), output=lambda _: None
                        )
                    except tilery.TileError as raised:
                        error = raised.message
                errors.append(error)
                left.append(slots.content())
        except Skipped as why:
            return Counter({str(why): 1}), ""
        outcome = judge(errors, left)
        return Counter({outcome: 1}), f"{errors}" * (outcome in WRONG)


def judge(errors: list[str | None], left: list[Any]) -> str:
    """Return how two launches compare."""
    if (errors[0] is None) != (errors[1] is None):
        return OTHER
    if errors[0] is not None:
        return FAULTS
    return SAME if left[0] == left[1] else DIFFERS


def run(function: Callable[[int], Outcome], number: int) -> Outcome:
    """Run a case; whatever happens is an outcome."""
    try:
        return function(number)
    except Exception:  # whatever it is, it is a finding
        return Counter({CRASHED: 1}), traceback.format_exc(limit=-3).strip()[-400:]


def page(lines: list[dict[str, Any]]) -> str:
    """Render the results."""
    rows: dict[str, Counter[str]] = {}
    cases: Counter[str] = Counter()
    for line in lines:
        title = KINDS[line["kind"]]
        rows.setdefault(title, Counter()).update(line["found"])
        cases[title] += 1
    columns = [SAME, FAULTS, *WRONG]
    others = sorted({name for row in rows.values() for name in row} - set(columns))
    text = ["# Code for Arm against the reference engine", "", checkout.fill(INTRODUCTION.format(*tools())), ""]
    text += [f"| | cases | launches | {' | '.join(columns)} | not run |", "|---|" + "--:|" * (len(columns) + 3)]
    for title, row in rows.items():
        counts = " | ".join(f"{row[name]:,}" for name in columns)
        text.append(
            f"| {title} | {cases[title]:,} | {row.total():,} | {counts} | {sum(row[name] for name in others):,} |"
        )
    total = Counter({name: sum(row[name] for row in rows.values()) for name in others})
    text += ["", "## Not run", "", *(f"* {n:,} launches: {name}" for name, n in total.most_common()), ""]
    wrong = [f"* {line['kind']} {line['number']}: {line['detail']}" for line in lines if line["detail"]]
    text += ["## Findings", "", *(wrong or ["None."]), "", "## Not measured", "", checkout.fill(NOT_MEASURED)]
    return "\n".join(text)


def tools() -> list[str]:
    """Return the first lines that the compiler and the emulator say about themselves."""
    return [
        subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
        for tool in (COMPILER, EMULATOR)
    ]


INTRODUCTION = (
    "`scripts/neon_campaign.py` wrote this page. Kernels are compiled for a Neoverse N1, with `exact`, linked with a "
    "small program ({}) and run by {}. Memory and globals must be the same bytes as after the reference engine. Arrays "
    "end right before a page that may not be accessed. Tile blocks run one by one."
)
NOT_MEASURED = (
    "A processor of Arm itself, its speed, several threads, the code that shares tile blocks between threads, and "
    "vectors longer than 16 bytes (SVE), which engine cpu does not use."
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0, help="the first number")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    lines: list[dict[str, Any]] = []
    if args.results is not None and args.results.exists():
        lines = [json.loads(line) for line in args.results.read_text().splitlines()]
    done = {(line["kind"], line["number"]) for line in lines}
    end = time.monotonic() + args.seconds
    cases = [(each, n) for each in KINDS for n in range(args.seed, args.seed + getattr(args, each))]
    for kind, number in cases:
        if (kind, number) in done or time.monotonic() > end:
            continue
        with tempfile.TemporaryDirectory() as folder:
            found, detail = run(getattr(Cases(Path(folder)), kind), number)
        lines.append({"kind": kind, "number": number, "found": found, "detail": detail})
        if args.results is not None:
            with args.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(lines[-1]) + "\n")
        if detail:
            print(kind, number, detail, file=sys.stderr, flush=True)
    checkout.publish(page(lines), args.report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
