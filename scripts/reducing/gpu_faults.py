"""Find whole random modules that show known faults on a GPU, and reduce them there.

    python scripts/reducing/gpu_faults.py run RESULTS.json [--minutes 6] [--jobs 8]        (with tileiras and a GPU)
    python scripts/reducing/gpu_faults.py report RESULTS.json ... [--output docs/reports/lab/reducer_gpu.md]

A pattern selects modules that may show a fault. Whether one does, the GPU decides: it is compared with the reference
engine, or it hangs. Nobody says what the small kernel should look like. In a report, a later file replaces what earlier
ones say about a fault.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import checkout
import tilery
from reducing.gpu_known import KNOWN, SECONDS, TILEIRAS, TOGETHER, Known, candidates, kernels
from tilery.reducer import Case, Reduction
from tilery.reducer.oracles import with_steps
from tilery.reducer.report import as_text, shown
from tilery.reducer.runners import Children
from tilery.reducer.search import Search

PATIENCE = 40.0
"""After this many seconds a test is killed; it executes a module in several ways, and compiles it."""
LEAST = 15.0
"""Seconds for which it is worth to start a reduction."""


Found = list[tuple[int, Case]]
"""Cases, each with its seed."""


def look(known: Known, cases: Found, jobs: int, deadline: float) -> Iterator[tuple[int, Case, str]]:
    """Try modules on the GPU, and yield each with the outcome."""
    runner = Children(known.test, jobs, PATIENCE)
    try:
        for seed, case, outcome in [(seed, case, runner.start(case)) for seed, case in cases[: known.most_tried]]:
            if time.monotonic() > deadline:
                return
            yield seed, case, outcome.result()
    finally:
        runner.close()


def reduce_case(known: Known, seed: int, case: Case, jobs: int, seconds: float) -> dict[str, Any]:
    """Reduce a module on the GPU."""
    runner = Children(known.test, jobs, PATIENCE, tilery.LATEST)
    try:
        found: Reduction = Search(with_steps(case, SECONDS), runner, version=tilery.LATEST, seconds=seconds).run()
    finally:
        runner.close()
    made = shown(found.case, known.test)
    facts = {"fault": known.name, "seed": seed, "outcome": found.outcome, "before": found.before.operations}
    facts |= {"after": found.after.operations, "tests": found.tests, "seconds": round(found.seconds, 1)}
    return facts | {"complete": found.complete, "text": as_text(found, made)}


def run(args: argparse.Namespace) -> int:
    """Look for the faults and reduce them, in the time that is given."""
    end = time.monotonic() + 60 * args.minutes
    from tilery.engines.tileiras.compiler import find_tool, tool_version

    numbers = [number for number, known in enumerate(KNOWN) if args.only is None or known.name in args.only]
    results: dict[str, Any] = {"tileiras": tool_version(find_tool()), "tried": {}, "shown": {}, "reduced": []}
    results["kernels"] = dict(try_kernels(args.jobs))
    print(results["kernels"], flush=True)
    items = [(number, start) for number in numbers for start in range(0, KNOWN[number].seeds, TOGETHER)]
    found: dict[int, Found] = {number: [] for number in numbers}
    with ProcessPoolExecutor(args.jobs) as pool:
        for (number, _), cases in zip(items, pool.map(candidates, items)):
            found[number] += [(seed, Case.decode(data)) for seed, data in cases]
    print({KNOWN[number].name: len(cases) for number, cases in found.items()}, flush=True)
    for place, number in enumerate(numbers):
        share = time.monotonic() + (end - time.monotonic()) / (len(numbers) - place)
        one_fault(KNOWN[number], found[number], args, share, results)
        args.file.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0


def try_kernels(jobs: int) -> Iterator[tuple[str, str]]:
    """Yield the kernels that people made small, and what they do on the GPU."""
    runner = Children(TILEIRAS, jobs, PATIENCE)
    try:
        for name, outcome in [(name, runner.start(case)) for name, case in kernels().items()]:
            yield name, outcome.result()
    finally:
        runner.close()


def one_fault(known: Known, cases: Found, args: argparse.Namespace, end: float, results: dict[str, Any]) -> None:
    """Try the modules of a fault, and reduce the smallest that show it; half of the time is for each."""
    started = time.monotonic()
    tried = list(look(known, cases, args.jobs, started + (end - started) / 2))
    results["tried"][known.name] = len({seed for seed, _, _ in tried})
    results["shown"][known.name] = [(seed, outcome) for seed, _, outcome in tried if outcome]
    print(known.name, results["tried"][known.name], results["shown"][known.name], flush=True)
    shows = sorted((item for item in tried if item[2]), key=lambda item: item[1].operations)
    for seed, case, _ in shows[: args.most]:
        seconds = end - time.monotonic()
        if seconds < LEAST:
            break
        try:
            results["reduced"].append(reduce_case(known, seed, case, args.jobs, seconds))
        except tilery.TileError as error:
            print(known.name, seed, error, flush=True)
            continue
        print(results["reduced"][-1], flush=True)
        args.file.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


# ---------------------------------------------------------------- the report


def merged(files: list[Path]) -> dict[str, Any]:
    """Return the results of some runs; what the last one says about a fault counts."""
    total: dict[str, Any] = {"kernels": {}, "tried": {}, "shown": {}, "reduced": []}
    for file in files:
        results = json.loads(file.read_text("utf-8"))
        kept = [row for row in total["reduced"] if row["fault"] not in results["tried"]]
        total = {
            "runs": len(files),
            "tileiras": results["tileiras"],
            "kernels": total["kernels"] | results.get("kernels", {}),
            "tried": total["tried"] | results["tried"],
            "shown": total["shown"] | results["shown"],
            "reduced": kept + results["reduced"],
        }
    return total


def page(results: dict[str, Any]) -> str:
    """Return the report."""
    text = (
        f"`scripts/reducing/gpu_faults.py` wrote this page, on an H200 with tileiras {results['tileiras']}. Random "
        "modules with the operations of a known fault were compared with the reference engine, and those that differ "
        "or hang were reduced on the GPU, automatically. The faults are those of [whole kernels on a "
        "GPU](gpu_modules.md). The generator makes other modules from the seeds on that page today, so the script "
        "searched for modules that show the faults. The faults whose names begin with `triton` are planted: the Triton "
        "engine returns the first operand of that operation instead of its result."
    )
    lines = ["# Faults reduced on a GPU", "", checkout.fill(text), ""]
    lines += ["| fault | modules tried | show a fault | reduced | operations before | after | tests | seconds |"]
    lines += ["|---|--:|--:|--:|---|---|---|---|"]
    for name, tried in results["tried"].items():
        own = [row for row in results["reduced"] if row["fault"] == name]
        cells = [", ".join(str(row[key]) for row in own) for key in ("before", "after", "tests", "seconds")]
        shows = len({seed for seed, _ in results["shown"][name]})
        lines.append(f"| {name} | {tried} | {shows} | {len(own)} | {' | '.join(cells)} |")
    lines += ["", "| fault | outcome | launches |", "|---|---|--:|"]
    for name, shows in results["shown"].items():
        counts = Counter(outcome for _, outcome in shows)
        lines += [f"| {name} | {outcome} | {count} |" for outcome, count in counts.most_common()]
    text = "The kernels that had been reduced by hand before, launched with one tile block:"
    lines += ["", text, "", "| kernel | outcome |", "|---|---|"]
    for name, outcome in results["kernels"].items():
        lines.append(f"| [{name}](compiler_bugs/{name}.mlir) | {outcome or 'the right result'} |")
    for row in results["reduced"]:
        end = "" if row["complete"] else " The time ran out before everything had been tried."
        lines += ["", f"## {row['fault']}, seed {row['seed']}", "", f"Outcome: {row['outcome']}.{end}", ""]
        lines += ["```mlir", row["text"].rstrip("\n"), "```"]
    several = f" The numbers come from {results['runs']} runs, between which the scripts changed." * (
        results["runs"] > 1
    )
    text = (
        "One GPU and one compiler. A module shows a fault if the GPU and the reference engine disagree, or if it fails "
        "or hangs. No script checked that a reduced kernel shows the fault of its heading rather than another one. "
        "For `continue_with_one_value_twice`, only modules were tried whose result depends on the values that the "
        "fault confuses, and which load their constants from memory." + several
    )
    return "\n".join([*lines, "", "## What was not measured", "", checkout.fill(text)])


def report(args: argparse.Namespace) -> int:
    checkout.publish(page(merged(args.files)), args.output)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("file", type=Path)
    one.add_argument("--minutes", type=float, default=6)
    one.add_argument("--jobs", type=int, default=8)
    one.add_argument("--only", nargs="+", choices=[known.name for known in KNOWN])
    one.add_argument("--most", type=int, default=2, help="how many modules of a fault are reduced")
    one.set_defaults(do=run)
    two = commands.add_parser("report")
    two.add_argument("files", type=Path, nargs="+")
    two.add_argument("--output", type=Path)
    two.set_defaults(do=report)
    args = parser.parse_args()
    status: int = args.do(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
