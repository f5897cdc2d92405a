"""Check every claim about the corpus of real files on all of it, and write docs/reports/corpus.md.

    python scripts/corpus_report.py --report docs/reports/corpus.md

Needs the corpus and tileirdisasm.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import checkout
import tilery
from support import oracle
from support.broken import mutate_bytes, mutate_text
from tilery import TileError
from tilery.cli.progress import progress
from tilery.version import SUPPORTED


def text_of(data: bytes, *options: str) -> str:
    """Return what tileirdisasm prints for bytecode, or an empty string if it refuses."""
    answer = oracle.disassemble(data, *options)
    return answer.stdout if answer.returncode == 0 else ""


def written_back(path: Path) -> bool:
    data = path.read_bytes()
    return tilery.dumps(tilery.clone(tilery.load(data))) == data


def every_byte(path: Path) -> bool:
    found = tilery.dump(path)
    edges = [mark.end for mark in found.marks]
    starts = [mark.start for mark in found.marks]
    whole = starts == [0, *edges[:-1]] and edges[-1] == len(found.data)
    return whole and all(mark.text != "not read" for mark in found.marks)


def printed(path: Path) -> bool:
    return tilery.show(tilery.load(path)) == text_of(path.read_bytes())


def printed_with_locations(path: Path) -> bool:
    return tilery.show(tilery.load(path), locs=True) == text_of(path.read_bytes(), "-g")


def assembled_again(path: Path) -> bool:
    text = text_of(path.read_bytes(), "-g")
    return text_of(tilery.dumps(tilery.parse(text)), "-g") == text


CHECKS: dict[str, Callable[[Path], bool]] = {
    "load, clone and write back: identical bytes": written_back,
    "`dump` accounts for every byte": every_byte,
    "`dis` equals `tileirdisasm`": printed,
    "`dis -g` equals `tileirdisasm -g`": printed_with_locations,
    "that text, assembled again, disassembles to the same text": assembled_again,
}


def check_claims(files: list[Path]) -> list[str]:
    """Count for each claim the files that satisfy it, as rows of a table."""
    rows = []
    for claim, test in CHECKS.items():
        with progress(len(files), claim) as step:
            good = 0
            for path in files:
                good += test(path)
                step()
        rows.append(f"| {claim} | {good:,} of {len(files):,} |")
    return rows


def convert(files: list[Path]) -> tuple[Counter[tuple[str, str, str]], Counter[str]]:
    """Write each file at each version; count outcomes by (from, to, outcome), and the reasons for refusals."""
    outcomes: Counter[tuple[str, str, str]] = Counter()
    reasons: Counter[str] = Counter()
    with progress(len(files), "files converted") as step:
        for path in files:
            module = tilery.load(path)
            expected = text_of(path.read_bytes(), "-g")
            for version in SUPPORTED:
                key = (str(module.version), str(version))
                try:
                    data = tilery.dumps(module, version)
                except TileError as e:
                    outcomes[(*key, "refused")] += 1
                    reasons[e.message.partition(", targeting")[0].partition(" in bytecode version")[0]] += 1
                    continue
                same = text_of(data, "-g") == expected
                outcomes[(*key, "same text" if same else "WRONG")] += 1
            step()
    return outcomes, reasons


def mutate(files: list[Path], count: int) -> Counter[str]:
    """Load broken files and parse broken texts. Anything but a TileError is a bug and ends the script."""
    rng = random.Random(oracle.SEED)
    found: Counter[str] = Counter()
    texts = [tilery.show(tilery.load(path)) for path in files[:: max(1, len(files) // 200)]]
    with progress(2 * count, "mutants") as step:
        for _ in range(count):
            data = mutate_bytes(rng.choice(files).read_bytes(), rng)
            broken = mutate_text(rng.choice(texts), rng)
            attempts: dict[str, Callable[[], object]] = {
                "files": partial(tilery.load, data),
                "texts": partial(tilery.parse, broken),
            }
            for kind, load in attempts.items():
                started = time.monotonic()
                try:
                    load()
                    found[f"{kind} accepted"] += 1
                except TileError:
                    found[f"{kind} refused"] += 1
                found[f"{kind} over a second"] += time.monotonic() - started > 1
                step()
    return found


def conversion_table(outcomes: Counter[tuple[str, str, str]]) -> list[str]:
    lines = ["| from | " + " | ".join(f"to {v}" for v in SUPPORTED) + " |", "|---" * (len(SUPPORTED) + 1) + "|"]
    for old in map(str, SUPPORTED):
        cells = []
        for new in map(str, SUPPORTED):
            good, no, bad = (outcomes[old, new, what] for what in ("same text", "refused", "WRONG"))
            cells.append(f"{good} same" + (f", {no} refused" if no else "") + (f", **{bad} wrong**" if bad else ""))
        lines.append(f"| {old} | " + " | ".join(cells) + " |")
    return lines


def page(files: list[Path], mutants: int) -> str:
    rows = check_claims(files)
    outcomes, reasons = convert(files)
    found = mutate(files, mutants)
    return "\n".join(
        [
            "# The corpus of real files",
            "",
            checkout.fill(
                f"`python scripts/corpus_report.py` wrote this page. The corpus has {len(files):,} bytecode files that "
                "cuTile Python emitted for its own test kernels, versions 13.1 to 13.4. The referee is `tileirdisasm` "
                "13.4.92."
            ),
            "",
            "| claim | files |",
            "|---|---|",
            *rows,
            "",
            "## Conversion",
            "",
            "Each file is written at each version. The result prints the same text, or the conversion is refused.",
            "",
            *conversion_table(outcomes),
            "",
            "Reasons for the refusals:",
            "",
            *(f"- {number} x {reason}" for reason, number in reasons.most_common()),
            "",
            "## Broken input",
            "",
            f"{mutants:,} mutated files were loaded and as many mutated texts parsed; only `TileError` came out:",
            "",
            *(f"- {found[name]:,} {name}" for name in sorted(found)),
            "",
            *NOT_MEASURED,
        ]
    )


NOT_MEASURED = """\
## Not measured

Every file is from one producer, cuTile Python. Files of other compilers (cuTile.jl, cutile-rs) are not in the corpus.
Converted files are compared by the text that `tileirdisasm` prints; none of them was run.""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=1, help="use only every N-th file")
    args = parser.parse_args()
    files = sorted(oracle.CORPUS.glob("*.tileirbc"))[:: args.every]
    if not files:
        parser.error(f"there is no corpus in {oracle.CORPUS}")
    checkout.publish(page(files, args.mutants), args.report)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
