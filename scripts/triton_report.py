"""Compile kernels for GPUs with the Triton engine, without a GPU, and write docs/reports/lab/triton.{json,md}.

    python scripts/triton_report.py kernels [--battery 1] [--corpus 400] [--random 500] [--minutes 30]
    python scripts/triton_report.py samples FOLDER [--minutes 30]
    python scripts/triton_report.py survive [--count 5000] [--minutes 60]
    python scripts/triton_report.py redraw                                  # the page again, from triton.json

`kernels` compiles every operation for six targets, and kernels of the corpus and random modules for sm_90 and gfx942.
FOLDER has a folder for each sample of cuTile, which `tilery cutile run --engine none --record` has filled. `survive`
compiles random modules for sm_90 only to see that this process survives whatever becomes of Triton; it goes on where it
stopped the last time.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import checkout
import tilery
from engines.triton.battery import TARGETS, Outcome, battery, outcomes
from support.oracle import CORPUS
from tilery.cli.progress import progress
from tilery.engines import recorded
from tilery.engines.triton.compiler import CompileProcess
from tilery.engines.triton.limits import DIFFERENT, REFUSED
from tilery.engines.triton.versions import installed
from tilery.ops import registered
from tilery.smith import smith

MAIN = ("sm_90", "gfx942")
REPORT, NUMBERS = checkout.LAB / "triton.md", checkout.LAB / "triton.json"
FIRST_SEED = 10_000
Tally = dict[str, list[Outcome]]


class Campaign:
    """Compiles until the time is over, targets side by side; keeps what became of each kernel."""

    def __init__(self, minutes: float) -> None:
        self.end = time.monotonic() + 60 * minutes
        self.children = {target: CompileProcess() for target in MAIN}
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


# ---------------------------------------------------------------- what is measured

Counts = list[int]
"""How many kernels compiled, of how many."""


def counts(found: list[Outcome]) -> Counts:
    return [sum(o.compiled for o in found), len(found)]


def reasons(campaign: Campaign) -> list[list[Any]]:
    return [
        [who, " ".join(reason.split())[:300].replace("|", "/"), count]
        for (who, reason), count in campaign.reasons.most_common()
    ]


def measure_kernels(args: argparse.Namespace, _: dict[str, Any]) -> dict[str, Any]:
    """Compile every operation, kernels of the corpus and random modules."""
    campaign = Campaign(args.minutes)
    table = operations(campaign, args.battery)
    corpus = modules(campaign, "corpus", args.corpus) if CORPUS.is_dir() else {target: [] for target in MAIN}
    rand = modules(campaign, "random", args.random)
    campaign.stop()
    partly = {
        name: {target: counts(tally[target]) for target in TARGETS}
        for name, tally in table.items()
        if any(not o.compiled for found in tally.values() for o in found)
    }
    return {
        "triton": installed().version,
        "operations": len(table),
        "partly": partly,
        "corpus": {target: counts(corpus[target]) for target in MAIN},
        "random": {target: counts(rand[target]) for target in MAIN},
        "reasons": reasons(campaign),
    }


def measure_samples(args: argparse.Namespace, _: dict[str, Any]) -> dict[str, Any]:
    """Compile the kernels that cuTile's samples launch."""
    campaign, found = Campaign(args.minutes), {}
    folders = sorted(path for path in args.folder.iterdir() if path.is_dir())
    with progress(len(folders), "samples") as step:
        for folder in folders:
            tally: Tally = {target: [] for target in MAIN}
            for data in dict.fromkeys(recorded.load(path).bytecode for path in sorted(folder.glob("*.zip"))):
                campaign.compile(tilery.load(data), MAIN, tally)
            found[folder.name] = {target: counts(tally[target]) for target in MAIN}
            step()
    campaign.stop()
    return {"triton": installed().version, "samples": found, "reasons": reasons(campaign)}


def measure_survival(args: argparse.Namespace, before: dict[str, Any]) -> dict[str, Any]:
    """Compile random modules until all are done or the time is over, from where the last run stopped."""
    found = dict.fromkeys(("modules", "kernels", "compiled", "refused", "died"), 0) | before
    campaign = Campaign(args.minutes)
    with progress(args.count - found["modules"], "random modules") as step:
        while found["modules"] < args.count and not campaign.late():
            seed = FIRST_SEED + found["modules"]
            for each in outcomes(smith(seed, size=20), "sm_90", campaign.children["sm_90"]):
                found["kernels"] += 1
                found["compiled"] += each.compiled
                found["refused"] += each.ours
                found["died"] += "crashed" in each.reason or "took more than" in each.reason
            found["modules"] += 1
            step()
    campaign.stop()
    return found | {"triton": installed().version}


# ---------------------------------------------------------------- the page


def share(found: Counts) -> str:
    return f"{found[0]:,} of {found[1]:,}"


def page(numbers: dict[str, Any]) -> str:
    """Render the numbers of triton.json."""
    kernels = numbers["kernels"]
    lines = [
        "# Compiling with Triton, without a GPU",
        "",
        checkout.fill(
            f"`scripts/triton_report.py` wrote this page with Triton {kernels['triton']}. Each operation was compiled"
            " as its example in the reference and in random modules that have it, for six targets. For a kernel that "
            "is not compiled, the engine raises an error with a reason."
        ),
        "",
        "| | sm_90 | gfx942 |",
        "|---|--:|--:|",
        *(
            f"| kernels of {what} | " + " | ".join(share(kernels[key][target]) for target in MAIN) + " |"
            for key, what in (("corpus", "the corpus"), ("random", "random modules"))
        ),
        "",
        *_survival(numbers.get("survival")),
        *_samples(numbers.get("samples")),
        "## Operations",
        "",
        f"{kernels['operations'] - len(kernels['partly'])} of {kernels['operations']} operations compiled in every "
        "module for every target. The others:",
        "",
        "| operation | " + " | ".join(TARGETS) + " |",
        "|---|" + "--:|" * len(TARGETS),
    ]
    for name, found in kernels["partly"].items():
        lines.append(f"| `{name}` | " + " | ".join(share(found[target]) for target in TARGETS) + " |")
    lines += ["", "## What is refused", "", "| operations | targets | the error says |", "|---|---|---|"]
    lines += [f"| {limit.operations} | {limit.targets} | {limit.why} |" for limit in REFUSED]
    lines += ["", "## What differs from the reference engine", "", "| | |", "|---|---|"]
    lines += [f"| {what} | {how} |" for what, how in DIFFERENT]
    lines += ["", "## Reasons", "", "| said by | reason | kernels |", "|---|---|--:|"]
    lines += [f"| {who} | {reason} | {count:,} |" for who, reason, count in kernels["reasons"]]
    text = (
        "No kernel was run: [another page](gpu_engines.md) compares results with the reference engine on a GPU. "
        "Targets other than the six, and how fast the compiled kernels are."
    )
    return "\n".join([*lines, "", "## Not measured", "", checkout.fill(text)])


def _survival(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    text = (
        f"Of {found['kernels']:,} kernels of {found['modules']:,} further random modules, {found['compiled']:,} "
        f"compiled for sm_90, and the engine refused {found['refused']:,}. Triton crashed or took too long "
        f"{found['died']:,} times; the process that called it went on each time."
    )
    return [checkout.fill(text), ""]


def _samples(found: dict[str, Any] | None) -> list[str]:
    """Render the table of cuTile's samples."""
    if found is None:
        return []
    lines = [
        "## Samples of cuTile",
        "",
        "Every kernel that a sample launched, once for each of its specialisations. AttentionFMHA tunes itself and was",
        "stopped after nine of its variants.",
        "",
    ]
    lines += ["| sample | " + " | ".join(MAIN) + " |", "|---|" + "--:|" * len(MAIN)]
    for name, row in found["samples"].items():
        lines.append(f"| {name} | " + " | ".join(share(row[target]) for target in MAIN) + " |")
    for _, reason, count in found["reasons"]:
        lines += ["", f"Not compiled, {count:,}: {reason}"]
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    kernels = verbs.add_parser("kernels", help=measure_kernels.__doc__)
    kernels.set_defaults(measure=measure_kernels, part="kernels")
    kernels.add_argument("--battery", type=int, default=1, help="random modules for each operation")
    kernels.add_argument("--corpus", type=int, default=400)
    kernels.add_argument("--random", type=int, default=500)
    samples = verbs.add_parser("samples", help=measure_samples.__doc__)
    samples.set_defaults(measure=measure_samples, part="samples")
    samples.add_argument("folder", type=Path)
    survive = verbs.add_parser("survive", help=measure_survival.__doc__)
    survive.set_defaults(measure=measure_survival, part="survival")
    survive.add_argument("--count", type=int, default=5000)
    for verb in (kernels, samples, survive):
        verb.add_argument("--minutes", type=float, default=60.0)
    verbs.add_parser("redraw", help="write the page from triton.json")
    args = parser.parse_args()
    numbers = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    if args.verb != "redraw":
        numbers[args.part] = args.measure(args, numbers.get(args.part, {}))
        NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n", "utf-8")
    if "kernels" in numbers:
        checkout.publish(page(numbers), REPORT)


if __name__ == "__main__":
    main()
