"""`tilery info` and `tilery dump`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import TEXT
from tilery.cli.main import main


def test_info(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(kernel)]) == 0
    out = capsys.readouterr().out
    assert "bytecode 13.1" in out
    assert "entry @vector_add" in out
    assert "tile<ptr<f32>>" in out


def test_info_as_json(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(kernel)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["entries"][0]["params"] == ["tile<ptr<f32>>"] * 3 + ["tile<i32>"]
    assert facts["ops"]["load_view_tko"] == 2
    assert facts["bytes"] == kernel.stat().st_size


def test_info_reads_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT)
    assert main(["info", "--json", str(path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["format"], facts["version"], facts["ops"]["addi"]) == ("text", None, 1)


def test_dump_shows_every_byte(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(kernel)]) == 0
    out = capsys.readouterr().out
    assert "magic" in out
    assert "addf" in out


def test_dump_of_a_broken_file_goes_up_to_the_break(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(broken)]) == 1
    shown = capsys.readouterr()
    assert "magic" in shown.out
    assert "error: at byte 0x" in shown.err
