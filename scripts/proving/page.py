"""The page of the campaign: docs/reports/prove.md, from docs/reports/prove.json."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

WIDTH = 120


def load(root: Path) -> dict[str, Any]:
    """Return the numbers of the last campaign."""
    found: dict[str, Any] = json.loads((root / "docs/reports/prove.json").read_text("utf-8"))
    return found


def fill(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def write_page(facts: dict[str, Any], root: Path) -> None:
    """Write the page."""
    (root / "docs/reports/prove.md").write_text(page(facts), "utf-8")


def page(facts: dict[str, Any]) -> str:
    """Return the page for the numbers of a campaign."""
    total = sum(group["count"] for group in facts["summary"].values())
    lines = ["# Do two kernels compute the same?", ""]
    shapes = facts.get("shapes", 1)
    lines.append(fill(INTRODUCTION.format(total=total, planned=facts["planned"], shapes=SHAPES[shapes])))
    lines += ["", fill(HELD_OUT), "", *_table(facts["summary"])]
    if shapes > 1:
        later = sum(group["later"] for group in facts["summary"].values())
        lines += ["", fill(f"{later} faults and mutants are equal at the first shape and differ at another one.")]
    lines += ["", fill(f"{facts['loops']} of the pairs that were proven equal have a loop in at least one kernel.")]
    if facts["bits"]:
        lines += ["", "## Bit for bit", "", fill(BITS), "", "| Z3, second opinion | mutants |", "|---|--:|"]
        lines += [f"| {name} | {count:,} |" for name, count in sorted(facts["bits"].items())]
    lines += ["", "## Wrong or undecided", "", *_odd(facts["odd"])]
    lines += ["", "## Published mistakes", "", fill(MISTAKES), ""]
    lines += [
        "| published in | mistake | verdict | corrected kernel against itself | witness |",
        "|---|---|---|---|---|",
    ]
    for each in facts["mistakes"]:
        how = "; ".join([each.get("how", ""), *each["notes"]])
        cells = (each["source"], each["what"], each["answer"], each["right"], f"{each.get('witness', '')} ({how})")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", "## Not measured", "", fill(NOT_MEASURED), ""])


INTRODUCTION = """
`python scripts/proving/campaign.py --held-out --report` wrote this page: {total:,} of {planned:,} comparisons ran.
Pairs are programs of one family (matrix products, softmax, norms, attention and others), written in different ways:
other tiles, other loops, pointers for views, several launches. Faults are planted by hand; mutants are random
changes of an operand, a constant or a predicate. {shapes} A second opinion runs both programs in f64 on three sets of
inputs; it shares nothing with residues and enclosures.
"""
SHAPES = {
    1: "Everything is compared at one ragged shape.",
    3: "Programs are compared at three shapes that are no multiples of tiles, or until they differ.",
}
BITS = """
Mutants of development were also compared for all inputs, bit for bit, by Z3. None may be proven that f64 tells apart.
One that f64 does not tell apart may well differ in bits, or for other inputs.
"""
HELD_OUT = """
`scripts/proving/held_out.toml` lists the families and the seeds of mutants that were left out while the rules of
residues and enclosures were written. Their numbers are separate. A fault or mutant may be equal: planting a fault
does not mean that it shows at this shape, or over the real numbers at all.
"""
MISTAKES = """
These mistakes were described in public issues. The kernels are written anew from the description, and compared with
the corrected form.
"""
NOT_MEASURED = """
No kernel here comes from another project; [those of others](lab/prove_published.md) have a page of their own. Shapes
are small. Times are processor times. The second opinion cannot see a difference below
1e-9 of the largest value (1e-6 where constants are read as ideal), nor undefined values that the engine happens to
define as zero.
"""


def _table(summary: dict[str, Any]) -> list[str]:
    columns = ("equal", "different", "undecided", "wrongly equal", "wrongly different")
    lines = [f"| | compared | {' | '.join(columns)} | median | slowest |", "|---|--:|" + "--:|" * (len(columns) + 2)]
    for name, group in summary.items():
        numbers = " | ".join(f"{group.get(column, 0):,}" for column in columns)
        times = f"{group['median']:.2f} s | {group['slowest']:.1f} s"
        lines.append(f"| {name} | {group['count']:,} | {numbers} | {times} |")
    return lines


def _odd(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return ["None."]
    lines = ["| | verdict | f64 | reason |", "|---|---|---|---|"]
    for each in found:
        kind, family, a, b = each["task"]
        reason = each["reason"].replace("|", "/")
        what = f", {each['what']}" if each["what"] else ""
        lines.append(f"| {kind}: {family}, {a}, {b}{what} | {each['answer']} | {each['judge']} | {reason} |")
    return lines
