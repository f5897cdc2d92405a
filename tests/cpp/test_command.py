"""`tilery cpp`: the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilery
from cpp.kernels import HERE, compiled
from support.command import run
from tilery.cli.main import main

pytestmark = pytest.mark.nvrtc


def test_show_has_lines_of_cpp(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cpp", "show", str(HERE / "matrix.cu")]) == 0
    shown = capsys.readouterr().out
    assert "// matrix.cu:15: sum = ct::mma(left.load_masked(block.x, i), right.load_masked(i, block.y), sum);" in shown
    assert main(["cpp", "show", "--plain", str(HERE / "matrix.cu")]) == 0
    assert capsys.readouterr().out == tilery.show(compiled("matrix").module)


def test_show_writes_bytecode(tmp_path: Path) -> None:
    out = tmp_path / "k.tileirbc"
    assert main(["cpp", "show", str(HERE / "control.cu"), "-o", str(out)]) == 0
    assert out.read_bytes() == compiled("control").bytecode


def test_check_lists_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["cpp", "check", str(HERE / "views.cu"), "--instance", "scale<float, 64>"]
    assert main(command) == 0
    assert "scale<float, 64>(tile<ptr<f32>>, tile<f32>)\n" in capsys.readouterr().out
    assert main([*command, "--json"]) == 0
    kernels = json.loads(capsys.readouterr().out)["kernels"]
    assert {"name": "add", "symbol": "_Z3addPKfS0_Pfm", "parameters": ["tile<ptr<f32>>"] * 3 + ["tile<i64>"]} in kernels


def test_run_an_instance(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--entry", "scale<float,64>", "--grid", "16", "--arg", "x=ones:f32:1024", "--arg", "3", "--print", "x"]
    assert main(["cpp", "run", str(HERE / "views.cu"), *arguments]) == 0
    assert capsys.readouterr().out == "x = [3. 3. 3. ... 3. 3. 3.]\n"


def test_run_shows_the_line_of_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--entry", "scale<float,64>", "--grid", "16", "--arg", "x=ones:f32:1000", "--arg", "3"]
    assert main(["cpp", "run", str(HERE / "views.cu"), *arguments]) == 1
    error = capsys.readouterr().err
    assert "views.cu:14:" in error
    assert "tiles.store(tiles.load(ct::bid().x) * by, ct::bid().x);" in error
    assert "note: from" not in error


def test_a_wrong_file_is_one_error_at_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    done = run("cpp", "check", "-", stdin=b"__tile_global__ void k(int* x) { *x = y; }")
    assert done.returncode == 1
    assert done.stderr.startswith(b'<stdin>:1:39: error: identifier "y" is undefined\n')
    assert main(["cpp", "check", "missing.cu"]) == 2
    assert main(["cpp", "run", str(HERE / "views.cu"), "--entry", "nothing"]) == 1
    assert "expected one of: add" in capsys.readouterr().err
