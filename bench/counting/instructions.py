"""Instructions of a process, as valgrind counts them: they do not depend on what else the machine does."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def count_instructions(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a command and return how many instructions it executes in user mode, without those of its copies."""
    _, counts = count_copies(command, env)
    return counts[min(counts)]


def count_copies(command: Sequence[str], env: Mapping[str, str]) -> tuple[str, dict[int, int]]:
    """Run a command that may fork. Return what it prints and the instructions of each process, by its id.

    The count of a copy begins with that of the process it was forked from, at that moment.
    """
    with tempfile.TemporaryDirectory() as folder:
        options = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", f"--log-file={folder}/%p"]
        # Hashes of strings decide how often dictionaries collide, and threads of BLAS wait in loops.
        fixed = {**env, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(["valgrind", *options, *command], env=fixed, check=True, capture_output=True, text=True)
        return done.stdout, {int(log.name): _counted(log.read_text()) for log in Path(folder).iterdir()}


def _counted(log: str) -> int:
    """The number in the last line of a log about instructions."""
    line = [line for line in log.splitlines() if "refs:" in line][-1]
    return int(line.split()[-1].replace(",", ""))
