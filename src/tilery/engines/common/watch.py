"""Deadlines: long-running operations poll here whether their launch should stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Late(Exception):
    """The launch exceeded its time limit."""


class _Watch(threading.local):
    ask: Callable[[], None] | None = None


_watch = _Watch()


def check() -> None:
    """Raise if the launch that runs on this thread should stop; do nothing outside launches."""
    if _watch.ask is not None:
        _watch.ask()


@contextmanager
def watched(ask: Callable[[], None]) -> Iterator[None]:
    """Make `check` call this function, which raises to stop the launch; launches may nest."""
    before, _watch.ask = _watch.ask, ask
    try:
        yield
    finally:
        _watch.ask = before
