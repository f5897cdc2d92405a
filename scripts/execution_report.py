"""Execute random modules before and after each pass of the optimiser, and write docs/reports/lab/execution.md.

    python scripts/execution_report.py [--count 10000] [--seed 0] [--jobs 2] [--minutes 45] [--output PAGE]

Memory must end up the same, bit for bit; differences in bits of NaN alone are counted separately. Each module also runs
block by block, which must match running in batches. `fuse-fma` changes results by design and has a section of its own.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path

import checkout
import tilery
from parts import gpu_compare
from support.contract import random_case, run_contract
from tilery.cli.progress import progress
from tilery.passes import HOMES
from tilery.rewrite import Report, Rules
from tilery.smith import Buffer, Contract
from tilery.types import Scalar

BLOCKS = "block by block"
DEFAULT = "canonicalize,cse"
INEXACT = "fuse-fma"
"""The pass that rounds once where the module rounds twice."""

SAME, NAN_BITS, UNCHANGED, DIFFERS, FAILED = "same", "NaN bits", "unchanged", "differs", "failed"


@dataclass
class Outcome:
    """The result of one variant of a module."""

    name: str
    kind: str
    fired: Counter[str] = field(default_factory=Counter)
    error: str = ""


@dataclass
class Totals:
    """The outcomes of all modules: by variant, firings by variant and rule, and what is wrong."""

    kinds: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    fired: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    wrong: list[str] = field(default_factory=list)
    nans: list[str] = field(default_factory=list)

    def add(self, seed: int, outcome: Outcome) -> None:
        self.kinds[outcome.name][outcome.kind] += 1
        self.fired[outcome.name] += outcome.fired
        if outcome.kind == FAILED or (outcome.kind == DIFFERS and outcome.name != INEXACT):
            self.wrong.append(f"* seed {seed}: {outcome.name}: {outcome.error or 'memory differs'}")
        if outcome.kind == NAN_BITS:
            self.nans.append(f"* seed {seed}: {outcome.name}, in which {', '.join(outcome.fired)} fired")


def variants(seed: int, share: int) -> list[str]:
    """Return the passes to try on a module: the default ones, and one in `share` of the others in turn.

    `rename-symbol` needs names of symbols and changes no code.
    """
    others = [name for name in HOMES if name != "rename-symbol"]
    return [BLOCKS, DEFAULT, *(name for number, name in enumerate(others) if (seed + number) % share == 0)]


def try_seed(seed: int, share: int = 1) -> list[Outcome]:
    """Execute one module in every variant."""
    module, contract = random_case(seed)
    try:
        wanted = run_contract(module, contract)
    except Exception as error:  # finding bugs of ours is the purpose of this script
        return [Outcome("run", FAILED, error=describe(error))]
    found = [Outcome("run", SAME)]
    for name in variants(seed, share):
        report = Report()
        try:
            if name == BLOCKS:
                got = run_contract(module, contract, batch=1)
            else:
                changed = tilery.optimize(module, name, report=report)
                if tilery.equal(module, changed):
                    found.append(Outcome(name, UNCHANGED))
                    continue
                got = run_contract(changed, contract)
            found.append(Outcome(name, compare(module, contract, wanted, got), report.counts))
        except Exception as error:  # as above
            found.append(Outcome(name, FAILED, error=describe(error)))
    return found


def compare(module: tilery.Module, contract: Contract, wanted: list[bytes], got: list[bytes]) -> str:
    """Compare what two runs left behind, element by element where the bytes differ."""
    if got == wanted:
        return SAME
    kinds: list[Scalar | None] = []
    for launch in contract.launches:
        kinds += [a.element for a in launch.args if isinstance(a, Buffer)]
        kinds += [o.value.element for o in module.globals]
        kinds.append(None)  # printed text
    for kind, before, after in zip(kinds, wanted, got, strict=True):
        if before != after and (kind is None or not gpu_compare.difference(before, after, kind)[1]):
            return DIFFERS
    return NAN_BITS


def describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def declared_rules(name: str) -> list[str]:
    """Return the rules that a pass declares, so that those that never fired are listed too."""
    if name not in HOMES:
        return []
    rules = getattr(import_module(f"tilery.passes.{HOMES[name]}"), "rule", None)
    return [rule.name for rule in rules.all()] if isinstance(rules, Rules) else []


def page(totals: Totals, seeds: range) -> str:
    lines = [
        "# The same memory before and after",
        "",
        checkout.fill(
            f"`scripts/execution_report.py` wrote this page. {len(seeds):,} random modules (seeds {seeds[0]} to "
            f"{seeds[-1]}) ran on the reference engine: as they are, block by block, and after each pass. Memory, "
            "globals and printed output were compared bit for bit."
        ),
        "",
        "| | same | same except for NaN bits | pass changed nothing | wrong |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, counts in totals.kinds.items():
        if name != INEXACT:
            wrong = counts[DIFFERS] + counts[FAILED]
            lines.append(f"| {name} | {counts[SAME]:,} | {counts[NAN_BITS]:,} | {counts[UNCHANGED]:,} | {wrong:,} |")
    lines += ["", "Wrong:", "", *totals.wrong[:50]] if totals.wrong else []
    lines += ["", *NANS, "", *totals.nans[:50]] if totals.nans else []
    lines += ["", "## fuse-fma", "", fma_text(totals), "", "## How often each rule fired", "", *FIRED, ""]
    lines += ["| pass | rule | times |", "|---|---|--:|"]
    for name, fired in totals.fired.items():
        rules = {**dict.fromkeys(declared_rules(name), 0), **fired}
        lines += [f"| {name} | {rule} | {times:,} |" for rule, times in sorted(rules.items(), key=lambda r: -r[1])]
    return "\n".join([*lines, "", *NOT_MEASURED])


def fma_text(totals: Totals) -> str:
    counts, fired = totals.kinds[INEXACT], totals.fired[INEXACT]
    fused = sum(times for rule, times in fired.items() if rule.startswith("multiply_"))
    changed = counts.total() - counts[UNCHANGED] - counts[FAILED]
    return checkout.fill(
        f"This pass rounds `a * b + c` once instead of twice, so it may change results and is not in the table above. "
        f"It changed {changed:,} modules and fused {fused:,} times; its other changes remove "
        f"dead code. Memory differed afterwards in {counts[DIFFERS]:,} of them."
    )


NANS = """\
The specification leaves the bits of a NaN open. In f64 the engine passes on the payload of an operand, so a rule that
swaps operands can change the bits of a NaN:""".splitlines()

FIRED = """\
A rule that never fired has shown nothing. `dead` counts operations that were removed because nothing uses them.
""".splitlines()

NOT_MEASURED = """\
## Not measured

The modules are generated: real kernels are larger and more regular. A rule with 0 firings above is covered only by its
proof or its own test. `rename-symbol` was not run. Everything ran on one engine, so a mistake of the engine that a pass
does not uncover is invisible here; [whole kernels on a GPU](gpu_modules.md) is the comparison for that.""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--share", type=int, default=1, metavar="N", help="try only one in N passes on each module")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="end after this time, with fewer modules")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + args.count)
    totals = Totals()
    end = time.monotonic() + 60 * args.minutes
    with ProcessPoolExecutor(args.jobs) as pool, progress(len(seeds), "modules") as step:
        for seed, found in zip(seeds, pool.map(partial(try_seed, share=args.share), seeds, chunksize=10)):
            for outcome in found:
                totals.add(seed, outcome)
            step()
            if time.monotonic() > end:
                seeds = range(args.seed, seed + 1)
                pool.shutdown(cancel_futures=True)
                break
    checkout.publish(page(totals, seeds), args.output)
    return int(bool(totals.wrong))


if __name__ == "__main__":
    sys.exit(main())
