"""Run other programs with a time limit that also holds for the processes they start."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import Any


def end_group(pid: int) -> None:
    """Kill a process that was started with `start_new_session`, and everything that it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def run_program(
    command: list[str], seconds: float, *, stderr: int = subprocess.PIPE, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in a process group of its own and return what it wrote.

    Raise `subprocess.TimeoutExpired` if it takes too long, and OSError if it cannot be started. Whatever happens, none
    of its processes is left.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
        **options,
    ) as process:
        try:
            out, said = process.communicate(timeout=seconds)
        finally:
            end_group(process.pid)
            process.wait()
    return subprocess.CompletedProcess(command, process.returncode, out, said)
