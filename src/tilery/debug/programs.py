"""Programs whose launches are debugged: a kernel with arguments, or a cuTile or Triton script with its launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..engines.common.limits import Limits
from ..engines.registry import compile_kernel
from ..observe.arrays import extent_arguments
from .marks import marked_breakpoints
from .session import Session

if TYPE_CHECKING:
    from ..programs.launches import DecodedLaunch

Front = Callable[[Session], None]
"""Debugs a launch: gives commands until it has had enough."""


class Quit(Exception):
    """The user asked to end the program."""


def finish(session: Session) -> None:
    """Run a launch to its end without stops, and raise the error that it ends with."""
    session.breakpoints.clear()
    session.watchpoints.clear()
    session.catches.clear()
    session.marks.clear()
    session._index()
    while not session.ended and session.failure is None:
        session.cont()
    if session.failure is not None:
        raise session.failure


def debug_script(file: str, arguments: Sequence[str], front: Front, **options: Any) -> None:
    """Run a Python script; `front` is called for each launch of a cuTile or Triton kernel. Exceptions propagate."""
    from ..programs.kernels import language_of
    from ..programs.scripts import run_script

    given = {name: options.pop(name) for name in ("batch", "sanitize") if name in options}

    def execute(call: DecodedLaunch) -> None:
        kernel = compile_kernel(call.module, call.entry, engine="reference")
        arrays = extent_arguments(kernel.params, call.values, call.memory)
        limits = Limits(seconds=call.seconds)
        session = Session(
            kernel, call.grid, call.values, names=call.names, buffers=call.memory, arrays=arrays, limits=limits, **given
        )
        front(session)
        finish(session)

    with marked_breakpoints():
        run_script(language_of(file), file, arguments, engine=execute, **options)
