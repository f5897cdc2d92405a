"""Every claim about the corpus of real files, measured on all of it, as a page of the documentation.

    python scripts/corpus_report.py --report docs/reports/corpus.md

Needs the corpus and tileirdisasm.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import oracle  # noqa: E402

import tilery  # noqa: E402
from support.broken import mutate_bytes, mutate_text  # noqa: E402
from tilery import TileError  # noqa: E402
from tilery.cli.progress import progress  # noqa: E402
from tilery.version import SUPPORTED  # noqa: E402


def text_of(data: bytes, *options: str) -> str:
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
    "loaded, cloned and written back: identical bytes": written_back,
    "`dump` accounts for every byte": every_byte,
    "`dis` equals `tileirdisasm`": printed,
    "`dis -g` equals `tileirdisasm -g`": printed_with_locations,
    "that text assembled again disassembles to the same text": assembled_again,
}


def conversions(files: list[Path]) -> tuple[Counter[tuple[str, str, str]], Counter[str]]:
    """How each file converts to each version: same text, or refused, and for which reason."""
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
                    reasons[e.message.partition(", targeting")[0].partition(" is not available")[0]] += 1
                    continue
                same = text_of(data, "-g") == expected
                outcomes[(*key, "same text" if same else "WRONG")] += 1
            step()
    return outcomes, reasons


def mutations(files: list[Path], count: int) -> Counter[str]:
    """Broken files and broken texts: anything but a TileError is a bug and ends the script."""
    rng = random.Random(oracle.SEED)
    found: Counter[str] = Counter()
    texts = [tilery.show(tilery.load(path)) for path in files[:: max(1, len(files) // 200)]]
    with progress(2 * count, "mutants") as step:
        for _ in range(count):
            data = mutate_bytes(rng.choice(files).read_bytes(), rng)
            broken = mutate_text(rng.choice(texts), rng)
            for kind, load in (
                ("bytes", lambda d=data: tilery.load(d)),
                ("texts", lambda t=broken: tilery.parse(t)),
            ):
                started = time.monotonic()
                try:
                    load()
                    found[f"{kind} accepted"] += 1
                except TileError:
                    found[f"{kind} refused"] += 1
                found[f"{kind} over a second"] += time.monotonic() - started > 1
                step()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path)
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=1, help="only each N-th file")
    args = parser.parse_args()
    files = sorted(oracle.CORPUS.glob("*.tileirbc"))[:: args.every]
    lines = [
        "# The corpus of real files",
        "",
        f"{len(files):,} bytecode files that cuTile Python emitted for its own test kernels, versions 13.1 to 13.4.",
        "`python scripts/corpus_report.py` measures this page; the referee is `tileirdisasm` 13.4.92.",
        "",
        "| claim | files |",
        "|---|---|",
    ]
    for claim, test in CHECKS.items():
        with progress(len(files), claim) as step:
            good = 0
            for path in files:
                good += test(path)
                step()
        lines.append(f"| {claim} | {good:,} of {len(files):,} |")
    outcomes, reasons = conversions(files)
    lines += ["", "## Conversion", "", "Each file written at each version: the same text, or refused.", ""]
    lines += ["| from | " + " | ".join(f"to {v}" for v in SUPPORTED) + " |", "|---" * (len(SUPPORTED) + 1) + "|"]
    for old in map(str, SUPPORTED):
        cells = []
        for new in map(str, SUPPORTED):
            good, no, bad = (outcomes[old, new, what] for what in ("same text", "refused", "WRONG"))
            cells.append(f"{good} same" + (f", {no} refused" if no else "") + (f", **{bad} wrong**" if bad else ""))
        lines.append(f"| {old} | " + " | ".join(cells) + " |")
    lines += ["", "Why files are refused:", ""]
    lines += [f"- {number} x {reason}" for reason, number in reasons.most_common()]
    found = mutations(files, args.mutants)
    lines += ["", "## Broken input", "", f"{args.mutants:,} mutated files and as many mutated texts: nothing but", ""]
    lines += [f"- {found[name]:,} {name}" for name in sorted(found)]
    text = "\n".join(lines) + "\n"
    if args.report:
        args.report.parent.mkdir(parents=True, exist_ok=True)
        args.report.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
