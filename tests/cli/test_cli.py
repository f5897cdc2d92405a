"""The command line: each test is one promise of `tilery --help`."""

from __future__ import annotations

import io
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tilery
from make_kernel import vector_add
from support.oracle import ROOT
from tilery import Block, Value
from tilery.attrs import DICompileUnit, DIFile, DILoc, DISubprogram, FileLineCol
from tilery.cli.main import colors, main, make_parser
from tilery.ops import AddF, Entry, Module, Return, registered
from tilery.types import F32, F64, Function, Tile

VERBS = ["info", "dis", "asm", "check", "convert", "dump", "fmt", "diff", "ops", "smith", "opt", "debug", "run"]
TEXT = "entry @k(%a: tile<i32>) {\n  %0 = addi %a, %a : tile<i32>\n  return\n}\n"


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A file of bytecode 13.1."""
    path = tmp_path / "kernel.tileirbc"
    path.write_bytes(tilery.dumps(vector_add(), "13.1"))
    return path


@pytest.fixture
def broken(kernel: Path) -> Path:
    """The same, cut off in the middle."""
    path = kernel.with_name("broken.tileirbc")
    path.write_bytes(kernel.read_bytes()[:-40])
    return path


def run(*argv: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The command as a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "tilery", *map(str, argv)]
    return subprocess.run(command, input=stdin, capture_output=True, env=env, timeout=60)


# ---------------------------------------------------------------- help and usage


@pytest.mark.parametrize("verb", VERBS)
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


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(tmp_path)]) == 2
    assert "is a directory" in capsys.readouterr().err


# ---------------------------------------------------------------- ops


def test_ops_lists_every_operation(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops"]) == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert listed == {d.mnemonic for d in registered()}


def test_ops_of_a_version_leaves_newer_ones_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "--version", "13.1", "--json"]) == 0
    assert {op["since"] for op in json.loads(capsys.readouterr().out)} == {"13.1"}


@pytest.mark.parametrize("opdef", registered(), ids=lambda d: d.mnemonic)
def test_ops_names_every_field(opdef: tilery.decl.OpDef, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", opdef.mnemonic]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {f.name} " in out for f in opdef.fields if f.role != "state")


def test_ops_takes_full_and_former_names(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("cuda_tile.print_tko", "print"):
        assert main(["ops", name, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["name"] == "print_tko"


def test_ops_suggests_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "adff"]) == 2
    assert "did you mean addf" in capsys.readouterr().err


def test_ops_says_when_an_operation_came(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", "atan2", "--version", "13.1"]) == 2
    assert "new in bytecode 13.2" in capsys.readouterr().err


# ---------------------------------------------------------------- info and dump


def test_info(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(kernel)]) == 0
    out = capsys.readouterr().out
    assert "bytecode 13.1" in out
    assert "entry @vector_add" in out
    assert "tile<ptr<f32>>" in out


def test_info_as_json(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(kernel)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["entries"][0]["params"] == ["tile<ptr<f32>>"] * 3 + ["tile<i32>"]
    assert facts["ops"]["load_view_tko"] == 2
    assert facts["bytes"] == kernel.stat().st_size


def test_info_reads_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT)
    assert main(["info", "--json", str(path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["format"], facts["version"], facts["ops"]["addi"]) == ("text", None, 1)


def test_dump_shows_every_byte(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(kernel)]) == 0
    out = capsys.readouterr().out
    assert "magic" in out
    assert "addf" in out


def test_dump_of_a_broken_file_goes_up_to_the_break(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(broken)]) == 1
    shown = capsys.readouterr()
    assert "magic" in shown.out
    assert "error: at byte 0x" in shown.err


# ---------------------------------------------------------------- check


def test_check_says_nothing_of_a_legal_file(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(kernel)]) == 0
    assert capsys.readouterr() == ("", "")


def illegal(folder: Path) -> Path:
    """A file with two faults, at a known place in its source."""
    x, y = Value(Tile((), F32)), Value(Tile((), F64))
    faults = [AddF(lhs=x, rhs=y, result=Value(x.type)), AddF(lhs=y, rhs=x, result=Value(x.type))]
    file = DIFile("k.py", "/")
    scope = DISubprogram(file, 1, "k", "k", DICompileUnit(file), 1)
    for line, fault in enumerate(faults, 7):
        fault.loc = DILoc(FileLineCol("k.py", line, 3), scope)
    entry = Entry(sym_name="k", function_type=Function([x.type, y.type]), body=Block([x, y], [*faults, Return()]))
    entry.loc = DILoc(FileLineCol("k.py", 1, 1), scope)
    path = folder / "illegal.tileirbc"
    path.write_bytes(tilery.dumps(Module(body=Block([], [entry])), "13.1"))
    return path


def test_check_lists_all_faults_with_their_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = illegal(tmp_path)
    assert main(["check", str(path)]) == 1
    err = capsys.readouterr().err
    assert err.count(": 'cuda_tile.addf' op ") == 2
    assert f"{path}: error: at byte 0x" in err
    assert "    %0 = addf %arg0, %arg1  : tile<f32>\n    ^^\n" in err
    assert "note: from /k.py:7:4 in k\n" in err
    assert "note: from /k.py:8:4 in k\n" in err


def test_check_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", str(illegal(tmp_path))]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["legal"], len(found["errors"])) == (False, 2)


def test_dis_prints_an_illegal_module_with_its_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = illegal(tmp_path)
    assert main(["dis", str(path)]) == 1
    out, err = capsys.readouterr()
    assert "addf %arg0, %arg1" in out
    assert err.count("error: ") == 2
    assert main(["dis", "--no-verify", str(path)]) == 0
    assert capsys.readouterr() == (out, "")


def test_asm_and_convert_refuse_an_illegal_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = illegal(tmp_path), tmp_path / "out"
    for command in (["asm"], ["convert", "--version", "13.2"]):
        assert main([*command, str(path), "-o", str(target)]) == 1
        assert "'cuda_tile.addf' op " in capsys.readouterr().err
        assert not target.exists()


def test_check_against_a_version(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k(%x: tile<f32>) {\n  %0 = atan2 %x, %x : tile<f32>\n}\n", encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert main(["check", "--version", "13.1", str(path)]) == 1
    assert "legal in 13.2, not in 13.1: operation 'cuda_tile.atan2'" in capsys.readouterr().err


def test_check_warns_of_hints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() optimization_hints=<sm_75 = {latency = 3}> {}\n", encoding="utf-8")
    assert main(["check", str(path)]) == 0
    assert main(["check", "--hints", "warn", str(path)]) == 0
    assert "unknown hint key sm_75" in capsys.readouterr().err
    assert main(["check", "--hints", "error", str(path)]) == 1
    assert "Optimization hints verification failed" in capsys.readouterr().err


# ---------------------------------------------------------------- errors


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


def test_other_binary_data_is_no_bytecode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k"
    path.write_bytes(b"ML\xefR\0\0\0")
    assert main(["info", str(path)]) == 1
    assert "MLIR" in capsys.readouterr().err


def test_errors_cannot_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() {\n  \x1b[31mnonsense\n}\n")
    assert main(["dis", str(path)]) == 1
    assert "\x1b" not in capsys.readouterr().err


def test_a_bug_is_owned_up_to(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilery.cli.show.info_data", lambda *_: 1 / 0)
    assert main(["info", str(kernel)]) == 70
    assert "ZeroDivisionError" in (err := capsys.readouterr().err)
    assert "bug of tilery" in err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_without_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colors(Terminal())
    assert not colors(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colors(Terminal())


# ---------------------------------------------------------------- writing


def test_convert(kernel: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tileirbc"
    assert main(["convert", str(kernel), "--version", "13.3", "-o", str(out)]) == 0
    assert str(tilery.load(out).version) == "13.3"


def test_convert_back_gives_the_same_module(kernel: Path, tmp_path: Path) -> None:
    newer, older = tmp_path / "newer", tmp_path / "older"
    assert main(["convert", str(kernel), "--version", "13.4", "-o", str(newer)]) == 0
    assert main(["convert", str(newer), "--version", "13.1", "-o", str(older)]) == 0
    assert main(["diff", str(kernel), str(older)]) == 0


def test_convert_names_what_a_version_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "k.mlir", tmp_path / "out"
    path.write_text("entry @k(%a: tile<f32>) {\n  %0 = atan2 %a, %a : tile<f32>\n  return\n}\n")
    out.write_bytes(b"precious")
    assert main(["convert", str(path), "--version", "13.1", "-o", str(out)]) == 1
    assert "atan2" in capsys.readouterr().err
    assert out.read_bytes() == b"precious"


def test_a_write_keeps_mode_and_link_and_leaves_nothing_behind(kernel: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    before = set(tmp_path.iterdir())
    assert main(["convert", str(kernel), "--version", "13.2", "-o", str(link)]) == 0
    assert link.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.read_bytes().startswith(b"\x7fTileIR")
    assert set(tmp_path.iterdir()) == before


def test_a_failed_write_leaves_the_old_file(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"precious")
    before = set(tmp_path.iterdir())

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert main(["convert", str(kernel), "--version", "13.2", "-o", str(out)]) == 2
    assert "no space left" in capsys.readouterr().err
    assert out.read_bytes() == b"precious"
    assert set(tmp_path.iterdir()) == before


def test_a_folder_that_is_not_there_is_said(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(kernel), "--version", "13.2", "-o", str(tmp_path / "no" / "out")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_devices_are_written_to(kernel: Path) -> None:
    assert main(["convert", str(kernel), "--version", "13.2", "-o", os.devnull]) == 0
    assert not Path(os.devnull).is_file()


def test_binary_is_not_written_to_a_terminal(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["convert", str(kernel), "--version", "13.2"]) == 2
    assert "terminal" in capsys.readouterr().err


# ---------------------------------------------------------------- text


def test_dis_and_asm_are_inverse(kernel: Path, tmp_path: Path) -> None:
    text, back = tmp_path / "k.mlir", tmp_path / "back.tileirbc"
    assert main(["dis", str(kernel), "-o", str(text)]) == 0
    assert main(["asm", str(text), "--version", "13.1", "-o", str(back)]) == 0
    assert main(["diff", str(kernel), str(back)]) == 0


@pytest.mark.parametrize("style", ["disasm", "opt", "generic"])
def test_dis_has_styles(style: str, kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dis", "--style", style, str(kernel)]) == 0
    assert "addf" in capsys.readouterr().out


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


# ---------------------------------------------------------------- diff


def test_diff_of_equal_files_says_nothing(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", str(kernel), str(kernel)]) == 0
    assert capsys.readouterr().out == ""


def test_diff_shows_the_first_difference_and_the_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.mlir", tmp_path / "b.mlir"
    a.write_text(TEXT)
    b.write_text(TEXT.replace("addi", "muli"))
    assert main(["diff", str(a), str(b)]) == 1
    out = capsys.readouterr().out
    assert out.startswith("first difference: ")
    assert "addi differs from muli" in out
    assert "\n-" in out
    assert "\n+" in out


def test_diff_ignores_what_text_does_not_keep(tmp_path: Path, kernel: Path) -> None:
    module = tilery.load(kernel)
    module.producer = "someone"
    other = tmp_path / "other.tileirbc"
    other.write_bytes(tilery.dumps(module, "13.3"))
    assert main(["diff", str(kernel), str(other)]) == 0
    assert main(["diff", "-g", str(kernel), str(other)]) == 1


def test_diff_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.mlir", tmp_path / "b.mlir"
    a.write_text(TEXT)
    b.write_text(TEXT.replace("addi", "muli"))
    assert main(["diff", "--json", str(a), str(b)]) == 1
    assert json.loads(capsys.readouterr().out)["equal"] is False


# ---------------------------------------------------------------- as a process


def test_stdin_and_stdout(kernel: Path) -> None:
    converted = run("convert", "--version", "13.3", "-", stdin=kernel.read_bytes())
    assert converted.returncode == 0, converted.stderr
    assert b'"version": "13.3"' in run("info", "--json", "-", stdin=converted.stdout).stdout


def test_errors_name_stdin() -> None:
    done = run("info", "-", stdin=b"\x7fTileIR\0")
    assert done.returncode == 1
    assert done.stderr.startswith(b"<stdin>: error: ")


def test_a_closed_pipe_is_quiet() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "tilery", "ops", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env) as process:
        assert process.stdout and process.stderr
        process.stdout.close()  # before anything is written, whatever the size of the pipe
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_said() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "tilery", "ops"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, env=env, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"tilery: cannot write to stdout: no space left on device\n")


def test_a_closed_stdin_is_said() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = ["sh", "-c", 'exec "$0" -m tilery info - <&-', sys.executable]
    done = subprocess.run(command, stderr=subprocess.PIPE, env=env, timeout=60)
    assert (done.returncode, done.stderr) == (2, b"tilery: cannot read '-': stdin is closed\n")


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_is_quiet() -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "tilery", "info", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}

    def listen() -> None:  # a job in the background is started with interrupts ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)

    with subprocess.Popen(command, **pipes, env=env, preexec_fn=listen) as process:  # type: ignore[call-overload]
        time.sleep(1.5)  # until it waits for stdin
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"")


def test_opt_refuses_an_illegal_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.mlir"
    path.write_text("entry @k() { %0 = iota : tile<512xi8> }", encoding="utf-8")
    assert main(["opt", str(path)]) == 1
    assert "exceeds the maximum value" in capsys.readouterr().err


def test_help_loads_nothing_but_itself() -> None:
    code = (
        "import sys; from tilery.cli.main import make_parser; make_parser(); "
        "print(*(m for m in sys.modules if m.startswith('tilery.')))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    parts = {f"tilery.cli{part}" for part in ("", ".cutile", ".files", ".main", ".options", ".run")}
    assert set(done.stdout.split()) <= {
        *parts,
        "tilery.diag",
        "tilery.engines",
        "tilery.engines.registry",
        "tilery.version",
    }


# ---------------------------------------------------------------- hostile input


@pytest.mark.parametrize("verb", ["check", "dump", "dis", "dis --no-verify", "asm"])
def test_damaged_files_end_in_0_or_1(verb: str, kernel: Path, tmp_path: Path) -> None:
    good = kernel.read_bytes()
    damaged = tmp_path / "damaged"
    dice = random.Random(7)
    for _ in range(150):
        data = bytearray(good)
        for _ in range(dice.choice([1, 1, 2, 5])):
            data[dice.randrange(8, len(data))] = dice.choice([0, 1, 2, 127, 128, 255, dice.randrange(256)])
        damaged.write_bytes(data[: dice.choice([len(data), len(data), dice.randrange(len(data))])])
        assert main([*verb.split(), str(damaged)]) in (0, 1)
