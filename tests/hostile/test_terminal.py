"""No control character of a module reaches a terminal, and files that never end are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilery
from tilery import TileError
from tilery.attrs import FileLineCol
from tilery.source.lines import SOURCES, Place, excerpt

ESCAPE = "\x1b]0;owned\x07"
NAME = r'"\1B]0;owned\07"'
KERNEL = rf'entry @{NAME}() {{ print_tko "\1B[31m\C2\9B\9B" -> token return }}'
HINTS = rf"entry @k() optimization_hints=<{NAME} = {{{NAME} = 1 : i32}}> {{ return }}"
pty = pytest.importorskip("pty", reason="needs pseudo-terminals")


def on_a_terminal(*arguments: str, folder: Path) -> bytes:
    """Return what the command writes to a terminal."""
    master, slave = os.openpty()
    command = [sys.executable, "-m", "tilery", *arguments]
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PYTHONPATH": str(Path(tilery.__file__).parents[1])}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=env) as process:
        os.close(slave)
        out = b""
        try:
            while part := os.read(master, 1 << 16):
                out += part
        except OSError:  # the other side is closed
            pass
        process.wait()
    os.close(master)
    return out


@pytest.mark.parametrize(
    "verb",
    [
        ["dis", "hints.tileirbc"],
        ["opt", "hints.tileirbc"],
        ["opt", "hints.tileirbc", "--print-after", "--remarks"],
        ["info", "name.tileirbc"],
        ["dump", "hints.tileirbc"],
        ["diff", "hints.tileirbc", "name.tileirbc"],
        ["run", "name.tileirbc"],
        ["run", "name.tileirbc", "--entry", "other"],
        ["check", "bad.mlir"],
    ],
    ids=" ".join,
)
def test_a_terminal_gets_no_control_characters(verb: list[str], tmp_path: Path) -> None:
    (tmp_path / "name.tileirbc").write_bytes(tilery.dumps(tilery.parse(KERNEL)))
    (tmp_path / "hints.tileirbc").write_bytes(tilery.dumps(tilery.parse(HINTS, verify=False)))
    (tmp_path / "bad.mlir").write_text(f"entry @{ESCAPE}")
    out = on_a_terminal(*verb, folder=tmp_path)
    assert out, "the command wrote nothing"
    text = out.decode("utf-8", "surrogateescape")
    assert not [c for c in text if not c.isprintable() and c not in "\r\n\t"], ascii(text)
    if verb[0] != "check":
        assert "1B" in text or "x1b" in text or "␛" in text


# ---------------------------------------------------------------- files


def run(*arguments: str, shell: str = "") -> subprocess.CompletedProcess[bytes]:
    command = ["bash", "-c", shell] if shell else [sys.executable, "-m", "tilery", *arguments]
    return subprocess.run(command, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(tilery.dumps(tilery.parse("entry @k() { return }")))
    return path


@pytest.mark.parametrize("out", ["/dev/stdout", ">(cat)", "/dev/fd/1"])
def test_output_to_pipes(out: str, kernel: Path) -> None:
    ran = run(shell=f"{sys.executable} -m tilery dis {kernel} -o {out} | cat; sleep 0.2")
    assert ran.stdout.startswith(b"entry @k()") or b"entry @k()" in ran.stdout, ran.stderr


def test_input_from_pipes(kernel: Path) -> None:
    assert b"entry @k()" in run(shell=f"{sys.executable} -m tilery dis <(cat {kernel})").stdout


def test_files_that_never_end_are_refused(tmp_path: Path) -> None:
    ran = run("info", "/dev/zero")
    assert (ran.returncode, ran.stderr) == (2, b"tilery: cannot read '/dev/zero': it is a device; `-` reads stdin\n")
    fifo = str(tmp_path / "fifo")
    os.mkfifo(fifo)
    assert run("info", fifo).stderr == f"tilery: cannot read '{fifo}': it is a named pipe; `-` reads stdin\n".encode()
    with pytest.raises(TileError, match="it is a named pipe"):
        tilery.load(fifo)


def test_huge_input_is_refused(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilery.source.input.MAX_INPUT", 10)
    with pytest.raises(TileError, match="it has more than 10 bytes"):
        tilery.load(kernel)


def test_source_lines_come_from_allowed_files_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    for place in (folder, elsewhere):
        (place / "a.py").write_text("secret\n")
        (place / "b.py").write_text("secret\n")
    (folder / "link.py").symlink_to(elsewhere / "a.py")
    monkeypatch.chdir(folder)
    assert Place(str(folder / "a.py"), 1, 1).text == "secret"
    assert Place(str(folder / "link.py"), 1, 1).text == ""
    assert Place(str(elsewhere / "a.py"), 1, 1).text == ""
    assert excerpt(FileLineCol(str(elsewhere / "a.py"), 1, 1)) == (f"  at {elsewhere / 'a.py'}:1:2",)
    monkeypatch.setenv(SOURCES, str(elsewhere))
    assert Place(str(elsewhere / "a.py"), 1, 1).text == "secret"
    monkeypatch.setenv(SOURCES, "")
    monkeypatch.setattr(sys, "argv", ["x", f"{elsewhere / 'b.py'}:kernel"])
    assert Place(str(elsewhere / "b.py"), 1, 1).text == "secret"
    assert Place(tilery.__file__, 1, 1).text.startswith('"""')


def test_debug_information_opens_no_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    with open("huge", "wb") as file:
        file.truncate(1 << 30)
    for name in ("fifo", "huge", "/dev/zero", "/dev/stdin", "\0", "missing"):
        assert Place(name, 1, 1).text == ""
