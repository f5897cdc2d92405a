"""Help and usage: every verb explains itself, and a wrong command line is one clear line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.command import ENV
from tilery.cli.main import main, make_parser
from tilery.cli.verbs import VERBS


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "cutile"])
def test_every_verb_has_help_with_examples(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([verb, "--help"])
    assert stop.value.code == 0
    assert f"examples:\n  tilery {verb}" in capsys.readouterr().out


def test_help_names_every_verb() -> None:
    assert all(f"    {verb} " in make_parser().format_help() for verb in VERBS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("tilery ")


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["info"], ["convert", "x"], ["convert", "x", "--version", "9.9"]])
def test_usage_errors_exit_with_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert "usage: tilery" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["info", "dis", "asm", "dump", "fmt"])
def test_a_missing_file_is_one_clear_line(verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing"
    assert main([verb, str(missing)]) == 2
    assert capsys.readouterr().err == f"tilery: cannot read '{missing}': no such file or directory\n"


def test_a_folder_is_not_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err


def test_help_loads_nothing_but_itself() -> None:
    code = (
        "import sys; from tilery.cli.main import make_parser; make_parser(); "
        "print(*(m for m in sys.modules if m.startswith('tilery.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENV, check=True)
    loaded = {name for name in done.stdout.split() if not name.startswith("tilery.cli")}
    assert loaded <= {f"tilery.{name}" for name in ("diag", "engines", "engines.registry", "hooks", "version")}
    assert "tilery.cli.arguments" not in done.stdout
