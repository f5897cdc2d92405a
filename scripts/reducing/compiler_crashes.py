"""Write docs/reports/lab/compiler_crashes.md: what crashes releases of tileiras, from the folders of campaigns.

tilery smith --campaign --against tileiras --tool PATH --version 13.4 --count 2500 --reduce-most 1000 -o FOLDER
python scripts/reducing/compiler_crashes.py RELEASE=FOLDER ... [--output docs/reports/lab/compiler_crashes.md]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import checkout
from tilery.reducer.campaign import Campaign, CampaignPlan, map_here

WANTED = 10_000


def load(folder: Path) -> Campaign:
    """Return the campaign of a folder, with everything that is in its journal."""
    with (folder / "journal.jsonl").open(encoding="utf-8") as file:
        head = json.loads(file.readline())["plan"]
    campaign = Campaign(CampaignPlan(**head), folder, range(1 << 30), map_here(1))
    campaign.load()
    return campaign


def row(release: str, campaign: Campaign) -> str:
    """Return the line of a release in the table."""
    outcomes = Counter(outcome for found in campaign.checked.values() for outcome in found.values())
    shown = ", ".join(f"{outcome} ({count})" for outcome, count in outcomes.most_common()) or "none"
    best = [items[0]["operations"] for items in campaign.causes().values()]
    sizes = f"{min(best)} to {max(best)}" if best else ""
    first, last = min(campaign.checked), max(campaign.checked)
    return (
        f"| {release} | {campaign.plan.version} | {len(campaign.checked):,} | {first} to {last} | "
        f"{sum(outcomes.values())} | {shown} | {len(campaign.reduced)} | {len(best)} | {sizes} |"
    )


def cause_lines(release: str, name: str, items: list[dict[str, Any]]) -> list[str]:
    """Return the section of a cause."""
    best = items[0]
    seeds = ", ".join(str(item["seed"]) for item in sorted(items, key=lambda item: item["seed"]))
    unfinished = sum(not item["complete"] for item in items)
    late = f" {unfinished} of them ran out of time before everything had been tried." if unfinished else ""
    which = (
        f"Seeds {seeds}. In the smallest of {len(items)} reduced kernels" if len(items) > 1 else f"Seed {seeds}. Here"
    )
    facts = f"{which}, {best['before']} operations became {best['operations']} in {best['tests']} tests.{late}"
    return ["", f"### {release}: {name}", "", checkout.fill(facts), "", "```mlir", best["text"].rstrip("\n"), "```"]


def page(campaigns: dict[str, Campaign]) -> str:
    """Return the report."""
    total = sum(len(campaign.checked) for campaign in campaigns.values())
    plan = next(iter(campaigns.values())).plan
    target, size = plan.target, plan.size
    text = (
        "`scripts/reducing/compiler_crashes.py` wrote this page from campaigns of `tilery smith --campaign`. "
        f"{total:,} "
        f"random legal modules of about {size} operations were compiled for {target} at the default optimization "
        "level, without a GPU. Each release got modules of its own bytecode version, and its own seeds. A negative "
        "exit status is a crash; a message about an unsupported type or a failed compilation is not. Modules that "
        "crashed were reduced automatically."
    )
    lines = ["# What crashes tileiras", "", checkout.fill(text), ""]
    lines += ["| tileiras | bytecode | modules | seeds | crashes | how | reduced | causes | operations left |"]
    lines += ["|---|---|--:|---|--:|---|--:|--:|---|"]
    lines += [row(release, campaign) for release, campaign in campaigns.items()]
    lines += ["", "## The reduced kernels", ""]
    lines += [
        checkout.fill(
            "Two crashes have the same cause here if they end with the same signal and their reduced kernels have the "
            "same kinds of operations. That is a guess: one bug may have several causes in this list."
        )
    ]
    for release, campaign in campaigns.items():
        for name, items in campaign.causes().items():
            lines += cause_lines(release, name, items)
    missing = f"{WANTED - total:,} of the {WANTED:,} modules that were planned are missing. " if total < WANTED else ""
    rest = sum(sum(map(len, c.checked.values())) - len(c.reduced) for c in campaigns.values())
    left = f"{rest} of the crashes were not reduced, as only some of each outcome are. " if rest else ""
    text = (
        f"{missing}{left}Whether compiled kernels compute the right thing: [whole kernels on a GPU](gpu_modules.md) "
        "measures that. Other architectures and optimization levels."
    )
    return "\n".join([*lines, "", "## What was not measured", "", checkout.fill(text)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaigns", nargs="+", metavar="RELEASE=FOLDER")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    pairs = [text.partition("=") for text in args.campaigns]
    checkout.publish(page({release: load(Path(folder)) for release, _, folder in pairs}), args.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
