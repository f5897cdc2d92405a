"""The frames of a script that tilery runs, without those of tilery and of the runner."""

from __future__ import annotations

import os
import sys
import traceback
from traceback import FrameSummary, StackSummary, TracebackException
from types import FrameType

from ..diag import ErrorKind, TileError

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LIBRARIES = ("numpy", "torch", "triton", "cuda", "tilery")
"""Packages whose own frames are not the program's."""
MAX_CALLS = 20
"""The most calls that an error lists."""


def is_ours(frame: FrameSummary) -> bool:
    """Whether a frame belongs to tilery, or to the modules of Python that import and run scripts."""
    return frame.filename.startswith((PACKAGE, "<frozen "))


def is_of_triton(frame: FrameSummary) -> bool:
    """Whether a frame belongs to Triton, which is between a launch in a script and tilery."""
    triton = sys.modules.get("triton")
    return triton is not None and frame.filename.startswith(tuple(triton.__path__))


def user_calls(error: BaseException) -> list[str]:
    """Return notes that name the calls around the line that launched a kernel, from the inside out."""
    return [f"called at {f.filename}:{f.lineno} in {f.name}" for f in _calls(error)[-2 : -2 - MAX_CALLS : -1]]


def compile_error(error: Exception) -> TileError | None:
    """Return what cuTile's frontend says about a kernel, with the line of the launch; None for any other exception.

    The frames of the frontend say nothing about the kernel. An internal error of cuTile keeps them.
    """
    kinds = {cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "cuda.tile._exception"}
    if "TileError" not in kinds or "InternalError" in kinds:
        return None
    said = "".join(traceback.format_exception_only(error)).strip().removeprefix("cuda.tile._exception.")
    folder = os.sep + os.path.join("cuda", "tile") + os.sep
    calls = [f"{f.filename}:{f.lineno} in {f.name}" for f in _calls(error) if folder not in f.filename]
    notes = [
        f"{'called' if number else 'launched'} at {call}" for number, call in enumerate(calls[: -2 - MAX_CALLS : -1])
    ]
    return TileError(said, kind=ErrorKind.ILLEGAL, notes=tuple(notes))


def import_error(error: Exception) -> TileError:
    """Return what went wrong while a file with kernels was imported, with the line that raised it."""
    said = "".join(traceback.format_exception_only(error)).strip()
    frames = _calls(error)[: -1 - MAX_CALLS : -1]
    notes = [
        f"{'called' if number else 'raised'} at {f.filename}:{f.lineno} in {f.name}" for number, f in enumerate(frames)
    ]
    return TileError(said, notes=tuple(notes))


def _calls(error: BaseException) -> list[FrameSummary]:
    raised = traceback.extract_tb(error.__traceback__)
    return [frame for frame in raised if not is_ours(frame) and not is_of_triton(frame)]


def user_traceback(error: BaseException) -> str:
    """Return the traceback of an exception that a script raised, as `python` prints it for the script alone.

    Frames of tilery stay where the exception comes from tilery itself: that may be a bug.
    """
    shown = TracebackException.from_exception(error)
    todo: list[TracebackException | None] = [shown]
    while todo:
        one = todo.pop()
        if one is not None:
            first = next((at for at, frame in enumerate(one.stack) if not is_ours(frame)), 0)
            one.stack = StackSummary.from_list(list(one.stack)[first:])
            todo += [one.__cause__, one.__context__]
    return "".join(shown.format())


def is_program(module: str) -> bool:
    """Tell whether a module is the program's, rather than of a library that it uses."""
    return module.partition(".")[0] not in LIBRARIES


def program_line(frame: FrameType | None) -> str:
    """Return the file and line of the innermost frame of the program."""
    while frame is not None:
        if is_program(frame.f_globals.get("__name__", "")) and not frame.f_code.co_filename.startswith(PACKAGE):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return "an unknown line"
