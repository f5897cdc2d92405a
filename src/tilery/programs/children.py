"""Child processes on the same engine: they find `site/sitecustomize.py`, and the options in an environment variable."""

from __future__ import annotations

import atexit
import json
import os
import site
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from unittest.mock import patch

from .imports import AfterImport

if TYPE_CHECKING:
    from .launches import LaunchSession

VARIABLE = "TILERY_PROGRAMS_ON"
RESULTS = "TILERY_PROGRAMS_RESULTS"
WAITING: list[AfterImport] = []
LANGUAGES = {"cutile": ("cuda.tile", "tilery.cutile.session"), "triton": ("triton", "tilery.triton.session")}
"""Of each language, the package whose import starts `on`, and the module that has it."""


@contextmanager
def cover(language: str, **options: object) -> Iterator[None]:
    """Put every Python process that is started inside and imports the language `on` with these options."""
    ours = [str(Path(__file__).parent / "site")]
    if (home := str(Path(__file__).parents[2])) not in site.getsitepackages():
        ours.append(home)  # a checkout
    old = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join([*ours, *(each for each in old if each and each not in ours)])
    covered = json.loads(os.environ.get(VARIABLE, "{}")) | {language: options}
    with TemporaryDirectory(prefix="tilery-nvcc-") as folder:
        programs = os.pathsep.join([folder, os.environ.get("PATH", "")])
        write_compiler(Path(folder, "nvcc"))
        with patch.dict(os.environ, {VARIABLE: json.dumps(covered), "PYTHONPATH": path, "PATH": programs}):
            yield


def write_compiler(file: Path) -> None:
    """Write a program that compiles C++ tiles as `nvcc` does, for programs that start it."""
    file.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tilery.cpp.nvcc "$@"\n')
    file.chmod(0o755)


def start() -> None:
    """Enter `on` as soon as this process imports a covered language; `sitecustomize` calls it at the start."""
    for language, options in json.loads(os.environ[VARIABLE]).items():
        wait_for(language, options)


def wait_for(language: str, options: dict[str, object]) -> None:
    """Enter `on` after the import of a language."""
    package, home = LANGUAGES[language]

    def enter() -> None:
        context = import_module(home).on(**options)
        session = context.__enter__()
        atexit.register(context.__exit__, None, None, None)
        atexit.register(report, session)

    WAITING.append(AfterImport(package, enter))


def report(session: LaunchSession) -> None:
    """Write the number of launches to the results directory, with the test that pytest names in the environment."""
    if RESULTS in os.environ:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        with open(Path(os.environ[RESULTS]) / f"child{os.getpid()}.jsonl", "a") as file:
            file.write(json.dumps({"test": test, "child_launches": session.calls}) + "\n")


def stop() -> None:
    """Cancel `start`: this process enters `on` itself."""
    for each in WAITING:
        each.stop()
    WAITING.clear()
