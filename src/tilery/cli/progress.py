"""A progress bar for work that takes longer than two seconds, shown only on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .output import quoted


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[..., None]]:
    """Yield a function to call after each of `total` steps, or with the number of steps done since the last call."""
    started = shown = time.monotonic()
    done = 0
    terminal = sys.stderr.isatty()

    def step(count: int = 1) -> None:
        nonlocal done, shown
        done += count
        now = time.monotonic()
        if terminal and now - started > 2 and now - shown > 0.2:
            shown = now
            left = (now - started) / done * (total - done)
            filled = 30 * done // max(1, total)
            bar = "#" * filled + "." * (30 - filled)
            sys.stderr.write(f"\r[{bar}] {done}/{total} {what}, {left:.0f} s left ")
            sys.stderr.flush()

    try:
        yield step
    finally:
        if terminal and time.monotonic() - started > 2:
            sys.stderr.write("\r" + " " * 79 + "\r")


@contextmanager
def current() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows where work of unknown length is by now, in one line on a terminal."""
    terminal = sys.stderr.isatty()

    def say(text: str) -> None:
        if terminal:
            sys.stderr.write(f"\r{quoted(text)[:78]:78}")
            sys.stderr.flush()

    try:
        yield say
    finally:
        say("")
        if terminal:
            sys.stderr.write("\r")
