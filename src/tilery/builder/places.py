"""Locations of what is built: source lines of the caller, or places that it names."""

from __future__ import annotations

import os
import sys
from itertools import islice
from types import FrameType
from typing import NamedTuple

from ..attrs import DICompileUnit, DIFile, DILoc, DISubprogram, place_in_scope


class FrontendPosition(NamedTuple):
    """A position in the source of a frontend."""

    file: str
    line: int
    column: int


PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def caller() -> FrameType | None:
    """Return the innermost frame outside tilery."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return frame


def scope_of(kernel: str) -> DISubprogram | None:
    """Return the debug scope of a kernel that the caller builds: its own function, linked to the kernel's name."""
    frame = caller()
    if frame is None:
        return None
    folder, name = os.path.split(os.path.abspath(frame.f_code.co_filename))
    file = DIFile(name, folder)
    return DISubprogram(file, frame.f_lineno, frame.f_code.co_name, kernel, DICompileUnit(file), frame.f_lineno)


def here(scope: DISubprogram) -> DILoc | None:
    """Return the caller's position within a scope."""
    frame = caller()
    if frame is None:
        return None
    path = os.path.abspath(frame.f_code.co_filename)
    folder, name = os.path.split(path)
    positions = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    # Locations in Python files count columns from zero, as Python's syntax trees do.
    column = positions[2] if positions is not None and positions[2] is not None else 0
    return place_in_scope(scope, name if folder == scope.file.directory else path, frame.f_lineno, column)


def scope_at(kernel: str, place: FrontendPosition) -> DISubprogram:
    """Return the debug scope of a kernel whose source begins at a place."""
    folder, name = os.path.split(place.file)
    file = DIFile(name, folder)
    return DISubprogram(file, place.line, kernel, kernel, DICompileUnit(file), place.line)


def at_place(scope: DISubprogram, place: FrontendPosition) -> DILoc:
    """Return a place within a scope."""
    folder, name = os.path.split(place.file)
    return place_in_scope(scope, name if folder == scope.file.directory else place.file, place.line, place.column)
