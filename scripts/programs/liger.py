"""Run Liger's tests of its cuTile kernels without a GPU, and write docs/reports/lab/liger.{json,md}.

    python scripts/programs/liger.py run LIGER [--only TEXT] [--limit 60] [--deadline 3600] [--resume] [--jobs N]
    python scripts/programs/liger.py add RESULTS...     # the results of runs on another machine
    python scripts/programs/liger.py redraw             # the page again, from liger.json

LIGER is a clone of linkedin/Liger-Kernel. Needs cuTile, torch and transformers. The files are those of the cuTile
backend itself and of the operations that it has; LIGER_KERNEL_IMPL selects it. Each runs in pieces, in the order of its
tests, until the limit of processor time of each piece, and the deadline of all; with `--resume`, it begins with the
tests that an earlier run did not reach, and its status is 3 if there are more. held_out.toml names the third that was
set aside before the first run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
import tomllib
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from parts.code import engine_code
from parts.limited import PATIENCE, Found, environment, limited, parted, revision

NUMBERS = checkout.LAB / "liger.json"
REPORT = checkout.LAB / "liger.md"
HELD_OUT = tomllib.loads(Path(__file__).with_name("held_out.toml").read_text("utf-8"))["liger"]
REASONS = {
    "needs another transformers": r"(Import|Attribute|ModuleNotFound)Error.*transformers",
    "Liger's cuTile kernel has no such option": r"NotImplementedError: cuTile .* does not support",
    "Liger's cuTile kernel takes bf16 only": r"TypeError: cuTile FLCE supports BF16 input",
    "Liger's cuTile function has fewer parameters than its Triton twin": r"TypeError: Liger\w+\.forward\(\) takes",
}
"""Why a test cannot pass here whatever tilery does, by a pattern of its error."""
JUDGED = {
    "test_geglu.py": "torch on the host: where 1 + tanh(x) cancels, its `gelu` differs from the nearest number by more "
    "than Liger's, in 0.1 % of the elements; products of them have results near zero, and the test allows 1 %. Both "
    "engines return the same bits.",
    "test_layer_norm.py": "the program: its kernel keeps the mean and the deviation of each row in bf16, so that its "
    "gradients are less exact than torch's, by more than the test allows in one of ten cases; both engines return the "
    "same bits.",
    "test_group_norm.py": "torch on the host: its sums of 131,072 numbers are 4e-4 from the exact ones, Liger's on "
    "either engine 1.3e-4, and the test allows 1e-4 of small ones.",
}
"""What was found out about the other failures of a file."""
HOPPER = "fused_linear_cross_entropy"
"""Liger's cuTile kernels of this name ask for a device of capability 9.0."""


def load(path: Path = NUMBERS) -> Found:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def add(args: argparse.Namespace) -> bool:
    """Replace the results of the files that runs elsewhere have reached."""
    found = load()
    for path in args.results:
        found |= {name: facts for name, facts in load(path).items() if facts["outcomes"].strip(NOT_RUN)}
    NUMBERS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
    return False


def files(folder: Path) -> list[str]:
    """Return the tests of the backend, and of each operation that it has."""
    tests, ops = folder / "test" / "transformers", folder / "src" / "liger_kernel" / "ops" / "cutile" / "ops"
    names = [f"test_{path.stem}.py" for path in sorted(ops.glob("*.py"))] + [
        path.name for path in sorted(tests.glob("test_cutile_*.py"))
    ]
    return [name for name in names if (tests / name).exists()]


TESTS = "test/transformers/"
LETTERS = {"passed": ".", "failed": "F", "skipped": "s"}
STOPPED, NOT_RUN = "T", " "
"""Further letters of the outcomes of a file, which have one for each test in order."""


def run(args: argparse.Namespace) -> bool:
    """Run pieces of the files in turns; return whether tests are left for another run."""
    folder, end = Path(args.liger), time.monotonic() + args.deadline
    chosen = [name for name in files(folder) if args.only in name]
    text = pytest(args, chosen, args.limit, "--collect-only", "-q")[1]
    tests = {name: re.findall(rf"^test/transformers/({re.escape(name)}::.*)$", text, re.M) for name in chosen}
    found = load(args.results)
    for name, own in tests.items():
        if not args.resume or name not in found:
            facts = {"seconds": 0, "why": {}, "engine": args.engine, "codes": [], "revision": revision(folder)}
            found[name] = facts | {"outcomes": NOT_RUN * len(own)}
        found[name]["limit"] = args.limit
    pieces, lock, code = deque(turns(found, tests, args.piece)), Lock(), engine_code()

    def work() -> None:
        while time.monotonic() < end and (piece := pieces.popleft() if pieces else None):
            name, numbers = piece
            ended = run_piece(args, [tests[name][n] for n in numbers], max(end - time.monotonic(), 1))
            with lock:
                if left := put(found[name], numbers, tests[name], ended):
                    pieces.append((name, left))
                found[name]["codes"] = sorted({*found[name].get("codes", []), code})
                args.results.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
                print(name, found[name]["outcomes"], found[name]["seconds"], flush=True)

    cores = iter(sorted(os.sched_getaffinity(0)))
    pin = lambda: os.sched_setaffinity(0, [next(cores)])  # noqa: E731 (of this thread, and what it starts)
    with ThreadPoolExecutor(args.jobs, initializer=pin if args.jobs > 1 else None) as pool:
        for worker in [pool.submit(work) for _ in range(args.jobs)]:
            worker.result()
    return any(NOT_RUN in facts["outcomes"] for facts in found.values())


def turns(found: Found, tests: dict[str, list[str]], size: int) -> list[tuple[str, list[int]]]:
    """Return the pieces to run: of each file the numbers of some tests, and files take turns."""
    by_file = []
    for name in tests:
        waiting = [n for n, letter in enumerate(found[name]["outcomes"]) if letter == NOT_RUN]
        by_file.append([(name, waiting[n : n + size]) for n in range(0, len(waiting), size)])
    return [piece for turn in zip_longest(*by_file) for piece in turn if piece]


def put(facts: dict[str, Any], numbers: list[int], tests: list[str], ended: Ended) -> list[int]:
    """Keep what a piece found, and return which of its tests wait for another process.

    A process that its limit ends has stopped the test that it began with, if that has no outcome.
    """
    letters = list(facts["outcomes"])
    for n in numbers:
        letters[n] = ended.letters.get(tests[n], letters[n])
    left = [n for n in numbers if letters[n] == NOT_RUN]
    stopped = left if ended.status is not None else left[:1] if left == numbers and not ended.late else []
    for n in stopped:
        letters[n] = STOPPED
    facts["outcomes"] = "".join(letters)
    facts["seconds"] += ended.seconds
    facts["why"] = dict(Counter(facts["why"]) + Counter(ended.why))
    return [n for n in left if n not in stopped]


class Ended(NamedTuple):
    """How a piece ended: its status or `None`, letters of tests, reasons of failures, its time, and the deadline's."""

    status: int | None
    letters: dict[str, str]
    why: dict[str, int]
    seconds: int
    late: bool


def run_piece(args: argparse.Namespace, tests: list[str], left: float) -> Ended:
    """Run some tests of a file in a process, until its limit or the deadline."""
    start, most = time.monotonic(), min(left, PATIENCE * args.limit)
    with tempfile.TemporaryDirectory() as folder:
        status, _, used = pytest(args, tests, args.limit, "-q", "--tilery-results", folder, wall=most)
        lines = [line for each in Path(folder).glob("*.jsonl") for line in each.read_text("utf-8").splitlines()]
    rows = [row for row in map(json.loads, lines) if "outcome" in row]
    letters = {row["test"].removeprefix(TESTS): LETTERS[row["outcome"]] for row in rows}
    why = Counter(reason(row) for row in rows if row["outcome"] == "failed")
    return Ended(status, letters, dict(why), used, status is None and time.monotonic() - start >= left - 1)


def pytest(args: argparse.Namespace, tests: list[str], limit: int, *options: str, **more: Any) -> Any:
    """Run pytest with the plugins of both languages."""
    capability = "9.0" if all(HOPPER in test for test in tests) else "10.0"
    command = [sys.executable, "-m", "pytest", "-p", "tilery.triton.pytest", "-p", "tilery.cutile.pytest"]
    command += ["-p", "no:cacheprovider", "--tilery-engine", args.engine, "--tilery-capability", capability, *options]
    # Pytest leaves out reasons that do not fit in a line, and a process that is killed loses what it holds back.
    own = environment(path="src", LIGER_KERNEL_IMPL="cutile", COLUMNS="1000", PYTHONUNBUFFERED="1")
    return limited([*command, *(f"test/transformers/{test}" for test in tests)], limit, cwd=args.liger, env=own, **more)


def reason(row: dict[str, Any]) -> str:
    """Return why a test fails, in short."""
    said = f"{row.get('error')}: {row.get('message', '')}".replace("\n", " ")
    return known_reason(said) or said[:100]


def known_reason(said: str) -> str:
    """Return the reason of an error that is known, or nothing."""
    return next((why for why, pattern in REASONS.items() if why == said or re.search(pattern, said)), "")


INTRODUCTION = """\
`scripts/programs/liger.py` wrote this page. It runs the tests of Liger's cuTile backend without a GPU: those of the \
backend itself, and those of each operation that it has, some of which compare it with Liger's kernels in Triton, so \
that kernels of both languages run. Each file runs in the order of its tests, in processes of some tests. A test may \
take {limit} s of processor time. Engine cpu was as it is in {codes}, git's name for its folder."""
NOT_MEASURED = """\
What was not run, for time, and what was stopped: most of these tests have logits of 4096 x 32000. Tests of other
backends. Nothing here ran on a GPU."""


def page(found: Found) -> str:
    """Write the page."""
    limit = " to ".join(sorted({str(facts.get("limit", 60)) for facts in found.values()}, key=int))
    codes = ", ".join(sorted({f"`{code}`" for facts in found.values() for code in facts.get("codes", [])}))
    said = INTRODUCTION.format(limit=limit, codes=codes or "another state")
    lines = ["# Liger's cuTile kernels, without a GPU", "", checkout.fill(said), ""]
    for title, names in parted(found, HELD_OUT):
        outside = sum(count for name in names for why, count in found[name]["why"].items() if known_reason(why))
        total = Counter("".join(found[name]["outcomes"] for name in names))
        lines.append(
            f"* {title}: {total['.']} of {total.total()} tests pass, {total['F']} fail, {outside} of them because of "
            f"Liger or its other packages; {total['s']} are skipped; {total[STOPPED]} are stopped by the limit; "
            f"{total[NOT_RUN]} were not run."
        )
    lines += ["", "| file | tests | passed | failed | skipped | stopped | not run | processor time | |"]
    lines.append("|---|" + "--:|" * 7 + "---|")
    for name, facts in found.items():
        total = Counter(facts["outcomes"])
        cells = [total.total(), *(total[letter] for letter in (".", "F", "s", STOPPED, NOT_RUN))]
        held = "held out" if name in HELD_OUT else ""
        lines.append(f"| {name} | {' | '.join(map(str, cells))} | {facts['seconds']} s | {held} |")
    if any(facts["why"] for facts in found.values()):
        lines += ["", "| file | why tests fail | number | fault |", "|---|---|--:|---|"]
    for name, facts in found.items():
        for why, count in facts["why"].items():
            reason = known_reason(why)
            fault = "the program" if reason else JUDGED.get(name, "not known")
            lines.append(f"| {name} | {(reason or why).replace('|', '¦')} | {count} | {fault} |")
    return "\n".join([*lines, "", "## Not measured", "", NOT_MEASURED, ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verbs.add_parser("redraw").set_defaults(run=lambda args: False)
    verb = verbs.add_parser("run")
    verb.set_defaults(run=run)
    verb.add_argument("liger")
    verb.add_argument("--only", default="", metavar="TEXT")
    verb.add_argument("--resume", action="store_true", help="run what an earlier run did not reach")
    verb.add_argument("--engine", default="cpu")
    verb.add_argument("--limit", type=int, default=60, metavar="SECONDS")
    verb.add_argument("--deadline", type=float, default=3600, metavar="SECONDS")
    verb.add_argument("--piece", type=int, default=8, metavar="N", help="tests in one process at most")
    verb.add_argument("--jobs", type=int, default=1, metavar="N", help="processes at a time, on a core each")
    verb.add_argument("--results", type=Path, default=NUMBERS, metavar="FILE")
    verb = verbs.add_parser("add")
    verb.set_defaults(run=add)
    verb.add_argument("results", type=Path, nargs="+", metavar="RESULTS")
    args = parser.parse_args()
    more = args.run(args)
    checkout.publish(page(load()), REPORT)
    return 3 if more else 0


if __name__ == "__main__":
    sys.exit(main())
