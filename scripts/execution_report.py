"""Execute random modules before and after each pass of the optimiser: memory must end up the same, bit by bit.

    python scripts/execution_report.py [--count 10000] [--seed 0] [--jobs 2] [--output docs/reports/execution.md]

Each module also runs block by block, which must give what running in batches gives.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import tilery
from support.contract import drawn, run_contract
from tilery.cli.progress import progress
from tilery.passes import HOMES

SAME_BITS = "block by block"
DEFAULT = "canonicalize,cse"


def variants(seed: int, share: int) -> list[str]:
    """What is done to a module before it runs again: the default passes, and one in `share` of all others in turn.

    Renaming symbols needs their names and changes no code.
    """
    others = [name for name in HOMES if name != "rename-symbol"]
    return [SAME_BITS, DEFAULT, *(name for number, name in enumerate(others) if (seed + number) % share == 0)]


def try_seed(seed: int, share: int = 1) -> list[tuple[str, str]]:
    """For one module what became of each variant: "" if memory is the same, else what is wrong."""
    module, contract = drawn(seed)
    try:
        wanted = run_contract(module, contract)
    except Exception as error:  # a fault of ours is what this script is there to find
        return [("run", f"{type(error).__name__}: {error}".splitlines()[0])]
    found = [("run", "")]
    for name in variants(seed, share):
        try:
            if name == SAME_BITS:
                got = run_contract(module, contract, batch=1)
            else:
                changed = tilery.optimize(module, name)
                if tilery.equal(module, changed):
                    found.append((name, "unchanged"))
                    continue
                got = run_contract(changed, contract)
            found.append((name, "" if got == wanted else "memory differs"))
        except Exception as error:  # as above
            found.append((name, f"{type(error).__name__}: {error}".splitlines()[0]))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--share", type=int, default=1, help="give each module one in so many passes")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + args.count)
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    failures = []
    start = time.perf_counter()
    with ProcessPoolExecutor(args.jobs) as pool, progress(len(seeds), "modules") as step:
        for seed, found in zip(seeds, pool.map(partial(try_seed, share=args.share), seeds, chunksize=10)):
            for name, outcome in found:
                kind = outcome if outcome in ("", "unchanged") else "wrong"
                outcomes[name][kind] += 1
                if kind == "wrong":
                    failures.append(f"seed {seed}: {name}: {outcome}")
            step()
    text = report(outcomes, failures, seeds)
    print(text)
    print(f"{time.perf_counter() - start:.0f} s")
    if args.output:
        args.output.write_text(text + "\n")
    return int(bool(failures))


def report(outcomes: dict[str, Counter[str]], failures: list[str], seeds: range) -> str:
    lines = [
        "# The same memory before and after",
        "",
        f"Written by `scripts/execution_report.py`: {len(seeds)} random modules (seeds {seeds[0]} to {seeds[-1]}), run",
        "on the reference engine as they are, block by block, and after each pass. Memory, globals and output are",
        "compared bit by bit.",
        "",
        "| | same | pass changed nothing | wrong |",
        "|---|--:|--:|--:|",
    ]
    for name, counts in outcomes.items():
        lines.append(f"| {name} | {counts['']} | {counts['unchanged']} | {counts['wrong']} |")
    lines += ["", *failures[:50]] if failures else []
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
