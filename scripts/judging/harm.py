"""What a candidate does to its judge, whatever the verdict is: its time, its memory, and the text of its result."""

from __future__ import annotations

import json
import re
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tilery.judge import Result
from tilery.judge.results import junit, table

SECONDS = 200.0
"""The most seconds of the clock: the limits on compiling and on all launches, with a reserve."""
MEMORY = 4096
"""The most MiB of the judge's process, and of what the kernel keeps for files and folders."""
SECRET = re.compile(r"^(?://|#) secret: (.+)$", re.MULTILINE)


class Watch:
    """Measures seconds, the peak of this process's memory, and the growth of the kernel's own memory, in MiB."""

    def __init__(self) -> None:
        self.seconds, self.peak, self.kernel = 0.0, 0, 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Measure what runs inside. Other programs of the machine add to the kernel's memory."""
        Path("/proc/self/clear_refs").write_text("5")
        done = threading.Event()
        before = _line("/proc/meminfo", "Slab")

        def sample() -> None:
            while not done.wait(0.1):
                self.kernel = max(self.kernel, _line("/proc/meminfo", "Slab") - before)

        sampler = threading.Thread(target=sample)
        sampler.start()
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds = round(time.monotonic() - started, 2)
            done.set()
            sampler.join()
            self.peak = _line("/proc/self/status", "VmHWM")


def _line(file: str, name: str) -> int:
    """Return a line of a file in /proc, in MiB."""
    found = re.search(rf"^{name}:\s+(\d+) kB", Path(file).read_text("utf-8"), re.MULTILINE)
    return int(found[1]) >> 10 if found else 0


def harm(text: str, result: Result, watch: Watch) -> list[str]:
    """Return what a candidate with this text did besides getting its verdict."""
    checks: list[tuple[str, Callable[[], bool]]] = [
        ("the table has lines that the candidate wrote", lambda: len(table([result]).splitlines()) != 2),
        ("the table has control characters", lambda: not table([result]).replace("\n", "").isprintable()),
        ("the JUnit file does not parse", lambda: not _parses(junit([result]))),
        (
            "the result shows a secret",
            lambda: any(each in json.dumps(result.as_dict()) for each in SECRET.findall(text)),
        ),
        (f"{watch.seconds:.0f} seconds", lambda: watch.seconds > SECONDS),
        (f"{watch.peak:,} MiB of the judge's memory", lambda: watch.peak > MEMORY),
        (f"{watch.kernel:,} MiB of the kernel's memory", lambda: watch.kernel > MEMORY),
    ]
    return [said for said, found in checks if found()]


def _parses(text: str) -> bool:
    try:
        ElementTree.fromstring(text.encode())
    except ElementTree.ParseError:
        return False
    return True
