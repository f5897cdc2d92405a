"""`breakpoint()` in a cuTile kernel: while a program is debugged, it compiles to a print operation with a mark."""

from __future__ import annotations

import builtins
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from unittest.mock import patch

from ..ir import Op
from ..ops import PrintTko

MARK = "tilery: breakpoint"


def marker_file() -> str:
    """Return the file of the function that makes the mark; its lines are not shown."""
    return os.path.join(os.path.dirname(__file__), "marker.py")


def is_mark(o: Op) -> bool:
    """Tell whether an operation comes from `breakpoint()`."""
    return isinstance(o, PrintTko) and o.str_ == MARK


@contextmanager
def marked_breakpoints() -> Iterator[None]:
    """Let cuTile compile `breakpoint()`; a cuTile that cannot be told so refuses it, with its own error."""
    aliases = getattr(import_module("cuda.tile._passes.hir2ir"), "stub_aliases", None)
    if not isinstance(aliases, dict):
        yield
        return
    from .marker import mark

    with patch.dict(aliases, {builtins.breakpoint: mark}):
        yield
