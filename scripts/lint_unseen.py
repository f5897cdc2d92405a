"""Write docs/reports/lab/lint_unseen.{json,md}: what the linter finds on the fourth set, at first look.

    python scripts/lint_unseen.py [--results FILE]

FILE is what `scripts/lint_report.py --results FILE` keeps. Without it, the page is written from the committed numbers.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import checkout

PAGE = checkout.LAB / "lint_unseen.md"
NUMBERS = checkout.LAB / "lint_unseen.json"
INTRODUCTION = (
    "`scripts/lint_unseen.py` wrote this page. The fourth set, `tests/lint/fourth`, was written by somebody who did "
    "not know the rules of `tilery lint` or its [trial launches](../../guides/lint.md#trial-launches). Both were "
    "finished and on the main branch before the set was read or run; nothing was changed before this run. A fault is "
    "found if a rule objects to the faulty kernel and not to its corrected twin."
)
RESULT = (
    "{found} of {of} faults were found, {percent:.0f} %; trial launches alone find {launched}. {twins} of the "
    "corrected twins have a finding that is not a note."
)
BIAS = (
    "The set favours launches: its author ran the sanitizer on the pairs of Tile IR, and kept those that it reports. "
    "The [third set](../../../tests/lint/third/README.md), without that, was 70 % at first look by rules alone."
)
NOT_MEASURED = (
    "Kernels of Triton: the set has none. [The page about the linter](../lint.md) was written before there were trial "
    "launches: its tables show rules that look at the text, and the corpus and random modules were not measured again."
)


def read(file: Path) -> dict[str, Any]:
    """Return the findings of each pair of the set."""
    rows = dict(json.loads(line) for line in file.read_text("utf-8").splitlines())
    names = sorted(
        key[len("fourth/") :].removesuffix(" bad") for key in rows if key.startswith("fourth/") and key.endswith(" bad")
    )
    return {
        name: {what: rows[f"fourth/{name} {what}"] for what in ("bad", "good", "bad launched", "good launched")}
        for name in names
    }


def found(pair: dict[str, Any], suffix: str = "") -> list[str]:
    """Return the rules that object to the faulty kernel and not to its twin."""
    bad, good = ({row[0] for row in pair[which + suffix]} for which in ("bad", "good"))
    return sorted(bad - good)


def page(pairs: dict[str, Any]) -> str:
    launched = sum(bool(found(pair, " launched")) for pair in pairs.values())
    hits = sum(bool(found(pair)) for pair in pairs.values())
    twins = sum(any(row[2] != "note" for row in pair["good"]) for pair in pairs.values())
    result = RESULT.format(
        found=hits, of=len(pairs), percent=100 * hits / max(1, len(pairs)), launched=launched, twins=twins or "None"
    )
    lines = [
        "# Unseen faulty kernels",
        "",
        checkout.fill(INTRODUCTION),
        "",
        checkout.fill(result),
        "",
        checkout.fill(BIAS),
        "",
    ]
    lines += ["| Faulty kernel | Rules that object | Launches alone | Notes on its twin |", "|---|---|---|---|"]
    for name, pair in pairs.items():
        rules = ", ".join(f"`{rule}`" for rule in found(pair)) or "none"
        notes = ", ".join(sorted({f"`{row[0]}`" for row in pair["good"]})) or "none"
        lines.append(f"| {name} | {rules} | {'yes' if found(pair, ' launched') else 'no'} | {notes} |")
    return "\n".join([*lines, "", "## Not measured", "", checkout.fill(NOT_MEASURED), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="findings of a run of scripts/lint_report.py")
    args = parser.parse_args()
    if args.results is not None:
        NUMBERS.write_text(json.dumps(read(args.results), indent=1) + "\n", "utf-8")
    PAGE.write_text(page(json.loads(NUMBERS.read_text("utf-8"))), "utf-8")


if __name__ == "__main__":
    main()
