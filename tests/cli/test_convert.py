"""`tilery convert`, and how files are written."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

import tilery
from tilery.cli.main import main


def test_convert(kernel: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tileirbc"
    assert main(["convert", str(kernel), "--version", "13.3", "-o", str(out)]) == 0
    assert str(tilery.load(out).version) == "13.3"


def test_convert_back_gives_the_same_module(kernel: Path, tmp_path: Path) -> None:
    newer, older = tmp_path / "newer", tmp_path / "older"
    assert main(["convert", str(kernel), "--version", "13.4", "-o", str(newer)]) == 0
    assert main(["convert", str(newer), "--version", "13.1", "-o", str(older)]) == 0
    assert main(["diff", str(kernel), str(older)]) == 0


def test_convert_names_what_a_version_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "k.mlir", tmp_path / "out"
    path.write_text("entry @k(%a: tile<f32>) {\n  %0 = atan2 %a, %a : tile<f32>\n  return\n}\n")
    out.write_bytes(b"precious")
    assert main(["convert", str(path), "--version", "13.1", "-o", str(out)]) == 1
    assert "atan2" in capsys.readouterr().err
    assert out.read_bytes() == b"precious"


def test_a_write_keeps_mode_and_link_and_leaves_no_temporary_file(kernel: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    before = set(tmp_path.iterdir())
    assert main(["convert", str(kernel), "--version", "13.2", "-o", str(link)]) == 0
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_bytes().startswith(b"\x7fTileIR")
    assert set(tmp_path.iterdir()) == before


def test_a_failed_write_leaves_the_old_file(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"precious")
    before = set(tmp_path.iterdir())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert main(["convert", str(kernel), "--version", "13.2", "-o", str(out)]) == 2
    assert "no space left" in capsys.readouterr().err
    assert out.read_bytes() == b"precious"
    assert set(tmp_path.iterdir()) == before


def test_a_missing_folder_is_an_error(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(kernel), "--version", "13.2", "-o", str(tmp_path / "no" / "out")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_devices_are_written_to(kernel: Path) -> None:
    assert main(["convert", str(kernel), "--version", "13.2", "-o", os.devnull]) == 0
    assert not Path(os.devnull).is_file()


def test_binary_is_not_written_to_a_terminal(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["convert", str(kernel), "--version", "13.2"]) == 2
    assert "terminal" in capsys.readouterr().err
