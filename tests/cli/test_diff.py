"""`tilery diff`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilery
from support.command import TEXT
from tilery.cli.main import main


def test_diff_of_equal_files_says_nothing(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(kernel), str(kernel)]) == 0
    assert capsys.readouterr().out == ""


def test_diff_shows_the_first_difference_and_the_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.mlir", tmp_path / "b.mlir"
    a.write_text(TEXT)
    b.write_text(TEXT.replace("addi", "muli"))
    assert main(["diff", str(a), str(b)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("first difference: ")
    assert "addi differs from muli" in out
    assert "\n-" in out
    assert "\n+" in out


def test_diff_ignores_what_text_does_not_keep(tmp_path: Path, kernel: Path) -> None:
    module = tilery.load(kernel)
    module.producer = "someone"
    other = tmp_path / "other.tileirbc"
    other.write_bytes(tilery.dumps(module, "13.3"))
    assert main(["diff", str(kernel), str(other)]) == 0
    assert main(["diff", "-g", str(kernel), str(other)]) == 1


def test_diff_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.mlir", tmp_path / "b.mlir"
    a.write_text(TEXT)
    b.write_text(TEXT.replace("addi", "muli"))
    assert main(["diff", "--json", str(a), str(b)]) == 1
    assert json.loads(capsys.readouterr().out)["equal"] is False
