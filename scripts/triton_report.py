"""Compile kernels for GPUs with the Triton engine, without a GPU, and write docs/reports/triton.md.

    python scripts/triton_report.py [--battery 1] [--corpus 400] [--random 500] [--survive 5000]
                                    [--minutes 30] [--output docs/reports/triton.md]

Every operation is compiled for six targets, kernels of the corpus and random modules for sm_90 and gfx942. `--survive`
compiles random modules for sm_90 only to see that this process survives whatever becomes of Triton.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import checkout
import tilery
from engines.triton.battery import TARGETS, Outcome, battery, outcomes
from support.oracle import CORPUS
from tilery.cli.progress import progress
from tilery.engines.triton.compiler import Child
from tilery.engines.triton.limits import DIFFERENT, REFUSED
from tilery.engines.triton.versions import installed
from tilery.ops import registered
from tilery.smith import smith

MAIN = ("sm_90", "gfx942")
Tally = dict[str, list[Outcome]]


class Campaign:
    """Compiles until the time is over, targets side by side; keeps what became of each kernel."""

    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes
        self.children = {target: Child() for target in MAIN}
        self.pool = ThreadPoolExecutor(len(MAIN))
        self.reasons: Counter[tuple[str, str]] = Counter()

    def late(self) -> bool:
        return time.monotonic() > self.end

    def stop(self) -> None:
        for child in self.children.values():
            child.stop()

    def compile(self, module: tilery.ops.Module, targets: Sequence[str], tally: Tally) -> None:
        """Compile the kernels of a module for some targets, and add what became of them."""

        def run(target: str) -> list[Outcome]:
            return list(outcomes(module, target, self.children[MAIN[target.startswith("gfx")]]))

        for target, found in zip(targets, self.pool.map(run, targets)):
            tally[target] += found
            for each in found:
                if not each.compiled:
                    self.reasons["the engine" if each.ours else "Triton", each.reason] += 1


def operations(campaign: Campaign, seeds: int) -> dict[str, dict[str, list[Outcome]]]:
    """Compile the battery of every operation for every target."""
    found: dict[str, dict[str, list[Outcome]]] = {}
    table = registered()
    with progress(len(table), "operations") as step:
        for opdef in table:
            tally: dict[str, list[Outcome]] = defaultdict(list)
            seeds_here = 0 if opdef.mnemonic in ("module", "entry", "global") else seeds
            for module in battery(opdef, seeds_here):
                campaign.compile(module, TARGETS, tally)
            found[opdef.mnemonic] = tally
            step()
    return found


def modules(campaign: Campaign, name: str, count: int) -> Tally:
    """Compile kernels of the corpus or random modules for the two main targets."""
    tally: Tally = {target: [] for target in MAIN}
    if name == "corpus":
        files = sorted(CORPUS.glob("*.tileirbc"))
        chosen: list[Path | int] = list(random.Random(1337).sample(files, min(count, len(files))))
    else:
        chosen = list(range(count))
    with progress(len(chosen), name) as step:
        for each in chosen:
            if campaign.late():
                break
            module = smith(each) if isinstance(each, int) else tilery.load(each)
            campaign.compile(module, MAIN, tally)
            step()
    return tally


def survive(campaign: Campaign, count: int) -> tuple[int, int, int]:
    """Compile random modules; return how many kernels there were, how many compiled, and how often Triton died."""
    kernels = compiled = died = 0
    with progress(count, "random modules") as step:
        for seed in range(10_000, 10_000 + count):
            if campaign.late():
                break
            for found in outcomes(smith(seed, size=20), "sm_90", campaign.children["sm_90"]):
                kernels += 1
                compiled += found.compiled
                died += "crashed" in found.reason or "took more than" in found.reason
            step()
    return kernels, compiled, died


def share(found: list[Outcome]) -> str:
    return f"{sum(o.compiled for o in found):,} of {len(found):,}"


def page(args: argparse.Namespace) -> str:
    campaign = Campaign(args.minutes)
    table = operations(campaign, args.battery)
    corpus = modules(campaign, "corpus", args.corpus) if CORPUS.is_dir() else {target: [] for target in MAIN}
    rand = modules(campaign, "random", args.random)
    kernels, compiled, died = survive(campaign, args.survive)
    campaign.stop()
    whole = sum(all(o.compiled for found in tally.values() for o in found) for tally in table.values())
    lines = [
        "# Compiling with Triton, without a GPU",
        "",
        checkout.fill(
            f"`scripts/triton_report.py` wrote this page with Triton {installed().version}. Each operation was compiled"
            " as its example in the reference and in random modules that have it, for six targets. Nothing was run: "
            "results are compared with the reference engine on a GPU by `scripts/gpu_engines.py`. A kernel that is "
            "not compiled is an error with a reason."
        ),
        "",
        "| | sm_90 | gfx942 |",
        "|---|--:|--:|",
        f"| kernels of the corpus | {share(corpus['sm_90'])} | {share(corpus['gfx942'])} |",
        f"| kernels of random modules | {share(rand['sm_90'])} | {share(rand['gfx942'])} |",
        "",
        checkout.fill(
            f"Of {kernels:,} kernels of further random modules, {compiled:,} compiled for sm_90. Triton crashed or "
            f"took too long {died:,} times; the process that called it went on each time."
        ),
        "",
        "## Operations",
        "",
        f"{whole} of {len(table)} operations compiled in every module for every target. The others:",
        "",
        "| operation | " + " | ".join(TARGETS) + " |",
        "|---|" + "--:|" * len(TARGETS),
    ]
    for name, tally in table.items():
        if any(not o.compiled for found in tally.values() for o in found):
            lines.append(f"| `{name}` | " + " | ".join(share(tally[target]) for target in TARGETS) + " |")
    lines += ["", "## What is refused", "", "| operations | targets | the error says |", "|---|---|---|"]
    lines += [f"| {limit.operations} | {limit.targets} | {limit.why} |" for limit in REFUSED]
    lines += ["", "## What differs from the reference engine", "", "| | |", "|---|---|"]
    lines += [f"| {what} | {how} |" for what, how in DIFFERENT]
    lines += ["", "## Reasons", "", "| said by | reason | kernels |", "|---|---|--:|"]
    for (who, reason), count in campaign.reasons.most_common():
        lines.append(f"| {who} | {' '.join(reason.split())[:300].replace('|', '/')} | {count:,} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--battery", type=int, default=1, help="random modules for each operation")
    parser.add_argument("--corpus", type=int, default=400)
    parser.add_argument("--random", type=int, default=500)
    parser.add_argument("--survive", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    checkout.publish(page(args), args.output)


if __name__ == "__main__":
    main()
