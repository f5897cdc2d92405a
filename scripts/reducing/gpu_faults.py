"""Find whole random modules that show the known faults of tileiras on a GPU, and reduce them there.

    python scripts/reducing/gpu_faults.py run RESULTS.json [--minutes 6] [--jobs 8]        (with tileiras and a GPU)
    python scripts/reducing/gpu_faults.py report RESULTS.json [--output docs/reports/reducer_gpu.md]

A pattern selects modules that may show a fault. Whether one does, the GPU decides: it is compared with the reference
engine, or it hangs. Nobody says what the small kernel should look like.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import checkout
import gpu_modules
import tilery
from support.contract import store_all_values
from tilery import ops
from tilery.engines.semantics import same_bits
from tilery.ir import Op
from tilery.ops import Module
from tilery.reducer import Case, Reduction
from tilery.reducer.campaign import launched
from tilery.reducer.oracles import Differs
from tilery.reducer.report import as_text, shown
from tilery.reducer.runners import Children
from tilery.reducer.search import Search
from tilery.smith import smith_with_contract
from tilery.types import BF16, Tile

TARGET = "sm_90"
SEEDS = 3000
TRIED = 48
"""Modules of a pattern that are tried on the GPU."""
SECONDS = 6.0
"""After this time a kernel hangs."""


class Known(NamedTuple):
    """A known fault: its name in docs/reports/compiler_bugs, a pattern of modules that may show it, and their mix."""

    name: str
    pattern: Callable[[Module], bool]
    mix: dict[str, float]
    size: int


def around(module: Module) -> Iterator[tuple[Op, list[Op]]]:
    """Yield every operation with those around it."""
    todo: list[tuple[Op, list[Op]]] = [(module, [])]
    while todo:
        o, outer = todo.pop()
        yield o, outer
        todo += [(inner, [*outer, o]) for block in o.blocks for inner in block.ops]


def returns_in_two_loops(module: Module) -> bool:
    return any(
        isinstance(o, ops.Return) and sum(isinstance(x, ops.Loop) for x in outer) > 1 for o, outer in around(module)
    )


def continues_with_one_value_twice(module: Module) -> bool:
    for o, outer in around(module):
        if isinstance(o, ops.Continue) and len(set(o.operands_)) < len(o.operands_):
            loops = [x for x in outer if isinstance(x, (ops.For, ops.Loop))]
            if isinstance(loops[-1], ops.For):
                return True
    return False


def prints_in_a_loop(module: Module) -> bool:
    return any(
        isinstance(o, ops.PrintTko)
        and any(isinstance(x, ops.Loop) for x in outer)
        and any(isinstance(v.type, Tile) and v.type.size >= 512 and v.type.element is BF16 for v in o.args)
        for o, outer in around(module)
    )


KNOWN = (
    Known(
        "return_in_two_loops",
        returns_in_two_loops,
        {"loop": 4, "if": 3, "return": 3, "Integer": 2, "Memory": 2},
        80,
    ),
    Known(
        "continue_with_one_value_twice",
        continues_with_one_value_twice,
        {"for": 4, "Control Flow": 2, "Integer": 3, "Memory": 2},
        80,
    ),
    Known(
        "print_in_a_loop",
        prints_in_a_loop,
        {"loop": 4, "print_tko": 4, "itof": 3, "Core": 1, "Integer": 1, "Memory": 1},
        60,
    ),
)


def make(known: Known, seed: int) -> list[Case]:
    """Return the cases of a seed: a module for each launch in one tile block; none if it lacks the pattern."""
    refused = gpu_modules.REFUSED[TARGET]

    def allow(o: Op) -> bool:
        tiles = (v.type for v in (*o.operands, *o.results) if isinstance(v.type, Tile))
        return same_bits(o) and not any(getattr(t.element, "name", "") in refused for t in tiles)

    module, contract = smith_with_contract(seed, size=known.size, mix=known.mix, allow=allow)
    if not known.pattern(module):
        return []
    module, contract = store_all_values(module, contract)
    module.version = tilery.LATEST
    return [Case(module, launched(launch, seed)) for launch in contract.launches]


def candidates(item: tuple[int, int]) -> list[int]:
    """Return the seeds of a range that have a pattern."""
    number, start = item
    return [seed for seed in range(start, start + 100) if make(KNOWN[number], seed)]


def test(engine: str) -> Differs:
    return Differs(("reference", engine), seconds=SECONDS)


def look(known: Known, seeds: list[int], args: argparse.Namespace, deadline: float) -> Iterator[tuple[int, Case, str]]:
    """Yield modules that show a fault on the GPU, with the outcome."""
    runner = Children(test(args.engine), args.jobs, 3 * SECONDS)
    try:
        cases = [(seed, case) for seed in seeds[:TRIED] for case in make(known, seed)]
        started = [(seed, case, runner.start(case)) for seed, case in cases]
        for seed, case, outcome in started:
            if time.monotonic() > deadline:
                return
            if found := outcome.result():
                yield seed, case, found
    finally:
        runner.close()


def reduce_case(known: Known, seed: int, case: Case, args: argparse.Namespace, seconds: float) -> dict[str, Any]:
    """Reduce a module on the GPU."""
    runner = Children(test(args.engine), args.jobs, SECONDS + 2, tilery.LATEST)
    try:
        found: Reduction = Search(case, runner, version=tilery.LATEST, seconds=seconds).run()
    finally:
        runner.close()
    made = shown(found.case, test(args.engine))
    facts = {"fault": known.name, "seed": seed, "outcome": found.outcome, "before": found.before.operations}
    facts |= {"after": found.after.operations, "tests": found.tests, "seconds": round(found.seconds, 1)}
    return facts | {"complete": found.complete, "text": as_text(found, made)}


def run(args: argparse.Namespace) -> int:
    """Look for the faults and reduce them, in the time that is given."""
    end = time.monotonic() + 60 * args.minutes
    from tilery.engines.tileiras.compiler import find_tool, tool_version

    results: dict[str, Any] = {"tileiras": tool_version(find_tool()), "tried": {}, "shown": {}, "reduced": []}
    items = [(number, start) for start in range(0, args.seeds, 100) for number in range(len(KNOWN))]
    found: dict[int, list[int]] = {number: [] for number in range(len(KNOWN))}
    with ProcessPoolExecutor(args.jobs * 2) as pool:
        for (number, _), seeds in zip(items, pool.map(candidates, items)):
            found[number] += seeds
    for number, known in enumerate(KNOWN):
        left = len(KNOWN) - number
        share = time.monotonic() + (end - time.monotonic()) / left
        shows = list(look(known, found[number], args, share - 60))
        results["tried"][known.name] = min(TRIED, len(found[number]))
        results["shown"][known.name] = [(seed, outcome) for seed, _, outcome in shows]
        print(known.name, len(found[number]), results["shown"][known.name], flush=True)
        shows.sort(key=lambda item: item[1].operations)
        for seed, case, _ in shows[: args.most]:
            seconds = share - time.monotonic()
            if seconds < 15:
                break
            results["reduced"].append(reduce_case(known, seed, case, args, seconds))
            print(results["reduced"][-1], flush=True)
            args.file.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    args.file.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    return 0


def page(results: dict[str, Any]) -> str:
    """Return the report."""
    text = (
        f"Written by `scripts/reducing/gpu_faults.py` on an H200 with tileiras {results['tileiras']}. Random modules "
        "with the operations of a known fault were compared with the reference engine, and those that differ or hang "
        "were reduced on the GPU, without a person. The faults are those of [whole kernels on a GPU](gpu_modules.md); "
        "the generator makes other modules from their seeds today, so modules that show them were looked for."
    )
    lines = ["# Faults of tileiras, reduced on a GPU", "", checkout.fill(text), ""]
    lines += ["| fault | modules tried | show a fault | reduced | operations before | after | tests | seconds |"]
    lines += ["|---|--:|--:|--:|---|---|---|---|"]
    for name, tried in results["tried"].items():
        own = [row for row in results["reduced"] if row["fault"] == name]
        cells = [", ".join(str(row[key]) for row in own) for key in ("before", "after", "tests", "seconds")]
        shows = len(results["shown"][name])
        lines.append(f"| {name} | {tried} | {shows} | {len(own)} | {' | '.join(cells)} |")
    for row in results["reduced"]:
        end = "" if row["complete"] else " The time was up before nothing was left to try."
        lines += ["", f"## {row['fault']}, seed {row['seed']}", "", f"Outcome: {row['outcome']}.{end}", ""]
        lines += ["```mlir", row["text"].rstrip("\n"), "```"]
    lines += ["", "## What was not measured", ""]
    lines += [
        checkout.fill(
            "One GPU and one compiler. A module shows a fault if the GPU and the reference engine disagree. That the"
            " reduced kernel shows the fault of its heading, rather than another one, is for the reader to see."
        )
    ]
    return "\n".join(lines)


def report(args: argparse.Namespace) -> int:
    checkout.publish(page(json.loads(args.file.read_text("utf-8"))), args.output)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("file", type=Path)
    one.add_argument("--minutes", type=float, default=6)
    one.add_argument("--jobs", type=int, default=8)
    one.add_argument("--seeds", type=int, default=SEEDS)
    one.add_argument("--engine", default="tileiras", help="what is compared with the reference engine")
    one.add_argument("--most", type=int, default=2, help="how many modules of a fault are reduced")
    one.set_defaults(do=run)
    two = commands.add_parser("report")
    two.add_argument("file", type=Path)
    two.add_argument("--output", type=Path)
    two.set_defaults(do=report)
    args = parser.parse_args()
    status: int = args.do(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
