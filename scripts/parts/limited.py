"""Programs and tests of others under a limit of processor time, and how their outcomes are counted."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

import checkout

PATIENCE = 10
"""How many times as long as its processor time a program may take."""
Found = dict[str, Any]


def environment(**more: str) -> dict[str, str]:
    path = os.pathsep.join(
        filter(None, (str(checkout.ROOT / "src"), more.pop("path", ""), os.environ.get("PYTHONPATH")))
    )
    return os.environ | {"PYTHONPATH": path, "NO_COLOR": "1"} | more


def limited(command: list[str], seconds: int, wall: float | None = None, **options: Any) -> tuple[int | None, str, int]:
    """Run a program: its status, or None if it took too long, what it printed, and its processor time.

    `seconds` limits the processor time of each process, so that other work on the machine does not matter. `wall`
    limits the time until it is stopped, which is for programs that wait for something if it is not given.
    """
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # noqa: E731
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, preexec_fn=limit, **options)
        late = threading.Timer(PATIENCE * seconds if wall is None else wall, process.kill)
        late.start()
        _, ended, usage = os.wait4(process.pid, 0)
        late.cancel()
        process.returncode = status = os.waitstatus_to_exitcode(ended)
        out.seek(0)
        text = out.read().decode(errors="replace")
    used = usage.ru_utime + usage.ru_stime
    return None if status < 0 or used >= seconds else status, text, round(used)


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
