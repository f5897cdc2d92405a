"""The command as a process: streams, pipes, interrupts, and damaged files."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.command import ENV, run
from tilery.cli.main import main

KERNEL = """entry @k(%p: tile<ptr<i32>>) {
  %0 = constant <i32: 7> : tile<i32>
  %t = store_ptr_tko weak %p, %0 : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""


def test_stdin_and_stdout(kernel: Path) -> None:
    converted = run("convert", "--version", "13.3", "-", stdin=kernel.read_bytes())
    assert converted.returncode == 0, converted.stderr
    assert b'"version": "13.3"' in run("info", "--json", "-", stdin=converted.stdout).stdout


def test_a_small_file_is_printed_without_generated_readers_and_printers(kernel: Path) -> None:
    program = """
import sys
compiled = []
sys.addaudithook(lambda event, args: compiled.append(str(args[1])) if event == "compile" else None)
from tilery.cli.main import main
assert main(["dis", sys.argv[1]]) == 0
print(*[name for name in compiled if not name.startswith(("<string>", "<constructor")) and not name.endswith(".py")])
"""  # Python's own library compiles strings without a name
    done = subprocess.run([sys.executable, "-c", program, kernel], env=ENV, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.endswith(b"}\n\n")


def test_errors_name_stdin() -> None:
    done = run("info", "-", stdin=b"\x7fTileIR\0")
    assert done.returncode == 1
    assert done.stderr.startswith(b"<stdin>: error: ")


def test_a_closed_pipe_is_quiet() -> None:
    command = [sys.executable, "-m", "tilery", "ops", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as process:
        assert process.stdout and process.stderr
        process.stdout.close()  # before anything is written, whatever the size of the pipe
        assert process.stderr.read() == b""
    assert process.returncode == 141


PRINTING = {
    **dict.fromkeys(("dis", "info", "dump", "asm", "opt", "check --json", "cost", "fmt"), 1),
    **dict.fromkeys(("ops", "targets", "cache", "smith", "help", "help --man", "--help", "--version", "dis --help"), 0),
    "convert --version 13.4": 1,
    "diff smaller.mlir": 1,
    "compare --arg zeros:i32:4 --engines reference,reference": 1,
    "run --arg x=zeros:i32:4 --print x": 1,
    "reduce --sanitize race --grid 2 --arg zeros:i32:4 --jobs 1": 1,
    "remarks --help": 0,
}
"""Commands that write to stdout; those with 1 take a file."""


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "full"])
@pytest.mark.parametrize("command", PRINTING)
def test_every_verb_notices_that_stdout_cannot_be_written(
    command: str, closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not closed and not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    monkeypatch.chdir(tmp_path)
    Path("k.mlir").write_text(KERNEL, "utf-8")
    Path("smaller.mlir").write_text("entry @k(%p: tile<ptr<i32>>) {\n  return\n}\n", "utf-8")
    words = command.split() + ["k.mlir"] * PRINTING[command]
    with open(os.devnull if closed else "/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", None if closed else full)
        assert main(words) == 2
        reason = "bad file descriptor" if closed else "no space left on device"
        assert capsys.readouterr().err.endswith(f"tilery: cannot write to stdout: {reason}\n")
        assert main(["asm", "k.mlir", "-o", "k.tileirbc"]) == 0  # it writes nothing there


def test_a_closed_stdout_is_an_error(kernel: Path) -> None:
    command = ["sh", "-c", 'exec "$0" -m tilery dis "$1" >&-', sys.executable, str(kernel)]
    done = subprocess.run(command, stderr=subprocess.PIPE, env=ENV, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"tilery: cannot write to stdout: bad file descriptor\n")


def test_a_closed_stdin_is_an_error() -> None:
    command = ["sh", "-c", 'exec "$0" -m tilery info - <&-', sys.executable]
    done = subprocess.run(command, stderr=subprocess.PIPE, env=ENV, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"tilery: cannot read '-': stdin is closed\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_is_quiet() -> None:
    command = [sys.executable, "-m", "tilery", "info", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

    def listen() -> None:  # a job in the background is started with interrupts ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with subprocess.Popen(command, **pipes, env=ENV, preexec_fn=listen) as process:  # type: ignore[call-overload]
        time.sleep(1.5)  # until it waits for stdin
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"")


@pytest.mark.parametrize("verb", ["check", "dump", "dis", "dis --no-verify", "asm"])
def test_damaged_files_end_in_0_or_1(
    verb: str, kernel: Path, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    good = kernel.read_bytes()
    damaged = tmp_path / "damaged"
    dice = random.Random(7)
    for _ in range(150):
        data = bytearray(good)
        for _ in range(dice.choice([1, 1, 2, 5])):
            data[dice.randrange(8, len(data))] = dice.choice([0, 1, 2, 127, 128, 255, dice.randrange(256)])
        damaged.write_bytes(data[: dice.choice([len(data), len(data), dice.randrange(len(data))])])
        assert main([*verb.split(), str(damaged)]) in (0, 1)
        capsysbinary.readouterr()  # bytes of a damaged name, which not every report of a test can show
