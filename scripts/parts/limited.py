"""Programs and tests of others under limits of processor time and memory, and what pages say about how they ended."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import checkout

PATIENCE = 10
"""How many times as long as its processor time a program may take."""
GOOD = "ends normally"
LEAKS = r"nanobind: |- leaked |- \.\.\. skipped|See https://nanobind"
"""Messages of a library about its objects at the end of a process."""
Found = dict[str, Any]


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(
        filter(None, (str(checkout.ROOT / "src"), more.pop("path", ""), os.environ.get("PYTHONPATH")))
    )
    return os.environ | {"PYTHONPATH": path, "NO_COLOR": "1"} | more


def limited(
    command: list[str], seconds: int, wall: float | None = None, memory: int = 0, **options: Any
) -> tuple[int | None, str, int]:
    """Run a program: its status, or None if it took too long, what it printed, and its processor time.

    `seconds` limits the processor time of each process, so that other work on the machine does not matter. `wall`
    limits the time until it and its children are stopped, which is for programs that wait for something if it is not
    given. `memory` are GiB of data for each process.
    """

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if memory:
            resource.setrlimit(resource.RLIMIT_DATA, (memory << 30, memory << 30))

    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "start_new_session": True}
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, preexec_fn=limit, **streams, **options)
        late = threading.Timer(PATIENCE * seconds if wall is None else wall, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        _, ended, usage = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = status = os.waitstatus_to_exitcode(ended)
        out.seek(0)
        text = out.read().decode(errors="replace")
    used = usage.ru_utime + usage.ru_stime
    return None if status < 0 or used >= seconds else status, text, round(used)


def last_line(text: str, status: int | None) -> str:
    """Return the line that tells how a program ended: its error, or what it printed last."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" =-")]
    lines = [line for line in lines if not re.match(LEAKS, line)]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b|error:|E  ", line)]
    said = errors[-1] if status and errors else lines[-1] if lines else ""
    return said.strip("= ")[:160]


def cell(text: str) -> str:
    """Return a line of output as a cell of a table."""
    return f"`{text.replace('|', '¦').replace('`', chr(39))}`" if text else ""


def revision(folder: Path) -> str:
    done = subprocess.run(["git", "-C", folder, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()


def outcomes(text: str) -> dict[str, int]:
    """Count the outcomes that pytest prints for each test."""
    words = re.findall(r"^\S+::.* (PASSED|FAILED|SKIPPED|ERROR)", text, re.M)
    counts = {word.lower(): words.count(word) for word in ("PASSED", "FAILED", "SKIPPED", "ERROR")}
    selected = re.search(r"/ (\d+) selected", text)
    return counts | {"selected": int(selected[1]) if selected else len(words)}


def parted(found: Found, held_out: list[str]) -> list[tuple[str, list[str]]]:
    """Return the names that were worked on and those that were held out."""
    return [
        ("Worked on", [name for name in found if name not in held_out]),
        ("Held out", [name for name in found if name in held_out]),
    ]
