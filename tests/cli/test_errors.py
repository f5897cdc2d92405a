"""Errors: their exit status, their position, and as JSON."""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
from pathlib import Path

import pytest

import tilery
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


ESCAPE = "\x1b]0;owned\x07"
PRINTS = """entry @k(%p: tile<ptr<i32>>) {
  %0 = constant <i32: 7> : tile<i32>
  %t = print_tko "\\1B]0;owned\\07" -> token
  %u = store_ptr_tko weak %p, %0 token = %t : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""


@pytest.mark.parametrize(
    "command",
    [
        ["run", "--arg", "zeros:i32:4"],
        ["compare", "--engines", "reference,reference", "--arg", "zeros:i32:4"],
        ["cost", "--arg", "zeros:i32:4"],
    ],
    ids=lambda command: command[0],
)
def test_what_a_kernel_prints_cannot_control_a_terminal(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.mlir"
    file.write_text(PRINTS, "utf-8")
    assert main([*command, str(file)]) == 0
    assert ESCAPE in capsys.readouterr().out  # a pipe gets all bytes
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main([*command, str(file)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out and r"\1B]0;owned\07" in out
    assert main([*command, "--json", str(file)]) == 0
    assert ESCAPE in "".join(json.loads(capsys.readouterr().out)["printed"])


@pytest.mark.parametrize("command", [["fmt", "--check"], ["dis", "one"], ["dump"]], ids=" ".join)
def test_names_of_files_cannot_control_a_terminal(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"{ESCAPE[:-1]}.mlir"
    file.write_text("entry  @k() { return }", "utf-8")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with contextlib.suppress(SystemExit):  # of the parser
        main([*command, str(file)])
    shown = capsys.readouterr().err
    assert "owned" in shown and "\x1b]" not in shown


def test_text_reaches_streams_through_functions_that_quote_it() -> None:
    """Only these modules write to streams: they quote what could control a terminal, or write no text of files."""
    allowed = {"output.py", "files.py", "progress.py", "options.py", "main.py", "remarks.py"}
    folder = Path(tilery.__file__).parent / "cli"
    wrong = [p for p in folder.rglob("*.py") if re.search(r"std(out|err)\.write|\bprint\(", p.read_text("utf-8"))]
    assert {p.name for p in wrong} <= allowed


def test_colours_are_for_terminals_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal_has_colors(Terminal())
    assert not terminal_has_colors(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal_has_colors(Terminal())


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is blank"),
        (b"\x89PNG\r\n\x1a\n\0", "this looks like a PNG picture"),
        (b"\x7fELF\0", "this looks like an ELF file"),
        (b"# Title\n\nSome *text*.\n", "this looks like Markdown"),
        (b"Title\n=====\n\n```python\n1\n```\n", "this looks like Markdown"),
        (b'"""Doc."""\n', "this looks like Python"),
        (b"#!/usr/bin/python\nimport numpy as np\n", "this looks like Python"),
        (b"#include <cuda_tile.h>\n", "this looks like C++"),
        (b"//\n.version 9.0\n", "this looks like PTX"),
        (b"; ModuleID = 'x'\n", "this looks like LLVM IR"),
        (b'{"a": 1}', "this looks like JSON"),
        (b"[project]\nname = 1\n", "this looks like TOML"),
        (b"<!DOCTYPE html>", "this looks like HTML"),
    ],
)
def test_files_of_other_kinds_are_named(
    data: bytes, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "k"
    path.write_bytes(data)
    for verb in ("dis", "check", "info"):
        assert main([verb, str(path)]) == 1
        err = capsys.readouterr().err
        assert note in err
        assert err.count("error: ") == 1


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("%0 = addi %cuont, %count : tile<i32>", "nothing defines '%cuont'; did you mean '%count'?"),
        ("%0 = addi %xyz, %count : tile<i32>", "nothing defines '%xyz'"),
        (
            "if %c { %s = addi %count, %count : tile<i32> } %t = negi %s : tile<i32>",
            "'%s' is defined in line 1, in a region that does not contain the use",
        ),
        ("%0 = negi %count : tyle<i32>", "did you mean 'tile'?"),
        ("%0 = negi %count : tile<4xint32>", "did you mean 'i32'?"),
        ("%0 = cmpi eq %count, %count, signed : tile<i32> -> tile<i1>", "did you mean 'equal'?"),
        ("%0 = cmpi equal %count, %count, sigend : tile<i32> -> tile<i1>", "did you mean 'signed'?"),
        ("%0 = addf %f, %f rounding<nearst> : tile<f32>", "did you mean 'nearest_even'?"),
        ("%0 = addi %count, %count overflow<no_wrp> : tile<i32>", "did you mean 'no_wrap'?"),
        ("%0 = matmul %f, %f : tile<f32>", "did you mean 'mmaf'?"),
        ("%0 = get_global @dta : tile<ptr<f32>>", "did you mean 'data'?"),
    ],
)
def test_what_was_meant(text: str, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    parameters = "%count: tile<i32>, %c: tile<i1>, %f: tile<f32>"
    path.write_text(f"global @data <f32: 1.0> : tile<1xf32> entry @k({parameters}) {{ {text} return }}")
    for verb in ("dis", "check"):
        assert main([verb, str(path)]) == 1
        assert note in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--arg", "zeros:f23:4"], "did you mean 'f32'?"),
        (["--arg", "zeroes:f32:4"], "did you mean 'zeros'?"),
        (["--arg", "data=zeros:f32:4", "--print", "dat"], "did you mean 'data'?"),
        (["--entry", "kernal"], "did you mean 'kernel'?"),
    ],
)
def test_words_of_a_run(words: list[str], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @kernel() { return }")
    assert main(["run", str(path), *words]) == 2
    assert hint in capsys.readouterr().err


def test_words_of_other_commands(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, hint in (
        (["smith", "--mix", "Intger=2"], "did you mean 'Integer'?"),
        (["opt", "--passes", "loop-split{split-treshold=3}", str(kernel)], "did you mean 'split-threshold'?"),
    ):
        assert main(words) == 2
        assert hint in capsys.readouterr().err


def test_a_misspelt_pass_has_a_suggestion(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--passes", "canonicalise", str(kernel)]) == 2
    assert "did you mean 'canonicalize'?" in capsys.readouterr().err
