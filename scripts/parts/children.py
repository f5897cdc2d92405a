"""Run numbered cases in child processes that may die or hang: each case that ends one is named, the rest go on."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

Line = dict[str, Any]
DIED, HANGS = "died", "hangs"


def run_range(
    command: Callable[[int], Sequence[str]], first: int, end: int, patience: float, deadline: float = float("inf")
) -> list[Line]:
    """Run the cases from `first` to `end`; return the lines that the children wrote.

    `command` returns the command line of a child that starts at a case. A child writes a line `{"next": NUMBER}` before
    each case and one with its number after it. One that writes nothing for `patience` seconds is stopped, and so is
    everything at `deadline`.
    """
    lines: list[Line] = []
    at = first
    while at < end and time.monotonic() < deadline:
        said, status, errors = _run(command(at), patience, deadline)
        lines += said
        if status == 0 or time.monotonic() >= deadline:
            break
        dead = next((line["next"] for line in reversed(said) if "next" in line), at)
        outcome = HANGS if status is None else DIED
        detail = f"no answer in {patience:g} seconds" if status is None else f"status {status}: {errors}"
        lines.append({"number": dead, "outcome": outcome, "detail": detail})
        at = dead + 1
    return lines


def _run(command: Sequence[str], patience: float, deadline: float) -> tuple[list[Line], int | None, str]:
    """Run one child; return its lines, its status (None if it was stopped) and the last line of its errors."""
    environment = {**os.environ, "TILERY_CACHE_DIR": ""}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment) as process,
    ):
        assert process.stdout is not None
        text, stopped = b"", False
        while True:
            left = min(patience, deadline - time.monotonic())
            ready = left > 0 and select.select([process.stdout], [], [], left)[0]
            part = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
            if not part:
                stopped = not ready
                break
            text += part
        if stopped:
            process.kill()
        status = process.wait()
        errors.seek(0)
        tail = errors.read().decode(errors="replace").strip().splitlines()[-1:]
    whole = text.decode().rpartition("\n")[0].splitlines()
    return [json.loads(line) for line in whole], None if stopped else status, " ".join(tail)
