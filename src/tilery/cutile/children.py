"""Python processes that a program starts run on the same engine: they find `site/sitecustomize.py` and an environment
variable that says what to do."""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from .imports import AfterImport

VARIABLE = "TILERY_CUTILE_ON"
WAITING: list[AfterImport] = []


@contextmanager
def cover(**options: object) -> Iterator[None]:
    """Inside, Python processes that import cuTile are `on` with these options."""
    ours = [str(Path(__file__).parent / "site"), str(Path(__file__).parents[2])]
    old = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join([*ours, *(each for each in old if each and each not in ours)])
    with patch.dict(os.environ, {VARIABLE: json.dumps(options), "PYTHONPATH": path}):
        yield


def start() -> None:
    """Called at the start of a process that is covered."""
    options = json.loads(os.environ[VARIABLE])

    def enter() -> None:
        from .session import on

        session = on(**options)
        session.__enter__()
        atexit.register(session.__exit__, None, None, None)

    WAITING.append(AfterImport("cuda.tile", enter))


def stop() -> None:
    """This process takes care of itself."""
    for each in WAITING:
        each.stop()
    WAITING.clear()
