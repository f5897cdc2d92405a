"""`tilery fmt`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command import TEXT
from tilery.cli.main import main


def test_fmt_check_names_files_that_would_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT.replace("\n  %0", "\n\n      %0"))
    assert main(["fmt", "--check", str(path)]) == 1
    assert str(path) in capsys.readouterr().err
    assert main(["fmt", "-i", str(path)]) == 0
    assert main(["fmt", "--check", str(path)]) == 0


def test_fmt_in_place_does_not_lose_comments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("// important\n" + TEXT)
    assert main(["fmt", "-i", str(path)]) == 1
    assert "1 comment" in capsys.readouterr().err
    assert path.read_text().startswith("// important")
    assert main(["fmt", "-i", "--drop-comments", str(path)]) == 0
    assert "important" not in path.read_text()


def test_fmt_in_place_needs_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "-i", "-"]) == 2
    assert "stdin" in capsys.readouterr().err


def test_fmt_refuses_bytecode(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", str(kernel)]) == 1
    assert "tilery dis" in capsys.readouterr().err
