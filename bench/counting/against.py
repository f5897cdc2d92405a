"""Compare the steps of this checkout with those of an earlier commit, by instructions and by CPU time."""

from __future__ import annotations

import compileall
import json
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

from .instructions import available, count_copies

ROOT = Path(__file__).resolve().parents[2]
STEP = ROOT / "bench" / "counting" / "step.py"
SIZE = 2_000
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
    """Return the short name of the commit that last changed the sources, marked if they differ from it here."""
    name = git("log", "-1", "--format=%h", commit, "--", "src").decode().strip()
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
    facts = {"now": described("HEAD"), "before": described(commit), "rounds": rounds, "load": load}
    with tempfile.TemporaryDirectory() as folder, progress(2 * (rounds + available()), "processes") as done:
        sources = copies(commit, Path(folder))
        files = {case: Path(folder, f"{number}.tileirbc") for number, case in enumerate(CASES)}
        for case in {case for _, case in rows}:
            files[case].write_bytes(write(CASES[case]()))
        arguments = [f"{files[case]}:{step}" for step, case in rows]
        counts, best = [[0] * len(rows)] * 2, [[float("inf")] * len(rows)] * 2
        for which, source in enumerate(sources if available() else ()):
            counts[which] = _instructions(source, arguments)
            done()
        for _ in range(rounds):
            for which, source in enumerate(sources):
                best[which] = list(map(min, best[which], _seconds(source, arguments)))
                done()
    found = [
        {"step": step, "case": case, "instructions": [now, before], "seconds": [fast, slow] if rounds else []}
        for (step, case), now, before, fast, slow in zip(rows, *counts, *best)
    ]
    return {**facts, "rows": found}


def _environment(source: Path) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"PYTHONPATH": str(source)}


def _instructions(source: Path, arguments: list[str]) -> list[int]:
    """The instructions of each row: how many more a process executes that runs the step twice instead of once."""
    printed, counts = count_copies([sys.executable, str(STEP), "count", *arguments], _environment(source))
    return [counts[twice] - counts[once] for once, twice in json.loads(printed)]


def _seconds(source: Path, arguments: list[str]) -> list[float]:
    command = [sys.executable, str(STEP), "time", *arguments]
    done = subprocess.run(command, env=_environment(source), check=True, capture_output=True, text=True)
    found: list[float] = json.loads(done.stdout)
    return found


def rows_of(found: dict[str, Any]) -> list[list[str]]:
    """The rows of the table: the ratios of now and before."""
    rows = []
    for row in found["rows"]:
        now, before = row["instructions"]
        count = [f"{now / 1e6:.1f}", f"{now / before:.3f}"] if before else ["", ""]
        time = f"{row['seconds'][0] / row['seconds'][1]:.2f}" if row["seconds"] else ""
        rows.append([f"`{row['step']}`", row["case"], *count, time])
    return rows
