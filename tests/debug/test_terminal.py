"""`tilery debug run`: commands and their answers, and the programs that it debugs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilery
from support.oracle import ROOT
from tilery.cli.main import main
from tilery.debug import Session
from tilery.debug.programs import Quit
from tilery.debug.terminal import HELP, Terminal

from .test_session import LOOP


def talk(*commands: str, n: int = 3) -> list[str]:
    """The answers to commands."""
    kernel = tilery.compile(tilery.parse(LOOP))
    session = Session(kernel, 4, [np.zeros(4, np.float32), n], names=["a", "n"])
    answers = []
    said: list[str] = []
    terminal = Terminal(session, said.append)
    for command in commands:
        terminal.execute(command)
        answers.append("".join(said))
        said.clear()
    return answers


def test_a_session() -> None:
    answers = talk("b 7 if %i == 1", "c", "x %acc", "p %acc[0, :3] * 10", "who a[2]", "p a", "i", "block 3", "w", "q2")
    assert answers[0] == "stop 1: line 7 if %i == 1\n"
    assert answers[1].splitlines()[1].endswith("block 0,0,0 and 3 more  <text>:7  %q = addf %acc, %x : tile<4x8xf32>")
    assert answers[2].startswith("%acc: tile<4x8xf32>\nmin 2, max 2, mean 2\n[[2.")
    assert answers[3] == "[20. 20. 20.]\n"
    assert answers[4].startswith("data: a[2]: 0 -> 0, written by store_ptr_tko at <text>:10 in tile block (2, 0, 0)\n")
    assert answers[5] == "[0. 0. 0. 0.]\n"
    assert "<text>:7" in answers[6]
    assert "block 3,0,0" in answers[7]
    assert answers[9].startswith("there is no command 'q2'")


def test_every_command_answers() -> None:
    answers = talk(
        "", "help", "vars", "vars all", "l", "blocks", "info", "catch nan", "uncatch nan", "watch a[1]", "watch %x",
        "b addf block 2", "b %q", "b nothing", "b", "b 7 if", "info", "d 3", "d x", "s 3", "n", "o", "k", "rs 2", "rn",
        "ri", "rc", "goto 12", "goto x", "block 9", "block x", "x nothing", "p (", "p 1 +", "reports", "who a[0]", "c",
        "c",
    )  # fmt: skip
    assert answers[0] == "" and answers[1] == HELP
    assert "%p: tile<ptr<f32>>" in answers[2] and "a: array of f32, 4" in answers[2]
    assert answers[4].splitlines()[1].startswith("->    2 ")
    assert "expected an element of an array" in answers[10]
    assert answers[13] == "there is nothing to stop at: nothing\n"
    assert "expected a condition after `if`" in answers[15]
    for mistake in (18, 28, 29, 30, 31, 32, 33):
        assert answers[mistake] and answers[mistake].count("\n") <= 2


@pytest.mark.parametrize("command", ["s", "goto", "d", "b", "b k.mlir:"])
def test_numbers_with_thousands_of_digits_are_refused(command: str) -> None:
    separator = "" if command.endswith(":") else " "
    assert talk(f"{command}{separator}{'9' * 5000}")[0].startswith("expected a number, got '999")


def test_quit_ends() -> None:
    with pytest.raises(Quit):
        talk("q")


def test_the_command_runs_a_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.mlir").write_text(LOOP)
    launch = ["--grid", "4", "--arg", "a=zeros:f32:4", "--arg", "n=3"]
    commands = ["-x", "b 9 if %i == 2", "-x", "c", "-x", "p %i"]
    assert main(["debug", "run", str(tmp_path / "k.mlir"), *launch, *commands]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["(tilery) p %i", "2"]


def test_mistakes_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.mlir").write_text(LOOP)
    kernel = str(tmp_path / "k.mlir")
    for args, message in (
        (["none.py"], "no such file"),
        (["none.mlir"], "no such file"),
        ([kernel, "word"], "only Python scripts have arguments"),
        ([kernel, "--arg", "n=3"], "argument"),
    ):
        assert main(["debug", "run", *args, "-x", "c"]) == 2, args
        assert message in capsys.readouterr().err, args


@pytest.mark.nvrtc
def test_cpp_stops_at_its_own_lines(capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "tests" / "cpp" / "sources" / "views.cu"
    launch = ["--entry", "scale<float,64>", "--grid", "16", "--arg", "x=ones:f32:1024", "--arg", "3"]
    assert main(["debug", "run", str(file), *launch, "-x", "c", "-x", "who x[70]"]) == 0
    out = capsys.readouterr().out
    assert "x[70]: 1 -> 3, written by store_view_tko at views.cu:14 in tile block (1, 0, 0)" in out
