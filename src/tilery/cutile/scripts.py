"""Run Python scripts as `python` would, with their cuTile kernels on an engine."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from . import children
from .session import Session, on


def for_children(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options for other processes: a sanitizer becomes the names of its checks, and raises what it finds."""
    if options.get("sanitize") is None:
        return options
    from ..sanitize import Sanitizer

    found = options.get("sanitize")
    return {**options, "sanitize": ",".join(found.names)} if isinstance(found, Sanitizer) else options


def run_script(file: str, arguments: Sequence[str] = (), **options: Any) -> Session:
    """Run a script to its end. Exceptions propagate, including SystemExit."""
    path = str(Path(file).resolve().parent)
    with (
        on(**options) as session,
        children.cover(**for_children(options)),
        patch.object(sys, "argv", [file, *arguments]),
        patch.object(sys, "path", [path, *sys.path]),
    ):
        runpy.run_path(file, run_name="__main__")
    return session
