"""Run public cuTile programs unchanged, without a GPU, and write docs/reports/lab/programs.{json,md}.

    python scripts/programs/run.py run CHECKOUTS [--only TEXT ...] [--engine cpu] [--limit 60] [--memory 6]
    python scripts/programs/run.py redraw                      # the page again, from programs.json

CHECKOUTS is a folder with a clone of each repository in `programs.toml`, named owner+name, at the revision given there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from parts.limited import GOOD, Found, cell, environment, last_line, limited

LIST = Path(__file__).with_name("programs.toml")
NUMBERS = checkout.LAB / "programs.json"
REPORT = checkout.LAB / "programs.md"


class Program(NamedTuple):
    """A script of a repository."""

    repository: dict[str, Any]
    script: str

    @property
    def key(self) -> str:
        return f"{self.repository['name']}:{self.script}"

    @property
    def note(self) -> str:
        return str(self.repository.get("notes", {}).get(self.script, ""))

    def listed(self, name: str) -> bool:
        """Whether the repository lists the program under a name such as "led_to_a_change"."""
        return self.script in self.repository.get(name, [])

    def command(self, engine: str) -> list[str]:
        """Return the command without the interpreter."""
        more = ["--triton"] if self.listed("kernels_in_triton_too") else []
        return ["tilery", "cutile", "run", "--engine", engine, *more, self.script]


def programs() -> Iterator[Program]:
    """Read the list of programs."""
    for repository in tomllib.loads(LIST.read_text("utf-8"))["repository"]:
        for script in repository["scripts"]:
            yield Program(repository, script)


def outcome(program: Program, folder: Path, args: argparse.Namespace) -> Found:
    """Run a program; return its status and the last line that it printed."""
    found = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    if not found.stdout.startswith(program.repository["revision"]):
        raise SystemExit(f"{folder} is not at {program.repository['revision']}")
    command = [sys.executable, "-m", *program.command(args.engine)]
    env = environment(PYTHONUNBUFFERED="1", MPLBACKEND="Agg")
    status, text, used = limited(command, args.limit, memory=args.memory, cwd=folder, env=env)
    return {
        "engine": args.engine,
        "status": status,
        "seconds": used,
        "limit": args.limit,
        "last": last_line(text, status),
        "cutile": version("cuda-tile"),
        "torch": version("torch"),
    }


def run(args: argparse.Namespace) -> int:
    """Run the programs and write the page."""
    for program in programs():
        if args.only and not any(text in program.key for text in args.only):
            continue
        folder = Path(args.checkouts, program.repository["name"].replace("/", "+"))
        ended = outcome(program, folder, args)
        found = {**known_results(), program.key: ended}
        sys.stderr.write(f"{program.key}: {result(program, found[program.key])}\n")
        NUMBERS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return redraw(args)


def known_results() -> dict[str, Found]:
    """Read the results of programs that are still in the list."""
    keys = {program.key for program in programs()}
    found = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    return {key: each for key, each in found.items() if key in keys}


def redraw(_: argparse.Namespace) -> int:
    """Write the page from programs.json."""
    checkout.publish(page(json.loads(NUMBERS.read_text("utf-8"))), REPORT)
    return 0


def result(program: Program, found: Found) -> str:
    """Say how a program ended; some catch a failure and print it."""
    if found["status"] == 0 and program.listed("prints_failure"):
        return "prints a failure"
    if found["status"] is None:
        return f"stopped after {found['limit']} s"
    return GOOD if found["status"] == 0 else f"fails (status {found['status']})"


def page(found: dict[str, Found]) -> str:
    """Render the results."""
    ran = [program for program in programs() if program.key in found]
    results = {program.key: result(program, found[program.key]) for program in ran}
    good = [program for program in ran if results[program.key] == GOOD]
    changed = [program for program in ran if program.listed("led_to_a_change")]
    versions = sorted({f"cuTile {each['cutile']}, torch {each['torch']}" for each in found.values()})
    summary = (
        f"{len(ran)} programs of {len({program.repository['name'] for program in ran})} repositories were run with "
        f"{'; '.join(versions)}. {len(good)} end normally. {len(changed)} programs led to a change of a stand-in; of "
        f"the other {len(ran) - len(changed)}, {sum(program not in changed for program in good)} end normally. The "
        "last line that a program printed shows how far it came."
    )
    lines = ["# Public cuTile programs, without a GPU", "", INTRODUCTION, "", checkout.fill(summary), ""]
    lines += ["| repository | revision | programs | end normally | what they show |", "|---|---|--:|--:|---|"]
    for repository in {program.repository["name"]: program.repository for program in ran}.values():
        own = [program for program in ran if program.repository is repository]
        count = sum(program in good for program in own)
        cells = [repository["name"], f"`{repository['revision'][:7]}`", str(len(own)), str(count), repository["shows"]]
        lines.append(f"| {' | '.join(cells)} |")
    rest = [program for program in ran if program not in good]
    lines += [
        "",
        "## What does not end normally, and why",
        "",
        "| program | result | last line | why |",
        "|---|---|---|---|",
    ]
    lines += [row(program, found[program.key], program.note) for program in rest]
    lines += ["", "## What ends normally", "", "| program | engine | last line | |", "|---|---|---|---|"]
    lines += [row(program, found[program.key], program.note) for program in good]
    return "\n".join([*lines, "", NOT_MEASURED, ""])


def row(program: Program, found: Found, note: str) -> str:
    """Render a row: where the result is good, the engine takes its place."""
    said = result(program, found)
    engine = found["engine"]
    shown = engine if said == GOOD else f"{said}, engine {engine}"
    return f"| {program.repository['name']}: `{program.script}` | {shown} | {cell(found['last'])} | {note} |"


INTRODUCTION = """\
`scripts/programs/run.py` wrote this page. It runs programs of other people, unchanged, by `tilery cutile run SCRIPT`
with the stand-ins for torch, CuPy, `cuda.core` and `cuda.bindings` that [the guide](../../guides/cutile.md) describes.
Programs that took too long on engine `reference` were run on engine `cpu` instead."""

NOT_MEASURED = """\
## Not measured

Results are compared only where the program compares them itself. A program that was stopped has shown nothing about its
later parts. A status of 0 can hide a failure that the program catches and prints. Programs of these repositories that
are not in the tables were not run for them: most are benchmarks with arrays for the memory of a GPU, modules without a
program, or copies of programs of another repository. Nothing here says how fast a program is on a GPU."""


def main() -> int:
    """Run a verb."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    verb = verbs.add_parser("run", help=run.__doc__)
    verb.set_defaults(run=run)
    verb.add_argument("checkouts", help="the folder of the clones")
    verb.add_argument(
        "--only", nargs="*", metavar="TEXT", help="programs whose owner/name:path has it; others are kept"
    )
    verb.add_argument("--engine", default="reference")
    verb.add_argument("--limit", type=int, default=60, help="seconds of processor time for each program")
    verb.add_argument("--memory", type=int, default=6, help="GiB of data for each program")
    verb = verbs.add_parser("redraw", help=redraw.__doc__)
    verb.set_defaults(run=redraw)
    args = parser.parse_args()
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
