"""Compare the profiles of older readers and verifiers with the tools of those versions; write docs/reports/profiles.md.

    python scripts/profiles.py record --profile 13.1 --tileiras /path/to/13.1/tileiras --records FOLDER
    python scripts/profiles.py compare --records FOLDER [--set tuned] [--report docs/reports/profiles.md]

`record` makes mutants and keeps each with the verdict of `tileiras`. It skips parts that are already recorded, so that
it can be interrupted. `compare` asks tilery for its verdict on every recorded mutant. The profiles were written with
the mutants of the tuned parts in view; those of the held-out parts were not looked at before.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import checkout  # noqa: F401
from differential import legal_module, shape
from parts.profile_mutants import mutant
from tilery import TileError, load, verify
from tilery.cli.progress import progress
from tilery.version import SUPPORTED, Version

PARTS = 40
"""The number of seeded parts of a campaign. It is fixed, so that results do not depend on the machine."""
SETS = {"tuned": range(20), "held out": range(20, PARTS)}
REFUSED, ACCEPTED = 3, 5
"""Exit codes of `tileiras` for a module that it cannot read or verify, and for one that the rest of it cannot compile:
without `ptxas` beside it, every legal module is such a one."""


def version_of(profile: str, rng: random.Random) -> Version:
    """Choose the bytecode version of a mutant, rarely one that is too new for the profile."""
    latest = Version.parse(profile)
    new = [v for v in SUPPORTED if v > latest]
    return rng.choice(new) if rng.random() < 0.01 else rng.choice([v for v in SUPPORTED if v <= latest])


def record_part(profile: str, tool: str, count: int, part: int, folder: Path) -> int:
    """Record the mutants of a part, and return how many bytecode could not express."""
    path = folder / profile / f"{part:02}.jsonl"
    if path.exists():
        return 0
    rng, lines, skipped = random.Random(f"profiles {profile} {part}"), list[str](), 0
    with tempfile.TemporaryDirectory() as scratch:
        while len(lines) < count:
            version = version_of(profile, rng)
            try:
                data = mutant(legal_module(rng, 0.6), rng, version)
            except TileError:
                skipped += 1
                continue
            status, said = ask(tool, data, Path(scratch, "in.tileirbc"))
            lines.append(json.dumps({"data": base64.b64encode(data).decode(), "status": status, "said": said}))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return skipped


def ask(tool: str, data: bytes, path: Path) -> tuple[int, str]:
    """Return the exit code of `tileiras` and the first line of its first message."""
    path.write_bytes(data)
    command = [tool, "--gpu-name", "sm_100", str(path), "-o", "/dev/null"]
    try:
        answer = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        return -1, "timeout"
    found = (s for s in answer.stderr.splitlines() if "error: " in s)
    return answer.returncode, re.sub(r"^.*?error: (error at offset \d+: )?", "", next(found, ""))


def record(args: argparse.Namespace) -> int:
    sizes = [len(range(part, args.count, PARTS)) for part in range(PARTS)]
    with ProcessPoolExecutor(args.jobs) as pool, progress(PARTS, "parts") as step:
        rest = [args.profile] * PARTS, [args.tileiras] * PARTS, sizes, range(PARTS), [args.records] * PARTS
        for _ in pool.map(record_part, *rest):
            step()
    return 0


# ---------------------------------------------------------------- comparison


def recorded(folder: Path, parts: range) -> Iterator[tuple[bytes, int, str]]:
    for part in parts:
        path = folder / f"{part:02}.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            row = json.loads(line)
            yield base64.b64decode(row["data"]), row["status"], row["said"]


def ours(data: bytes, profile: str) -> str:
    """Return the first line of our first message, or an empty string if the module is legal."""
    try:
        module = load(data, reader=profile, verify=False)
        messages = [finding.message for finding in verify(module, stop="mlir", reader=profile)]
    except TileError as e:
        messages = [e.message]
    return messages[0].split("\n")[0] if messages else ""


def compare(folder: Path, profile: str, parts: range) -> tuple[Counter[str], Counter[str]]:
    """Return totals, and the differences by class."""
    totals: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    for data, status, said in recorded(folder / profile, parts):
        if status not in (REFUSED, ACCEPTED):
            totals["crashed"] += 1
            continue
        mine, refused = ours(data, profile), status == REFUSED
        totals["compared"] += 1
        totals["accepted by both"] += not refused and not mine
        totals["agree"] += refused == bool(mine)
        totals["refused by both"] += refused and bool(mine)
        totals["same first message"] += refused and mine == said
        if refused != bool(mine):
            who = f"only {profile} refuses" if refused else "only tilery refuses"
            classes[f"**{who}**: `{shape(said or mine)}`"] += 1
        elif refused and mine != said:
            classes[f"different message: `{shape(mine)}` / `{shape(said)}`"] += 1
    return totals, classes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    recording = verbs.add_parser("record")
    recording.add_argument("--profile", required=True)
    recording.add_argument("--tileiras", required=True)
    recording.add_argument("--count", type=int, default=20000)
    recording.add_argument("--jobs", type=int, default=1)
    recording.add_argument("--records", type=Path, required=True)
    recording.set_defaults(run=record)
    args = parser.parse_args()
    return int(args.run(args))


if __name__ == "__main__":
    raise SystemExit(main())
