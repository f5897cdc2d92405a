"""Compare the loop IR of engine cpu with the reference engine, before LLVM is involved.

    python scripts/loops_campaign.py --modules 3000 [--mutants N] [--shaped N] [--checked N] [--seed S]
                                     [--passes NAME,... | all] [--results FILE] [--seconds N] [--report FILE.md]

Every kernel is lowered to loop IR, which is verified and interpreted. Memory, globals and printed text must be the same
bits as on the reference engine; after an error, the operation must be the same. Modules are those of
`support.contract.random_case`; mutants have one or two changes and are still legal; `--shaped` counts kernels of
`hand_shaped.py`. With `--passes`, these passes of `tilery.engines.cpu.passes` run before, one after the other, and the
kernel is verified after each.

`--checked` counts mutants that are instrumented with checks of the sanitizer: wherever the sanitizer reports something
on the reference engine, the instrumented kernel must end with a fault. A fault without a report is a false alarm.

A case depends on its kind and number alone. Results are kept in FILE, a line per case, and a case that is there is not
run again. Seeds of `--shaped` from 1,000,000,000 on are held out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import checkout
import tilery
from parts.cpu_cases import FAMILY, RACES, SAME, SLOW, judge, races
from parts.shaped import launch as shaped
from parts.shaped.memory import Slots
from support.contract import arguments, random_case
from support.loops import Pass, load
from support.mutation import mutate
from tilery.analysis.fingerprint import fingerprint
from tilery.cli.progress import progress
from tilery.engines.common.limits import Limits
from tilery.engines.cpu.abi import NotLowered, Specialisation
from tilery.engines.cpu.lower.checks import CHECKS
from tilery.engines.cpu.native.targets import TARGETS
from tilery.engines.cpu.passes import pipeline
from tilery.engines.cpu.passes.shadow import shadow
from tilery.engines.registry import load_engine
from tilery.sanitize import Sanitizer

SECONDS = 20.0
"""How long a launch may take."""
NOT_LOWERED, ILLEGAL, CRASHED = "not lowered", "illegal", "crashed"
MISSED, FALSE_ALARM = "missed", "false alarm"
FINE = (SAME, RACES, SLOW, NOT_LOWERED, ILLEGAL, FALSE_ALARM)
TITLES = {
    "modules": "random modules",
    "mutants": "mutants",
    "shaped": "hand-shaped kernels",
    "checked": "instrumented kernels",
}
KINDS = tuple(TITLES)
HELD_OUT = 1_000_000_000
"""The first seed of hand-shaped kernels that only a report uses."""
Left = tuple[str, list[bytes], str]
Outcome = tuple[str, str]
"""How a case ended, and details."""


class Ways:
    """How the launches of a case ended."""

    def __init__(self, passes: Sequence[Pass]) -> None:
        self.passes = passes
        self.launches = 0

    def loaded(self, engine: str, module: tilery.Module) -> Any:
        return load(module, *self.passes) if engine == "loops" else load_engine(engine).load(module)

    def launches_of(self, module: tilery.Module, launches: Sequence[Any], seed: int) -> Outcome:
        """Run launches on both; return the outcome, and what differs."""
        for number, launch in enumerate(launches):
            left = []
            for engine in ("reference", "loops"):
                args = arguments(launch, seed + number)
                left.append(self.launch(module, launch, engine, args))
            self.launches += 1
            outcome = judge(*left)
            if outcome != SAME:
                if outcome != SLOW and not left[0][0] and races(module, launch, seed + number):
                    outcome = RACES
                return outcome, f"{launch.entry}: {left[0][0]!r} / {left[1][0]!r}"[:400]
        return SAME, ""

    def launch(self, module: tilery.Module, launch: Any, engine: str, args: list[Any]) -> Left:
        loaded = self.loaded(engine, module)
        printed: list[str] = []
        error = ""
        try:
            kernel = loaded.kernel(launch.entry)
            kernel.launch(launch.grid, args, limits=Limits(seconds=SECONDS), output=printed.append)
        except tilery.TileError as raised:
            error = raised.message
        memory = [a.tobytes() for a in args if isinstance(a, np.ndarray)]
        return error, memory + [loaded.content(o.sym_name) for o in module.globals], "".join(printed)

    # ------------------------------------------------------------ kinds of cases

    def modules(self, number: int) -> Outcome:
        module, contract = random_case(number)
        return self.launches_of(module, contract.launches, number)

    def mutants(self, number: int) -> Outcome:
        """Change a random module until it is another legal one; run the kernels that changed."""
        module, contract = random_case(number // FAMILY)
        rng = random.Random(f"mutant {number}")
        old = {o.sym_name: (o.function_type.params, fingerprint(o)) for o in module.entries}
        for _ in range(100):
            try:
                changed = mutate(module, rng)
            except tilery.TileError:
                continue
            if tilery.verify(changed):
                continue
            new = {o.sym_name: (o.function_type.params, fingerprint(o)) for o in changed.entries}
            launches = [each for each in contract.launches if new.get(each.entry, old[each.entry]) != old[each.entry]]
            if launches and all(new[each.entry][0] == old[each.entry][0] for each in launches):
                return self.launches_of(changed, launches, number)
        return ILLEGAL, ""

    def shaped(self, number: int) -> Outcome:
        """Run a hand-shaped kernel, between pages that may not be accessed."""
        _, case = shaped.make(number)
        module = tilery.parse(case.text)
        if tilery.verify(module):
            return ILLEGAL, ""
        slots, left = Slots(), []
        for engine in ("reference", "loops"):
            slots.place(case.regions, shaped.way_of(number).before)
            printed: list[str] = []
            error = ""
            try:
                kernel = self.loaded(engine, module).kernel()
                limits = Limits(seconds=SECONDS)
                kernel.launch(case.grid, slots.arguments(case.args), limits=limits, output=printed.append)
            except tilery.TileError as raised:
                error = raised.message
            left.append((error, slots.content(), "".join(printed)))
        self.launches += 1
        return judge(*left), f"{left[0][0]!r} / {left[1][0]!r}"[:400]

    def checked(self, number: int) -> Outcome:
        """Launch a random module, or a mutant, with the sanitizer and as an instrumented kernel."""
        module, contract = random_case(number)
        rng = random.Random(f"checked {number}")
        for _ in range(20 if number % 3 else 0):
            try:
                changed = mutate(module, rng)
            except tilery.TileError:
                continue
            if not tilery.verify(changed):
                module = changed
                break
        alarm = SAME
        entries = {o.sym_name for o in module.entries}
        for at, launch in enumerate(each for each in contract.launches if each.entry in entries):
            sanitizer = Sanitizer(",".join(sorted(CHECKS)))
            loaded: Any = load_engine("reference").load(module)
            error = self.ends(loaded, launch, arguments(launch, number + at), sanitize=sanitizer)
            if "stopped after" in error:
                return SLOW, launch.entry
            instrumented = load(module, shadow)
            instrumented.checks = CHECKS
            fault = self.ends(instrumented, launch, arguments(launch, number + at))
            self.launches += 1
            reported = bool(error or sanitizer.reports)
            if reported and not fault:
                shown = [f"{r.check} {r.message}" for r in sanitizer.reports][:2]
                return MISSED, f"{launch.entry}: {error} {shown}"[:400]
            if fault and not reported:
                alarm = FALSE_ALARM
        return alarm, ""

    def ends(self, loaded: Any, launch: Any, args: list[Any], **options: Any) -> str:
        """Launch a kernel; return its error, if any."""
        try:
            limits = Limits(seconds=SECONDS)
            loaded.kernel(launch.entry).launch(launch.grid, args, limits=limits, output=lambda _: None, **options)
        except tilery.TileError as raised:
            return raised.message
        return ""


def run(function: Callable[[int], Outcome], number: int) -> Outcome:
    """Run a case; whatever happens is an outcome."""
    try:
        return function(number)
    except NotLowered as error:
        return NOT_LOWERED, str(error)
    except Exception:  # whatever it is, it is a finding
        return CRASHED, traceback.format_exc(limit=-3).strip()[-600:]


def named_passes(names: str) -> list[Pass]:
    """Return passes by name: each is the function of the same name in `tilery.engines.cpu.passes.NAME`.

    `all` are those that kernels are compiled with for a processor with AVX-512, with `exact`.
    """
    found: list[Pass] = []
    if names == "all":
        return pipeline.passes(TARGETS["avx512"], Specialisation(exact=True))
    for name in filter(None, names.split(",")):
        module = importlib.import_module(f"tilery.engines.cpu.passes.{name}")
        found.append(getattr(module, name))
    return found


def page(args: argparse.Namespace, lines: list[dict[str, Any]]) -> str:
    """Render the results."""
    rows: dict[str, Counter[str]] = {}
    reasons: Counter[str] = Counter()
    for line in lines:
        held_out = line["kind"] == "shaped" and line["number"] >= HELD_OUT
        row = rows.setdefault(TITLES[line["kind"]] + ", held out" * held_out, Counter())
        row[line["outcome"]] += 1
        row["launches"] += line["launches"]
        if line["outcome"] == NOT_LOWERED:
            reasons[line["detail"]] += 1
    columns = [SAME, NOT_LOWERED, RACES, SLOW, ILLEGAL, FALSE_ALARM]
    text = [
        "# The loop IR of engine cpu against the reference engine",
        "",
        checkout.fill(INTRODUCTION + (f" These passes ran before: {args.passes}." if args.passes else "")),
        "",
        f"| | cases | launches | {' | '.join(columns)} | findings |",
        "|---|" + "--:|" * (len(columns) + 3),
    ]
    for kind, row in rows.items():
        cases = sum(n for name, n in row.items() if name != "launches")
        wrong = cases - sum(row[name] for name in FINE)
        counts = " | ".join(f"{row[name]:,}" for name in columns)
        text.append(f"| {kind} | {cases:,} | {row['launches']:,} | {counts} | {wrong:,} |")
    text += ["", "## Not lowered", "", *(f"* {n:,} times: {reason}" for reason, n in reasons.most_common()), ""]
    wrong_lines = [line for line in lines if line["outcome"] not in FINE]
    text += ["## Findings", ""]
    shown = (f"* {line['kind']} {line['number']}: {line['outcome']} {line['detail'][:300]}" for line in wrong_lines)
    text += [*shown] or ["None."]
    text += ["", "## Not measured", "", checkout.fill(NOT_MEASURED)]
    return "\n".join(text)


INTRODUCTION = (
    "`scripts/loops_campaign.py` wrote this page. Kernels are lowered to loop IR, which is verified and interpreted; "
    "memory, globals and printed text must be the same bits as on the reference engine. Instrumented kernels are "
    "random modules and mutants with checks of the sanitizer: each that the sanitizer reports on the reference engine "
    "must end with a fault, and a fault without a report is a false alarm. Hand-shaped kernels that are held out were "
    "not used to find or fix anything."
)
NOT_MEASURED = (
    "Element-wise operations and matrix products are computed by the reference engine's own functions on both sides: "
    "this page is about indices, views, reductions, control flow and memory. Tile blocks run one by one."
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for kind in KINDS:
        parser.add_argument(f"--{kind}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0, help="the first number")
    parser.add_argument("--passes", default="")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    lines: list[dict[str, Any]] = []
    if args.results is not None and args.results.exists():
        lines = [json.loads(line) for line in args.results.read_text().splitlines()]
    done = {(line["kind"], line["number"]) for line in lines}
    passes, end = named_passes(args.passes), time.monotonic() + args.seconds
    wanted = [(kind, n) for kind in KINDS for n in range(args.seed, args.seed + getattr(args, kind))]
    missing = [case for case in wanted if case not in done]
    with progress(len(missing), "cases") as step:
        for kind, number in missing:
            if time.monotonic() > end:
                break
            ways = Ways(passes)
            outcome, detail = run(getattr(ways, kind), number)
            lines.append(
                {"kind": kind, "number": number, "outcome": outcome, "detail": detail, "launches": ways.launches}
            )
            if args.results is not None:
                with args.results.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
            if outcome not in FINE:
                print(f"{kind} {number}: {outcome} {detail}", file=sys.stderr, flush=True)
            step()
    checkout.publish(page(args, lines), args.report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
