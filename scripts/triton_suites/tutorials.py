"""Run Triton's tutorials on the engines, with the edits in `tutorials.toml`, and write a page about it.

    python scripts/triton_suites/tutorials.py TUTORIALS [--engines cpu,reference] [--only 03] [--report PAGE]

TUTORIALS is the folder python/tutorials of a checkout of Triton. The results are kept in a JSON file beside the page; a
run with `--only` replaces those of the tutorials that it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LIMIT = 900
"""Seconds for one tutorial."""
NO_BENCHMARKS = """import triton.testing
triton.testing.Mark.run = lambda self, *values, **options: None
"""


def edited(path: Path, rules: dict[str, Any]) -> str:
    """Return a tutorial with its edits; each text that is replaced must be there."""
    text = path.read_text("utf-8")
    for old, new in rules.get("replace", []):
        if old not in text:
            raise SystemExit(f"{path.name} does not contain {old!r}")
        text = text.replace(old, new)
    return NO_BENCHMARKS + text


def run(name: str, text: str, rules: dict[str, Any], engine: str) -> tuple[str, float]:
    """Run one tutorial; return how it ended and the processor time in seconds."""
    outcome, seconds = "passes", 0.0
    for arguments in rules.get("arguments", [[]]):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / name
            file.write_text(text, "utf-8")
            command = [sys.executable, "-m", "tilery", "triton", "run", "--engine", engine]
            command += ["--capability", rules.get("capability", "9.0"), str(file), *arguments]
            before = os.times()
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=folder)
            except subprocess.TimeoutExpired:
                return f"longer than {LIMIT} s", LIMIT
            after = os.times()
        seconds += after.children_user - before.children_user + after.children_system - before.children_system
        if done.returncode or any(word in done.stdout for word in rules.get("forbid", [])):
            lines = (done.stderr or done.stdout).strip().splitlines()
            outcome = "fails: " + (lines[-1] if lines else "no output")
            sys.stderr.write("\n".join(lines[-30:]) + "\n")
    return outcome, seconds


Results = dict[str, dict[str, tuple[str, float]]]
"""How each tutorial ended on each engine, and the processor time."""


def page(rows: Results, rules: dict[str, Any], engines: list[str]) -> str:
    lines = [
        "# Triton's tutorials",
        "",
        f"`scripts/triton_suites/tutorials.py` wrote this page, with Triton {version('triton')}. It runs the tutorials",
        "of Triton's repository on each engine, in a process of their own. Their own assertions decide whether they",
        "pass.",
        "",
        "| tutorial | " + " | ".join(f"{e} | processor time, s" for e in engines) + " |",
        "|---|" + "---|--:|" * len(engines),
    ]
    for name, found in sorted(rows.items()):
        cells = [f"{found[e][0]} | {found[e][1]:.0f}" for e in engines]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "## Edits", "", "Benchmarks are skipped everywhere. Beyond that:", ""]
    for name in sorted(rows):
        for old, new in rules[name].get("replace", []):
            shown = new.strip().replace("\n", "; ").replace("  ", " ")
            lines.append(f"* {name}: `{old.strip()}` becomes `{shown}`")
    lines += [
        "",
        "## Not measured",
        "",
        "Tutorial 04 asserts nothing, and 07 prints differences only. Tutorial 09 skips by itself what a device of",
        "capability 9.0 does not have. Times are those of a busy machine, with compilation; they compare nothing.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("tutorials", type=Path)
    parser.add_argument("--engines", default="cpu,reference")
    parser.add_argument("--only", default="")
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    rules = tomllib.loads((HERE / "tutorials.toml").read_text("utf-8"))
    engines = args.engines.split(",")
    numbers = args.report.with_suffix(".json") if args.report else None
    rows: Results = json.loads(numbers.read_text("utf-8")) if numbers and numbers.exists() else {}
    for name in [each for each in rules if each.startswith(args.only)]:
        text = edited(args.tutorials / name, rules[name])
        for engine in engines:
            start = time.time()
            found = rows.setdefault(name, {})[engine] = run(name, text, rules[name], engine)
            print(f"{name} on {engine}: {found[0]} ({time.time() - start:.0f} s)", flush=True)
        if numbers:
            numbers.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", "utf-8")
            args.report.write_text(page(rows, rules, engines), "utf-8")
    return int(any(found[0] != "passes" for each in rows.values() for found in each.values()))


if __name__ == "__main__":
    sys.exit(main())
