"""`tilery run`: each test is one promise of its help."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from support.oracle import ROOT
from tilery.cli.main import main
from tilery.engines.common.numerics.convert import to_f64
from tilery.types import BF16

ADD = str(ROOT / "bench" / "kernels" / "vadd.mlir")
SCALE = """entry @scale(%p: tile<ptr<f32>>, %k: tile<f32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %q = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t0 = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
  %w = mulf %v, %k : tile<f32>
  %t1 = store_ptr_tko weak %q, %w : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""
EXP = """entry @k(%p: tile<ptr<f32>>) {
  %i = iota : tile<4096xi32>
  %r = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %b = broadcast %r : tile<1xptr<f32>> -> tile<4096xptr<f32>>
  %q = offset %b, %i : tile<4096xptr<f32>>, tile<4096xi32> -> tile<4096xptr<f32>>
  %v, %t0 = load_ptr_tko weak %q : tile<4096xptr<f32>> -> tile<4096xf32>, token
  %w = exp %v : tile<4096xf32>
  %t1 = store_ptr_tko weak %q, %w : tile<4096xptr<f32>>, tile<4096xf32> -> token
  return
}
"""
NOTHING = "entry @k(%p: tile<ptr<bf16>>) { return }"
FOR_EVER = """entry @k() {
  %one = constant <i32: 1> : tile<i32>
  loop iter_values(%i = %one) : tile<i32> {
    %j = addi %i, %one : tile<i32>
    continue %j : tile<i32>
  }
  return
}
"""


@pytest.fixture
def scale(tmp_path: Path) -> str:
    path = tmp_path / "scale.mlir"
    path.write_text(SCALE)
    return str(path)


def test_a_kernel_runs_and_prints_its_result(scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scale, "--grid", "4", "--arg", "x=arange:f32:4", "--arg", "f32:2.5", "--print", "x"]) == 0
    assert capsys.readouterr().out == "x = [0.  2.5 5.  7.5]\n"


def test_arrays_come_from_files_and_go_to_files(scale: str, tmp_path: Path) -> None:
    before, after = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(before, np.array([1, 2, 3], np.float32))
    assert main(["run", scale, "--grid", "3", "--arg", f"x=@{before}", "--arg", "f32:2", "--save", f"x={after}"]) == 0
    assert np.load(after).tolist() == [2, 4, 6]
    assert np.load(before).tolist() == [1, 2, 3]


def test_the_seed_decides_random_arguments(scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", scale, "--grid", "3", "--arg", "x=randn:f32:3", "--arg", "f32:1", "--print", "x"]
    outputs = []
    for seed in ("7", "7", "8"):
        assert main([*command, "--seed", seed]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]


def test_results_and_figures_as_json(scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", scale, "--grid", "2,1", "--arg", "x=ones:f32:2", "--arg", "f32:3", "--print", "x", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["arguments"] == {"x": [3.0, 3.0]}
    assert found["stats"]["blocks"] == 2


def test_what_an_engine_does_not_count_is_not_0(scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("llvmlite", reason="engine cpu needs llvmlite")
    args = ["run", scale, "--grid", "2", "--arg", "ones:f32:2", "--arg", "f32:3", "--engine", "cpu"]
    assert main([*args, "--stats"]) == 0
    assert re.search(r"^flops +not counted$", capsys.readouterr().err, re.M)
    assert main([*args, "--json"]) == 0
    stats = json.loads(capsys.readouterr().out)["stats"]
    assert (stats["blocks"], stats["flops"]) == (2, None)


def test_stats_go_to_stderr(scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scale, "--grid", "2", "--arg", "ones:f32:2", "--arg", "f32:3", "--stats"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "bytes written" in captured.err


def test_types_that_numpy_lacks_are_shown_as_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "k.mlir", tmp_path / "x.npy"
    path.write_text(NOTHING)
    assert main(["run", str(path), "--arg", "x=arange:bf16:3", "--print", "x", "--save", f"x={out}"]) == 0
    assert capsys.readouterr().out == "x = [0. 1. 2.]\n"
    assert to_f64(np.load(out), BF16).tolist() == [0, 1, 2]


def test_cutile_s_convention(capsys: pytest.CaptureFixture[str]) -> None:
    arrays = ["--arg", "a=arange:f32:2048", "--arg", "b=ones:f32:2048", "--arg", "c=zeros:f32:2048"]
    assert main(["run", ADD, "--grid", "2", *arrays, "--convention", "cutile", "--print", "c"]) == 0
    assert capsys.readouterr().out.startswith("c = [1.000e+00 2.000e+00")
    arrays[3] = "b=ones:bf16:2048"
    assert main(["run", ADD, "--grid", "2", *arrays, "--convention", "cutile"]) == 2
    assert "'b' has type bf16, the kernel takes ptr<f32>" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, message",
    [
        (["--arg", "x=zeros:f99:3"], "unknown element type 'f99'"),
        (["--arg", "x=zeros:f32:3x"], "expected a shape"),
        (["--arg", "x=some"], "expected @FILE, KIND:TYPE:SHAPE, TYPE:VALUE or VALUE"),
        (["--arg", "i32:many"], "'many' is not a value of i32"),
        (["--arg", "x=@none.npy"], "cannot read 'none.npy'"),
        (["--arg", "x=i32:1", "--arg", "x=i32:2"], "'x' is given twice"),
        (["--print", "y"], "there is no argument 'y'"),
        (["--save", "y"], "expected NAME=FILE"),
        (["--grid", "a,b"], "expected X, X,Y or X,Y,Z"),
        (["--recorded", "launch.zip"], "needs a FILE or --recorded"),
        (["--arg", "x=zeros:f32"], "expected @FILE, KIND:TYPE:SHAPE, TYPE:VALUE or VALUE"),
        (["--arg", "x=zeros:f32:99999999999999"], "does not fit in memory"),
        (["--arg", "x=zeros:f32:9999999999999999999999"], "does not fit in memory"),
        (["--arg", "x=arange:f32:9999999999999999999999"], "does not fit in memory"),
        (["--arg", "x=zeros:f32:" + "1x" * 70 + "1"], "does not fit in memory"),
        (["--arg", "x=zeros:f4E2M1FN:3"], "two elements of f4E2M1FN share a byte"),
        (["--arg", "x=ones:f32:3", "--save", "x="], "expected NAME=FILE"),
        (["--arg", "x=ones:f32:3", "--save", "x=no/such/x.npy"], "there is no such directory"),
        (["--grid", "0"], "grid extents must be between 1 and 16777215, got 0"),
        (["--grid", "16777216"], "got 16777216"),
        (["--entry", "nope"], "the module has no kernel 'nope'"),
        (["--arg", "x=ones:f32:3"], "has 2 parameters"),
        (["--arg", "x=ones:f16:3", "--arg", "f32:1"], "'x' has type f16, the kernel takes ptr<f32>"),
        (["--arg", "x=ones:f32:3", "--arg", "n=f64:1"], "'n' has type f64, the kernel takes f32"),
        (["--arg", "x=ones:f32:3", "--arg", "n=i32:1"], "'n' has type i32, the kernel takes f32"),
        (["--arg", "x=f32:3", "--arg", "f32:1"], "argument 'x': expected an array"),
        (["--arg", "x=i64:0x10000000000000000", "--arg", "f32:1"], "0x10000000000000000 is not an address"),
    ],
)
def test_a_wrong_command_line(scale: str, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scale, *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--seed=-1", "--threads=0", "--batch=0", "--max-steps=0", "--max-seconds=nan", "--max-memory=-1"]
)
def test_a_number_that_makes_no_sense(scale: str, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["run", scale, option])
    assert "expected at least" in capsys.readouterr().err


HUGE = (
    b"\x93NUMPY\x01\0\x76\0"
    + b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000,), }".ljust(117)
    + b"\n"
)


@pytest.mark.parametrize(
    "content",
    [b"", b"\x93NUMPY", HUGE, b"PK\x05\x06" + bytes(18), b"PK\x03\x04junk", b"\x93NUMPY\x01\0\x02\0{("],
    ids=["empty", "cut", "huge", "npz", "zip", "header"],
)
def test_a_file_that_is_not_an_array(
    scale: str, content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    assert main(["run", scale, "--arg", f"x=@{path}", "--arg", "f32:1"]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_numpy_saves_types_that_it_lacks_as_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, array = tmp_path / "k.mlir", tmp_path / "x.npy"
    path.write_text(NOTHING)
    np.save(array, np.array([0x3F80, 0x4000], "<u2").view("V2"))
    assert main(["run", str(path), "--arg", f"x=@{array}", "--print", "x"]) == 0
    assert capsys.readouterr().out == "x = [1. 2.]\n"


def test_two_elements_of_four_bits_are_in_a_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "k.mlir", tmp_path / "x.npy"
    path.write_text("entry @k(%p: tile<ptr<f4E2M1FN>>) { return }")
    assert main(["run", str(path), "--arg", "x=arange:f4E2M1FN:2x2", "--print", "x", "--save", f"x={out}"]) == 0
    assert capsys.readouterr().out == "x = [[0. 1.]\n     [2. 3.]]\n"
    assert np.load(out).tolist() == [[0x20], [0x54]]


def test_json_has_neither_nan_nor_infinities(scale: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    array = tmp_path / "x.npy"
    np.save(array, np.array([1, np.nan, np.inf, -np.inf], np.float32))
    assert main(["run", scale, "--arg", f"x=@{array}", "--arg", "f32:1", "--print", "x", "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["arguments"] == {"x": [1.0, "NaN", "Infinity", "-Infinity"]}


def test_an_error_as_json_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(SCALE.replace("%v, %t0", 'print_tko "%d", %x : tile<i32> -> token\n  %v, %t0'))
    assert main(["run", str(path), "--grid", "4", "--arg", "x=ones:f32:3", "--arg", "f32:1", "--json"]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert (error["operation"], error["block"], error["element"]) == ("load_ptr_tko", [3, 0, 0], [])
    assert hex(error["address"]) in error["message"]
    assert (error["line"], error["printed"]) == (5, "0123")


def test_what_a_kernel_prints_is_part_of_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text('entry @k() { print_tko "hello\\n" -> token  return }')
    assert main(["run", str(path), "--grid", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["printed"] == "hello\nhello\n"


def test_a_fault_is_an_error_with_its_place(scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", scale, "--grid", "4", "--arg", "x=ones:f32:3", "--arg", "f32:1"]) == 1
    message = capsys.readouterr().err
    assert "0 bytes after the end of argument 'x' (12 bytes)" in message
    assert "in tile block (3, 0, 0)" in message


def test_what_cannot_be_executed_is_an_error_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(f"entry @k() {{\n  %v = constant <f32: 1.5> : tile<{'1x' * 40}f32>\n  return }}")
    assert main(["run", str(path)]) == 1
    assert "k.mlir:2:8: error: constant: tile<1x1x" in capsys.readouterr().err


def test_limits_stop_a_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(FOR_EVER)
    assert main(["run", str(path), "--max-steps", "50"]) == 1
    assert "stopped after 50 steps" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_stops_a_kernel_at_once(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(FOR_EVER)
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        [sys.executable, "-m", "tilery", "run", str(path)],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # what runs in the background ignores it
    )
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors == b""


def test_exact_asks_for_the_bits_of_the_reference_engine(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite", reason="needs pip install 'tilery[cpu]'")
    (tmp_path / "k.mlir").write_text(EXP)
    found = []
    for number, options in enumerate((["reference", "--exact"], ["cpu", "--exact"], ["cpu"])):
        out = tmp_path / f"{number}.npy"
        command = [
            "run",
            str(tmp_path / "k.mlir"),
            "--arg",
            "p=randn:f32:4096",
            "--save",
            f"p={out}",
            "--engine",
            *options,
        ]
        assert main(command) == 0
        found.append(np.load(out).tobytes())
    assert found[0] == found[1] != found[2]


def test_a_report_as_json_has_its_place_in_the_text(scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--grid", "4", "--arg", "x=ones:f32:3", "--arg", "f32:1", "--sanitize", "bounds", "--json"]
    assert main(["run", scale, *options]) == 1
    first, _ = json.loads(capsys.readouterr().out)["reports"]
    (place,) = first["places"]
    assert (place["file"], place["line"], place["column"]) == (scale, 4, 13)


def test_an_error_as_json_has_the_reports_before_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    check = '%no = constant <i1: false> : tile<i1>\n  assert %no, "no" : tile<i1>\n  return'
    path.write_text(SCALE.replace("return", check))
    options = ["--grid", "4", "--arg", "x=ones:f32:3", "--arg", "f32:1", "--sanitize", "bounds", "--json"]
    assert main(["run", str(path), *options]) == 1
    error = json.loads(capsys.readouterr().err)["error"]
    assert [report["places"][0]["line"] for report in error["reports"]] == [4, 6]


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_repeated_launches_have_the_same_inputs_and_are_timed(
    engine: str, scale: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if engine == "cpu":
        pytest.importorskip("llvmlite", reason="needs pip install 'tilery[cpu]'")
    args = ["run", scale, "--engine", engine, "--grid", "2", "--arg", "x=ones:f32:2", "--arg", "f32:3", "--repeat", "3"]
    assert main([*args, "--print", "x"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "x = [3. 3.]\n"
    assert re.match(
        r"3 launches by the clock of the host: median .* \(.* to .*\), \S+ GB/s, \S+ GFLOP/s\n$", captured.err
    )
    assert main([*args, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["repeat"]
    assert (found["launches"], found["flops"], found["bytes"]) == (3, 2, 16)
    assert len(found["seconds"]) == 3 and found["gigabytes_per_second"] > 0


def test_rates_of_unknown_work_are_not_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("llvmlite", reason="needs pip install 'tilery[cpu]'")
    path = tmp_path / "k.mlir"
    path.write_text("""entry @k(%n: tile<i32>, %p: tile<ptr<i32>>) {
      %zero = constant <i32: 0> : tile<i32>
      %one = constant <i32: 1> : tile<i32>
      %m, %t = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
      %f = itof %m signed : tile<i32> -> tile<f32>
      for %i in (%zero to %TO, step %one) : tile<i32> {
        %g = addf %f, %f : tile<f32>
      }
      return
    }""")
    text = path.read_text()
    for bound, said in (("n", "GFLOP/s"), ("m", "GB/s not counted, GFLOP/s not counted")):
        path.write_text(text.replace("%TO", f"%{bound}"))
        assert main(["run", str(path), "--engine", "cpu", "--arg", "5", "--arg", "ones:i32:1", "--repeat", "1"]) == 0
        err = capsys.readouterr().err
        assert said in err and ("not counted" in err) == (bound == "m")


@pytest.mark.parametrize("option", [["--sanitize", "all"], ["--watch", "x[0]"]])
def test_what_looks_at_launches_is_not_timed(option: list[str], scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["run", scale, "--grid", "2", "--arg", "x=ones:f32:2", "--arg", "f32:3", "--repeat", "3"]
    assert main([*args, *option]) == 2
    assert "--repeat measures plain launches" in capsys.readouterr().err


def test_a_missing_package_has_its_command(
    scale: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    for name in [name for name in sys.modules if name.startswith("tilery.engines.cpu")]:
        monkeypatch.delitem(sys.modules, name)
    assert main(["run", scale, "--engine", "cpu", "--arg", "ones:f32:1", "--arg", "f32:3"]) == 2
    assert "pip install 'tilery[cpu]'" in capsys.readouterr().err


def test_arguments_of_another_convention_are_suggested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>) { return }")
    assert main(["run", str(path), "--arg", "ones:f32:4"]) == 2
    assert "--convention cutile" in capsys.readouterr().err
