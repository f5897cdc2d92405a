"""`tilery reduce`: its tests, its output, and its errors."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

import tilery
from tilery.cli.main import main
from tilery.ir import walk
from tilery.reducer.case import Case
from tilery.reducer.oracles import Message
from tilery.smith import smith

COMPILER = """#!{python}
import os, sys
data = open(sys.argv[5], "rb").read()
if "--list-versions" in sys.argv:
    sys.exit(1)
sys.path.insert(0, {source!r})
import tilery
names = [o.name for o in tilery.walk(tilery.load(data))]
if "select" in names:
    os.abort()
sys.stderr.write("error: I do not like addf\\n" if "addf" in names else "")
sys.exit("addf" in names)
"""

RACE = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
  %0 = addi %n, %n : tile<i32>
  %t = store_ptr_tko weak %p, %0 : tile<ptr<i32>>, tile<i32> -> token
  return
}"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(tilery.dumps(smith(3, version="13.2", size=100, mix={"select": 1, "addf": 1}), "13.2"))
    return path


@pytest.fixture
def compiler(tmp_path: Path) -> Path:
    """A stand-in for tileiras, which crashes on `select` and refuses `addf`."""
    path = tmp_path / "compiler"
    head = 'if "--version" in sys.argv:\n    print("V13.2.1")\n    sys.exit()\nif len(sys.argv) < 6:\n    sys.exit(1)\n'
    text = COMPILER.format(python=sys.executable, source=str(Path(tilery.__file__).parents[1]))
    path.write_text(text.replace("import os, sys\n", "import os, sys\n" + head, 1), "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def names(path: Path) -> list[str]:
    return [o.name for o in walk(tilery.load(path).entries[0].body)]


def test_a_command(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "small.tileirbc"
    assert main(["reduce", str(module), "--test", "grep -qaF ^", "-o", str(out), "--jobs", "2"]) == 0
    assert tilery.load(out).version == tilery.Version.parse("13.2")
    assert len(out.read_bytes()) < len(module.read_bytes()) // 3
    assert "operations reduced to" in capsys.readouterr().err


def test_the_header_names_the_command(tmp_path: Path) -> None:
    path, out = tmp_path / "k.mlir", tmp_path / "small.mlir"
    path.write_text("entry @k(%n: tile<i32>) {\n  %0 = addi %n, %n : tile<i32>\n  return\n}\n")
    assert main(["reduce", str(path), "--test", "grep -q addi", "-o", str(out), "--jobs", "1"]) == 0
    assert out.read_text("utf-8").startswith(f"// Status 0.\n// grep -q addi {out}\n")


def test_a_crash(module: Path, compiler: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.mlir"
    assert main(["reduce", str(module), "--crash", str(compiler), "-o", str(out)]) == 0
    assert len(names(out)) <= 5 and "select" in names(out)
    text = out.read_text("utf-8")
    assert text.startswith("// Crash, signal 6.\n") and f"// {compiler} --gpu-name sm_100" in text


def test_a_compiler_that_answers_no_questions(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "cc"
    program.write_text("#!/bin/sh\necho what is $1\nkill -ABRT $$\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["reduce", str(module), "--crash", "./cc"]) == 2
    assert "--crash: './cc' is not executable" in capsys.readouterr().err
    program.chmod(0o755)
    assert main(["reduce", str(module), "--crash", "./cc", "-o", "small.mlir"]) == 0
    assert (tmp_path / "small.mlir").read_text("utf-8").startswith("// Crash, signal 6.\n")
    assert main(["reduce", str(module), "--crash", "./missing"]) == 2
    assert "--crash: there is no program './missing'" in capsys.readouterr().err


def test_children_import_nothing_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pickle.py").write_text("open('ran', 'w')\n", "utf-8")
    (tmp_path / "race.mlir").write_text(RACE, "utf-8")
    monkeypatch.chdir(tmp_path)
    args = ["--grid", "4", "--arg", "zeros:i32:8", "--arg", "7"]
    assert main(["reduce", "race.mlir", "--sanitize", "race", *args, "--jobs", "1"]) == 0
    assert not (tmp_path / "ran").exists()


def test_what_a_compiler_says(module: Path, compiler: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "entry @k(%x: tile<f32>) { %0 = negf %x : tile<f32> %1 = addf %0, %x : tile<f32> return }"
    module.write_text(text, "utf-8")
    assert main(["reduce", str(module), "--crash", str(compiler), "--message", "not like", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["operations"] == 2 and "addf" in facts["text"] and facts["complete"]


def test_a_race_with_its_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "race.mlir"
    file.write_text(RACE, "utf-8")
    args = ["--grid", "4", "--arg", "zeros:i32:8", "--arg", "7"]
    assert main(["reduce", str(file), "--sanitize", "race", *args, "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "// tilery run reduced.mlir --grid 2,1,1 --arg a0=zeros:i32:1" in out and "addi" not in out


def test_bytes(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module.write_bytes(module.read_bytes()[:-30])
    out = tmp_path / "small"
    assert main(["reduce", str(module), "--bytes", "-o", str(out)]) == 0
    assert 0 < len(out.read_bytes()) < len(module.read_bytes())


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        ([], 2, "say what is interesting"),
        (["--differs", "reference,abacus"], 2, "expected two of"),
        (["--sanitize", "rase"], 2, "unknown check"),
        (["--differs-after", "canonicalise"], 2, "canonicalise"),
        (["--differs", "prove"], 2, "--differs prove needs --differs-after"),
        (["--differs", "prove", "--differs-after", "cse", "--sanitize", "all"], 2, "contradict each other"),
        (["--message", "("], 2, "not a regular expression"),
        (["--test", "true", "--sanitize", "race"], 2, "contradict"),
        (["--test", "false"], 1, "nothing to reduce"),
        (["--test", "/nonexistent/command"], 1, "cannot run"),
        (["--bytes"], 1, "no message to keep"),
        (["--sanitize", "race"], 2, "arguments"),
    ],
)
def test_errors(module: Path, options: list[str], status: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reduce", str(module), *options]) == status
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["reduce", "--differs", "reference,tileiras"], ["smith", "--campaign", "--against", "cpu,tileiras"]]
)
def test_engines_that_cannot_run_here(
    words: list[str], module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a GPU there is nothing to compare, and a missing driver is no fault of a kernel."""

    def no_driver() -> None:
        raise tilery.TileError("there is no NVIDIA driver on this machine")

    monkeypatch.setattr("tilery.engines.cuda.launch.open_driver", no_driver)
    file = [str(module)] if words[0] == "reduce" else []
    assert main([words[0], *file, *words[1:]]) == 2
    assert "there is no NVIDIA driver" in capsys.readouterr().err


def test_ctrl_c_writes_the_smallest_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "k.mlir", tmp_path / "small.mlir"
    text = "entry @k(%n: tile<i32>) {\n" + "".join(f"%{i} = addi %n, %n : tile<i32>\n" for i in range(40))
    text += "return\n}\nentry @k() { return }"
    path.write_text(text)
    test, calls = Message.__call__, 0

    def interrupted(self: Message, case: Case) -> str:
        nonlocal calls
        calls += 1
        if calls == 4:
            raise KeyboardInterrupt
        return test(self, case)

    monkeypatch.setattr(Message, "__call__", interrupted)
    assert main(["reduce", str(path), "--message", "redefinition", "-o", str(out)]) == 130
    assert len(out.read_text()) < len(text)
    assert "interrupted" in capsys.readouterr().err
