"""`tilery fmt`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from support.command import TEXT
from tilery.cli.main import main

MESSY = """// what it does
entry @k(%data: tile<ptr<f32>>) {
  %sum=iota:tile<8xi32>   // eight


  %more =   addi %sum , %sum : tile<8xi32>// twice
    return
}
"""
NEAT = """// what it does
entry @k(%data: tile<ptr<f32>>) {
  %sum = iota : tile<8xi32> // eight

  %more = addi %sum, %sum : tile<8xi32> // twice
  return
}
"""


def test_fmt_check_names_files_that_would_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT.replace("\n  %0", "\n\n      %0"))
    assert main(["fmt", "--check", str(path)]) == 1
    assert str(path) in capsys.readouterr().err
    assert main(["fmt", "-i", str(path)]) == 0
    assert main(["fmt", "--check", str(path)]) == 0


def test_fmt_keeps_names_comments_and_blank_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(MESSY)
    assert main(["fmt", str(path)]) == 0
    assert capsys.readouterr().out == NEAT
    assert path.read_text() == MESSY
    assert main(["fmt", "-i", str(path)]) == 0
    assert path.read_text() == NEAT


def test_fmt_reads_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MESSY.encode())))
    assert main(["fmt", "-"]) == 0
    assert capsys.readouterr().out == NEAT


def test_fmt_formats_some_lines_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(MESSY)
    assert main(["fmt", "--lines", "6:6", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "  %sum=iota:tile<8xi32>   // eight"
    assert "  %more = addi %sum, %sum : tile<8xi32> // twice" in lines
    assert "    return" in lines


@pytest.mark.parametrize("lines", ["0:4", "4:3", "4", "a:b"])
def test_fmt_refuses_a_wrong_range(lines: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["fmt", "--lines", lines, "k.mlir"])
    assert stop.value.code == 2
    assert "line numbers" in capsys.readouterr().err


def test_fmt_drops_comments_if_asked_to(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("// Producer: me\n" + MESSY)
    assert main(["fmt", "-i", "--drop-comments", str(path)]) == 0
    assert path.read_text().count("//") == 1
    assert path.read_text().startswith("// Producer: me\n")


def test_fmt_refuses_text_that_cannot_be_parsed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(MESSY.replace("addi", "adddi"))
    assert main(["fmt", "-i", str(path)]) == 1
    assert "'adddi' is unknown" in capsys.readouterr().err
    assert "adddi" in path.read_text()


def test_fmt_in_place_needs_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", "-i", "-"]) == 2
    assert "stdin" in capsys.readouterr().err


def test_fmt_refuses_bytecode(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fmt", str(kernel)]) == 1
    assert "tilery dis" in capsys.readouterr().err
