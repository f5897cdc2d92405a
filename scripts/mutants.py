"""Mutate the core at random, and see whether the tests notice.

    python scripts/mutants.py run [--part open] [--jobs 2] [--seconds 3600] [--results FILE.jsonl] [--only ID]
    python scripts/mutants.py page [--results FILE.jsonl]

`run` makes copies of the checkout, runs the tests of the core in them once under coverage (`pip install coverage`) to
learn which tests execute which lines, and then judges mutants (see `parts/random_mutants.py`): first by the tests that
execute the line, the cheapest first, then by all others. It stops by itself after `--seconds`; a second run continues
with the tests that were not asked yet. With `--again`, mutants that were missed are judged again from the start, and
with `--files` by the tests of these files alone.

`page` writes docs/reports/lab/mutants.md. Three of ten mutants are held out, and a fresh draw comes from other places:
the tests were improved by looking at the open mutants alone. `scripts/mutants.toml` says why mutants that were not
noticed are equal to the original, or do not matter.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from multiprocessing import Pool
from pathlib import Path
from time import monotonic
from typing import Any

import checkout
from parts.random_mutants import Mutant, changed, chosen, files_of, mutants_of
from parts.test_choice import Tests, plan
from parts.test_workers import Job, Workers, make_copies

FOLDER = checkout.ROOT / "build" / "mutants"
RESULTS = FOLDER / "results.jsonl"
REASONS = checkout.ROOT / "scripts" / "mutants.toml"
PAGE = checkout.LAB / "mutants.md"
ROOMS = (
    "analysis", "builder", "bytecode", "cli", "conformance", "declare", "documented", "engines/reference", "golden",
    "hostile", "lint", "lsp", "objects", "observe", "passes", "rewrite", "sanitize", "smith", "source", "test_cases.py",
    "test_interned.py", "text", "verifier",
)  # fmt: skip
"""The tests that are about the core, of `tests/`."""
SLOW = ("test_cases.py",)
"""Small files with many tests, which start first."""
CONTROLS = 14
"""So many copies without a change are judged too: a test that fails there fails for another reason."""
NOTICED, MISSED = "noticed", "missed"
OPEN, HELD_OUT, FRESH = "open", "held out", "fresh"
FRESH_SEED = "fresh, third"
"""The seed of a draw that nobody has looked at; a new one makes a new draw."""
Results = dict[str, dict[str, Any]]


def test_files(root: Path) -> list[str]:
    """Return the test files of the core, the largest first, and its packages with examples in docstrings."""
    found: list[Path] = []
    for room in ROOMS:
        path = root / "tests" / room
        found += [path] if path.suffix else sorted(path.rglob("test_*.py"))
    found.sort(key=lambda path: (path.name not in SLOW, -path.stat().st_size))
    packages = ["analysis", "attrs", "bytecode", "engines/reference", "floats", "ops", "passes", "text", "types"]
    return [path.relative_to(root).as_posix() for path in found] + [f"src/tilery/{each}" for each in packages]


def learn(tests: Tests, workers: Workers, deadline: float) -> None:
    """Run the tests that are not known yet without a change, under coverage."""
    files = [file for file in test_files(checkout.ROOT) if file not in tests.collecting]
    jobs = [Job(file, None, [{file: []}], stop=False, learn=True) for file in files]
    for job, answer in workers.run(jobs, deadline):
        tests.add(job.name, answer)
        if not answer.times:
            print(f"{job.name}: {answer.failed or 'no tests'}", flush=True)


def judge_all(mutants: list[Mutant], tests: Tests, workers: Workers, done: Results, args: argparse.Namespace) -> None:
    """Judge mutants, one chunk of tests after the other, and append the results to the file of results."""
    by_id = {each.id: each for each in mutants}
    plans = {each.id: plan(each, tests) for each in mutants}
    todo = [each.id for each in mutants if each.id not in done or done[each.id]["left"]]
    first = {key: len(plans[key].chunks) - done[key]["left"] if key in done else 0 for key in todo}
    with args.results.open("a", encoding="utf-8") as log:
        for number in range(min(args.chunks, max((len(plans[key].chunks) for key in todo), default=0))):
            batches = {key: plans[key].chunks[number] for key in todo if first[key] <= number < len(plans[key].chunks)}
            controls = list(batches)[:CONTROLS] if number == 0 else []
            jobs = (Job(key, change_of(by_id[key]), batch, tests.seconds) for key, batch in batches.items())
            more = (Job(f"control {key}", None, batches[key], tests.seconds) for key in controls)
            for job, answer in workers.run(chain(jobs, more), args.started + args.seconds):
                row: dict[str, Any] = {
                    "id": job.name,
                    "found": NOTICED if answer.failed else MISSED,
                    "by": answer.failed,
                }
                row |= {"seconds": round(answer.seconds, 1), "ran": answer.ran}
                if job.change is not None:
                    mutant, chunks = by_id[job.name], plans[job.name]
                    row |= {"name": mutant.name, "held_out": mutant.held_out}
                    row["left"] = 0 if answer.failed else len(chunks.chunks) - number - 1
                    row["unasked"] = 0 if answer.failed else max(0, chunks.executing - number - 1)
                done[job.name] = row
                print(json.dumps(row), file=log, flush=True)
            todo = [key for key in todo if key in done and done[key]["left"]]
            say(args, f"chunk {number}: {len(todo)} left")
            if monotonic() > args.started + args.seconds:
                break


def change_of(mutant: Mutant) -> tuple[str, str]:
    return mutant.file, changed(mutant, (checkout.ROOT / mutant.file).read_text("utf-8"))


def results(paths: Iterable[Path]) -> Results:
    """Return the last result of each mutant."""
    rows = (json.loads(line) for path in paths if path.exists() for line in path.read_text("utf-8").splitlines())
    return {row["id"]: row for row in rows}


def parts(count: int) -> dict[str, list[Mutant]]:
    """Return the mutants: the first `count`, open or held out, and three tenths as many from the others, fresh."""
    with Pool(1) as pool:
        found = pool.starmap(mutants_of, [(path, checkout.ROOT) for path in files_of(checkout.ROOT)])
    every = [each for part in found for each in part]
    first = chosen(every, count)
    others = set(every).difference(first)
    return {
        OPEN: [each for each in first if not each.held_out],
        HELD_OUT: [each for each in first if each.held_out],
        FRESH: chosen(others, count * 3 // 10, FRESH_SEED),
    }


def run(args: argparse.Namespace) -> int:
    args.started = monotonic()
    FOLDER.mkdir(parents=True, exist_ok=True)
    mutants = parts(args.count)[args.part]
    done = results([args.results])
    if args.only:
        mutants, done = [each for each in mutants if each.id in args.only], {}
    elif args.again:
        mutants, done = [each for each in mutants if done.get(each.id, {"found": MISSED})["found"] == MISSED], {}
    copies = make_copies(checkout.ROOT, FOLDER, args.jobs, files_of(checkout.ROOT))
    say(args, f"{len(mutants)} mutants, {len(copies)} copies")
    workers = Workers(copies, checkout.ROOT)
    tests = Tests.load(args.tests) if args.tests.exists() else Tests()
    learn(tests, workers, args.started + args.seconds / 3)
    tests.save(args.tests)
    if args.files:
        tests.keep(args.files)
    say(args, f"{len(tests.seconds)} tests, {sum(tests.seconds.values()):.0f} s; {len(tests.failed)} fail unchanged")
    judge_all(mutants, tests, workers, done, args)
    counts = Counter(row["found"] for row in done.values() if "name" in row)
    controls = Counter(row["found"] for row in done.values() if "name" not in row)
    say(args, f"{dict(counts)}, controls {dict(controls)}")
    return 0


def say(args: argparse.Namespace, text: str) -> None:
    print(f"{monotonic() - args.started:6.1f} s: {text}", flush=True)


# ---------------------------------------------------------------- the page


def reasons() -> dict[str, str]:
    """Return why mutants that were not noticed do not matter, by their numbers."""
    data = tomllib.loads(REASONS.read_text("utf-8")) if REASONS.exists() else {}
    return {key: group["reason"] for group in data.get("equal", ()) for key in group["mutants"]}


def page(args: argparse.Namespace) -> int:
    """Write the report from the results."""
    found, why = results(args.results or [RESULTS]), reasons()
    lines = ["# Random mutants", "", *map(checkout.fill, INTRODUCTION), "", *TABLE]
    sets = {title: [each for each in part if each.id in found] for title, part in parts(args.count).items()}
    for title, part in sets.items():
        counts = Counter(EQUAL if each.id in why else found[each.id]["found"] for each in part)
        differ = max(len(part) - counts[EQUAL], 1)
        cells = [title, len(part), counts[NOTICED], f"{100 * counts[NOTICED] / max(len(part), 1):.1f} %", counts[EQUAL]]
        early = sum(found[each.id].get("unasked", 0) > 0 for each in part if each.id not in why)
        cells += [counts[MISSED], early, f"{100 * counts[NOTICED] / differ:.1f} %"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    missed = [each for each in sets[OPEN] if found[each.id]["found"] == MISSED]
    lines += [
        "",
        "## Open mutants that were not noticed",
        "",
        "| | place | change | equal because |",
        "|---|---|---|---|",
    ]
    for each in missed:
        place = f"{each.file.removeprefix('src/tilery/')}: `{each.function}`"
        open_end = found[each.id].get("unasked", 0) and each.id not in why
        reason = "**missed** by the tests asked" if open_end else why.get(each.id, "**missed**")
        lines.append(f"| {each.id} | {place} | {each.change} | {reason} |")
    controls = [row for row in found.values() if "name" not in row]
    lines += ["", "## Not measured", ""]
    lines.append(
        checkout.fill(
            NOT_MEASURED + f" {len(controls)} copies without a change were judged too; tests failed in "
            f"{sum(row['found'] == NOTICED for row in controls)} of them."
        )
    )
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


INTRODUCTION = (
    "`scripts/mutants.py` wrote this page. Each mutant changes one operator, constant, condition or order of two "
    "arguments in ops, bytecode, text, verifier, passes or the reference engine; a hash of the place chooses it. Tests "
    "run until one fails: first those that execute the line, the cheapest first. Three of ten mutants are held out: "
    "tests were written for the others, the open ones, alone. A mutant is called equal if no input shows a "
    "difference, or only one in speed; the reasons are below.",
)
TABLE = [
    "| mutants | all | noticed | of all | equal to the original | missed | of these, tests left to ask "
    "| noticed of those that differ |",
    "|---|--:|--:|--:|--:|--:|--:|--:|",
]
NOT_MEASURED = (
    "Tests of other rooms than the core's, and those that need NVIDIA's tools, Z3, torch or a language client, took no "
    "part where those are not installed. Slow tests were not asked about every mutant: for some that were missed, "
    "tests that execute the line are left to ask, and may notice them. Held-out mutants are not listed. Changes of "
    "text, such as messages and names, and of several places at once are not among the mutants."
)
EQUAL = "equal"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("run")
    verb.add_argument("--count", type=int, default=1000)
    verb.add_argument("--part", choices=(OPEN, HELD_OUT, FRESH), default=OPEN)
    verb.add_argument("--jobs", type=int, default=2)
    verb.add_argument("--seconds", type=float, default=3600.0)
    verb.add_argument("--only", action="append", help="the id of a mutant")
    verb.add_argument("--again", action="store_true")
    verb.add_argument("--results", type=Path, default=RESULTS)
    verb.add_argument("--tests", type=Path, default=FOLDER / "tests.json", help="which tests execute which lines")
    verb.add_argument("--files", nargs="+", help="test files to ask, not all")
    verb.add_argument("--chunks", type=int, default=1000, help="how many chunks of tests to ask about a mutant at most")
    verb = verbs.add_parser("page")
    verb.add_argument("--results", type=Path, action="append")
    verb.add_argument("--count", type=int, default=1000)
    args = parser.parse_args()
    return run(args) if args.verb == "run" else page(args)


if __name__ == "__main__":
    sys.exit(main())
