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


def run_script(file: str, arguments: Sequence[str] = (), **options: Any) -> Session:
    """Run a script to its end. Exceptions propagate, including SystemExit."""
    path = str(Path(file).resolve().parent)
    with (
        on(**options) as session,
        children.cover(**options),
        patch.object(sys, "argv", [file, *arguments]),
        patch.object(sys, "path", [path, *sys.path]),
    ):
        runpy.run_path(file, run_name="__main__")
    return session
