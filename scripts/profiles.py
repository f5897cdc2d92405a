"""Compare the profiles of older readers and verifiers with the tools of those versions; write docs/reports/profiles.md.

    python scripts/profiles.py record --profile 13.1 --tileiras /path/to/13.1/tileiras --records FOLDER
    python scripts/profiles.py compare --records FOLDER [--report docs/reports/profiles.md]

`record` makes mutants and keeps each with the verdict of `tileiras`. It skips parts that are already recorded, so that
it can be interrupted. `compare` asks tilery for its verdict on every recorded mutant. The profiles were written with
the mutants of the tuned parts in view; those of the held-out parts were looked at only afterwards.
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
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import checkout
from differential import legal_module, shape
from parts.profile_mutants import mutant
from tilery import TileError, load, verify
from tilery.cli.progress import progress
from tilery.version import SUPPORTED, Version

PARTS = 40
"""The number of seeded parts of a campaign. It is fixed, so that results do not depend on the machine."""
HELD_OUT = tuple(range(3, PARTS, 2))
TUNED = tuple(part for part in range(PARTS) if part not in HELD_OUT)
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


def recorded(folder: Path, parts: Iterable[int]) -> Iterator[tuple[bytes, int, str]]:
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


def compare(folder: Path, profile: str, parts: Iterable[int]) -> tuple[Counter[str], Counter[str]]:
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


# ---------------------------------------------------------------- the page

ROWS = {
    "compared": "mutants compared",
    "agree": "agree on accept or refuse",
    "accepted by both": "accepted by both",
    "refused by both": "refused by both",
    "same first message": "with the same first message",
    "crashed": "left out: the tool crashed or took a minute",
}


def page(args: argparse.Namespace) -> int:
    """Compare everything that is recorded, and write the page."""
    lines = ["# Older versions of NVIDIA's tools", "", *INTRODUCTION, ""]
    known = sorted(path.name for path in args.records.iterdir() if re.fullmatch(r"\d+\.\d+", path.name))
    differences: list[str] = []
    with ProcessPoolExecutor(args.jobs) as pool:
        running = {
            profile: {name: pool.submit(compare, args.records, profile, parts) for name, parts in SETS.items()}
            for profile in known
        }
    for profile in known:
        found = {name: each.result() for name, each in running[profile].items()}
        lines += [f"## {profile}", "", f"| | {' | '.join(found)} |", "|---|" + "--:|" * len(found)]
        parts = [sum((args.records / profile / f"{n:02}.jsonl").exists() for n in each) for each in SETS.values()]
        shares = (f"{have} of {len(each)}" for have, each in zip(parts, SETS.values()))
        lines.append(f"| parts of 500 mutants that were recorded | {' | '.join(shares)} |")
        for key, title in ROWS.items():
            lines.append(f"| {title} | {' | '.join(f'{totals[key]:,}' for totals, _ in found.values())} |")
        lines += ["", *listed({name: classes for name, (_, classes) in found.items()}), ""]
        differences += [f"{profile} {c}" for _, classes in found.values() for c in classes if c.startswith("**")]
    checkout.publish("\n".join([*lines, *NOT_MEASURED]), args.report)
    return int(bool(differences))


def listed(found: dict[str, Counter[str]]) -> list[str]:
    """List the classes of differences; those that print a whole operation are one class."""
    merged: dict[str, Counter[str]] = {}
    for name, classes in found.items():
        for text, number in classes.items():
            key = re.sub(r"has '.*", "has ...` (the tool prints the operation)", text)
            merged.setdefault(key, Counter())[name] += number
    counts = sorted(merged.items(), key=lambda item: -item[1].total())
    if not counts:
        return ["No difference."]
    return [f"- {' + '.join(str(each[name]) for name in found)} x {text}" for text, each in counts]


SETS = {"tuned": TUNED, "held out": HELD_OUT}
INTRODUCTION = [
    checkout.fill(text)
    for text in (
        "`python scripts/profiles.py compare` wrote this page. It compares `load(reader=...)` and "
        "`verify(reader=...)` with `tileiras` 13.1.80, 13.2.86 and 13.3.36 on mutants: legal modules, generated or "
        "from the corpus, with one or two changes (types, elements, attributes, hints, operands, regions, bodies of "
        "reductions, terminators, entries, locations), and bytecode with changed bytes. The tool has no compiler "
        "beside it, so a legal module is one that it stops at after the verifier.",
        "",
        "The differences between versions were found in the tuned mutants. The held-out ones have other seeds, and "
        "were compared for the first time when the profiles were finished. That first look found one difference, in 2 "
        "of 2,500 mutants of 13.3: `tanh` with a rounding mode that it reports and accepts. The parts that were "
        "recorded later had one more, in 1 of 10,500 mutants of 13.3 and 1 of 9,810 of 13.2: a single byte for more "
        "than eight values of i1 that is neither 0 nor 255. The profiles have both since.",
        "",
        "An earlier state agreed with the tools on all of 20,000 mutants of each version. Another recording has 20,000 "
        "of each as well. Its first 28,500 (11 parts of 13.1 and of 13.2, 35 of 13.3) showed one more difference, in 1 "
        "of 17,499 mutants of 13.3: the flags of `bounded` in two bytes, which readers before 13.4 take for one. "
        "Predicates were then cut off at each byte, which showed that 13.2 and 13.3 have the words of 13.1 there. The "
        "profiles have both since. The other 31,500 were recorded after that. This page compares the whole recording.",
    )
]
NOT_MEASURED = """\
## Not measured

Only the first message is compared, and not its location. `tileiras` looks at the magic number before its reader does,
and that of 13.3 at the version, so these messages are the driver's. A block without a terminator makes the tool print
the last operation in full, where tilery names it. Text is not compared, because these versions read bytecode only.
""".splitlines()


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
    comparing = verbs.add_parser("compare")
    comparing.add_argument("--records", type=Path, required=True)
    comparing.add_argument("--jobs", type=int, default=1)
    comparing.add_argument("--report", type=Path)
    comparing.set_defaults(run=page)
    args = parser.parse_args()
    return int(args.run(args))


if __name__ == "__main__":
    raise SystemExit(main())
