"""Run public cuTile programs under the sanitizer and write docs/reports/lab/sanitizer_programs.{json,md}.

    python scripts/programs/sanitized.py run SUITE CHECKOUT --results FOLDER [--limit 30] [--total 900]
    python scripts/programs/sanitized.py collect CHECKOUT... --results FOLDER
    python scripts/programs/sanitized.py redraw

SUITE is a name in `SUITES`, and CHECKOUT a clone of its repository. A run goes on where an earlier one with the same
results was stopped. The page lists every source line that was reported, with the judgement that `sanitized.toml` has
for it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from cutile_suite import SAMPLES
from parts.cutile_page import LEFT_OUT

PAGE = checkout.LAB / "sanitizer_programs.md"
NUMBERS = checkout.LAB / "sanitizer_programs.json"
JUDGED = Path(__file__).with_name("sanitized.toml")
CHECKS = "all,outside"


class Suite(NamedTuple):
    """The tests of a repository, or its samples."""

    repository: str
    title: str
    folder: str = "."
    tests: tuple[str, ...] = (".",)
    select: str = ""
    path: tuple[str, ...] = ("src", ".")
    """The folders from which its tests import."""
    environment: dict[str, str] = {}


SUITES = {
    "cutile": Suite(
        "NVIDIA/cutile-python",
        "NVIDIA's tests of cuTile Python",
        "test",
        select=" and ".join(f"not {name}" for name in LEFT_OUT),
        path=(),  # cuTile is installed
        # The suite reads this while it collects tests; any name will do.
        environment={"CUDA_TILE_BENCHMARK_GPU_NAME": "tilery"},
    ),
    "samples": Suite("NVIDIA/cutile-python", "NVIDIA's samples of cuTile Python", "samples", path=()),
    "tilegym": Suite("NVIDIA/TileGym", "TileGym", tests=("tests/ops",), select="cutile and not cutile_rs and not perf"),
    "liger": Suite(
        "linkedin/Liger-Kernel",
        "Liger's cuTile kernels",
        tests=("test/transformers",),
        environment={"LIGER_KERNEL_IMPL": "cutile"},
    ),
}


def run(args: argparse.Namespace) -> None:
    """Run what of a suite has no results yet, each test for a limited time."""
    suite, root = SUITES[args.suite], args.checkout.resolve()
    results = (args.results / args.suite).resolve()
    results.mkdir(parents=True, exist_ok=True)
    scripts = Path(__file__).resolve().parent.parent
    path = [checkout.ROOT / "src", *(root / folder for folder in suite.path), scripts, os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, **suite.environment, "PYTHONPATH": os.pathsep.join(map(str, path))}
    if args.suite == "samples":
        run_samples(root / suite.folder, results, environment)
        return
    environment |= {"TEST_SECONDS": str(args.limit), "TILERY_KNOWN": str(results)}
    plugins = ("parts.alarm_plugin", "parts.resume_plugin", "tilery.cutile.pytest", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "--continue-on-collection-errors"]
    command += [word for name in plugins for word in ("-p", name)]
    command += ["--tilery-sanitize", CHECKS, "--tilery-results", str(results), "--ignore-glob=*bench_*"]
    command += ["-n", str(args.jobs)] if args.jobs > 1 else []
    command += [*(["-k", suite.select] if suite.select else []), *(args.tests or suite.tests)]
    is_whole = not args.tests
    with open(results / "pytest.log", "a") as log:
        try:
            subprocess.run(
                command, cwd=root / suite.folder, env=environment, timeout=args.total, stdout=log, stderr=log
            )
        except subprocess.TimeoutExpired:
            is_whole = False
            print(f"stopped after {args.total} seconds", file=sys.stderr)
    facts = {"limit": args.limit, "cutile": version("cuda-tile"), "is_whole": is_whole}
    (results / "facts.json").write_text(json.dumps(facts), "utf-8")


def run_samples(folder: Path, results: Path, environment: dict[str, str]) -> None:
    """Run NVIDIA's samples with their own comparisons."""
    for name in SAMPLES:
        file = results / f"{name}.jsonl"
        if file.exists():
            continue
        command = [sys.executable, "-m", "tilery", "cutile", "run", "--json", "--sanitize", CHECKS]
        command += [f"{name}.py", "--correctness-check"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        last = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("{")), "{}")
        found = json.loads(last)
        watched = re.match(r"\d+", found.get("summary", ""))
        row = {
            "test": name,
            "launches": int(watched[0]) if watched else 0,
            "outcome": "passed" if done.returncode == 0 else "failed",
        }
        file.write_text(json.dumps({**row, "reports": found.get("reports", [])}) + "\n", "utf-8")
    (results / "facts.json").write_text(
        json.dumps({"limit": None, "cutile": version("cuda-tile"), "is_whole": True}), "utf-8"
    )


def collect(args: argparse.Namespace) -> None:
    """Write the JSON file from the results of all suites that have some."""
    found = {}
    for name in SUITES:
        folder = args.results / name
        if (folder / "facts.json").exists():
            texts = [file.read_text("utf-8") for file in sorted(folder.glob("*.jsonl"))]
            rows = [json.loads(line) for text in texts for line in text.splitlines()]
            facts = json.loads((folder / "facts.json").read_text("utf-8"))
            found[name] = {**facts, **summary(rows, [root.resolve() for root in args.checkouts])}
    NUMBERS.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def summary(rows: list[dict[str, Any]], roots: list[Path]) -> dict[str, Any]:
    """Count tests and launches, and collect reports by source line."""
    lines: dict[str, dict[str, Any]] = {}
    ended = {row["test"]: row for row in rows if "outcome" in row and row["outcome"] != "skipped"}.values()
    for row in ended:
        counted: set[str] = set()
        for report in row.get("reports", ()):
            place = report["places"][0]
            file = str(place.get("file", ""))
            for root in roots:
                file = file.replace(f"{root}/", "")
            key = f"{file}:{place.get('line', 0)} {report['check']}"
            fresh = {"tests": 0, "message": without_addresses(report["message"]), "hint": report["hint"], "from": ""}
            known = lines.setdefault(key, fresh)
            known["tests"] += key not in counted
            counted.add(key)
            if known["hint"] and not report["hint"]:
                known |= {"hint": False, "message": fresh["message"]}
            others = [each for each in report["places"][1:] if each.get("line")]
            if others:
                known["from"] = f"{others[0]['note']} (line {others[0]['line']})"
    return {
        "ended": len(ended),
        "launching": sum(bool(row["launches"]) for row in ended),
        "launches": sum(row["launches"] for row in ended),
        "stopped": sum(row.get("error") == "TooLong" for row in ended),
        "lines": dict(sorted(lines.items())),
    }


def without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x...", text)


def page(found: dict[str, Any]) -> str:
    judged = tomllib.loads(JUDGED.read_text("utf-8"))
    out = ["# Public cuTile programs under the sanitizer", "", *INTRODUCTION, ""]
    for name, rows in found.items():
        out += section(SUITES[name], rows, judged.get(name, {}))
    return "\n".join([*out, *NOT_MEASURED])


def section(suite: Suite, found: dict[str, Any], judged: dict[str, str]) -> list[str]:
    """Return what was found in a suite."""
    limit = f", {found['stopped']} of them stopped after {found['limit']} seconds" if found["limit"] else ""
    share = "" if found.get("is_whole") else " Others were not tried."
    counted = (
        f"{suite.repository} with cuTile {found['cutile']}: {found['ended']:,} tests ran{limit}.{share} "
        f"{found['launching']:,} of them launched kernels, {found['launches']:,} times. "
        f"Source lines that were reported: {len(found['lines'])}."
    )
    out = [f"## {suite.title}", "", checkout.fill(counted), ""]
    if not found["lines"]:
        return out
    out += ["| line | check | tests | report | comes from | judgement |", "|---|---|--:|---|---|---|"]
    for key, row in found["lines"].items():
        line, _, check = key.rpartition(" ")
        kind = f"{check}, a hint" if row["hint"] else check
        cells = (line, kind, row["tests"], row["message"], row["from"], judged.get(key, "not judged"))
        out.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return [*out, ""]


INTRODUCTION = """\
`scripts/programs/sanitized.py` wrote this page. The tests and samples ran on the reference engine with the checks
`all` and `outside`. The tables list every source line with a report or a hint, and how many tests have it.
""".splitlines()

NOT_MEASURED = """\
## Not measured

Tests that did not run in the time they had, or ran only in part; tests of speed; other schedules than the default
one; races between launches. Whether a hint would become a fault in tests that were stopped. A hash of their names
decides which tests are tried first.""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, dest="verb")
    running = verbs.add_parser("run")
    running.add_argument("suite", choices=SUITES)
    running.add_argument("checkout", type=Path)
    running.add_argument("--results", type=Path, required=True)
    running.add_argument("--tests", nargs="+", help="only these files")
    running.add_argument("--limit", type=int, default=30, help="seconds for a test")
    running.add_argument("--total", type=int, default=900, help="seconds for all of them")
    running.add_argument("--jobs", type=int, default=1)
    collecting = verbs.add_parser("collect")
    collecting.add_argument("checkouts", type=Path, nargs="+")
    collecting.add_argument("--results", type=Path, required=True)
    verbs.add_parser("redraw")
    args = parser.parse_args()
    if args.verb == "run":
        run(args)
        return 0
    if args.verb == "collect":
        collect(args)
    PAGE.write_text(page(json.loads(NUMBERS.read_text("utf-8"))) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
