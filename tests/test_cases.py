"""Run the files of `tests/cases`: a command, its input, and the text that it prints.

The format is described in CONTRIBUTING. `BLESS=1 pytest tests/test_cases.py` rewrites the expectations.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options

from tilery.cli.main import main

CASES = Path(__file__).parent / "cases"
FILES = sorted(CASES.glob("**/*.mlir"))
RUN, ARROW, SPLIT = "// RUN: ", "// =>\n", "// -----\n"


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(CASES).with_suffix("").as_posix() for path in FILES])
def test_case(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = path.read_text("utf-8").split(SPLIT)
    commands = [line.removeprefix(RUN) for line in parts[0].splitlines() if line.startswith(RUN)]
    assert commands, f"{path.name} has no line that starts with {RUN}"
    if any("|" in command for command in commands):
        for part in parts:
            run_filecheck(commands, part, tmp_path, capsys)
        return
    found = [part.partition(ARROW)[0] + ARROW + run(commands, part, tmp_path, capsys) for part in parts]
    if os.environ.get("BLESS"):
        path.write_text(SPLIT.join(found), "utf-8")
        return
    assert SPLIT.join(found) == SPLIT.join(parts), "to accept the new text, run with BLESS=1"


def run(commands: list[str], part: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the text that commands print on one part of a file, as comments."""
    found = ""
    for command in commands:
        status, out, err = execute(command, part.partition(ARROW)[0], folder, capsys)
        found += f"// $ {command}\n" if len(commands) > 1 else ""
        found += (
            comment(out) + ("// stderr:\n" + comment(err) if err else "") + (f"// exit {status}\n" if status else "")
        )
    return found


def run_filecheck(commands: list[str], part: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Compare the text that commands print on one part of a file with its CHECK comments."""
    for command in commands:
        left, _, check = command.partition(" | ")
        _, out, err = execute(left, part, folder, capsys)
        printed = folder / "printed"
        printed.write_text(out + err, "utf-8")
        words = [str(folder / "in.mlir") if word == "%s" else word for word in shlex.split(check)]
        assert words[0] == "filecheck", command
        status = Matcher.from_opts(parse_argv_options([*words, "--input-file", str(printed)])).run()
        assert status == 0, capsys.readouterr().err


def execute(command: str, given: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run one command, in which %s is the input and %t a file for results; return its status and both texts."""
    source, result = folder / "in.mlir", folder / "out"
    source.write_text(given, "utf-8")
    words = shlex.split(command)
    assert words[0] == "tilery", command
    status = main([word.replace("%s", str(source)).replace("%t", str(result)) for word in words[1:]])
    out, err = (text.replace(str(source), "in.mlir").replace(str(result), "out") for text in capsys.readouterr())
    return status, out, err


def comment(text: str) -> str:
    return "".join(f"// {line}".rstrip() + "\n" for line in text.splitlines())
