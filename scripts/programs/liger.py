"""Run Liger's tests of its cuTile kernels without a GPU, and write docs/reports/lab/liger.{json,md}.

    python scripts/programs/liger.py run LIGER [--only TEXT] [--limit 120] [--jobs 1] [--deadline 3600]
    python scripts/programs/liger.py redraw             # the page again, from liger.json

LIGER is a clone of linkedin/Liger-Kernel. Needs cuTile, torch and transformers. The files are those of the cuTile
backend itself and of the operations that it has; LIGER_KERNEL_IMPL selects it. Each runs in pieces, in the order of its
tests, until the limit of processor time of each piece, and the deadline of all. held_out.toml names the third that was
set aside before the first run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from parts.limited import Found, environment, limited, outcomes, parted, revision

NUMBERS = checkout.LAB / "liger.json"
REPORT = checkout.LAB / "liger.md"
HELD_OUT = tomllib.loads(Path(__file__).with_name("held_out.toml").read_text("utf-8"))["liger"]
OUTCOMES = ("passed", "failed", "error", "skipped")
REASONS = {
    "needs another transformers": r"(Import|Attribute|ModuleNotFound)Error.*transformers",
}
"""Why a test cannot run here whatever tilery does, by a pattern of its error."""


def load() -> Found:
    return json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}


def files(folder: Path) -> list[str]:
    """Return the tests of the backend, and of each operation that it has."""
    tests, ops = folder / "test" / "transformers", folder / "src" / "liger_kernel" / "ops" / "cutile" / "ops"
    names = [f"test_{path.stem}.py" for path in sorted(ops.glob("*.py"))] + [
        path.name for path in sorted(tests.glob("test_cutile_*.py"))
    ]
    return [name for name in names if (tests / name).exists()]


PIECE = 24
"""How many tests run in one process."""


def run(args: argparse.Namespace) -> None:
    """Run the files, some pieces at a time."""
    folder, end = Path(args.liger), time.monotonic() + args.deadline
    chosen = [name for name in files(folder) if args.only in name]
    text = pytest(args, chosen, args.limit, "--collect-only", "-q")[1]
    tests = {name: re.findall(rf"^test/transformers/({re.escape(name)}::.*)$", text, re.M) for name in chosen}
    pieces = [(at, name, own[at : at + PIECE]) for name, own in tests.items() for at in range(0, len(own), PIECE)]
    pieces.sort(key=lambda piece: piece[0])  # the first piece of each file, then the second ones
    found = load() | {
        name: dict.fromkeys((*OUTCOMES, "seconds"), 0)
        | {"stopped": False, "why": {}, "selected": len(own), "engine": args.engine, "revision": revision(folder)}
        for name, own in tests.items()
    }
    with ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(run_piece, args, own, end): name for _, name, own in pieces}
        for done in as_completed(running):
            add(found[running[done]], done.result())
            NUMBERS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
    for name in chosen:
        print(name, {key: found[name][key] for key in ("selected", *OUTCOMES, "seconds")}, flush=True)


def run_piece(args: argparse.Namespace, tests: list[str], end: float) -> Found:
    """Run some tests of one file."""
    left = end - time.monotonic()
    if left < 1:
        return {"stopped": True, "why": {}}
    status, text, used = pytest(args, tests, args.limit, "-v", "--tb=line", "-rfE", wall=left)
    return outcomes(text) | {"stopped": status is None, "seconds": used, "why": reasons(text)}


def pytest(args: argparse.Namespace, tests: list[str], limit: int, *options: str, **more: Any) -> Any:
    """Run pytest with the plugins of both languages."""
    command = [sys.executable, "-m", "pytest", "-p", "tilery.triton.pytest", "-p", "tilery.cutile.pytest"]
    command += ["-p", "no:cacheprovider", "--tilery-engine", args.engine, "--tilery-capability", "10.0", *options]
    # Pytest leaves out reasons that do not fit in a line, and a process that is killed loses what it holds back.
    own = environment(path="src", LIGER_KERNEL_IMPL="cutile", COLUMNS="1000", PYTHONUNBUFFERED="1")
    return limited([*command, *(f"test/transformers/{test}" for test in tests)], limit, cwd=args.liger, env=own, **more)


def add(total: Found, piece: Found) -> None:
    """Add the outcomes of a piece to those of its file."""
    for key in (*OUTCOMES, "seconds"):
        total[key] += piece.get(key, 0)
    total["stopped"] |= piece["stopped"]
    total["why"] = dict(Counter(total["why"]) + Counter(piece["why"]))


def reasons(text: str) -> dict[str, int]:
    """Count the reasons of the tests that fail, by the lines of pytest's summary."""
    found = Counter[str]()
    for line in re.findall(r"^(?:FAILED|ERROR) \S+.*$", text, re.M):
        _, _, said = line.partition(" - ")
        known = [why for why, pattern in REASONS.items() if re.search(pattern, said or line)]
        found[known[0] if known else said[:100] or "no reason"] += 1
    return dict(found)


INTRODUCTION = """\
`scripts/programs/liger.py` wrote this page. It runs the tests of Liger's cuTile backend without a GPU: those of the
backend itself, and those of each operation that it has, some of which compare it with Liger's kernels in Triton, so
that kernels of both languages run. Each file runs in the order of its tests, in pieces with a limit of processor
time."""
NOT_MEASURED = """\
Files of tests that are not in the table, and tests that a file did not reach. Tests of other backends. Nothing here ran
on a GPU."""


def page(found: Found) -> str:
    """Write the page."""
    lines = ["# Liger's cuTile kernels, without a GPU", "", INTRODUCTION, ""]
    for title, names in parted(found, HELD_OUT):
        total = {word: sum(found[name][word] for name in names) for word in OUTCOMES}
        outside = sum(count for name in names for why, count in found[name]["why"].items() if why in REASONS)
        failed = total["failed"] + total["error"]
        number = sum(found[name]["selected"] for name in names)
        lines.append(
            f"* {title}: {total['passed']} of {number} tests pass, {failed} fail, {outside} of them because they need "
            f"another transformers; {total['skipped']} are skipped. "
            f"{sum(not found[name]['stopped'] for name in names)} of {len(names)} files ran to their end."
        )
    lines += ["", "| file | tests | passed | failed | skipped | processor time | |", "|---|" + "--:|" * 5 + "---|"]
    for name, facts in found.items():
        notes = ["held out"] * (name in HELD_OUT) + ["stopped by the limit"] * facts["stopped"]
        cells = [facts["selected"], facts["passed"], facts["failed"] + facts["error"], facts["skipped"]]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} | {facts['seconds']} s | {', '.join(notes)} |")
    if any(facts["why"] for facts in found.values()):
        lines += ["", "| file | why tests fail | number |", "|---|---|--:|"]
    for name, facts in found.items():
        lines += [f"| {name} | {why.replace('|', '¦')} | {count} |" for why, count in facts["why"].items()]
    return "\n".join([*lines, "", "## Not measured", "", NOT_MEASURED, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verbs.add_parser("redraw").set_defaults(run=lambda args: None)
    verb = verbs.add_parser("run")
    verb.set_defaults(run=run)
    verb.add_argument("liger")
    verb.add_argument("--only", default="", metavar="TEXT")
    verb.add_argument("--engine", default="cpu")
    verb.add_argument("--limit", type=int, default=120, metavar="SECONDS")
    verb.add_argument("--jobs", type=int, default=1)
    verb.add_argument("--deadline", type=float, default=3600, metavar="SECONDS")
    args = parser.parse_args()
    args.run(args)
    checkout.publish(page(load()), REPORT)


if __name__ == "__main__":
    main()
