"""Colours: on terminals, unless they are not wanted, and nothing but colours."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tilery
from pictures.terminal import COMMANDS, TARGET, pictures
from support.command import ENV
from support.oracle import ROOT
from tilery.cli.main import main
from tilery.cli.output import quoted
from tilery.cli.paint import CYAN, GREEN, info_line, style

COLOR = re.compile(r"\x1b\[[0-9;]*m")
NAME = r'"\1B]0;owned\07"'
HOSTILE = rf'entry @{NAME}() {{ print_tko "\1B[31m\C2\9B\9B" -> token return }}'
COMMANDS_WITH_COLOR = [
    ["dis", "k.tileirbc"],
    ["dump", "k.tileirbc"],
    ["diff", "k.tileirbc", "other.tileirbc"],
    ["info", "k.tileirbc"],
    ["ops"],
    ["ops", "mmaf"],
    ["opt", "k.tileirbc"],
    ["opt", "--list"],
]


@pytest.fixture
def folder(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two files; one has a name that could control a terminal."""
    monkeypatch.chdir(kernel.parent)
    kernel.rename(kernel.with_name("k.tileirbc"))
    kernel.with_name("other.tileirbc").write_bytes(tilery.dumps(tilery.parse(HOSTILE)))
    return kernel.parent


@pytest.mark.parametrize("words", COMMANDS_WITH_COLOR, ids=" ".join)
def test_colours_change_nothing_else(words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main([*words, "--color", "never"])
    plain = capsys.readouterr().out
    assert not COLOR.search(plain)
    assert main([*words, "--color", "always"]) == status
    painted = capsys.readouterr().out
    assert COLOR.search(painted)
    assert COLOR.sub("", painted) == quoted(plain)


@pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")
@pytest.mark.parametrize("words", [*COMMANDS_WITH_COLOR, ["dis", "other.tileirbc"]], ids=" ".join)
def test_a_terminal_gets_colours_and_no_other_control_characters(words: list[str], folder: Path) -> None:
    shown = on_a_terminal(words, {})
    assert COLOR.search(shown)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", COLOR.sub("", shown))
    assert "\\1B[" not in shown.replace(r"\1B[31m\C2", "")  # that one is in the file


@pytest.mark.skipif(os.name != "posix", reason="needs pseudo-terminals")
def test_no_color_is_heeded(folder: Path) -> None:
    assert "\x1b" not in on_a_terminal(["dump", "k.tileirbc"], {"NO_COLOR": "1"})


def on_a_terminal(words: list[str], more: dict[str, str]) -> str:
    """Return what the command writes to a terminal."""
    master, slave = os.openpty()
    env = {**{k: v for k, v in ENV.items() if k != "NO_COLOR"}, "TERM": "xterm", **more}
    with subprocess.Popen([sys.executable, "-m", "tilery", *words], stdout=slave, stderr=slave, env=env) as process:
        os.close(slave)
        parts = []
        try:
            while part := os.read(master, 1 << 16):
                parts.append(part)
        except OSError:  # the other side is closed
            pass
        process.wait()
    os.close(master)
    return b"".join(parts).decode("utf-8")


def test_the_pictures_are_what_is_printed_now() -> None:
    """Run `python scripts/pictures/terminal.py` and look at them."""
    assert set(pictures()) == {f"{name}.svg" for name in COMMANDS}
    for name, picture in pictures().items():
        assert (TARGET / name).read_text("utf-8") == picture
        assert (ROOT / "docs" / "pictures" / name).exists()


def test_a_label_of_info_has_one_color() -> None:
    """A word in it that is also a type, such as the tile in `per tile block`, does not end it."""
    line = info_line("  per tile block: 512 bytes read, tile<4xf32>")
    assert line == f"{style(CYAN, '  per tile block')}: 512 bytes read, {style(GREEN, 'tile<4xf32>')}"
