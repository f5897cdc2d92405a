"""Run NVIDIA's own tests of cuTile Python on an engine, without a GPU, and write docs/reports/cutile.md.

    git clone https://github.com/NVIDIA/cutile-python
    pip install cuda-tile==1.6.0 torch pytest pytest-xdist pytest-benchmark pytest-env filecheck numpy ml_dtypes .
    python scripts/cutile_suite.py run cutile-python/test --engine none --results none
    python scripts/cutile_suite.py run cutile-python/test --results reference
    python scripts/cutile_suite.py samples cutile-python/samples --results samples.json
    python scripts/cutile_suite.py report reference --baseline none --samples samples.json

The run with the engine that does nothing tells which tests pass whatever a kernel computes.
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

REPORT = Path(__file__).parents[1] / "docs" / "reports" / "cutile.md"
LEFT_OUT = {
    "test_int64_index_inc1": "arrays of more than 4 GiB, and as many tile blocks",
    "test_add_list_of_int64_index_arrays": "the same",
}


def run(args: argparse.Namespace) -> int:
    """Run the tests; `facts.json` in the results says how, and how long it took."""
    results = Path(args.results).resolve()
    shutil.rmtree(results, ignore_errors=True)
    results.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-p", "tilery.cutile.pytest", "-q", "-n", str(args.jobs)]
    command += ["--tilery-engine", args.engine, "--tilery-results", str(results), "--ignore-glob=*bench_*"]
    command += ["-p", "no:cacheprovider", "--tb=no", "--continue-on-collection-errors"]
    if not args.all:
        command += [f"--ignore-glob=*{name}" for name in LEFT_OUT if name.endswith(".py")]
        command += ["-k", " and ".join(f"not {name}" for name in LEFT_OUT if not name.endswith(".py"))]
    # `CUDA_TILE_BENCHMARK_GPU_NAME` is asked for while the tests are collected, and is nothing but a name.
    own = {"CUDA_TILE_BENCHMARK_GPU_NAME": "tilery", "CUDA_TILE_CACHE_DIR": str(results / "cache")}
    start = time.time()
    with open(results / "pytest.log", "w") as log:
        done = subprocess.run([*command, "."], cwd=args.tests, env={**os.environ, **own}, stdout=log, stderr=log)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    facts = {
        "engine": args.engine,
        "cpu_seconds": round(used.ru_utime + used.ru_stime),
        "jobs": args.jobs,
        "seconds": round(time.time() - start),
        "cutile": version("cuda-tile"),
        "torch": version("torch"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "status": done.returncode,
    }
    (results / "facts.json").write_text(json.dumps(facts, indent=1))
    return 0


SAMPLES = (
    *("VectorAddition", "Transpose", "MatMul", "BatchMatMul", "LayerNorm", "AttentionFMHA", "FFT", "MoE"),
    "BlockScaledMatMul",
)
"""All that do not need several GPUs or cupy. Each compares its kernels with torch."""


def run_samples(args: argparse.Namespace) -> int:
    """Run NVIDIA's samples as they are, with the comparison that each of them has."""
    found = json.loads(Path(args.results).read_text()) if Path(args.results).exists() else {}
    for name in args.only or SAMPLES:
        command = [sys.executable, "-m", "tilery", "cutile", "run", f"{name}.py", "--correctness-check"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=args.samples, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found[name] = {
            "status": done.returncode,
            "checks": done.stdout.count("Correctness check passed"),
            "cpu_seconds": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime),
            "cutile": version("cuda-tile"),
            "end": (done.stdout + done.stderr)[-300:],
        }
        Path(args.results).write_text(json.dumps(found, indent=1))
    return 0


def samples_section(file: str) -> list[str]:
    found = json.loads(Path(file).read_text())
    versions = sorted({each["cutile"] for each in found.values()})
    lines = [
        f"## Samples, with cuTile {', '.join(versions)}",
        "",
        "Unchanged, each with its own comparison with torch.",
        "",
    ]
    lines += ["| sample | comparisons that pass | processor time |", "|---|---|---|"]
    for name, each in found.items():
        passed = each["checks"] if each["status"] == 0 else "fails"
        taken = "not measured" if each["cpu_seconds"] is None else f"{each['cpu_seconds']} s"
        lines.append(f"| {name} | {passed} | {taken} |")
    return [*lines, ""]


# ---------------------------------------------------------------- results


def read_results(directory: str) -> dict[str, dict[str, Any]]:
    """By test: outcome, launches, seconds, and why it failed."""
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


def kind(row: dict[str, Any], base: dict[str, Any]) -> str:
    """Whether a test launches, by itself or in another process.

    Several tests may share a process, so one that passes only if something is executed counts as well.
    """
    if row["launches"] or base.get("launches"):
        return "launch"
    elsewhere = row.get("child_launches") or (row["outcome"], base.get("outcome")) == ("passed", "failed")
    return "process" if elsewhere else "none"


def reason(row: dict[str, Any]) -> str:
    """The first line of an error, without what differs from test to test."""
    lines = [line for line in str(row.get("message", "")).splitlines() if line.strip()] or [""]
    first = re.sub(r"(?<![\w.])/[\w./+-]+/", "", re.sub(r"0x[0-9a-f]+", "0x...", lines[0]))
    return f"{row.get('error', '')}: {first}"[:160].replace("|", "\\|")


def report(args: argparse.Namespace) -> int:
    """Write the report from the results of one or more runs."""
    lines = ["# NVIDIA's tests of cuTile Python, without a GPU", "", INTRODUCTION, ""]
    for directory in args.results:
        lines += section(directory, args.baseline)
    if args.samples:
        lines += samples_section(args.samples)
    Path(args.output).write_text("\n".join(lines).rstrip() + "\n")
    return 0


INTRODUCTION = """\
Made by `scripts/cutile_suite.py` from `test/` of NVIDIA/cutile-python, its benchmarks left out. NVIDIA's frontend and
dispatcher run as they are; kernels execute on the reference engine, tensors asked for on `cuda` are made on the CPU.
A test that passes although nothing is executed proves little about the engine, so those are counted apart."""


def section(directory: str, baseline: str) -> list[str]:
    facts = json.loads((Path(directory) / "facts.json").read_text())
    tests, base = read_results(directory), read_results(baseline)
    groups: dict[str, list[str]] = {"launch": [], "process": [], "none": []}
    for name, row in tests.items():
        groups[kind(row, base.get(name, {}))].append(name)
    titles = {"launch": "launch a kernel", "process": "launch in another process", "none": "launch nothing"}
    lines = [
        f"## cuTile {facts['cutile']}",
        "",
        f"{len(tests):,} tests in {facts['seconds'] / 60:.0f} minutes with {facts['jobs']} processes on a busy machine"
        f"{cpu_time(facts)} (CPython {facts['python']}, torch {facts['torch']}).",
        *([facts["note"]] if "note" in facts else []),
        "",
        "| tests that | number | pass | fail | fail as expected | skipped | pass with nothing executed |",
        "|---|---|---|---|---|---|---|",
    ]
    for key, names in groups.items():
        count = Counter(tests[name]["outcome"] for name in names)
        idle = sum(base.get(name, {}).get("outcome") == "passed" for name in names)
        row = [count["passed"], count["failed"], count["xfailed"], count["skipped"], idle if key != "none" else "-"]
        lines.append(
            f"| {titles[key]} | {len(names):,} | " + " | ".join(f"{n:,}" if n != "-" else n for n in row) + " |"
        )
    launching = [tests[name]["outcome"] for key in ("launch", "process") for name in groups[key]]
    ran = [outcome for outcome in launching if outcome in ("passed", "failed")]
    passed = ran.count("passed")
    lines += ["", f"Of the tests that launch, {passed:,} of {len(ran):,} pass: {passed / max(1, len(ran)):.2%}.", ""]
    lines += failures(tests)
    lines += ["Left out: " + "; ".join(f"`{name}` ({why})" for name, why in LEFT_OUT.items()) + ".", ""]
    return lines


def cpu_time(facts: dict[str, Any]) -> str:
    return f", {facts['cpu_seconds'] / 60:.0f} minutes of processor time" if "cpu_seconds" in facts else ""


def failures(tests: dict[str, dict[str, Any]]) -> list[str]:
    failed = [row for row in tests.values() if row["outcome"] == "failed"]
    if not failed:
        return []
    lines = ["| tests that fail | file | why |", "|---|---|---|"]
    groups = Counter((row["test"].split("::")[0], reason(row)) for row in failed)
    lines += [f"| {count} | {Path(file).name} | {why} |" for (file, why), count in sorted(groups.items())]
    return [*lines, ""]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("run", help=run.__doc__)
    verb.set_defaults(run=run)
    verb.add_argument("tests", help="the folder `test` of a checkout of NVIDIA/cutile-python")
    verb.add_argument("--results", required=True, help="a folder for the results; it is emptied")
    verb.add_argument("--engine", default="reference")
    verb.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    verb.add_argument("--all", action="store_true", help="also the tests that are left out for their size")
    verb = verbs.add_parser("samples", help=run_samples.__doc__)
    verb.set_defaults(run=run_samples)
    verb.add_argument("samples", help="the folder `samples` of the checkout")
    verb.add_argument("--results", required=True, help="a JSON file; samples that are not run again are kept in it")
    verb.add_argument("--only", nargs="*", metavar="NAME")
    verb = verbs.add_parser("report", help=report.__doc__)
    verb.set_defaults(run=report)
    verb.add_argument("results", nargs="+", help="folders of results")
    verb.add_argument("--baseline", required=True, help="the folder of a run with `--engine none`")
    verb.add_argument("--samples", help="the JSON file of the samples")
    verb.add_argument("--output", default=str(REPORT))
    args = parser.parse_args()
    status: int = args.run(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
