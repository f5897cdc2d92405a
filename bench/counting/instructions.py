"""Instructions of a process, as valgrind counts them: they do not depend on what else the machine does."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def count_instructions(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a command and return how many instructions it executes in user mode."""
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]
    # Hashes of strings decide how often dictionaries collide, and threads of BLAS wait in loops.
    fixed = {**env, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(valgrind, env=fixed, check=True, capture_output=True, text=True)
    line = next(line for line in done.stderr.splitlines() if "refs:" in line)
    return int(line.split()[-1].replace(",", ""))
