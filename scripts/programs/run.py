"""Run public cuTile programs unchanged, without a GPU, and write docs/reports/programs.{json,md}.

    python scripts/programs/run.py run CHECKOUTS [--only NAME ...] [--limit 60]
    python scripts/programs/run.py redraw                      # the page again, from programs.json

CHECKOUTS is a folder with a clone of each repository in `programs.toml`, named owner+name, at the revision given there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout

LIST = Path(__file__).with_name("programs.toml")
NUMBERS = checkout.REPORTS / "programs.json"
REPORT = checkout.REPORTS / "programs.md"


def programs() -> list[dict[str, Any]]:
    """Read the list of programs."""
    return list(tomllib.loads(LIST.read_text("utf-8"))["program"])


def command(program: dict[str, Any]) -> list[str]:
    """Return the command without the interpreter."""
    if "pytest" in program:
        return ["pytest", "-p", "tilery.cutile.pytest", "-q", "-p", "no:cacheprovider", *program["pytest"]]
    return ["tilery", "cutile", "run", *program["script"]]


def outcome(program: dict[str, Any], folder: Path, limit: int) -> dict[str, Any]:
    """Run a program; return its status and the last line that it printed."""
    found = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    if not found.stdout.startswith(program["revision"]):
        raise SystemExit(f"{folder} is not at {program['revision']}")
    path = os.pathsep.join(filter(None, (str(checkout.ROOT / "src"), os.environ.get("PYTHONPATH"))))
    env = {**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "PYTHONUNBUFFERED": "1", "MPLBACKEND": "Agg"}
    start = time.time()
    try:
        done = subprocess.run(
            [sys.executable, "-m", *command(program)],
            cwd=folder, env=env, timeout=limit, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        status, text = done.returncode, done.stdout
    except subprocess.TimeoutExpired as stopped:
        status, text = None, stopped.stdout or b""
    lines = [line.strip() for line in text.decode(errors="replace").splitlines() if line.strip(" =-")]
    return {
        "status": status,
        "seconds": round(time.time() - start),
        "limit": limit,
        "last": last(lines, status)[:160],
        "cutile": version("cuda-tile"),
        "torch": version("torch"),
    }


def last(lines: list[str], status: int | None) -> str:
    """Return the line that tells how a program ended: its error, or what it printed last."""
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line) or line.startswith("error:")]
    return errors[-1] if status and errors else lines[-1] if lines else ""


def run(args: argparse.Namespace) -> int:
    """Run the programs and write the page."""
    found = json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}
    for program in programs():
        name = program["name"]
        if args.only and name not in args.only:
            continue
        found[name] = outcome(program, Path(args.checkouts, program["repository"].replace("/", "+")), args.limit)
        sys.stderr.write(f"{name}: {found[name]['status']}\n")
        NUMBERS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return redraw(args)


def redraw(_: argparse.Namespace) -> int:
    """Write the page from programs.json."""
    checkout.publish(page(json.loads(NUMBERS.read_text("utf-8"))), REPORT)
    return 0


def result(program: dict[str, Any], found: dict[str, Any]) -> str:
    """Say how a program ended; some catch a failure and print it."""
    if found["status"] == 0 and program.get("prints_failure"):
        return "prints a failure"
    if found["status"] is None:
        return f"stopped after {found['limit']} s"
    return "ends normally" if found["status"] == 0 else f"fails (status {found['status']})"


def page(found: dict[str, Any]) -> str:
    """Render the results."""
    ran = [program for program in programs() if program["name"] in found]
    good = sum(result(program, found[program["name"]]) == "ends normally" for program in ran)
    repositories = len({program["repository"] for program in ran})
    versions = sorted({f"cuTile {each['cutile']}, torch {each['torch']}" for each in found.values()})
    lines = ["# Public cuTile programs, without a GPU", "", INTRODUCTION, ""]
    lines += [
        checkout.fill(
            f"{len(ran)} programs of {repositories} repositories were run with {'; '.join(versions)}. {good} end "
            "normally. The last line that a program printed tells how far it came."
        ),
        "",
        "| program | revision | command | result | last line | why, or what it shows |",
        "|---|---|---|---|---|---|",
    ]
    for program in ran:
        each = found[program["name"]]
        cells = [
            f"{program['repository']}",
            f"`{program['revision'][:7]}`",
            f"`{' '.join(command(program))}`",
            result(program, each),
            f"`{cell(each['last'])}`" if each["last"] else "",
            program.get("note", ""),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", NOT_MEASURED, ""])


def cell(text: str) -> str:
    """Make a line of output fit for a table."""
    return text.replace("|", "¦").replace("`", "'")


INTRODUCTION = """\
`scripts/programs/run.py` wrote this page. It runs programs of other people as they are, on the reference engine, with
the stand-ins for torch, CuPy, `cuda.core` and `cuda.bindings` that [the guide](../guides/cutile.md) describes."""

NOT_MEASURED = """\
## Not measured

Results are compared only where the program compares them itself. A program that was stopped has shown nothing about its
later parts. A status of 0 can hide a failure that the program catches and prints. Programs of these repositories that
are not in the table were not run for it. Nothing here says how fast a program is on a GPU."""


def main() -> int:
    """Run a verb."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    verb = verbs.add_parser("run", help=run.__doc__)
    verb.set_defaults(run=run)
    verb.add_argument("checkouts", help="the folder of the clones")
    verb.add_argument("--only", nargs="*", metavar="NAME", help="results of others are kept")
    verb.add_argument("--limit", type=int, default=60, help="seconds for each program")
    verb = verbs.add_parser("redraw", help=redraw.__doc__)
    verb.set_defaults(run=redraw)
    args = parser.parse_args()
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
