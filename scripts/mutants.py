"""Mutate the core at random, and see whether the tests notice.

    python scripts/mutants.py cover [--tests text --tests bytecode]
    python scripts/mutants.py run [--from 0] [--count 1000] [--jobs 2]
    python scripts/mutants.py page

`cover` runs the tests once under coverage (`pip install coverage`) and keeps which test functions execute which lines.
`run` takes one mutant per seed (see `parts/random_mutants.py`), in a copy of the checkout, and runs the test functions
that execute the line, the fastest first, until one fails. Results are kept in `build/mutants/results.jsonl`, and a seed
that is there is not run again. `page` writes docs/reports/lab/mutants.md from them. Seeds from 500 on are held out: the
tests were improved by looking at the others alone. `scripts/mutants.toml` says why mutants that were not noticed are
equal to the original, or do not matter.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from time import monotonic
from typing import Any

import checkout
from parts.random_mutants import Mutant, files_of, mutant_of
from tilery.cli.progress import progress

FOLDER = checkout.ROOT / "build" / "mutants"
RESULTS, COVERED = FOLDER / "results.jsonl", FOLDER / "covered.json"
REASONS = checkout.ROOT / "scripts" / "mutants.toml"
PAGE = checkout.LAB / "mutants.md"
HELD_OUT_FROM = 500
TESTS = (
    "analysis", "builder", "bytecode", "cli", "conformance", "declare", "documented", "engines/reference", "hostile",
    "objects", "observe", "passes", "rewrite", "sanitize", "smith", "source", "test_cases.py", "test_interned.py",
    "text", "verifier",
)  # fmt: skip
"""The tests that are about the core, of `tests/`."""
SECONDS = 240.0
"""How long the tests of a mutant may take; the slowest are left out."""
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "*cache*", "build", "dist", "*.egg-info", "shared")
NOTICED, MISSED, UNCOVERED = "noticed", "missed", "not covered"


def cover(tests: list[str]) -> None:
    """Run the tests under coverage, and keep the test functions of each line and their times."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    settings = FOLDER / "coveragerc"
    settings.write_text("[run]\ndynamic_context = test_function\n")
    found: dict[str, dict[str, list[str]]] = json.loads(COVERED.read_text())["lines"] if COVERED.exists() else {}
    times: dict[str, float] = json.loads(COVERED.read_text())["seconds"] if COVERED.exists() else {}
    for part in tests:
        data, report = FOLDER / "coverage", FOLDER / "junit.xml"
        data.unlink(missing_ok=True)
        subprocess.run(
            [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", f"--data-file={data}",
             f"--include={checkout.ROOT}/src/tilery/*", "-m", "pytest", "-q", "-p", "no:cacheprovider",
             f"--junit-xml={report}", f"tests/{part}"],
            cwd=checkout.ROOT, stdout=subprocess.DEVNULL, env={**os.environ, "COVERAGE_CORE": "ctrace"},
        )  # fmt: skip
        _add_times(report, times)
        _add_lines(data, found)
        COVERED.write_text(json.dumps({"lines": found, "seconds": times}))


def _add_times(report: Path, times: dict[str, float]) -> None:
    for case in ElementTree.parse(report).iter("testcase"):
        module, name = case.get("classname", ""), case.get("name", "").partition("[")[0]
        key = f"{module}.{name}".removeprefix("tests.")
        times[key] = times.get(key, 0.0) + float(case.get("time", 0))


def _add_lines(data: Path, found: dict[str, dict[str, list[str]]]) -> None:
    from coverage import CoverageData  # type: ignore[import-not-found, unused-ignore]

    read = CoverageData(str(data))
    read.read()
    for file in read.measured_files():
        lines = found.setdefault(Path(file).relative_to(checkout.ROOT).as_posix(), {})
        for line, contexts in read.contexts_by_lineno(file).items():
            known = set(lines.get(str(line), ()))
            lines[str(line)] = sorted(known | {each.removeprefix("tests.") for each in contexts if each})


def tests_of(mutant: Mutant, covered: dict[str, Any]) -> list[str]:
    """Return the test functions that execute the line of a mutant, the fastest first, as pytest names them."""
    times: dict[str, float] = covered["seconds"]
    names = [name for name in covered["lines"].get(mutant.file, {}).get(str(mutant.line), ()) if name in times]
    chosen: list[str] = []
    seconds = 0.0
    for name in sorted(names, key=times.__getitem__):
        seconds += times[name]
        if chosen and seconds > SECONDS / 3:
            break
        chosen.append(name)
    return [_node(name) for name in chosen]


def _node(name: str) -> str:
    module, _, function = name.rpartition(".")
    return f"tests/{module.replace('.', '/')}.py::{function}"


def judge(mutant: Mutant, covered: dict[str, Any], copy: Path) -> str:
    """Run the tests of a mutant in a copy of the checkout."""
    tests = tests_of(mutant, covered)
    if not tests:
        return UNCOVERED
    path = copy / mutant.file
    text = path.read_text("utf-8")
    path.write_text(mutant.text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "--assert=plain", "-p", "no:cacheprovider"]
    settings = {"PYTHONPATH": str(copy / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [*command, *tests], cwd=copy, env={**os.environ, **settings}, timeout=SECONDS,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return MISSED if done.returncode == 0 else NOTICED
    except subprocess.TimeoutExpired:
        return NOTICED
    finally:
        path.write_text(text, "utf-8")


def run(first: int, count: int, jobs: int) -> None:
    """Judge the mutants of so many seeds."""
    covered = json.loads(COVERED.read_text())
    done = {each["seed"] for each in results()}
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(jobs):
        copy = FOLDER / f"copy{number}"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(checkout.ROOT, copy, ignore=LEFT_OUT)
        copies.put(copy)

    def work(seed: int) -> dict[str, Any]:
        mutant, copy, start = mutant_of(seed, checkout.ROOT), copies.get(), monotonic()
        try:
            found = judge(mutant, covered, copy)
        finally:
            copies.put(copy)
        return {**mutant.facts(), "found": found, "seconds": round(monotonic() - start, 1)}

    seeds = [seed for seed in range(first, first + count) if seed not in done]
    log = RESULTS.open("a", encoding="utf-8")
    with ThreadPoolExecutor(jobs) as threads, log, progress(len(seeds), "mutants") as step:
        for each in threads.map(work, seeds):
            log.write(json.dumps(each) + "\n")
            log.flush()
            step()


def results() -> list[dict[str, Any]]:
    """Return what was found for each seed."""
    lines = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    return sorted(map(json.loads, lines), key=lambda each: int(each["seed"]))


def reasons() -> dict[str, str]:
    """Return why mutants that were not noticed do not matter, by their names."""
    data = tomllib.loads(REASONS.read_text("utf-8")) if REASONS.exists() else {}
    return {name: group["reason"] for group in data.get("equal", ()) for name in group["mutants"]}


def page(found: list[dict[str, Any]], why: dict[str, str]) -> str:
    """Return the report."""
    lines = [
        "# Random mutants",
        "",
        checkout.fill(
            "`scripts/mutants.py` wrote this page. Each mutant changes one operator, constant, condition or order of "
            f"arguments of the {len(files_of(checkout.ROOT))} files of ops, bytecode, text, verifier, passes and the "
            "reference engine, chosen at random, and the tests that execute the line run. Mutants from seed "
            f"{HELD_OUT_FROM} on are held out: no test was written for them."
        ),
        "",
        "| seeds | mutants | noticed | equal to the original | missed | noticed of those that differ |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, held in (("seen", False), ("held out", True)):
        part = [each for each in found if (each["seed"] >= HELD_OUT_FROM) == held]
        if not part:
            continue
        counts = Counter("equal" if each["name"] in why else each["found"] for each in part)
        differ = len(part) - counts["equal"]
        missed = counts[MISSED] + counts[UNCOVERED]
        share = f"{100 * counts[NOTICED] / differ:.1f} %" if differ else ""
        lines.append(f"| {name} | {len(part)} | {counts[NOTICED]} | {counts['equal']} | {missed} | {share} |")
    lines += [
        "",
        "## Mutants that were not noticed",
        "",
        "| seed | function | change | why it does not matter |",
        "|--:|---|---|---|",
    ]
    for each in found:
        if each["found"] != NOTICED:
            place = each["name"].rpartition(":")[0]
            reason = why.get(each["name"], f"**{each['found']}**")
            lines.append(f"| {each['seed']} | {place} | {each['change']} | {reason} |")
    lines += [
        "",
        "## Not measured",
        "",
        checkout.fill(
            "Tests that do not execute the line in this process, such as those of a command in a process of its own; "
            f"the slowest tests of a line, where all of them take more than {SECONDS / 3:.0f} seconds; the other "
            "engines and tools."
        ),
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("cover")
    verb.add_argument("--tests", action="append", help="a part of tests/; it is added to what is known")
    verb = verbs.add_parser("run")
    verb.add_argument("--from", dest="first", type=int, default=0)
    verb.add_argument("--count", type=int, default=1000)
    verb.add_argument("--jobs", type=int, default=2)
    verbs.add_parser("page")
    args = parser.parse_args()
    if args.verb == "cover":
        cover(args.tests or list(TESTS))
    elif args.verb == "run":
        run(args.first, args.count, args.jobs)
    else:
        PAGE.write_text(page(results(), reasons()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
