"""Whether a launch should stop: what takes long in one operation asks now and then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Late(Exception):
    """The launch has run out of time."""


class _Watch(threading.local):
    ask: Callable[[], None] | None = None


_watch = _Watch()


def check() -> None:
    """Raise if the launch that this thread works on should stop; nothing outside launches."""
    if _watch.ask is not None:
        _watch.ask()


@contextmanager
def watched(ask: Callable[[], None]) -> Iterator[None]:
    """Let `check` call this function, which raises to stop; launches may be within each other."""
    before, _watch.ask = _watch.ask, ask
    try:
        yield
    finally:
        _watch.ask = before
