"""Run Liger's tests of its cuTile kernels without a GPU, and write docs/reports/lab/liger.{json,md}.

    python scripts/programs/liger.py run LIGER [--only TEXT] [--limit 120]
    python scripts/programs/liger.py redraw             # the page again, from liger.json

LIGER is a clone of linkedin/Liger-Kernel. Needs cuTile, torch and transformers. The files are those of the cuTile
backend itself and of the operations that it has; LIGER_KERNEL_IMPL selects it. Each runs in the order of its tests
until its limit of processor time. held_out.toml names the third that was set aside before the first run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import checkout
from parts.limited import Found, environment, limited, outcomes, parted, revision

NUMBERS = checkout.LAB / "liger.json"
REPORT = checkout.LAB / "liger.md"
HELD_OUT = tomllib.loads(Path(__file__).with_name("held_out.toml").read_text("utf-8"))["liger"]
REASONS = {
    "launches a kernel in Triton": r"triton.*(driver|libcuda)|0 active drivers|libcuda.so cannot found",
    "needs another transformers": r"(Import|Attribute|ModuleNotFound)Error.*transformers",
}
"""Why a test cannot run here whatever tilery does, by a pattern of its error."""


def load() -> Found:
    return json.loads(NUMBERS.read_text("utf-8")) if NUMBERS.exists() else {}


def files(folder: Path) -> list[str]:
    """Return the tests of the backend, and of each operation that it has."""
    tests, ops = folder / "test" / "transformers", folder / "src" / "liger_kernel" / "ops" / "cutile" / "ops"
    names = [f"test_{path.stem}.py" for path in sorted(ops.glob("*.py"))] + [
        path.name for path in sorted(tests.glob("test_cutile_*.py"))
    ]
    return [name for name in names if (tests / name).exists()]


def run(args: argparse.Namespace) -> None:
    """Run the files one after another."""
    folder = Path(args.liger)
    for name in files(folder):
        if args.only not in name:
            continue
        command = [sys.executable, "-m", "pytest", "-p", "tilery.cutile.pytest", "--tilery-engine", args.engine]
        command += ["-v", "--tb=line", "-rfE", f"test/transformers/{name}"]
        own = environment(path="src", LIGER_KERNEL_IMPL="cutile", COLUMNS="1000")  # or pytest leaves out reasons
        status, text, used = limited(command, args.limit, cwd=folder, env=own)
        collected = re.search(r"collected (\d+) item", text)
        facts = outcomes(text) | {"stopped": status is None, "seconds": used, "why": reasons(text)}
        facts["selected"] = int(collected[1]) if collected else 0
        found = load()
        found[name] = facts | {"revision": revision(folder), "engine": args.engine}
        NUMBERS.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
        print(
            name,
            {key: facts[key] for key in ("passed", "failed", "error", "skipped", "selected", "seconds")},
            flush=True,
        )


def reasons(text: str) -> dict[str, int]:
    """Count the reasons of the tests that fail, by the lines of pytest's summary."""
    found = Counter[str]()
    for line in re.findall(r"^(?:FAILED|ERROR) \S+.*$", text, re.M):
        _, _, said = line.partition(" - ")
        known = [why for why, pattern in REASONS.items() if re.search(pattern, said or line)]
        found[known[0] if known else said[:100] or "no reason"] += 1
    return dict(found)


INTRODUCTION = """\
`scripts/programs/liger.py` wrote this page. It runs the tests of Liger's cuTile backend without a GPU: those of the
backend itself, and those of each operation that it has. Each file runs in the order of its tests until its limit of
processor time."""
NOT_MEASURED = """\
Files of tests that are not in the table, and tests that a file did not reach. Tests of other backends. Nothing here ran
on a GPU."""


def page(found: Found) -> str:
    """Write the page."""
    lines = ["# Liger's cuTile kernels, without a GPU", "", INTRODUCTION, ""]
    for title, names in parted(found, HELD_OUT):
        total = {word: sum(found[name][word] for name in names) for word in ("passed", "failed", "error", "skipped")}
        outside = sum(count for name in names for why, count in found[name]["why"].items() if why in REASONS)
        failed = total["failed"] + total["error"]
        lines.append(
            f"* {title}: {total['passed']} pass, {failed} fail, {outside} of them because they launch Triton or need "
            f"another transformers; {total['skipped']} are skipped. "
            f"{sum(not found[name]['stopped'] for name in names)} of {len(names)} files ran to their end."
        )
    lines += ["", "| file | tests | passed | failed | skipped | processor time | |", "|---|" + "--:|" * 5 + "---|"]
    for name, facts in found.items():
        notes = ["held out"] * (name in HELD_OUT) + ["stopped by the limit"] * facts["stopped"]
        cells = [facts["selected"], facts["passed"], facts["failed"] + facts["error"], facts["skipped"]]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} | {facts['seconds']} s | {', '.join(notes)} |")
    if any(facts["why"] for facts in found.values()):
        lines += ["", "| file | why tests fail | number |", "|---|---|--:|"]
    for name, facts in found.items():
        lines += [f"| {name} | {why.replace('|', '¦')} | {count} |" for why, count in facts["why"].items()]
    return "\n".join([*lines, "", "## Not measured", "", NOT_MEASURED, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verbs.add_parser("redraw").set_defaults(run=lambda args: None)
    verb = verbs.add_parser("run")
    verb.set_defaults(run=run)
    verb.add_argument("liger")
    verb.add_argument("--only", default="", metavar="TEXT")
    verb.add_argument("--engine", default="cpu")
    verb.add_argument("--limit", type=int, default=120, metavar="SECONDS")
    args = parser.parse_args()
    args.run(args)
    checkout.publish(page(load()), REPORT)


if __name__ == "__main__":
    main()
