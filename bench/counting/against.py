"""Compare the steps of this checkout with those of an earlier commit, by instructions and by CPU time."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from modules import chain, chained, expressions, loops, mixed, nested
from tilery.bytecode.writer import write
from tilery.cli.progress import progress
from tilery.ops import Module

from .instructions import available, count_instructions

ROOT = Path(__file__).resolve().parents[2]
STEP = ROOT / "bench" / "counting" / "step.py"
SIZE = 5_000
CASES: dict[str, Callable[[], Module]] = {
    "nothing fires": partial(chain, SIZE),
    "a fifth fires": partial(chain, SIZE, 5),
    "chained ifs": partial(chained, SIZE // 3),
    "nested ifs": partial(nested, SIZE // 2),
    "mixed": partial(mixed, SIZE),
    "integers": partial(expressions, SIZE),
    "loops": partial(loops, SIZE),
}
STEPS = ("decode", "verify", "print", "parse", "encode")
ROWS = [
    *((name, case) for name in ("canonicalize", "simplify") for case in CASES),
    *((name, "mixed") for name in ("cse", "dce", "licm", "fold-int")),
    ("loop-split", "loops"),
    *((step, case) for step in STEPS for case in ("nothing fires", "mixed")),
]
"""The steps and passes that are compared, each with the module it runs on."""


def described(commit: str) -> str:
    """Return the short name of a commit, marked if the sources here differ from it."""
    name = git("rev-parse", "--short", commit).decode().strip()
    changed = commit == "HEAD" and git("status", "--porcelain", "src")
    return f"{name} with changes" if changed else name


def git(*args: str) -> bytes:
    return subprocess.run(["git", "-C", str(ROOT), *args], check=True, capture_output=True).stdout


def copies(commit: str, folder: Path) -> tuple[Path, Path]:
    """Copy the sources of this checkout and of a commit into a folder, compiled."""
    here, there = folder / "here", folder / "there"
    shutil.copytree(ROOT / "src", here / "src", ignore=shutil.ignore_patterns("__pycache__"))
    with tarfile.open(fileobj=BytesIO(git("archive", commit, "src"))) as archive:
        archive.extractall(there, filter="data")
    for made in (here, there):
        compileall.compile_dir(made, quiet=2)
    return here / "src", there / "src"


def compare(commit: str, rounds: int, only: str = "") -> dict[str, Any]:
    """Compare the rows whose name contains `only`: instructions once, CPU time in `rounds` pairs of processes."""
    rows = [row for row in ROWS if only in " ".join(row)]
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as folder, progress(len(rows), "comparisons") as done:
        sources = copies(commit, Path(folder))
        files = {case: Path(folder, f"{number}.tileirbc") for number, case in enumerate(CASES)}
        for case in {case for _, case in rows}:
            files[case].write_bytes(write(CASES[case]()))
        found = []
        for step, case in rows:
            now, before = (_instructions(source, files[case], step) for source in sources)
            times = _seconds(sources, files[case], step, rounds)
            found.append({"step": step, "case": case, "instructions": [now, before], "seconds": times})
            done()
    facts = {"now": described("HEAD"), "before": described(commit), "rounds": rounds, "load": load}
    return {**facts, "rows": found}


def _environment(source: Path) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"PYTHONPATH": str(source)}


def _instructions(source: Path, file: Path, step: str) -> int:
    """The instructions of one run in a process that has run the step before; 0 without valgrind."""
    if not available():
        return 0
    base = [sys.executable, str(STEP), str(file), step]
    env = _environment(source)
    return count_instructions([*base, "2", "0"], env) - count_instructions([*base, "1", "1"], env)


def _seconds(sources: tuple[Path, Path], file: Path, step: str, rounds: int) -> list[float]:
    """The least CPU seconds of each source, in processes that take turns."""
    best = [float("inf")] * len(sources)
    for _ in range(rounds):
        for which, source in enumerate(sources):
            command = [sys.executable, str(STEP), str(file), step, "5"]
            done = subprocess.run(command, env=_environment(source), check=True, capture_output=True, text=True)
            best[which] = min(best[which], float(done.stdout))
    return best


def rows_of(found: dict[str, Any]) -> list[list[str]]:
    """The rows of the table: the ratios of now and before."""
    rows = []
    for row in found["rows"]:
        (now, before), (fast, slow) = row["instructions"], row["seconds"]
        count = [f"{now / 1e6:.1f}", f"{now / before:.3f}"] if before else ["", ""]
        time = f"{fast / slow:.2f}" if found["rounds"] else ""
        rows.append([f"`{row['step']}`", row["case"], *count, time])
    return rows
