"""Other platforms and newer files: what is missing is not imported, what is unknown is explained."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilery
from support.assemble import File
from tilery import TileError
from tilery.programs import children

IMPORT_ALL = """
import importlib, pkgutil, sys

class Absent:
    NAMES = {"fcntl", "grp", "posix_ipc", "pty", "pwd", "resource", "syslog", "termios", "tty"}

    def find_spec(self, name, path=None, target=None):
        if name in self.NAMES:
            raise ModuleNotFoundError(name, name=name)

for name in Absent.NAMES:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Absent())
import tilery
count = 0
for found in pkgutil.walk_packages(tilery.__path__, "tilery."):
    if found.name.endswith((".__main__", ".sitecustomize", ".pytest")):
        continue
    try:
        importlib.import_module(found.name)
        count += 1
    except ModuleNotFoundError as error:
        if error.name in Absent.NAMES:
            print(found.name, "needs", error.name)
print(count > 200)
"""


def test_every_module_can_be_imported_without_posix() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True)
    assert ran.stdout == "True\n", ran.stdout + ran.stderr


@pytest.mark.parametrize(("version", "newer"), [((13, 6), True), ((14, 0), True), ((13, 0), False)])
def test_a_newer_file_says_what_to_do(version: tuple[int, int], newer: bool) -> None:
    with pytest.raises(TileError, match="unsupported Tile version") as caught:
        tilery.load(File(version=version).data())
    said = [note for note in caught.value.notes if "upgrade tilery, or let the compiler" in note]
    assert bool(said) is newer


# ---------------------------------------------------------------- child processes

SITE = str(Path(children.__file__).parent / "site")


def child(*, path: list[str], **variables: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in (children.VARIABLE, "PYTHONPATH")}
    env |= {"PYTHONPATH": os.pathsep.join(path), **variables}
    code = "import sys; print('child', sys.modules['sitecustomize'].__file__)"
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with the machine's own sitecustomize."""
    (tmp_path / "sitecustomize.py").write_text("print('own')\n")
    return tmp_path


@pytest.mark.parametrize("variables", [{}, {children.VARIABLE: "{}"}], ids=["leaked", "covered"])
def test_the_own_sitecustomize_still_runs(own: Path, variables: dict[str, str]) -> None:
    home = str(Path(tilery.__file__).parents[1])
    ran = child(path=[SITE, home, str(own)], **variables)
    assert (ran.stdout, ran.stderr) == (f"own\nchild {own / 'sitecustomize.py'}\n", "")


def test_a_child_without_tilery_prints_nothing(own: Path) -> None:
    (own / "tilery.py").write_text("raise ImportError('not here')\n")
    ran = child(path=[SITE, str(own)], **{children.VARIABLE: "{}"})
    assert (ran.stdout, ran.stderr) == (f"own\nchild {own / 'sitecustomize.py'}\n", "")
