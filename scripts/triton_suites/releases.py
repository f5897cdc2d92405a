"""Run the tests of `tilery.triton` with releases of Triton, and write docs/reports/lab/triton_releases.md.

    python scripts/triton_suites/releases.py run FOLDER...  # from pip install --no-deps --target FOLDER triton==X
    python scripts/triton_suites/releases.py page           # the page, from docs/reports/lab/triton_releases.json

A run replaces the results of its release.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from importlib.metadata import distributions, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TESTS = "tests/triton_frontend"
START_PROCESSES = "fault_names or recorded_launches or the_command or other_verbs or the_plugin or not_python"
"""The tests that start processes, which `--in-process` leaves out: they take most of the time."""
DATA = ROOT / "docs" / "reports" / "lab" / "triton_releases.json"

Row = dict[str, Any]


def release_in(folder: Path) -> str:
    """Return the version of Triton that a folder has."""
    found = [each.version for each in distributions(path=[str(folder)]) if each.name == "triton"]
    if not found:
        raise SystemExit(f"{folder} has no Triton")
    return found[0]


def run_tests(folder: Path, in_process: bool) -> Row:
    """Run all tests with the release in a folder; return how many passed, and what the others say."""
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary) / "results.xml"
        env = dict(os.environ, PYTHONPATH=str(folder.resolve()), TRITON_CACHE_DIR=str(Path(temporary) / "cache"))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={results}", TESTS]
        command += ["-k", f"not ({START_PROCESSES})"] if in_process else []
        subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL, check=False)
        cases = list(xml.parse(results).getroot().iter("testcase"))
    tests = "in one process" if in_process else "all"
    made: Row = {"torch": version("torch"), "tests": tests, "passed": 0, "skipped": {}, "failed": {}}
    for case in cases:
        name = str(case.get("name"))
        for kind, tags in (("skipped", ("skipped",)), ("failed", ("failure", "error"))):
            message = next((str(child.get("message")) for child in case if child.tag in tags), None)
            if message is not None:
                made[kind][name] = message.splitlines()[0][:150]
                break
        else:
            made["passed"] += 1
    return made


def page(data: dict[str, Row]) -> str:
    lines = [
        "# Releases of Triton",
        "",
        "`scripts/triton_suites/releases.py` wrote this page. It runs `tests/triton_frontend` with each release: the",
        "operations on both engines, sessions, the command, the plugin, and the catalogue of faulty kernels.",
        "",
        "| Triton | torch | tests | passed | skipped | failed |",
        "|---|---|---|--:|--:|--:|",
    ]
    for release, row in sorted(data.items(), key=lambda item: tuple(map(int, item[0].split(".")))):
        counts = f"{row['passed']} | {len(row['skipped'])} | {len(row['failed'])}"
        lines.append(f"| {release} | {row['torch']} | {row['tests']} | {counts} |")
    for kind in ("failed", "skipped"):
        found = [(release, *each) for release, row in sorted(data.items()) for each in row[kind].items()]
        if found:
            lines += ["", f"## {kind.capitalize()}", "", "| Triton | test | reason |", "|---|---|---|"]
            lines += [f"| {release} | {name} | {why.replace('|', '/')} |" for release, name, why in found]
    lines += [
        "",
        "## Not measured",
        "",
        "Where the tests ran in one process: the command, the plugin and recorded launches. Public suites with each",
        "release: their own page says which one they ran with. Other releases of torch.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    sub = verbs.add_parser("run")
    sub.add_argument("folders", type=Path, nargs="+")
    sub.add_argument("--in-process", action="store_true", help="leave out tests that start other processes")
    verbs.add_parser("page")
    args = parser.parse_args()
    for folder in args.folders if args.verb == "run" else []:
        row = run_tests(folder, args.in_process)
        print(release_in(folder), row["passed"], "passed", row["skipped"], row["failed"], flush=True)
        made = json.dumps(saved() | {release_in(folder): row}, indent=1, sort_keys=True)
        DATA.write_text(made + "\n", "utf-8")
    DATA.with_suffix(".md").write_text(page(saved()), "utf-8")
    return 0


def saved() -> dict[str, Row]:
    """Return the results so far, by release. They are read again each time: another release may be running."""
    found: dict[str, Row] = json.loads(DATA.read_text("utf-8")) if DATA.exists() else {}
    return found


if __name__ == "__main__":
    sys.exit(main())
