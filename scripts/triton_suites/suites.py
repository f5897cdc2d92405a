"""Run public suites of Triton kernels on an engine, and write docs/reports/lab/triton_suites.md.

    python scripts/triton_suites/suites.py run tritonbench FOLDER     # data/TritonBench_G_v1 of TritonBench
    python scripts/triton_suites/suites.py run liger FOLDER           # a checkout of Liger-Kernel
    python scripts/triton_suites/suites.py run fla FOLDER             # a checkout of flash-linear-attention
    python scripts/triton_suites/suites.py run flaggems FOLDER        # and so on: mamba, lightllm
    python scripts/triton_suites/suites.py add RESULTS                # the results of a run on another machine
    python scripts/triton_suites/suites.py page                       # the page, from triton_suites.json beside it

`--which known` leaves out the files that `heldout.toml` lists, and `held` runs only those. A run replaces the results
of the files it ran.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

HERE = Path(__file__).parent
REPORTS = HERE.parents[1] / "docs" / "reports" / "lab"
DATA = REPORTS / "triton_suites.json"
SECONDS = 100
"""The time for one program or test."""
FILE_SECONDS = 1200
"""The time for all tests of a file."""
TITLES = {"tritonbench": "TritonBench-G", "liger": "Liger-Kernel", "fla": "flash-linear-attention"}
TITLES |= {"flaggems": "FlagGems", "mamba": "Mamba", "lightllm": "LightLLM", "vllm": "vLLM"}
FOLDERS = {"liger": ["test/transformers"], "fla": ["tests/ops", "tests/modules"], "flaggems": ["tests"]}
FOLDERS |= {"mamba": ["tests/ops/triton"], "lightllm": ["unit_tests"], "vllm": ["tests"]}
PLUGINS = {"vllm": ["-p", "vllm_device"]}
PREFIXES = ("tests/ops/triton/", "tests/", "test/transformers/", "unit_tests/")
"""Prefixes of file names that the page leaves out."""
OTHER_LANGUAGES = ("cute", "cutile", "tilelang")
"""Files with these words in their names test kernels that are not written in Triton."""
MANY_GPUS = "dtensor"
"""Tests with this word in their names need several GPUs."""

Row = dict[str, Any]


def held_out() -> dict[str, set[str]]:
    found = tomllib.loads((HERE / "heldout.toml").read_text("utf-8"))
    return {suite: set(facts["held_out"]) for suite, facts in found.items()}


def counts_of(suite: str) -> tuple[int, int]:
    """Return how many files of a suite are known, and held out."""
    found = tomllib.loads((HERE / "heldout.toml").read_text("utf-8"))[suite]
    return found["known"], len(found["held_out"])


def chosen(suite: str, names: list[str], which: str) -> list[str]:
    held = held_out()[suite]
    return [name for name in names if which == "all" or (name in held) == (which == "held")]


def run_program(path: Path, engine: str) -> Row:
    """Run a program to its end as `tilery triton run` does; its outcome is how it ends."""
    status, output = forked(["triton", "run", "--engine", engine, str(path)], path.parent)
    if status is None:
        return {"outcome": "too long", "reason": f"longer than {SECONDS} s"}
    if status == 0:
        return {"outcome": "passed"}
    lines = [line for line in output.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error: ")]
    place = next((line.strip() for line in lines if line.startswith("  at ")), "")
    reason = f"{errors[0]} {place}" if errors else lines[-1] if lines else f"status {status}"
    return {"outcome": "failed", "reason": clean(reason)}


def forked(arguments: list[str], folder: Path) -> tuple[int | None, str]:
    """Run the command in a process of its own; return its status, None if it takes too long, and what it prints.

    A fork saves each program the time to import torch and Triton.
    """
    for name in ("torch", "triton", "tilery.programs.scripts", "tilery.cli.main"):
        import_module(name)
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            os.chdir(folder)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            try:
                status = import_module("tilery.cli.main").main(arguments)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status if "status" in locals() else 1)
        status = wait(child)
        output.seek(0)
        return status, output.read().decode(errors="replace")


def wait(child: int) -> int | None:
    """Return the exit status of a child; end it and its group after `SECONDS`, and return None."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def clean(reason: str) -> str:
    """Return a reason without addresses and folders."""
    reason = re.sub(r"0x[0-9a-f]{6,}", "0x...", reason)
    return re.sub(r"/[\w./+-]*/", "", reason)[:300]


def run_tests(root: Path, file: str, engine: str, cases: int, seconds: float, plugins: Sequence[str] = ()) -> list[Row]:
    """Run the tests of a file for at most some seconds; a row per test."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--maxfail=1000", "-p", "no:cacheprovider"]
        command += ["-p", "tilery.triton.pytest", "-p", "sampling", *plugins, "--tilery-engine", engine]
        command += ["--tilery-results", folder, "-k", f"not {MANY_GPUS}", file]
        path = os.pathsep.join([str(HERE), str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")])
        env = dict(
            os.environ, PYTHONPATH=path, SAMPLE_MAX=str(cases), SAMPLE_SECONDS=str(SECONDS), GEMS_VENDOR="nvidia"
        )
        last, late, crashed = ["no output"], False, False
        try:
            done = subprocess.run(command, capture_output=True, text=True, cwd=root, env=env, timeout=seconds)
            last = (done.stdout or done.stderr).strip().splitlines()[-1:] or last
            crashed = done.returncode < 0
        except subprocess.TimeoutExpired:
            late = True
        rows: list[Row] = []
        for each in Path(folder).glob("*.jsonl"):
            rows += [json.loads(line) for line in each.read_text("utf-8").splitlines()]
    found = [outcome(row) for row in rows if "outcome" in row]
    if late:
        why = f"the file took {seconds:.0f} s; its tests after the {len(found)} that ended have no result"
        found.append({"test": file, "outcome": "too long", "reason": why})
    elif crashed:
        why = f"the process ended with signal {-done.returncode} after {clean(last[0])}"
        found.append({"test": file, "outcome": "failed", "reason": why})
    elif not found:
        found = [{"test": file, "outcome": "failed before a launch", "reason": clean(last[0])}]
    return found


def revision() -> str:
    """Return the commit of tilery that runs."""
    command = ["git", "-C", str(HERE), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def outcome(row: Row) -> Row:
    kind, error = row["outcome"], row.get("error", "")
    if error == "TooLong":
        kind = "too long"
    elif kind == "failed" and not row.get("launches"):
        kind = "failed before a launch"
    made = {"test": row["test"], "outcome": kind, "launches": row.get("launches", 0)}
    if kind not in ("passed", "skipped"):
        made["reason"] = clean(f"{error}: {row.get('message', '')}".replace("\n", " "))
    return made


def run(args: argparse.Namespace) -> None:
    suite, root, end = args.suite, args.folder.resolve(), time.monotonic() + 60 * args.minutes
    writing = Lock()
    key, state = f"{args.engine}, {version('triton')}", revision()
    if suite == "tritonbench":
        names = sorted(path.name for path in root.glob("*.py"))
    else:
        names = sorted(str(p.relative_to(root)) for part in FOLDERS[suite] for p in (root / part).rglob("test_*.py"))
        names = list(filter(is_triton, names))
    short = {name: short_name(name) for name in names}
    known = {short[name]: name for name in names}

    def one(name: str) -> None:
        left = end - time.monotonic()
        if left < 5:
            return
        if suite == "tritonbench":
            rows = [run_program(root / name, args.engine) | {"test": name}]
        else:
            most = min(FILE_SECONDS, left)
            rows = run_tests(root, known[name], args.engine, args.cases, most, PLUGINS.get(suite, ()))
        counts = Counter(row["outcome"] for row in rows)
        print(name, dict(counts), *(row.get("reason", "") for row in rows[:3]), flush=True)
        with writing:
            add(args.results, {suite: {key: {name: [row | {"revision": state} for row in rows]}}})

    before = {
        name: rows
        for name, rows in saved(args.results).get(suite, {}).get(key, {}).items()
        if not any(row["test"] == known.get(name) for row in rows)  # stopped in the middle
    }
    names = [name for name in chosen(suite, list(known), args.which) if args.only in name]
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(one, [name for name in names if not (args.resume and name in before)]))


Data = dict[str, dict[str, dict[str, list[Row]]]]
"""Rows by suite, engine and file."""


def add(path: Path, found: Data) -> None:
    """Add results to those of a file, which another suite may write too."""
    data = saved(path)
    for suite, engines in found.items():
        for key, files in engines.items():
            data.setdefault(suite, {}).setdefault(key, {}).update(files)
    path.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n", "utf-8")


def saved(path: Path) -> Data:
    """Return the results so far, of tests of Triton kernels."""
    found: Data = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return {
        suite: {key: {name: files[name] for name in files if is_triton(name)} for key, files in engines.items()}
        for suite, engines in found.items()
    }


def short_name(name: str) -> str:
    return next((name.removeprefix(prefix) for prefix in PREFIXES if name.startswith(prefix)), name)


def is_triton(name: str) -> bool:
    return not any(word in name for word in OTHER_LANGUAGES)


# ---------------------------------------------------------------- the page


def page() -> str:
    data = saved(DATA)
    held = held_out()
    verdicts = tomllib.loads((HERE / "verdicts.toml").read_text("utf-8"))
    lines = [
        "# Suites of Triton kernels",
        "",
        "`scripts/triton_suites/suites.py` wrote this page. It runs public kernels and their tests without a GPU. A",
        "program of TritonBench-G, which collects 184 of them from public repositories, passes if it ends without an",
        "error: it has no expected results. Tests of the other suites compare with torch. Of each test function the",
        f"smallest case runs. A program or test may take {SECONDS} seconds on a busy machine (TritonBench-G: 240). A",
        "third of the files was held out, by `heldout.toml`: no rule was written for them. Of the suites that were",
        "added last (FlagGems, Mamba, LightLLM, vLLM) all files were listed before the first was run. Tests of several",
        "GPUs and of kernels in other languages are left out. `again` counts the files that ran since engine cpu",
        "compiles every kernel by way of its loops; the results of the others are of earlier states.",
        "",
        "| suite | engine, Triton | files | run | again | passed | failed "
        "| failed before a launch | too long | skipped |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for suite, title in TITLES.items():
        for engine, files in sorted(data.get(suite, {}).items()):
            for label, wanted in (("known", False), ("held out", True)):
                rows = [r for name, found in files.items() if (name in held[suite]) == wanted for r in found]
                counts = Counter(row["outcome"] for row in rows)
                cells = [counts[key] for key in ("passed", "failed", "failed before a launch", "too long", "skipped")]
                if not (total := counts_of(suite)[wanted]):
                    continue
                ran = [found for name, found in files.items() if (name in held[suite]) == wanted]
                if not ran:
                    continue
                again = sum(any("revision" in row for row in found) for found in ran)
                numbers = [f"{len(ran)} of {total}", again, *cells]
                lines.append(f"| {title} | {engine} | {label} | " + " | ".join(map(str, numbers)) + " |")
    for suite, title in TITLES.items():
        for engine, files in sorted(data.get(suite, {}).items()):
            lines += reasons(f"{title} on {engine}", files, verdicts.get(suite, {}))
    lines += [
        "",
        "## Not measured",
        "",
        "Files that were not run, and suites that are not listed: they were left out for time. Nothing here was",
        "compared with a GPU; see `scripts/triton_gpu.py`. A test that failed before a launch did not reach a kernel:",
        "it needs another package or release of one. flash-linear-attention cannot be imported with Triton 3.9.0,",
        "which refuses the keys of one of its tuned kernels, so it runs with 3.6.0, which some of its tests refuse.",
        "On a machine with 16 Intel cores and AMX (Python 3.12, torch 2.11), no process ended early in 41 files of",
        "Liger and flash-linear-attention on engine cpu; that was an earlier state.",
        "",
        "Of FlagGems' failures with Triton 3.6.0 that are about a number of parameters, three were repeated with",
        "3.5.1, where they pass.",
        "",
        "At their first look, nine files of vLLM were run. Two could not be imported, one was stopped, and the tests",
        "of five failed as they ended: `torch._dynamo.reset()` raised an error while kernels ran on an engine, which",
        "is corrected; the table has what followed. The ninth was ended for its memory: its reference in torch takes",
        "17 GB at once on the host.",
    ]
    return "\n".join(lines) + "\n"


def reasons(title: str, files: dict[str, list[Row]], verdicts: dict[str, list[str]]) -> list[str]:
    """Return the part of the page about one run: why tests did not pass, and whose fault that is."""
    rows = [row for found in files.values() for row in found if row["outcome"] not in ("passed", "skipped")]
    if not rows:
        return []
    lines = ["", f"## {title}: what did not pass", "", "| test | outcome | reason | fault |", "|---|---|---|---|"]
    for row in rows:
        reason = row.get("reason", "").replace("|", "\\|")[:160]
        name = row["test"].rpartition("/")[2]
        fault, why = verdicts.get(name.partition("[")[0], ["not known", ""])
        lines.append(f"| {name[:90]} | {row['outcome']} | {reason} | {fault}{': ' if why else ''}{why} |")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    sub = verbs.add_parser("run")
    sub.add_argument("suite", choices=list(TITLES))
    sub.add_argument("folder", type=Path)
    sub.add_argument("--engine", default="cpu")
    sub.add_argument("--which", choices=["known", "held", "all"], default="known")
    sub.add_argument("--cases", type=int, default=1)
    sub.add_argument("--only", default="")
    sub.add_argument("--resume", action="store_true", help="leave out files that have results")
    sub.add_argument("--minutes", type=float, default=600.0, help="stop after this time")
    sub.add_argument("--jobs", type=int, default=1, help="files of tests that run at the same time")
    sub.add_argument("--results", type=Path, default=DATA)
    sub = verbs.add_parser("add", help="add the results of a run on another machine")
    sub.add_argument("results", type=Path)
    verbs.add_parser("page")
    args = parser.parse_args()
    if args.verb == "run":
        run(args)
    elif args.verb == "add":
        add(DATA, saved(args.results))
    else:
        (REPORTS / "triton_suites.md").write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
