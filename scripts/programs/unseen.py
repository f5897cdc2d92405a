"""Run public programs that nobody here had seen, and write docs/reports/lab/unseen_programs.{json,md}.

    python scripts/programs/unseen.py run CHECKOUTS [--only TEXT] [--ways cpu reference sanitized] [--limit 120]
    python scripts/programs/unseen.py redraw                # the page again, from unseen_programs.json

CHECKOUTS is a folder with a clone of each repository in `unseen.toml`, named owner+name. The first result of a program
is kept for ever; later runs are beside it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from parts.limited import GOOD, Found, cell, environment, last_line, limited, outcomes, revision

LIST = Path(__file__).with_name("unseen.toml")
NUMBERS = checkout.LAB / "unseen_programs.json"
REPORT = checkout.LAB / "unseen_programs.md"
WAYS = {"cpu": ["cpu"], "reference": ["reference"], "sanitized": ["reference", "all"]}
"""The ways to run a program: an engine, and what the sanitizer checks."""
HOW = ["cutile", "pytest", "cpp", "compile"]
REPORTED = r"^(?:error|hint|warning): "
"""The first line of a report of the sanitizer."""


class Program(NamedTuple):
    """A program of a repository, with its arguments."""

    repository: dict[str, Any]
    line: str

    @property
    def key(self) -> str:
        return f"{self.repository['name']}:{self.line}"

    @property
    def judged(self) -> str:
        return str(self.repository.get("judged", {}).get(self.line, ""))

    def ways(self) -> list[str]:
        """Return how it is run: what is only compiled does not depend on an engine."""
        return ["cpu"] if self.repository["how"] == "compile" else list(WAYS)

    def command(self, way: str) -> list[str]:
        """Return the command without the interpreter."""
        engine, *checks = WAYS[way]
        file, *arguments = self.line.split()
        checked = [word for name in checks for word in ("--sanitize", name)]
        folders = [word for folder in self.repository.get("include", []) for word in ("-I", folder)]
        match self.repository["how"]:
            case "cutile":
                return ["tilery", "cutile", "run", "--engine", engine, *checked, file, *arguments]
            case "pytest":
                plugin = ["-p", "tilery.cutile.pytest", "--tilery-engine", engine]
                checked = [word.replace("--", "--tilery-") for word in checked]
                return ["pytest", "-p", "no:cacheprovider", "-v", "--tb=line", *plugin, *checked, file, *arguments]
            case "compile":
                return ["tilery", "cpp", "check", *folders, file]
            case _:
                return ["tilery", "cpp", "run", "--engine", engine, *folders, *checked, file, "--", *arguments]


def programs() -> Iterator[Program]:
    """Read the list of programs."""
    for repository in tomllib.loads(LIST.read_text("utf-8"))["repository"]:
        for line in repository["programs"]:
            yield Program(repository, line)


def load() -> Found:
    return json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}


def run(args: argparse.Namespace) -> None:
    """Run programs in some ways, each under a limit of processor time."""
    chosen = [(program, way) for program in programs() for way in args.ways if way in program.ways()]
    chosen = [each for each in chosen if args.only in each[0].key and each[0].repository["how"] in args.how]
    with ThreadPoolExecutor(args.jobs) as pool:
        running = {pool.submit(outcome, *each, args): each for each in chosen}
        for done in as_completed(running):
            (program, way), ended = running[done], done.result()
            found = load()
            known = found.setdefault(program.key, {}).setdefault(way, {})
            known.setdefault("first", ended)
            known["now"] = ended
            NUMBERS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
            sys.stderr.write(f"{program.key} {way}: {result(ended)}, {ended['seconds']} s: {ended['last']}\n")


def outcome(program: Program, way: str, args: argparse.Namespace) -> Found:
    folder = Path(args.checkouts, program.repository["name"].replace("/", "+"))
    own = environment(path=".", MPLBACKEND="Agg", PYTHONUNBUFFERED="1")
    status, text, used = limited([sys.executable, "-m", *program.command(way)], args.limit, cwd=folder, env=own)
    if args.output:
        name = re.sub(r"\W+", "-", f"{program.key}-{way}")[-120:]
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / f"{name}.txt").write_text(text, "utf-8")
    facts = {"status": status, "seconds": used, "limit": args.limit, "last": last_line(text, status)}
    if program.repository["how"] == "pytest":
        facts["tests"] = outcomes(text)
    if way == "sanitized":
        facts["reports"] = len(re.findall(REPORTED, text, re.M))
    return facts | {"revision": revision(checkout.ROOT)}


def result(found: Found) -> str:
    """Say how a program ended."""
    if found["status"] is None:
        return f"stopped after {found['limit']} s"
    if (tests := found.get("tests")) and not tests["failed"] + tests["error"] and tests["passed"] + tests["skipped"]:
        return f"{tests['passed']} tests pass" + (f", {tests['skipped']} skipped" if tests["skipped"] else "")
    if tests and tests["passed"] + tests["failed"] + tests["error"]:
        return f"{tests['passed']} tests pass, {tests['failed'] + tests['error']} fail"
    return GOOD if found["status"] == 0 else f"fails (status {found['status']})"


def is_good(found: Found) -> bool:
    tests = found.get("tests")
    return found["status"] == 0 and (tests is None or tests["passed"] > 0)


INTRODUCTION = """\
`scripts/programs/unseen.py` wrote this page. It runs programs of other people that nobody here had seen: the list was
committed before the first of them ran. They run unchanged: Python by `tilery cutile run` and by the pytest plugin, C++
by `tilery cpp run`, and C++ without a `main` is compiled. Each runs on engine `cpu`, on engine `reference`, and there
under the sanitizer with all its checks. At first look: the first run, before anything was changed."""
NOT_MEASURED = """\
Results are compared only where a program compares them itself. A program that was stopped has shown nothing about the
rest. Limits and times are processor time. Where the sanitizer reports something, the program may fail for that. Nothing
ran on a GPU. Programs that could not be had whole from a public copy are not in the list. Programs and ways of the list
that the table does not have were not run; some of the runs on engine `reference` were made on another machine."""


def page(found: Found) -> str:
    """Write the page."""
    ran = [program for program in programs() if program.key in found]
    lines = ["# Public programs at first look", "", INTRODUCTION, ""]
    lines += ["| run | programs | end normally at first look | end normally now |", "|---|--:|--:|--:|"]
    for way in WAYS:
        own = [found[program.key][way] for program in ran if way in found[program.key]]
        counts = [sum(is_good(each[when]) for each in own) for when in ("first", "now")]
        lines.append(f"| {way} | {len(own)} | {counts[0]} | {counts[1]} |")
    lines += ["", "| repository | revision | programs | what they are |", "|---|---|--:|---|"]
    for name, count in Counter(program.repository["name"] for program in ran).items():
        known = next(program.repository for program in ran if program.repository["name"] == name)
        lines.append(f"| {name} | `{known['revision']}` | {count} | {known['shows']} |")
    good = {program.key: all(is_good(each["now"]) for each in found[program.key].values()) for program in ran}
    rest = [program for program in ran if program.judged or not good[program.key]]
    lines += [
        "",
        "## What does not end normally, or prints a failure, and why",
        "",
        "| program | result | last line | why |",
    ]
    lines += ["|---|---|---|---|"]
    for program in rest:
        ended = {way: each["now"] for way, each in found[program.key].items() if not is_good(each["now"])}
        said = "; ".join(f"{way}: {result(each)}" for way, each in ended.items()) or GOOD
        last = cell(next(iter(ended.values()))["last"]) if ended else ""
        lines.append(f"| {name_of(program)} | {said} | {last} | {program.judged} |")
    lines += ["", "## All", "", "| program | at first look | now | reports of the sanitizer | processor time, cpu |"]
    lines += ["|---|---|---|--:|--:|"]
    for program in ran:
        ways = found[program.key]
        words = [", ".join(f"{way} {result(each[when])}" for way, each in ways.items()) for when in ("first", "now")]
        reports = ways["sanitized"]["now"]["reports"] if "sanitized" in ways else ""
        time = f"{ways['cpu']['now']['seconds']} s" if "cpu" in ways else ""
        now = "the same" if words[0] == words[1] else words[1]
        lines.append(f"| {name_of(program)} | {words[0]} | {now} | {reports} | {time} |")
    return "\n".join([*lines, "", "## Not measured", "", NOT_MEASURED, ""])


def name_of(program: Program) -> str:
    return f"{program.repository['name']}: `{program.line}`"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verbs.add_parser("redraw").set_defaults(run=lambda args: None)
    verb = verbs.add_parser("run")
    verb.set_defaults(run=run)
    verb.add_argument("checkouts")
    verb.add_argument("--only", default="", metavar="TEXT")
    verb.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    verb.add_argument("--how", nargs="*", choices=HOW, default=HOW)
    verb.add_argument("--jobs", type=int, default=1)
    verb.add_argument("--limit", type=int, default=120, metavar="SECONDS")
    verb.add_argument("--output", type=Path, metavar="FOLDER", help="keep what each run printed")
    args = parser.parse_args()
    args.run(args)
    checkout.publish(page(load()), REPORT)


if __name__ == "__main__":
    main()
