"""Compare an engine with the reference engine on kernels that random generation does not reach.

    python scripts/hand_shaped.py [--count N] [--seed S] [--jobs N] [--family NAME] [--engine NAME] [--report FILE.md]
    python scripts/hand_shaped.py --merge PIECE.json... --report FILE.md
    python scripts/hand_shaped.py --reproduce SEED [--family NAME]

`parts/shaped` has the families of kernels: products of every layout, accumulators in every place, views that overlap,
and so on. The memory of a launch is between pages that nothing may touch; so are the buffers of engine cpu, which are
full of junk at first. Everything must be the same bits, but for sums of products that are rounded, without `exact`.

A case depends on its seed alone, and so does how it is compiled. Seeds from 1,000,000,000 on are held out: they are run
for the report only, never to look for a fault or to see whether it is fixed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import checkout
from parts import children, gpu_bugs
from parts.shaped import launch
from parts.shaped.families import NAMES, family_of
from tilery.cli.progress import progress

HELD_OUT = 1_000_000_000
"""The first of the seeds that only a report uses."""
BATCH = 2 * len(NAMES)
"""Cases per child process: each family twice."""
PATIENCE = 180.0
"""Seconds after which a case counts as hanging."""
BUG = "bug of the compiler"
FINE = (launch.SAME, launch.SKIPPED, launch.REFUSED, BUG)
EXACT = {"both": (False, True), "yes": (True,), "no": (False,)}


def run(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Run all cases, or as many as the time allows; return the lines of the children."""
    last = args.seed + args.count
    parts = [(at, min(at + BATCH, last)) for at in range(args.seed, last, BATCH)]
    deadline = time.monotonic() + (args.seconds or 1e9)
    lines: list[dict[str, Any]] = []

    def work(part: tuple[int, int]) -> list[dict[str, Any]]:
        def command(first: int) -> list[str]:
            return [sys.executable, __file__, "--child", str(first), str(part[1]), args.family, args.engine, args.exact]

        return children.run_range(command, *part, PATIENCE, deadline)

    with progress(len(parts), "batches") as step, ThreadPoolExecutor(args.jobs) as pool:
        for found in pool.map(work, parts):
            step()
            lines += found
            for line in found:
                if args.engine == "tileiras" and line.get("outcome") == launch.DIFFERS:
                    attribute(line, args.family)
                if "number" in line and line["outcome"] not in FINE:
                    print(describe(line, args.family), file=sys.stderr, flush=True)
    return lines


def merge(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the lines of pieces that follow each other, and set the options to those of a run of all of them."""
    pieces = sorted((json.loads(path.read_text()) for path in args.merge), key=lambda piece: piece["options"]["seed"])
    options = [piece["options"] for piece in pieces]
    args.pythons = {each.pop("python") for each in options}
    for one, two in pairwise(options):
        if two | {"seed": 0, "count": 0} != one | {"seed": 0, "count": 0} or two["seed"] != one["seed"] + one["count"]:
            raise SystemExit(f"pieces do not follow each other: {one}, {two}")
    vars(args).update(options[0] | {"count": sum(each["count"] for each in options)})
    args.wall = sum(piece["seconds"] for piece in pieces)
    return [line for piece in pieces for line in piece["lines"]]


def attribute(line: dict[str, Any], family: str) -> None:
    """Mark a kernel that was reduced to a known bug of NVIDIA's compiler."""
    name, case = launch.make(line["number"], family)
    bug = gpu_bugs.known_bug(f"{name} {line['number']}", case.text.encode())
    if bug is not None:
        line.update(outcome=BUG, bug=bug.name)


def describe(line: dict[str, Any], family: str) -> str:
    name = line.get("family") or family or family_of(line["number"])
    return f"{name} {line['number']}: {line['outcome']} {' '.join(line.get('detail', '').split())}"


# ---------------------------------------------------------------- the page


def page(args: argparse.Namespace, lines: list[dict[str, Any]], seconds: float) -> str:
    """Render the lines as a page."""
    cases = [line for line in lines if "number" in line]
    rows = {name: Counter[str]() for name in NAMES}
    for line in cases:
        row = rows[line.get("family") or args.family or family_of(line["number"])]
        row["kernels"] += 1
        row[line["outcome"]] += 1
        for name in ("lowered", "fell back", "fault"):
            row[name] += line.get(name, 0)
    used = sum(line.get("seconds", 0) for line in lines)
    options = f"--count {args.count} --seed {args.seed} --engine {args.engine} --exact {args.exact}"
    pieces = f" in {len(args.merge)} pieces with `--piece`, joined by `--merge`" if args.merge else ""
    pythons = " and ".join(sorted(args.pythons or {platform.python_version()}))
    held = "are held out" if args.seed >= HELD_OUT else "are not held out"
    text = [
        f"# Hand-shaped kernels on engine {args.engine}",
        "",
        checkout.fill(
            f"`python scripts/hand_shaped.py {options}` wrote this page{pieces} (CPython {pythons}, "
            f"{args.jobs} jobs, {seconds:.0f} seconds, {used:.0f} seconds of processor time). {len(cases):,} of "
            f"{args.count:,} kernels were run."
        ),
        "",
        checkout.fill(INTRODUCTION + f" The seeds of this page {held}."),
        "",
    ]
    cpu = args.engine == "cpu"
    columns = [
        "kernels",
        *(["lowered", "fell back", "fault"] if cpu else [launch.SKIPPED, launch.REFUSED, BUG]),
        launch.SAME,
    ]
    text += [f"| family | {' | '.join(columns)} | findings |", "|---|" + "--:|" * (len(columns) + 1)]
    total: Counter[str] = Counter()
    for name, row in rows.items():
        total += row
        if row["kernels"]:
            text.append(table_row(name, row, columns))
    text += [table_row("all", total, columns), "", checkout.fill(COLUMNS[cpu]), "", "## Findings", ""]
    wrong = [line for line in cases if line["outcome"] not in FINE]
    text += [f"* {describe(line, args.family)[:400]}" for line in wrong] or ["None."]
    for line in cases:
        if line["outcome"] == BUG:
            kernel = f"[{line['bug']}](compiler_bugs/{line['bug']}.mlir)"
            text += ["", f"{line['family']} {line['number']} was reduced to a bug of the compiler, {kernel}."]
    return "\n".join([*text, "", "## Not measured", "", checkout.fill(NOT_MEASURED[cpu])])


def table_row(name: str, row: Counter[str], columns: list[str]) -> str:
    wrong = row["kernels"] - sum(row[outcome] for outcome in FINE)
    return f"| {name} | {' | '.join(f'{row[column]:,}' for column in columns)} | {wrong:,} |"


INTRODUCTION = (
    "Each family makes kernels of one kind, whose sizes, types, layouts and order of operations depend on a seed. The"
    " memory of a launch is between pages that may not be accessed and fits exactly on one side; all bytes that can "
    "be accessed are compared, and so is printed text. Most numbers are small integers, so that sums of floats are "
    "exact and all bits must be the same, also those of the NaNs in `special_values`; in `product_rounding` they may "
    "differ by a bound relative to the sum of |a||b| and |acc| (2**-19 for f32, 2**-9 for f16, 2**-46 for f64), and "
    "in all families of products a sum of zeros may be either zero, unless `exact` is set. If the reference engine "
    "reports an error, the other engine must report one in the same operation. Seeds from 1,000,000,000 on are held "
    "out: they were not used to find or fix anything."
)
COLUMNS = {
    True: "Lowered and fell back count compilations, with and without `exact`: what fell back was run by the reference "
    "engine and shows nothing. A fault is a kernel in which the reference engine reports an error. One kernel in ten "
    "is also launched with checks of the sanitizer, on both engines; memory and reports must be the same.",
    False: "Skipped kernels have no single right answer on a GPU: accesses that only the order of the program orders, "
    "undefined values, errors or prints, or what the sanitizer sees before the engine runs: a race, such as a store "
    "two of whose elements are the same bytes, or a value in memory that nothing has defined. Refused ones the engine "
    "does not compile.",
}
NOT_MEASURED = {
    True: "Processors other than the one that the script ran on. Kernels are small: tiles have at most some thousand "
    "elements, arrays 256 KiB. To save time LLVM runs in forked processes with the engine's limits, several kernels "
    f"each, except for one case in {launch.OWN_CHILD}; two thirds of the kernels are compiled at level 0 instead of 2.",
    False: "Accesses outside of arrays are found only if they change a result. Kernels are small.",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--family", default="", choices=["", *NAMES], metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--engine", default="cpu", choices=["cpu", "triton", "tileiras", "gpu"])
    parser.add_argument("--exact", default="both", choices=list(EXACT), help="option of engine cpu")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the page to this file too")
    parser.add_argument("--piece", type=Path, metavar="FILE", help="write the outcomes to this file, for --merge")
    parser.add_argument("--merge", type=Path, nargs="+", default=[], metavar="FILE", help="write the page of pieces")
    parser.add_argument("--reproduce", type=int, metavar="SEED", help="print the kernel of a seed, and run it here")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.wall, args.pythons = 0.0, set()
    if args.child:
        first, end, family, engine, exact = args.child
        launch.serve(int(first), int(end), family, engine, EXACT[exact])
        return 0
    if args.reproduce is not None:
        name, case = launch.make(args.reproduce, args.family)
        print(f"// {name}, grid {case.grid}, arguments {case.args}\n{case.text}", flush=True)
        launch.serve(args.reproduce, args.reproduce + 1, args.family, args.engine, EXACT[args.exact])
        return 0
    started = time.monotonic()
    lines = merge(args) if args.merge else run(args)
    seconds = time.monotonic() - started
    if args.piece:
        kept = {name: getattr(args, name) for name in ("count", "seed", "jobs", "family", "engine", "exact")}
        kept["python"] = platform.python_version()
        args.piece.write_text(json.dumps({"options": kept, "seconds": seconds, "lines": lines}))
    checkout.publish(page(args, lines, args.wall or seconds), args.report)
    return 1 if any(line["outcome"] not in FINE for line in lines if "number" in line) else 0


if __name__ == "__main__":
    sys.exit(main())
