"""Run the sanitizer on the catalogue of faulty kernels and write docs/reports/lab/sanitizer_catalogue.md.

It also quotes reports that are drawn at random in docs/guides/sanitizer.md.

    python scripts/sanitizer_catalogue.py [--report docs/reports/lab/sanitizer_catalogue.md] [--results FILE]

FILE keeps what was found, so that a run goes on where an earlier one was stopped. `parts/report_changes.toml` says of
each quoted report what to change, as a reader who had not seen the kernel understood it.

Each file of `tests/sanitize/catalogue` is a faulty kernel and its corrected twin. The page counts, by check, the faulty
kernels that are reported at the right operations with the right cause, and twins that are reported at all.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import checkout
from support.catalogue import FOLDER, Case, cutile_reports_of, names_of, read_cases, reports_of, shown
from tilery.sanitize import Report

PAGE = checkout.LAB / "sanitizer_catalogue.md"
GUIDE = checkout.ROOT / "docs" / "guides" / "sanitizer.md"
BEGIN, END = "<!-- reports: begin -->", "<!-- reports: end -->"
CHANGES = Path(__file__).parent / "parts" / "report_changes.toml"
QUOTED = 15
SEED = 20261119
Found = list[tuple[int, Report, list[int]]]


class Pair(NamedTuple):
    """The findings for a pair."""

    name: str
    checks: list[str]
    is_placed: bool
    """Whether the reports are at the right lines, and nowhere else."""
    is_explained: bool
    """Whether messages, causes and other operations are those that the file names."""
    is_quiet: bool
    """Whether the corrected twin has no report."""
    reports: list[str]


def reports(path: Path, case: Case, checks: str) -> Found:
    if path.suffix == ".mlir":
        return reports_of(case, checks)
    with tempfile.TemporaryDirectory() as folder:
        return cutile_reports_of(case, checks, Path(folder) / f"{path.stem}.py")


def judge(path: Path) -> Pair:
    faulty, twin = read_cases(path)
    checks = names_of(faulty)
    found = reports(path, faulty, checks)
    placed = {(line, r.check) for line, r, _ in found} == {(line, check) for line, check, _ in faulty.faults}
    messages = [(line, r.check, r.message) for line, r, _ in found]
    details = [(line, str(text)) for line, r, _ in found for text in r.details]
    takes_part = {(line, r.check) for _, r, lines in found for line in lines}
    said = all(any(m[:2] == (line, c) and part in m[2] for m in messages) for line, c, part in faulty.faults)
    why = all(any(at == line and part in text for at, text in details) for line, part in faulty.causes)
    others = takes_part.issuperset(faulty.others)
    texts = [shown(r) for _, r, _ in found]
    quiet = not reports(path, twin, checks)
    name = str(path.relative_to(FOLDER))
    return Pair(name, sorted({c for _, c, _ in faulty.faults}), placed, said and why and others, quiet, texts)


def table(pairs: list[Pair]) -> list[str]:
    """A row for each check."""
    rows = ["| check | pairs | at the right operations | with the cause | reports of twins |", "|---|--:|--:|--:|--:|"]
    for check in sorted({c for pair in pairs for c in pair.checks}):
        some = [pair for pair in pairs if check in pair.checks]
        counts = Counter({"placed": 0, "explained": 0, "noisy": 0})
        for pair in some:
            counts.update(
                placed=pair.is_placed, explained=pair.is_placed and pair.is_explained, noisy=not pair.is_quiet
            )
        cells = (len(some), counts["placed"], counts["explained"], counts["noisy"])
        rows.append(f"| `{check}` | " + " | ".join(map(str, cells)) + " |")
    every = (len(pairs), sum(p.is_placed for p in pairs), sum(p.is_placed and p.is_explained for p in pairs))
    rows.append("| all | " + " | ".join(map(str, (*every, sum(not p.is_quiet for p in pairs)))) + " |")
    return rows


def page(pairs: list[Pair], held: set[str]) -> str:
    short = [f"* `{p.name}`" for p in pairs if not (p.is_placed and p.is_explained and p.is_quiet)]
    out = [*HEAD, "", *table(pairs), "", *HELD_OUT, "", *table([pair for pair in pairs if pair.name in held])]
    out += ["", "## Pairs that fall short", "", *(short or ["None."]), "", *RANDOM, ""]
    return "\n".join([*out, *quotes(pairs), *NOT_MEASURED])


def quote(pairs: list[Pair]) -> None:
    """Write the drawn reports into the guide, between two comments."""
    text = GUIDE.read_text("utf-8")
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    changes = tomllib.loads(CHANGES.read_text("utf-8"))
    GUIDE.write_text("\n".join([text[:start], "", *quotes(pairs, changes), text[end:]]), "utf-8")


def quotes(pairs: list[Pair], changes: dict[str, str] | None = None) -> list[str]:
    """Return the drawn reports, with what to change."""
    out = []
    for pair, text in drawn(pairs):
        out += [f"`{pair}`", "", "```text", text, "```", ""]
        if changes is not None:
            out += [f"Change: {changes.get(pair, 'this report has not been read yet')}.", ""]
    return out


def drawn(pairs: list[Pair]) -> list[tuple[str, str]]:
    """Draw reports of different kinds."""
    order = list(pairs)
    random.Random(SEED).shuffle(order)
    kinds: set[str] = set()
    found: list[tuple[str, str]] = []
    for pair in order:
        text = pair.reports[0] if pair.reports else ""
        kind = re.sub(r"[^a-z ]", "", text.partition(" (")[0].partition(": ")[2].partition(": ")[2])
        if text and kind not in kinds and len(found) < QUOTED:
            kinds.add(kind)
            found.append((pair.name, text))
    return found


HEAD = """\
# The sanitizer on faulty kernels

`scripts/sanitizer_catalogue.py` wrote this page. Each pair is a faulty kernel and its corrected twin, in Tile IR or
cuTile Python (`tests/sanitize/catalogue`). A faulty kernel counts as found if exactly the operations that its file
names are reported. The cause counts if the message, the notes and the other operations of the report are those that
the file names. A pair with several checks is in several rows.""".splitlines()
HELD_OUT = """\
## Held out

These pairs were committed before the sanitizer ran on any of them, and no check was changed for them. In one of them,
`promise_bounded_index`, the file expected other words than the message has; the file was corrected.""".splitlines()
RANDOM = f"""\
## {QUOTED} reports, drawn at random

Each is the first report of a pair. They are drawn with a fixed seed, so that no rule comes twice; addresses are left
out.""".splitlines()
NOT_MEASURED = """\
## Not measured

Kernels that were not written to show a fault: [public programs](sanitizer_programs.md) and [random
modules](sanitizer_campaign.md) are. Random schedules. Whether a GPU shows the fault.""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, default=PAGE)
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep results here, and go on with those there")
    args = parser.parse_args()
    paths = sorted(path for path in FOLDER.rglob("*") if path.suffix in (".mlir", ".py"))
    kept = args.results.read_text("utf-8").splitlines() if args.results is not None and args.results.exists() else []
    known = {pair.name: pair for pair in (Pair(*json.loads(line)) for line in kept)}
    pairs = []
    for path in paths:
        pairs.append(known.get(str(path.relative_to(FOLDER))) or judge(path))
        if args.results is not None and pairs[-1].name not in known:
            with args.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(pairs[-1]) + "\n")
    held = set((FOLDER / "held_out.txt").read_text("utf-8").split())
    args.report.write_text(page(pairs, held) + "\n", "utf-8")
    quote(pairs)
    print("\n".join(table(pairs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
