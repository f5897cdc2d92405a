"""Run NVIDIA's own tests of cuTile Python on an engine, without a GPU, and write docs/reports/cutile.{json,md}.

    git clone https://github.com/NVIDIA/cutile-python
    pip install cuda-tile==1.6.0 torch pytest pytest-xdist pytest-benchmark pytest-env filecheck numpy ml_dtypes .
    python scripts/cutile_suite.py run cutile-python/test --engine none --results none
    python scripts/cutile_suite.py run cutile-python/test --results reference
    python scripts/cutile_suite.py samples cutile-python/samples --results samples.json
    python scripts/cutile_suite.py report reference --baseline none --samples samples.json
    python scripts/cutile_suite.py run cutile-python/test --results cpu --engine cpu --like reference
    python scripts/cutile_suite.py samples cutile-python/samples --results cpu.json --engine cpu
    python scripts/cutile_suite.py compare cpu --plain reference --samples cpu.json samples.json
    python scripts/cutile_suite.py redraw                      # the page again, from cutile.json

The run with an engine that does nothing shows which tests pass whatever a kernel computes. The sanitizer's reports on
the same tests are in `scripts/programs/sanitized.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import checkout
from parts.cutile_page import LEFT_OUT, TITLES, page

REPORT = checkout.REPORTS / "cutile.md"
NUMBERS = checkout.REPORTS / "cutile.json"
CHUNK = 1000
"""Tests per run of pytest, where tests are chosen one by one."""


def run(args: argparse.Namespace) -> int:
    """Run the tests; `facts.json` in the results records how, and how long it took."""
    results = Path(args.results).resolve()
    if not args.like:
        shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True, exist_ok=True)
    if not args.like:
        run_pytest(args, results, ["."])
        return 0
    done = read_results(str(results))
    names = [name for name, row in read_results(args.like).items() if launches(row) and name not in done]
    for at in range(0, len(names), CHUNK):
        chosen = results / "chosen.txt"
        root = Path(args.tests).resolve().parent
        chosen.write_text("".join(f"{root}/{name}\n" for name in names[at : at + CHUNK]))
        run_pytest(args, results, [f"@{chosen}"])
    return 0


def run_pytest(args: argparse.Namespace, results: Path, tests: list[str]) -> None:
    """Run some tests and add what it took to `facts.json`."""
    command = [sys.executable, "-m", "pytest", "-p", "tilery.cutile.pytest", "-q", "-n", str(args.jobs)]
    command += ["--tilery-engine", args.engine, "--tilery-results", str(results), "--ignore-glob=*bench_*"]
    command += ["-p", "no:cacheprovider", "--tb=no", "--continue-on-collection-errors"]
    command[3:3] = ["-p", "parts.forked_plugin"] if args.forked else []
    if not args.all:
        command += [f"--ignore-glob=*{name}" for name in LEFT_OUT if name.endswith(".py")]
        command += ["-k", " and ".join(f"not {name}" for name in LEFT_OUT if not name.endswith(".py"))]
    # The suite reads CUDA_TILE_BENCHMARK_GPU_NAME while it collects tests; any name will do.
    own = {"CUDA_TILE_BENCHMARK_GPU_NAME": "tilery", "CUDA_TILE_CACHE_DIR": str(results / "cache")}
    own["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(Path(__file__).parent)]))
    file = results / "facts.json"
    before = json.loads(file.read_text()) if file.exists() else {"cpu_seconds": 0, "seconds": 0}
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    start, used = time.time(), children_seconds()
    with open(results / "pytest.log", "a") as log:
        done = subprocess.run([*command, *tests], cwd=args.tests, env={**os.environ, **own}, stdout=log, stderr=log)
    facts = {
        "engine": args.engine,
        "forked": args.forked,
        "load": round(load, 1),
        "cpu_seconds": before["cpu_seconds"] + round(children_seconds() - used),
        "jobs": args.jobs,
        "seconds": before["seconds"] + round(time.time() - start),
        "cutile": version("cuda-tile"),
        "torch": version("torch"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "status": done.returncode,
    }
    file.write_text(json.dumps(facts, indent=1))


def children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


SAMPLES = (
    *("VectorAddition", "Transpose", "MatMul", "BatchMatMul", "LayerNorm", "AttentionFMHA", "FFT", "MoE"),
    "BlockScaledMatMul",
)
"""All samples that need neither several GPUs nor cupy. Each compares its kernels with torch."""


def run_samples(args: argparse.Namespace) -> int:
    """Run NVIDIA's samples unchanged, with their own comparisons."""
    found = json.loads(Path(args.results).read_text()) if Path(args.results).exists() else {}
    for name in args.only or SAMPLES:
        command = [sys.executable, "-m", "tilery", "cutile", "run", f"{name}.py", "--correctness-check"]
        command[5:5] = ["--engine", args.engine, *["--exact"] * args.exact]
        before = children_seconds()
        done = subprocess.run(command, cwd=args.samples, capture_output=True, text=True)
        found[f"{name} --exact" if args.exact else name] = {
            "status": done.returncode,
            "checks": done.stdout.count("Correctness check passed"),
            "cpu_seconds": round(children_seconds() - before),
            "cutile": version("cuda-tile"),
            "end": (done.stdout + done.stderr)[-300:],
        }
        Path(args.results).write_text(json.dumps(found, indent=1))
    return 0


# ---------------------------------------------------------------- results


def read_results(directory: str) -> dict[str, dict[str, Any]]:
    """Return by test: outcome, launches, seconds, and why it failed."""
    tests: dict[str, dict[str, Any]] = {}
    children: Counter[str] = Counter()
    for file in sorted(Path(directory).glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            if "child_launches" in row:
                children[row["test"]] += row["child_launches"]
            else:
                row["outcome"] = "xfailed" if row.get("xfail") else row.get("outcome", "passed")
                tests[row["test"]] = row
    for name, count in children.items():
        if name in tests:
            tests[name]["child_launches"] = count
    return tests


def launches(row: dict[str, Any]) -> bool:
    """Tell whether a test has launched a kernel, itself or in another process."""
    return bool(row["launches"] or row.get("child_launches"))


def kind(row: dict[str, Any], base: dict[str, Any]) -> str:
    """Return whether a test launches: itself, in another process, or not at all.

    Several tests may share a process, so a test that passes only if something is executed also counts as launching.
    """
    if row["launches"] or base.get("launches"):
        return "launch"
    elsewhere = row.get("child_launches") or (row["outcome"], base.get("outcome")) == ("passed", "failed")
    return "process" if elsewhere else "none"


def reason(row: dict[str, Any]) -> str:
    """Return the first line of an error, without addresses and paths."""
    lines = [line for line in str(row.get("message", "")).splitlines() if line.strip()] or [""]
    first = re.sub(r"(?<![\w.])/[\w./+-]+/", "", re.sub(r"0x[0-9a-f]+", "0x...", lines[0]))
    return f"{row.get('error', '')}: {first}"[:160].replace("|", "\\|")


def summary(directory: str, baseline: str) -> dict[str, Any]:
    """Count the outcomes of a run; what `cutile.json` holds of it."""
    facts = json.loads((Path(directory) / "facts.json").read_text())
    tests, base = read_results(directory), read_results(baseline)
    groups = {name: Counter[str]() for name in TITLES}
    for name, row in tests.items():
        found = groups[kind(row, base.get(name, {}))]
        found["number"] += 1
        found[row["outcome"]] += 1
        found["idle"] += base.get(name, {}).get("outcome") == "passed"
    failed: dict[tuple[str, str], list[str]] = {}
    for row in tests.values():
        if row["outcome"] == "failed":
            file, _, name = row["test"].partition("::")
            failed.setdefault((Path(file).name, reason(row)), []).append(name)
    facts["minutes"] = round(facts.pop("seconds") / 60)
    if "cpu_seconds" in facts:
        facts["cpu_minutes"] = round(facts.pop("cpu_seconds") / 60)
    facts["groups"] = {name: dict(found) for name, found in groups.items()}
    facts["failures"] = [
        {"file": file, "why": why, "count": len(names), "tests": sorted(names)}
        for (file, why), names in sorted(failed.items())
    ]
    return dict(facts)


def collect(args: argparse.Namespace) -> int:
    """Write cutile.json from the results of one or more runs, and the page from it."""
    found: dict[str, Any] = {"runs": [summary(directory, args.baseline) for directory in args.results]}
    if args.samples:
        found["samples"] = json.loads(Path(args.samples).read_text())
        for sample in found["samples"].values():
            sample.pop("end", None)
    if NUMBERS.exists() and "engines" in (before := json.loads(NUMBERS.read_text("utf-8"))):
        found["engines"] = before["engines"]
    NUMBERS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return redraw(args)


def compare(args: argparse.Namespace) -> int:
    """Compare the outcomes of tests on an engine with those on the reference engine; keep them in cutile.json."""
    tests, plain = read_results(args.results), read_results(args.plain)
    facts, plain_facts = (json.loads((Path(at) / "facts.json").read_text()) for at in (args.results, args.plain))
    both = [name for name in tests if name in plain]
    compared: dict[str, Any] = {
        **{key: facts[key] for key in ("engine", "cutile", "torch", "python", "cpu_seconds", "forked")},
        "launching": sum(map(launches, plain.values())),
        "compared": len(both),
        "outcomes": Counter(tests[name]["outcome"] for name in both),
        "plain": {"tests": len(plain), "cpu_seconds": plain_facts["cpu_seconds"]},
        "other": [
            {
                "test": name,
                "outcome": tests[name]["outcome"],
                "plain": plain[name]["outcome"],
                "why": reason(tests[name]),
            }
            for name in both
            if tests[name]["outcome"] != plain[name]["outcome"]
        ],
    }
    if args.samples:
        mine, other = (json.loads(Path(file).read_text()) for file in args.samples)
        compared["samples"] = {
            name: [
                {key: each[key] for key in ("status", "checks", "cpu_seconds")}
                for each in (mine[name], other[name.removesuffix(" --exact")])
            ]
            for name in sorted(mine)
        }
        compared["failing samples"] = {
            name: each["end"].splitlines()[-3:] for name, each in mine.items() if each["status"]
        }
    found = json.loads(NUMBERS.read_text("utf-8"))
    found["engines"] = [each for each in found.get("engines", []) if each["engine"] != facts["engine"]] + [compared]
    NUMBERS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return redraw(args)


def redraw(_: argparse.Namespace) -> int:
    """Write the page from cutile.json."""
    checkout.publish(page(json.loads(NUMBERS.read_text("utf-8"))), REPORT)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("run", help=run.__doc__)
    verb.set_defaults(run=run)
    verb.add_argument("tests", help="the folder `test` of a checkout of NVIDIA/cutile-python")
    verb.add_argument("--results", required=True, help="a folder for the results; without --like it is emptied first")
    verb.add_argument("--like", metavar="FOLDER", help="run what launches there, and is not in the results yet")
    verb.add_argument("--forked", action="store_true", help="let engine cpu compile in forked processes, to save time")
    verb.add_argument("--engine", default="reference")
    verb.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    verb.add_argument("--all", action="store_true", help="include the tests that are left out because of their size")
    verb = verbs.add_parser("samples", help=run_samples.__doc__)
    verb.set_defaults(run=run_samples)
    verb.add_argument("samples", help="the folder `samples` of the checkout")
    verb.add_argument(
        "--results", required=True, help="a JSON file; results of samples that are not run again are kept"
    )
    verb.add_argument("--only", nargs="*", metavar="NAME")
    verb.add_argument("--engine", default="reference")
    verb.add_argument("--exact", action="store_true", help="run with --exact, as rows of their own")
    verb = verbs.add_parser("report", help=collect.__doc__)
    verb.set_defaults(run=collect)
    verb.add_argument("results", nargs="+", help="folders of results")
    verb.add_argument("--baseline", required=True, help="the folder of a run with `--engine none`")
    verb.add_argument("--samples", help="the JSON file of the samples")
    verb = verbs.add_parser("compare", help=compare.__doc__)
    verb.set_defaults(run=compare)
    verb.add_argument("results", help="the folder of a run with another engine")
    verb.add_argument("--plain", required=True, help="the folder of a run with the reference engine")
    verb.add_argument("--samples", nargs=2, help="the JSON files of the samples on both engines")
    verb = verbs.add_parser("redraw", help=redraw.__doc__)
    verb.set_defaults(run=redraw)
    args = parser.parse_args()
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
