"""Run the tests of public cuTile programs under the sanitizer and write docs/reports/lab/sanitizer_programs.{json,md}.

    python scripts/programs/sanitized.py run CHECKOUT [--tests tests/ops] [--select TEXT] [--limit 30] [--total 900]
    python scripts/programs/sanitized.py redraw

CHECKOUT is a clone of NVIDIA/TileGym. The page lists every source line that was reported, with the judgement that
`sanitized.toml` has for it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout

PAGE = checkout.LAB / "sanitizer_programs.md"
NUMBERS = checkout.LAB / "sanitizer_programs.json"
JUDGED = Path(__file__).with_name("sanitized.toml")


def run(args: argparse.Namespace) -> None:
    """Run the tests, each for a limited time, and keep what was found in the JSON file."""
    root = args.checkout.resolve()
    with tempfile.TemporaryDirectory() as results:
        plugins = ["-p", "parts.alarm_plugin", "-p", "tilery.cutile.pytest", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", *plugins, "--tilery-sanitize", "all,outside"]
        command += ["--tilery-results", results, "-k", args.select, *args.tests]
        scripts = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join([str(root / "src"), str(root), scripts, os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "TEST_SECONDS": str(args.limit)}
        try:
            subprocess.run(command, cwd=root, env=environment, timeout=args.total, stdout=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            print(f"stopped after {args.total} seconds", file=sys.stderr)
        rows = [json.loads(line) for file in Path(results).glob("*.jsonl") for line in file.read_text().splitlines()]
    found = {"select": args.select, "tests": args.tests, "limit": args.limit, "total": args.total}
    NUMBERS.write_text(json.dumps({**found, **summary(rows, root)}, indent=1) + "\n", "utf-8")


def summary(rows: list[dict[str, Any]], root: Path) -> dict[str, Any]:
    """Count tests and launches, and collect reports by source line."""
    lines: dict[str, dict[str, Any]] = {}
    ended = [row for row in rows if "test" in row and row.get("outcome") != "skipped"]
    for row in ended:
        for report in row.get("reports", ()):
            place = report["places"][0]
            file = str(place.get("file", "")).replace(f"{root}/", "")
            key = f"{file}:{place.get('line', 0)} {report['check']}"
            fresh = {"tests": 0, "message": without_addresses(report["message"]), "hint": report["hint"], "from": ""}
            known = lines.setdefault(key, fresh)
            known["tests"] += 1
            known["hint"] = known["hint"] and report["hint"]
            others = [each for each in report["places"][1:] if each.get("line")]
            if others:
                known["from"] = f"{others[0]['note']} (line {others[0]['line']})"
    outcomes = {name: sum(row.get("error") == name for row in ended) for name in ("TooLong",)}
    return {"ended": len(ended), "launches": sum(row["launches"] for row in ended), **outcomes, "lines": lines}


def without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x...", text)


def page(found: dict[str, Any]) -> str:
    judged = tomllib.loads(JUDGED.read_text("utf-8")) if JUDGED.exists() else {}
    out = [
        "# TileGym under the sanitizer",
        "",
        f"`scripts/programs/sanitized.py` wrote this page. The tests `{', '.join(found['tests'])}` of NVIDIA/TileGym",
        f"that match `{found['select']}` ran on the reference engine with the checks `all` and `outside`, each for at",
        f"most {found['limit']} seconds, all for at most {found['total']}. {found['ended']} tests ran with",
        f"{found['launches']} launches; {found['TooLong']} of them were stopped.",
        "",
        "| line | check | tests | report | comes from | judgement |",
        "|---|---|--:|---|---|---|",
    ]
    for key, row in sorted(found["lines"].items()):
        line, _, check = key.rpartition(" ")
        kind = f"{check}, a hint" if row["hint"] else check
        cells = (line, kind, row["tests"], row["message"], row["from"], judged.get(key, "not judged"))
        out.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*out, "", *NOT_MEASURED])


NOT_MEASURED = """\
## Not measured

Tests that did not run in this time, tests of speed, other repositories (Liger, NVIDIA's suite with the checks of
this version), and other schedules. Whether a hint would become a fault in tests that were stopped. The run was made
when an element of a matrix product could name the load of another row or column as its origin; that has been
corrected since.""".splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True, dest="verb")
    running = verbs.add_parser("run")
    running.add_argument("checkout", type=Path)
    running.add_argument("--tests", nargs="+", default=["tests/ops"])
    running.add_argument("--select", default="cutile and not cutile_rs and not perf")
    running.add_argument("--limit", type=int, default=30)
    running.add_argument("--total", type=int, default=900)
    verbs.add_parser("redraw")
    args = parser.parse_args()
    if args.verb == "run":
        run(args)
    PAGE.write_text(page(json.loads(NUMBERS.read_text("utf-8"))) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
