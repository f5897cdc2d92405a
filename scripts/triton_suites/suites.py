"""Run public suites of Triton kernels on an engine, and write docs/reports/lab/triton_suites.md.

    python scripts/triton_suites/suites.py run tritonbench=FOLDER     # data/TritonBench_G_v1 of TritonBench
    python scripts/triton_suites/suites.py run liger=FOLDER           # a checkout of Liger-Kernel
    python scripts/triton_suites/suites.py run fla=FOLDER vllm=FOLDER # several; also flaggems, mamba, lightllm
    python scripts/triton_suites/suites.py add RESULTS                # the results of a run on another machine
    python scripts/triton_suites/suites.py page                       # the page, from triton_suites.json beside it

`--which known` leaves out the files that `heldout.toml` lists, and `held` runs only those. A run replaces the results
of the files it ran. It begins with the files that have no results, and then takes those that took longest.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from importlib.metadata import version
from multiprocessing import Queue, get_context
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from parts.code import engine_code

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
    """Return the files of the suite's list that are wanted; a suite without known files has no others."""
    held, known = held_out()[suite], counts_of(suite)[0]
    return [
        name
        for name in names
        if (name in held and which != "known") or (name not in held and known and which != "held")
    ]


class Task(NamedTuple):
    """A file of a suite, with the rows of its tests that have run already."""

    suite: str
    root: Path
    file: str
    cases: int
    engine: str
    end: float
    done: tuple[Row, ...]

    @property
    def name(self) -> str:
        return short_name(self.file)


def run_program(path: Path, engine: str, seconds: float) -> Row:
    """Run a program to its end as `tilery triton run` does; its outcome is how it ends."""
    start = time.monotonic()
    status, output = forked(["triton", "run", "--engine", engine, str(path)], path.parent, seconds)
    took = round(time.monotonic() - start, 1)
    if status is None:
        return {"outcome": "too long", "reason": f"longer than {seconds:.0f} s", "seconds": took}
    if status == 0:
        return {"outcome": "passed", "seconds": took}
    lines = [line for line in output.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error: ")]
    place = next((line.strip() for line in lines if line.startswith("  at ")), "")
    reason = f"{errors[0]} {place}" if errors else lines[-1] if lines else f"status {status}"
    return {"outcome": "failed", "reason": clean(reason), "seconds": took}


def forked(arguments: list[str], folder: Path, seconds: float) -> tuple[int | None, str]:
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
        status = wait(child, seconds)
        output.seek(0)
        return status, output.read().decode(errors="replace")


def wait(child: int, seconds: float) -> int | None:
    """Return the exit status of a child; end it and its group after some seconds, and return None."""
    end = time.monotonic() + seconds
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


def run_tests(task: Task, seconds: float) -> list[Row]:
    """Run the tests of a file that have no row, for at most some seconds; return a row per test."""
    root, file, found = task.root, task.file, list(task.done)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--maxfail=1000", "-p", "no:cacheprovider"]
        command += ["-p", "tilery.triton.pytest", "-p", "sampling", *PLUGINS.get(task.suite, ())]
        command += ["--tilery-engine", task.engine, "--tilery-results", folder, "-k", f"not {MANY_GPUS}", file]
        path = os.pathsep.join([str(HERE), str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")])
        done = Path(folder, "done.txt")
        done.write_text("\n".join(row["test"] for row in found), "utf-8")
        sample = {"SAMPLE_MAX": str(task.cases), "SAMPLE_SECONDS": str(SECONDS), "SAMPLE_DONE": str(done)}
        env = dict(os.environ, PYTHONPATH=path, GEMS_VENDOR="nvidia", **sample)
        env["PYTHONFAULTHANDLER"] = "1"
        status, output = grouped(command, seconds, cwd=root, env=env)
        rows: list[Row] = []
        for each in Path(folder).glob("*.jsonl"):
            rows += [json.loads(line) for line in each.read_text("utf-8").splitlines()]
    found += [outcome(row) for row in rows if "outcome" in row]
    if status is None:
        why = f"the file took {seconds:.0f} s; its tests after the {len(found)} that ended have no result"
        found.append({"test": file, "outcome": "too long", "reason": why})
    elif status < 0:
        why = f"the process ended with signal {-status} after {clean(last_words(output))}"
        found.append({"test": file, "outcome": "failed", "reason": why})
    elif not found:
        said = last_words(output)
        kind = "skipped" if re.match(r"\d+ (skipped|deselected)\b", said) else "failed before a launch"
        found.append({"test": file, "outcome": kind, "reason": clean(said)})
    return found


def grouped(command: list[str], seconds: float, **options: Any) -> tuple[int | None, str]:
    """Run a command and all that it starts; return its status, None if it takes too long, and its output."""
    with tempfile.TemporaryFile() as output:
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, start_new_session=True, **streams, **options)
        status: int | None = None
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return status, output.read().decode(errors="replace")


def last_words(output: str) -> str:
    """Return what a process said last: the first lines of a crash, an error of an import, or the last line."""
    if found := re.search(r"^Fatal Python error:.*", output, re.M):
        frames = re.findall(r"^  File .*", output[found.start() :], re.M)[:2]
        return " ".join([found[0], *map(str.strip, frames)])
    errors: list[str] = re.findall(r"^E +(\w+(?:Error|Exception): .*)", output, re.M)
    return (errors or output.strip().splitlines() or ["no output"])[-1]


def outcome(row: Row) -> Row:
    kind, error = row["outcome"], row.get("error", "")
    if error == "TooLong":
        kind = "too long"
    elif kind == "failed" and not row.get("launches"):
        kind = "failed before a launch"
    made = {"test": row["test"], "outcome": kind, "launches": row.get("launches", 0), "seconds": row.get("seconds", 0)}
    if kind not in ("passed", "skipped"):
        made["reason"] = clean(f"{error}: {row.get('message', '')}".replace("\n", " "))
    return made


def tasks(args: argparse.Namespace, code: str) -> list[Task]:
    """Return the files to run, those without results first, then those that took longest."""
    end, before = time.monotonic() + 60 * args.minutes, saved(args.results)
    found: list[tuple[float, Task]] = []
    for suite, folder in (each.split("=") for each in args.suites):
        root, results = Path(folder).resolve(), before.get(suite, {}).get(key_of(args.engine), {})
        parts = [(root / part).rglob("test_*.py") for part in FOLDERS.get(suite, ())] or [root.glob("*.py")]
        files = sorted(str(path.relative_to(root)) for part in parts for path in part)
        names = {short_name(file): file for file in filter(is_triton, files)}
        for name in filter(lambda name: args.only in name, chosen(suite, list(names), args.which)):
            rows = results.get(name, [])
            done = [row for row in rows if row["test"] != names[name] or is_whole(suite, row)]
            complete = bool(rows) and len(done) == len(rows)
            if not (args.resume and complete):
                kept = () if complete else tuple(row for row in done if row.get("code") == code)
                took = sum(row.get("seconds", 0) for row in rows) if complete else math.inf
                found.append((took, Task(suite, root, names[name], args.cases, args.engine, end, kept)))
    return [task for took, task in sorted(found, key=lambda each: -each[0])]


def is_whole(suite: str, row: Row) -> bool:
    """Whether a row that is about a whole file says how it ended: it need not run again."""
    return suite == "tritonbench" or row["outcome"] == "skipped"


def key_of(engine: str) -> str:
    return f"{engine}, {version('triton')}"


def run_task(task: Task) -> list[Row]:
    """Run a file in a worker of the pool; it has no rows if the time of all is over."""
    left = task.end - time.monotonic()
    if left < 5:
        return []
    if task.suite == "tritonbench":
        row = {"test": task.name} | run_program(task.root / task.file, task.engine, min(SECONDS, left))
        return [] if row["outcome"] == "too long" and left < SECONDS else [row]
    most = min(FILE_SECONDS, left)
    return run_tests(task, most)


def settle(cores: Queue[int]) -> None:
    """Keep a worker, and what it starts, on one core, if there is one for each."""
    if (core := cores.get()) >= 0:
        os.sched_setaffinity(0, [core])


def run(args: argparse.Namespace) -> None:
    context = get_context("fork")
    cores: Queue[int] = context.Queue()
    here = sorted(os.sched_getaffinity(0))
    for number in range(args.jobs):
        cores.put(here[number] if 1 < args.jobs <= len(here) else -1)
    code, where = engine_code(), f"Python {platform.python_version()}, torch {version('torch')}, {os.cpu_count()} cores"
    with ProcessPoolExecutor(args.jobs, context, settle, (cores,)) as pool:
        waiting = {pool.submit(run_task, task): task for task in tasks(args, code)}
        for done in as_completed(waiting):
            if rows := done.result():
                task, counts = waiting[done], Counter(row["outcome"] for row in rows)
                reasons = [row["reason"] for row in rows if "reason" in row]
                print(task.suite, task.name, dict(counts), *reasons[:3], flush=True)
                marked = [row | {"code": code, "where": where} for row in rows]
                add(args.results, {task.suite: {key_of(task.engine): {task.name: marked}}}, code)


Data = dict[str, dict[str, dict[str, list[Row]]]]
"""Rows by suite, engine and file."""


def add(path: Path, found: Data, code: str) -> None:
    """Add results to those of a file, with the code of the engine that the run had."""
    data = saved(path)
    for suite, engines in found.items():
        for key, files in engines.items():
            data.setdefault(suite, {}).setdefault(key, {}).update(files)
    path.write_text(json.dumps(data | {"code": code}, indent=1, sort_keys=True) + "\n", "utf-8")


def saved_code(path: Path = DATA) -> str:
    """Return the code of the engine that the newest run had."""
    code: str = json.loads(path.read_text("utf-8")).get("code", "")
    return code


def saved(path: Path) -> Data:
    """Return the results so far, of tests of Triton kernels."""
    found: Data = json.loads(path.read_text("utf-8")) if path.exists() else {}
    found.pop("code", None)
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
    final = saved_code()
    lines = [
        "# Suites of Triton kernels",
        "",
        "`scripts/triton_suites/suites.py` wrote this page. It runs public kernels and their tests without a GPU. A",
        "program of TritonBench-G, which collects 184 of them from public repositories, passes if it ends without an",
        "error: it has no expected results. Tests of the other suites compare with torch. Of each test function the",
        f"smallest case runs. A program or test may take {SECONDS} seconds (some programs of TritonBench-G had 240). A",
        "third of the files was held out, by `heldout.toml`: no rule was written for them. Of the suites that were",
        "added last (FlagGems, Mamba, LightLLM, vLLM) all files were listed before the first was run. Tests of several",
        "GPUs and of kernels in other languages are left out. `final` counts the files of which every test ran with",
        f"engine cpu as it is in `{final}`, git's name for its folder; the others ran with other states.",
        "",
        "| suite | engine, Triton | files | run | final | passed | failed "
        "| failed before a launch | too long | skipped | where |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|--:|---|",
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
                whole = sum(all(row.get("code") == final for row in found) for found in ran)
                places = sorted({row["where"] for found in ran for row in found if "where" in row})
                numbers = [f"{len(ran)} of {total}", whole, *cells, "; ".join(places)]
                lines.append(f"| {title} | {engine} | {label} | " + " | ".join(map(str, numbers)) + " |")
    for suite, title in TITLES.items():
        for engine, files in sorted(data.get(suite, {}).items()):
            lines += reasons(f"{title} on {engine}", files, verdicts.get(suite, []))
    lines += [
        "",
        "## Not measured",
        "",
        "Files that were not run, and suites that are not listed: they were left out for time. Nothing here was",
        "compared with a GPU; see `scripts/triton_gpu.py`. A test that failed before a launch did not reach a kernel:",
        "it needs another package or release of one. flash-linear-attention cannot be imported with Triton 3.9.0,",
        "which refuses the keys of one of its tuned kernels, so it runs with 3.6.0, which some of its tests refuse.",
        "No process ended early on a machine with 16 Intel cores and AMX, in 135 files.",
        "",
        "Failures led to changes: the state of a GPU's random generator (FlagGems), programmatic dependent launch in",
        "inline PTX (vLLM), autotuning that tries configurations (FlagGems), and arguments that are objects with an",
        "address (TritonBench-G). Of FlagGems' failures with Triton 3.6.0 that are about a number of parameters,",
        "three were repeated with 3.5.1, where they pass.",
        "",
        "vLLM's compiled parts are not there; what it imports and its kernels do not need is empty where it is not",
        "installed. Its results are not of a first look: nine files had been run, and a failure led to a change.",
    ]
    return "\n".join(lines) + "\n"


def reasons(title: str, files: dict[str, list[Row]], verdicts: list[dict[str, str]]) -> list[str]:
    """Return the part of the page about one run: why tests did not pass, and whose fault that is."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in (row for found in files.values() for row in found if row["outcome"] not in ("passed", "skipped")):
        verdict = judged(row, verdicts)
        kind = (verdict["fault"], verdict["why"]) if verdict else (row["test"], row.get("reason", ""))
        groups.setdefault((row["outcome"], *kind), []).append(row)
    if not groups:
        return []
    lines = ["", f"## {title}: what did not pass", "", "| tests | outcome | reason | fault |", "|---|---|---|---|"]
    for rows in groups.values():
        names = ", ".join(row["test"].rpartition("/")[2][:90].replace("|", "/") for row in rows[:SHOWN])
        more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        reason = rows[0].get("reason", "").replace("|", "/")[:160]
        verdict = judged(rows[0], verdicts)
        fault = f"{verdict['fault']}: {verdict['why']}" if verdict else "not known"
        lines.append(f"| {names}{more} | {rows[0]['outcome']} | {reason} | {fault} |")
    return lines


SHOWN = 3
"""How many tests of a group the page names."""


def judged(row: Row, verdicts: list[dict[str, str]]) -> dict[str, str] | None:
    """Return what was found out about a failure, if that was about this test and this reason."""
    name, reason = row["test"].rpartition("/")[2], row.get("reason", "")
    fits = (each for each in verdicts if name.startswith(each.get("test", "")) and re.search(each["reason"], reason))
    return next(fits, None)


def main() -> int:
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    sub = verbs.add_parser("run")
    sub.add_argument("suites", nargs="+", metavar="SUITE=FOLDER", help=", ".join(TITLES))
    sub.add_argument("--engine", default="cpu")
    sub.add_argument("--which", choices=["known", "held", "all"], default="known")
    sub.add_argument("--cases", type=int, default=1)
    sub.add_argument("--only", default="")
    sub.add_argument("--resume", action="store_true", help="leave out files that have results")
    sub.add_argument("--minutes", type=float, default=600.0, help="stop after this time")
    sub.add_argument("--jobs", type=int, default=1, help="files that run at the same time, on a core each")
    sub.add_argument("--results", type=Path, default=DATA)
    sub = verbs.add_parser("add", help="add the results of a run on another machine")
    sub.add_argument("results", type=Path)
    verbs.add_parser("page")
    args = parser.parse_args()
    if args.verb == "run":
        run(args)
    elif args.verb == "add":
        add(DATA, saved(args.results), saved_code(args.results))
    else:
        (REPORTS / "triton_suites.md").write_text(page(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
