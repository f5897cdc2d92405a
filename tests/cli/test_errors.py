"""Errors: their exit status, their position, and as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from support.command import TEXT
from tilery.cli.main import main
from tilery.cli.output import terminal_has_colors


@pytest.mark.parametrize("verb", ["info", "dis", "asm", "dump"])
def test_a_broken_file_exits_with_1_and_a_place(verb: str, broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, str(broken)]) == 1
    assert capsys.readouterr().err.startswith(f"{broken}: error: at byte 0x")


def test_errors_as_json(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(broken)]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["file"] == str(broken)
    assert isinstance(error["offset"], int)


def test_usage_errors_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", "no such file"]) == 2
    assert "cannot read" in json.loads(capsys.readouterr().err)["error"]["message"]


def test_an_error_in_text_shows_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT.replace("addi", "addj"))
    assert main(["dis", str(path)]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"{path}:2:")
    assert "^" in err


def test_other_binary_data_is_not_bytecode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k"
    path.write_bytes(b"ML\xefR\0\0\0")
    assert main(["info", str(path)]) == 1
    assert "MLIR" in capsys.readouterr().err


def test_errors_have_no_control_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() {\n  \x1b[31mnonsense\n}\n")
    assert main(["dis", str(path)]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_a_bug_is_reported_as_such(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilery.cli.verbs.info.info_data", lambda *_: 1 / 0)
    assert main(["info", str(kernel)]) == 70
    assert "ZeroDivisionError" in (err := capsys.readouterr().err)
    assert "bug in tilery" in err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal_has_colors(Terminal())
    assert not terminal_has_colors(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal_has_colors(Terminal())


@pytest.mark.parametrize(
    ("data", "note"), [(b"", "the file is empty"), (b"\x89PNG\r\n\x1a\n\0", "PNG picture"), (b"\x7fELF\0", "ELF file")]
)
def test_files_of_other_kinds_are_named(
    data: bytes, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k"
    path.write_bytes(data)
    assert main(["dis", str(path)]) == 1
    assert note in capsys.readouterr().err


def test_a_misspelt_pass_has_a_suggestion(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--passes", "canonicalise", str(kernel)]) == 2
    assert "did you mean 'canonicalize'?" in capsys.readouterr().err
