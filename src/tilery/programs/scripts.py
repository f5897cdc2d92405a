"""Run Python scripts as `python` would, with their kernels on an engine."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ..engines.registry import DEFAULT
from . import children
from .launches import Session


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


def run_script(language: str, file: str, arguments: Sequence[str] = (), **options: Any) -> Session:
    """Run a script to its end. Exceptions propagate, including SystemExit."""
    path = str(Path(file).resolve().parent)
    session: Session
    with (
        import_module(children.LANGUAGES[language][1]).on(**options) as session,
        children.cover(language, **for_children(options)),
        patch.object(sys, "argv", [file, *arguments]),
        patch.object(sys, "path", [path, *sys.path]),
    ):
        runpy.run_path(file, run_name="__main__")
    return session
