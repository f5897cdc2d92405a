"""Mutate the core at random, and see whether the tests notice.

    python scripts/mutants.py golden [--part open...] [--jobs 2] [--seconds 3600] [--results FILE.jsonl]
    python scripts/mutants.py run [--part open...] [--jobs 2] [--seconds 3600] [--results FILE.jsonl] [--only ID]
    python scripts/mutants.py page [--results FILE.jsonl]

`golden` asks the digests of tests/golden, row by row, in processes that import the core anew. It takes seconds a
mutant.

`run` asks the other tests about mutants that the digests did not notice. It makes copies of the checkout, runs the
tests of the core in them once under coverage (`pip install coverage`) to learn which tests execute which lines, and
then judges mutants (see `parts/random_mutants.py`): first by the tests that execute the line, the cheapest first, then
by all others. It stops by itself after `--seconds`; a second run continues with the tests that were not asked yet.
With `--again`, mutants that were missed are judged again from the start, and with `--files` by the tests of these
files alone.

A draw takes hours of processor time. On another machine `golden` needs numpy alone (and coverage before Python 3.12),
and `run` pytest and coverage. Both can share one file of results, which `page` reads here:

    python scripts/mutants.py golden --part "second open" --jobs 16 --seconds 240 --results $OUT/judged.jsonl
    python scripts/mutants.py run --part "second open" --jobs 16 --seconds 240 --results $OUT/judged.jsonl

`page` writes docs/reports/lab/mutants.md. Three of ten mutants of a draw are held out, and a fresh draw comes from
other places: the tests were improved by looking at the open mutants alone. `scripts/mutants.toml` says why mutants
that were not noticed are equal to the original, or do not matter.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from itertools import chain
from multiprocessing import Pool
from pathlib import Path
from time import monotonic
from typing import Any

import checkout
from parts.golden_judge import Groups, Task, compute
from parts.random_mutants import Mutant, changed, chosen, files_of, mutants_of
from parts.test_choice import Tests, plan
from parts.test_workers import Job, Workers, make_copies

FOLDER = checkout.ROOT / "build" / "mutants"
RESULTS = FOLDER / "results.jsonl"
REASONS = checkout.ROOT / "scripts" / "mutants.toml"
PAGE = checkout.LAB / "mutants.md"
ROOMS = (
    "analysis", "builder", "bytecode", "cli", "conformance", "declare", "documented", "engines/reference",
    "hostile", "lint", "lsp", "objects", "observe", "passes", "rewrite", "sanitize", "smith", "source", "test_cases.py",
    "test_interned.py", "text", "verifier",
)  # fmt: skip
"""The tests that are about the core, of `tests/`; `golden` is asked before them."""
SLOW = ("test_cases.py",)
"""Small files with many tests, which start first."""
CONTROLS = 14
"""So many copies without a change are judged too: a test that fails there fails for another reason."""
NOTICED, MISSED = "noticed", "missed"
OPEN, HELD_OUT = "open", "held out"
SECOND_OPEN, SECOND_HELD_OUT, FRESH = "second open", "second held out", "fresh"
REST = "other open"
"""All open mutants that no draw has."""
PARTS = (OPEN, HELD_OUT, SECOND_OPEN, SECOND_HELD_OUT, FRESH, REST)
SECOND_SEED, FRESH_SEED = "second", "fresh, fourth"
"""The seeds of draws from places that no draw before them has; a new seed makes a new draw."""
SPENT = ("fresh", "fresh, second", "fresh, third")
"""Seeds of small draws of which some were looked at."""
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
    known = {key: done[key]["left"] for key in todo if key in done and done[key]["left"] >= 0}
    first = {key: len(plans[key].chunks) - known[key] if key in known else 0 for key in todo}
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
                    row |= {key: value for key, value in done.get(job.name, {}).items() if key == "golden"}
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
    """Return the mutants of two draws of `count`, open or held out, and of a third that is three tenths as large."""
    cached = FOLDER / "drawn.json"
    files = files_of(checkout.ROOT)
    state = f"{count} {SECOND_SEED} {FRESH_SEED} " + sha256(b"".join(map(Path.read_bytes, files))).hexdigest()
    if cached.exists() and (data := json.loads(cached.read_text("utf-8")))["state"] == state:
        return {name: [Mutant(**each) for each in rows] for name, rows in data["parts"].items()}
    drawn = draw(files, count)
    data = {"state": state, "parts": {name: [asdict(each) for each in rows] for name, rows in drawn.items()}}
    FOLDER.mkdir(parents=True, exist_ok=True)
    cached.write_text(json.dumps(data), "utf-8")
    return drawn


def draw(files: list[Path], count: int) -> dict[str, list[Mutant]]:
    with Pool(1) as pool:
        found = pool.starmap(mutants_of, [(path, checkout.ROOT) for path in files])
    every = [each for part in found for each in part]
    first = chosen(every, count)
    others = set(every).difference(first)
    others = others.difference(*(chosen(others, count * 3 // 10, seed) for seed in SPENT))
    second = chosen(others, count, SECOND_SEED)
    fresh = chosen(others.difference(second), count * 3 // 10, FRESH_SEED)
    return {
        OPEN: [each for each in first if not each.held_out],
        HELD_OUT: [each for each in first if each.held_out],
        SECOND_OPEN: [each for each in second if not each.held_out],
        SECOND_HELD_OUT: [each for each in second if each.held_out],
        FRESH: fresh,
        REST: [each for each in others.difference(second, fresh) if not each.held_out],
    }


def ask_golden(args: argparse.Namespace) -> int:
    """Ask the digests about mutants that they were not asked about yet, and append to the file of results."""
    args.started = monotonic()
    deadline = args.started + args.seconds
    FOLDER.mkdir(parents=True, exist_ok=True)
    drawn = parts(args.count)
    done = results([args.results])
    mutants = [each for part in args.part for each in drawn[part] if not args.only or each.id in args.only]
    mutants = chosen(mutants, len(mutants), "evenly")  # of each part the same share, wherever the time ends
    mutants = [each for each in mutants if args.again or "golden" not in done.get(each.id, {})]
    (FOLDER / "golden").mkdir(exist_ok=True)
    [copy] = make_copies(checkout.ROOT, FOLDER / "golden", 1, files_of(checkout.ROOT))
    say(args, f"{len(mutants)} mutants, {sum(map(len, drawn.values()))} in all draws")
    if args.groups.exists():
        groups = Groups.load(args.groups)
    else:
        groups = Groups()
        names = [name for name in golden_groups() if not args.rooms or name.startswith(tuple(args.rooms))]
        tasks = [Task(name, [name], learn=True) for name in names]
        for task, found in compute(tasks, groups, copy, FOLDER, args.jobs, deadline):
            if found is None:
                say(args, f"{task.name} fails unchanged")
                continue
            for field, rows in vars(found).items():
                getattr(groups, field).update(rows)
        if not groups.digests:
            return 1
        groups.save(args.groups)
    unstable = sum(not row for rows in groups.digests.values() for row in rows)
    say(args, f"{len(groups.digests)} groups, {sum(groups.seconds.values()):.0f} s, {unstable} rows not compared")
    by_id = {each.id: each for each in mutants}
    executing = {key: groups.executing(each) for key, each in by_id.items()}
    asked = {key: groups.within(names, args.budget) for key, names in executing.items()}
    tasks = [Task(key, asked[key], each) for key, each in by_id.items()]
    every = groups.within(list(groups.digests), args.budget)
    controls = [Task(f"control golden {number}", every) for number in range(args.controls)]
    noticed = 0
    with args.results.open("a", encoding="utf-8") as log:
        for task, found in compute(chain(controls, tasks), groups, copy, FOLDER, args.jobs, deadline):
            row: dict[str, Any] = {"id": task.name, "found": NOTICED if found.by else MISSED, "by": found.by}
            row |= {"seconds": round(found.seconds, 1), "golden": len(task.groups)}
            if task.change is not None:
                row |= {"name": by_id[task.name].name, "held_out": by_id[task.name].held_out}
                row |= {"executing": len(executing[task.name])}
                row |= {"left": 0 if found.by else -1, "unasked": 0 if found.by else 1}
            noticed += bool(found.by)
            print(json.dumps(row), file=log, flush=True)
    say(args, f"{noticed} noticed")
    return 0


def golden_groups() -> list[str]:
    """Return the names of all groups of rows, as the table has them."""
    lines = (checkout.ROOT / "tests" / "golden" / "digests.txt").read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith(" ")]


def run(args: argparse.Namespace) -> int:
    args.started = monotonic()
    FOLDER.mkdir(parents=True, exist_ok=True)
    drawn = parts(args.count)
    mutants = [each for part in args.part for each in drawn[part]]
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


def reasons(kind: str) -> dict[str, str]:
    """Return why mutants were not noticed, by their numbers: `equal` ones never are, `missed` ones should be."""
    data = tomllib.loads(REASONS.read_text("utf-8"))
    return {key: group["reason"] for group in data.get(kind, ()) for key in group["mutants"]}


def page(args: argparse.Namespace) -> int:
    """Write the report from the results."""
    found, equal, missed = results(args.results or [RESULTS]), reasons(EQUAL), reasons(MISSED)
    lines = ["# Random mutants", "", *map(checkout.fill, INTRODUCTION), "", *TABLE]
    drawn = parts(args.count)
    judged = {title: [each for each in part if each.id in found] for title, part in drawn.items()}
    reported = [title for title in REPORTED if judged[title]]
    sums = {title: [title] for title in reported} | {"the second draw": [SECOND_OPEN, SECOND_HELD_OUT]}
    for title, titles in sums.items():
        part = [each for name in titles for each in judged[name]]
        lines.append(row_of(title, sum(len(drawn[name]) for name in titles), part, found, equal))
    lines += ["", "## Open mutants that were not noticed", "", "| | place | change | because |", "|---|---|---|---|"]
    for each in judged[SECOND_OPEN]:
        row = found[each.id]
        if row["found"] == MISSED:
            why = f"equal: {equal[each.id]}" if each.id in equal else f"**missed** {missed.get(each.id, '')}"
            more = " (not all tests were asked)" if is_early(row) and each.id not in equal else ""
            place = f"{each.file.removeprefix('src/tilery/')}: `{each.function}`"
            lines.append(f"| {each.id} | {place} | {each.change} | {why.rstrip()}{more} |")
    controls = [row for row in found.values() if "name" not in row]
    said = (
        f" {len(controls)} copies without a change were judged too; tests failed in "
        f"{sum(row['found'] == NOTICED for row in controls)} of them."
    )
    lines += ["", "## Not measured", "", checkout.fill(NOT_MEASURED + said)]
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")
    return 0


def is_early(row: dict[str, Any]) -> bool:
    """Whether tests that execute the place, or digests, were left to ask about a mutant that was missed."""
    return bool(row.get("unasked", 0)) or "golden" not in row


def row_of(title: str, drawn: int, part: list[Mutant], found: Results, equal: dict[str, str]) -> str:
    """Return the row of the table for some mutants."""
    counts = Counter(
        EQUAL if found[each.id]["found"] == MISSED and each.id in equal else found[each.id]["found"] for each in part
    )
    noticed = [each for each in part if found[each.id]["found"] == NOTICED]
    late = sum("ran" in found[each.id] for each in noticed)
    early = sum(found[each.id]["found"] == MISSED and is_early(found[each.id]) for each in part if each.id not in equal)
    cells = [title, drawn, len(part), len(noticed) - late, late, counts[EQUAL], counts[MISSED], early]
    cells += [f"{100 * counts[NOTICED] / max(len(part) - counts[EQUAL], 1):.1f} %"]
    return f"| {' | '.join(map(str, cells))} |"


INTRODUCTION = (
    "`scripts/mutants.py` wrote this page. Each mutant changes one operator, constant, condition or order of two "
    "arguments in ops, bytecode, text, verifier, passes or the reference engine; a hash of the place chooses it. "
    "The digests of `tests/golden` are asked first, then other tests, those that execute the place before all others, "
    "until one fails. Three of ten mutants of a draw are held out: tests were written for the others, the open ones, "
    "alone. Each draw comes from other places than those before it. A mutant is called equal if no input shows a "
    "difference, or only one in speed; the reasons are below.",
)
TABLE = [
    "| mutants | drawn | judged | noticed by the digests | by other tests | equal to the original | missed "
    "| of these, tests left to ask | noticed of those that differ |",
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
]
REPORTED = (SECOND_OPEN, SECOND_HELD_OUT, FRESH)
NOT_MEASURED = (
    "Not all drawn mutants were judged: those that were are an even sample of each part, which a hash chooses. The "
    "digests were asked up to 16 seconds of rows for each mutant, or not at all about some; the others for 20 to 80 "
    "seconds. Of the mutants that were missed, tests are left to ask, which would notice more. Held-out and fresh "
    "ones are counted only, and no equal ones were looked for among them. The other tests are those of the core; "
    "tests of the engines cpu and gpu, frontends, explorer, judge and site were not asked, nor were those that execute "
    "nothing of the changed line. A mutant that a row or a test noticed on an earlier state of the tests is not asked "
    "again if that row or test is the same. Tests that need NVIDIA's tools, the corpus, Z3 or a language client took "
    "no part. Changes of text, such as messages and names, and of several places at once are not among the mutants."
)
EQUAL = "equal"


def main() -> int:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each process has one processor
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("golden", "run"):
        verb = verbs.add_parser(name)
        verb.add_argument("--count", type=int, default=1000)
        verb.add_argument("--part", choices=PARTS, nargs="+", default=[OPEN])
        verb.add_argument("--jobs", type=int, default=2)
        verb.add_argument("--seconds", type=float, default=3600.0)
        verb.add_argument("--only", action="append", help="the id of a mutant")
        verb.add_argument("--again", action="store_true")
        verb.add_argument("--results", type=Path, default=RESULTS)
        if name == "golden":
            verb.add_argument("--groups", type=Path, default=FOLDER / "groups.json", help="what is known of the rows")
            verb.add_argument("--controls", type=int, default=2, help="how many copies without a change to judge too")
            verb.add_argument("--budget", type=float, default=1000.0, help="the seconds of rows for a mutant at most")
            verb.add_argument("--rooms", nargs="+", help="groups to ask, not all")
    verb.add_argument("--tests", type=Path, default=FOLDER / "tests.json", help="which tests execute which lines")
    verb.add_argument("--files", nargs="+", help="test files to ask, not all")
    verb.add_argument("--chunks", type=int, default=1000, help="how many chunks of tests to ask about a mutant at most")
    verb = verbs.add_parser("page")
    verb.add_argument("--results", type=Path, action="append")
    verb.add_argument("--count", type=int, default=1000)
    args = parser.parse_args()
    return {"golden": ask_golden, "run": run, "page": page}[args.verb](args)


if __name__ == "__main__":
    sys.exit(main())
