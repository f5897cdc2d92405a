"""Run Python scripts as `python` would, with their kernels on an engine."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from ..diag import ErrorKind, TileError
from ..engines.registry import DEFAULT
from . import children
from .frames import PACKAGE
from .launches import LaunchSession


def for_children(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options for other processes, as JSON can hold them.

    A sanitizer becomes the names of its checks, and raises what it finds; a function that is told what tuning finds is
    left out. An engine that is a function works in this process only; others use the reference engine.
    """
    plain = dict(options)
    if callable(plain.get("engine")):
        plain["engine"] = DEFAULT
    if isinstance(tune := plain.get("tune"), dict):
        plain["tune"] = {name: value for name, value in tune.items() if name != "tell"}
    if plain.get("sanitize") is not None:
        from ..sanitize import Sanitizer

        found = plain["sanitize"]
        plain["sanitize"] = ",".join(found.names) if isinstance(found, Sanitizer) else found
    return plain


class _Late(BaseException):
    """The time of a script is over. Like Ctrl-C, it is not an Exception, which a script may catch."""


AGAIN = 0.25
"""Seconds until a script is stopped again, in case the first time was inside a callback that ignores exceptions."""


@contextmanager
def script_limits(seconds: float | None, memory: int | None) -> Iterator[None]:
    """Limit the time of what runs inside, and the memory that it takes beyond what this process has.

    A script that takes too long ends with a TileError at its current line, also if it never calls tilery. One that asks
    for too much memory gets a MemoryError. Both limits need the main thread of a POSIX process.
    """
    with ExitStack() as stack:
        if memory is not None:
            stack.enter_context(_memory_limit(memory))
        if seconds is not None:
            stack.enter_context(_time_limit(seconds))
        yield


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    import signal

    def late(number: int, frame: FrameType | None) -> None:
        while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
            frame = frame.f_back
        raise _Late("" if frame is None else f"; it was at {frame.f_code.co_filename}:{frame.f_lineno}")

    before = signal.signal(signal.SIGALRM, late)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6), AGAIN)
        yield
    except _Late as error:
        raise TileError(f"the script took more than {seconds:g} seconds{error}", kind=ErrorKind.TIMEOUT) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _memory_limit(size: int) -> Iterator[None]:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    wanted = pages * resource.getpagesize() + size
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def run_script(
    language: str, file: str, arguments: Sequence[str] = (), *, also: Sequence[str] = (), **options: Any
) -> LaunchSession:
    """Run a script to its end. Exceptions propagate, including SystemExit. Kernels of the languages `also` run, too."""
    path = str(Path(file).resolve().parent)
    session: LaunchSession
    with ExitStack() as stack:
        for each in (*also, language):
            session = stack.enter_context(import_module(children.LANGUAGES[each][1]).on(**options))
            stack.enter_context(children.cover(each, **for_children(options)))
        stack.enter_context(patch.object(sys, "argv", [file, *arguments]))
        stack.enter_context(patch.object(sys, "path", [path, *sys.path]))
        runpy.run_path(file, run_name="__main__")
    return session
