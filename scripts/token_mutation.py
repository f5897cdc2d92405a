"""Compare the race detector with a search by brute force, and write docs/reports/lab/races.md.

    python scripts/token_mutation.py [--first 0] [--programs 4000] [--modules 3900] [--kernels 300] [--output PAGE]

Random small programs with all kinds of accesses; random modules, which do not race; and kernels of the corpus of real
files, on made-up arguments, with one token edge cut at a time. Without the corpus, that part is left out.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import checkout
import tilery
from support import oracle
from support.race.cuts import (
    MOST_ELEMENTS,
    Tally,
    TooLarge,
    edges,
    judge_program,
    made_up_arguments,
    module_cuts,
    module_races,
    try_cuts,
)
from tilery.cli.progress import progress
from tilery.diag import TileError

WAYS = {
    "one tile block": (1, False),
    "one tile block, all arrays the same memory": (1, True),
    "two tile blocks": (2, False),
}
CUT_MODULES = 300


def programs(first: int, count: int) -> str:
    """Compare on random programs."""
    racy = wrong = 0
    with progress(count, "programs") as step:
        for seed in range(first, first + count):
            verdict = judge_program(seed)
            racy += bool(verdict.searched)
            wrong += not verdict.agrees
            step(1)
    return (
        f"In {count:,} random programs, from seed {first:,} on, of up to three tile blocks, with weak, relaxed, "
        "acquiring and releasing accesses of three sizes to a few bytes, tokens, joins, branches and loops, the "
        "detector and the "
        f"search disagree on {wrong}. {racy:,} of the programs race."
    )


def modules(first: int, count: int) -> str:
    """Run random modules, and cut tokens of some."""
    reported = []
    cuts = Tally()
    with progress(count, "modules") as step:
        for seed in range(first, first + count):
            reported += [f"{seed}: {message}" for message in module_races(seed)]
            step(1)
    for seed in range(first, first + min(count, CUT_MODULES)):
        cuts.add(module_cuts(seed, grid=1))
    text = (
        f"{count:,} random modules, of the kind that was compared with a GPU, ran on their own grids, with "
        f"{len(reported)} reports. In the first {min(count, CUT_MODULES)} of them, on one tile block, each "
        f"token edge was cut in turn: {cuts.cuts:,} cuts, after {cuts.races:,} of which more bytes race; the "
        f"detector and the search disagree on {cuts.wrong}."
    )
    return "\n".join([checkout.fill(text), *(f"* {line}" for line in reported)])


def kernels(count: int) -> str:
    """Cut the token edges of real kernels."""
    files = sorted(oracle.CORPUS.glob("*.tileirbc"))
    if not files:
        return "The corpus was missing, so no token edges of real kernels were cut."
    files = files[:: max(1, len(files) // count)][:count]
    totals = {way: Tally() for way in WAYS}
    ran, skipped = dict.fromkeys(WAYS, 0), dict.fromkeys(WAYS, 0)
    with progress(len(files), "kernels") as step:
        for file in files:
            module = tilery.load(file)
            for entry in module.entries:
                for way, (grid, aliased) in WAYS.items() if any(edges(entry)) else ():
                    make = partial(made_up_arguments, entry, aliased)
                    try:
                        tally = try_cuts(module, entry.sym_name, grid, make)
                    except (TileError, TooLarge):
                        skipped[way] += 1
                        continue
                    ran[way] += 1
                    totals[way].add(tally)
            step(1)
    head = "| Launch | Kernels | Race uncut | Cuts | Cuts that unorder more bytes | Disagreements | Left out |"
    rows = [
        f"| {way} | {ran[way]:,} | {t.before:,} | {t.cuts:,} | {t.races:,} | {t.wrong} | {skipped[way]:,} |"
        for way, t in totals.items()
    ]
    return "\n".join([head, "|---|---:|---:|---:|---:|---:|---:|", *rows])


def page(args: argparse.Namespace) -> str:
    """The whole report."""
    kept = (
        "Every token edge of the kernels, operands of accesses and of joins, was cut in turn, and the kernel "
        "was run with the detector. The arguments are made up from cuTile's calling convention: arrays of a "
        "fixed extent, and 1 for other numbers. Elements outside of the arrays are left out. Many kernels "
        "race uncut on two tile blocks, or if all their arrays are the same memory; they were not written for "
        "that. The search decides from the same accesses which bytes race, before and after each cut. "
        "'Disagreements' counts the runs in which the detector names another byte, misses one, or names a "
        "pair of operations that does not race."
    )
    limits = (
        f"Launches with more than {MOST_ELEMENTS:,} accessed elements, and kernels that fail on made-up "
        "arguments, are left out. The search and the detector get the same accesses and token edges, "
        "so a wrong address or a wrong token would not be noticed here; tests of the access events cover that. Each "
        "kernel was run in one schedule. Nothing here compares with a GPU: hardware does not report races."
    )
    return "\n\n".join(
        [
            "# Races: the detector against a search by brute force",
            checkout.fill(
                "`python scripts/token_mutation.py` wrote this page. The search makes a graph with a node for each "
                "accessed element, follows every path, and compares every pair of elements by the rules of [the "
                "memory model](../../memory-model.md). It shares no code with the detector, and is far too slow for "
                "real launches."
            ),
            "## Random programs",
            checkout.fill(programs(args.first, args.programs)),
            "## Random modules",
            modules(args.first, args.modules),
            "## Real kernels with a token cut",
            checkout.fill(kept),
            kernels(args.kernels),
            "## What was not measured",
            checkout.fill(limits),
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--programs", type=int, default=4000)
    parser.add_argument("--modules", type=int, default=3900)
    parser.add_argument("--kernels", type=int, default=300)
    parser.add_argument("--output", type=Path, default=checkout.LAB / "races.md")
    args = parser.parse_args()
    checkout.publish(page(args), args.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
