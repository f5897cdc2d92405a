"""A sample of the campaign of hostile kernels between guard pages, and that damage is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="protects pages of memory with Linux's mprotect")


def test_a_sample_of_hostile_kernels(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(root / "scripts" / "guard_pages.py"), "--count", "600", "--jobs", "1"]
    ran = subprocess.run([*command, "--report", str(tmp_path / "report.md")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "600 launches of 60 random kernels" in (tmp_path / "report.md").read_text("utf-8")


def test_a_write_beside_an_array_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from support.hostile import guarded

    class Writes:
        def launch(self, grid: int, args: list[np.ndarray[tuple[int], np.dtype[np.int32]]], **_: object) -> None:
            whole = regions[0].bytes
            whole[np.flatnonzero(whole == guarded.CANARY)[:1]] = 1

    regions = (guarded.Region(), guarded.Region())
    monkeypatch.setattr("tilery.compile", lambda module, engine: Writes())
    with pytest.raises(guarded.Damaged, match="memory beside an array was written"):
        for number in range(10):
            guarded.exercise(0, number, regions)


def test_an_access_to_a_guard_page_kills_the_process(root: Path) -> None:
    code = "from support.hostile import guarded; import ctypes; ctypes.string_at(guarded.Region().start - 1, 1)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=root / "tests", capture_output=True)
    assert ran.returncode < 0
