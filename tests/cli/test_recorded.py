"""Recorded launches: their arguments by name, with `tilery run` and `tilery info`."""

from __future__ import annotations

import ctypes
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.cli.main import main
from tilery.engines.common.cutile_abi import ArrayExtent
from tilery.engines.recorded import Recorded, capture, load, save

TEXT = """entry @double(%p: tile<ptr<f32>>, %rows: tile<i32>, %columns: tile<i32>, %s0: tile<i32>, %s1: tile<i32>,
    %by: tile<f32>) {
  %view = make_tensor_view %p, shape = [4, 2], strides = [2, 1] : tensor_view<4x2xf32, strides=[2,1]>
  %tiles = make_partition_view %view : partition_view<tile=(4x2), tensor_view<4x2xf32, strides=[2,1]>>
  %zero = constant <i32: 0> : tile<i32>
  %x, %t = load_view_tko weak %tiles[%zero, %zero]
    : partition_view<tile=(4x2), tensor_view<4x2xf32, strides=[2,1]>>, tile<i32> -> tile<4x2xf32>, token
  %r = reshape %by : tile<f32> -> tile<1x1xf32>
  %b = broadcast %r : tile<1x1xf32> -> tile<4x2xf32>
  %y = mulf %x, %b : tile<4x2xf32>
  %d = store_view_tko weak %y, %tiles[%zero, %zero] token = %t
    : tile<4x2xf32>, partition_view<tile=(4x2), tensor_view<4x2xf32, strides=[2,1]>>, tile<i32> -> token
  return
}
"""
NAMES = ["x", "x.shape[0]", "x.shape[1]", "x.strides[0]", "x.strides[1]", "by"]


@pytest.fixture
def launch(tmp_path: Path) -> Path:
    """A recorded launch of a kernel that doubles a matrix."""
    module = tilery.parse(TEXT)
    data = np.arange(8, dtype=np.float32).reshape(4, 2)
    values = [data.ctypes.data, 4, 2, 2, 1, 2.0]
    memory = [ArrayExtent("x", data.ctypes.data, data.nbytes, data.shape, (2, 1))]
    path = tmp_path / "launch.zip"
    save(path, capture(module, tilery.dumps(module), "double", (1, 1, 1), values, memory, NAMES))
    return path


def test_names_are_kept(launch: Path) -> None:
    assert load(launch).names == NAMES


def test_print_and_save_know_the_names(launch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "x.npy"
    words = ["run", "--recorded", str(launch), "--print", "x", "--print", "by", "--save", f"x={target}"]
    assert main(words) == 0
    assert capsys.readouterr().out == "x = [[ 0.  2.]\n     [ 4.  6.]\n     [ 8. 10.]\n     [12. 14.]]\nby = 2.\n"
    assert np.load(target).tolist() == [[0, 2], [4, 6], [8, 10], [12, 14]]
    assert main([*words[:5], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["arguments"] == {"x": [[0, 2], [4, 6], [8, 10], [12, 14]]}


def test_an_unknown_name_has_a_suggestion(launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--recorded", str(launch), "--print", "y"]) == 2
    assert "--print: there is no argument 'y', only x, x.shape[0]" in capsys.readouterr().err


def test_faults_name_the_argument(launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = load(launch)
    found.buffers[0].data = found.buffers[0].data[:-4]
    save(launch, found)
    assert main(["run", "--recorded", str(launch)]) == 1
    assert "x (28 bytes)" in capsys.readouterr().err


def test_info_shows_the_launch(launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(launch)]) == 0
    out = capsys.readouterr().out
    assert f"{launch}: recorded launch of bytecode 13.1, " in out
    assert "launch of @double, grid 1x1x1\n  x             tile<ptr<f32>>  4x2, 32 bytes\n" in out
    assert "  by            tile<f32>       2.0\n" in out
    assert "entry @double, " in out
    assert main(["info", "--json", str(launch)]) == 0
    facts = json.loads(capsys.readouterr().out)["launch"]
    assert facts["grid"] == [1, 1, 1]
    assert facts["arguments"][0] == {"name": "x", "type": "tile<ptr<f32>>", "shape": [4, 2], "bytes": 32}


def test_a_file_without_names_has_numbers(launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files of version 0.2.0 have no names."""
    with zipfile.ZipFile(launch) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    facts = json.loads(parts["launch.json"])
    del facts["names"]
    parts["launch.json"] = json.dumps(facts).encode()
    with zipfile.ZipFile(launch, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data)
    assert main(["run", "--recorded", str(launch), "--print", "0"]) == 0
    assert capsys.readouterr().out == "0 = [ 0.  2.  4.  6.  8. 10. 12. 14.]\n"


@pytest.mark.parametrize("sizes", [[1 << 40, 2, 2, 1], [4, 2, 1 << 62, 1], [-4, 2, 2, 1], [4, 2, -2, 1], [4, 2, 2, 2]])
def test_shapes_that_lie_show_the_buffer(sizes: list[int], launch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = load(launch)
    found.arguments[1:5] = sizes
    save(launch, found)
    status = main(["run", "--recorded", str(launch), "--print", "x"])
    shown = capsys.readouterr()
    assert (status in (1, 2) and "error" in shown.err) or shown.out.startswith("x = [ 0.  2.  4.")


@pytest.mark.parametrize(
    "sizes", [[5, 2, 1 << 60, 1], [5, 2, -(1 << 60), 1], [(1 << 33) + 1, 1, 1 << 29, 1], [2, 2, 1 << 60, 3 << 60]]
)
def test_strides_whose_sums_wrap_around_show_the_buffer(
    sizes: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """NumPy takes such a shape for one that fits."""
    module = tilery.parse(TEXT.replace("tile<i32>, %", "tile<i64>, %").replace("%s1: tile<i32>", "%s1: tile<i64>"))
    data = np.arange(8, dtype=np.float32)
    memory = [ArrayExtent("x", data.ctypes.data, data.nbytes, data.shape, (1,))]
    made = capture(module, tilery.dumps(module), "double", (1, 1, 1), [data.ctypes.data, *sizes, 2.0], memory, NAMES)
    save(tmp_path / "launch.zip", made)
    assert main(["run", "--recorded", str(tmp_path / "launch.zip"), "--print", "x"]) == 0
    assert capsys.readouterr().out == "x = [ 0.  2.  4.  6.  8. 10. 12. 14.]\n"


def test_other_zip_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", b"")
    assert main(["info", str(path)]) == 1
    assert "this is not a recorded launch" in capsys.readouterr().err


def test_names_fit_the_arguments() -> None:
    assert Recorded(b"", "k", (1, 1, 1), [1, 2], [], ["a", "b", "c"]).names == ["a", "b"]
    assert Recorded(b"", "k", (1, 1, 1), [1, 2], [], [""]).names == ["0", "1"]


@pytest.mark.parametrize(
    "words, shown",
    [
        (["dis"], "entry @double("),
        (["dis", "-g", "--style", "opt"], "entry @double("),
        (["check"], ""),
        (["info"], "launch of @double, grid 1x1x1"),
        (["opt"], "entry @double("),
        (["cost"], "mulf"),
        (["cost", "--run"], "a launch of 1 tile block"),
        (["dump"], "version 13."),
        (["compare", "--engines", "reference,reference"], "equal, bit for bit"),
        (["run", "--print", "by"], "by = 2."),
    ],
)
def test_verbs_that_take_a_kernel_take_a_recorded_launch(
    words: list[str], shown: str, launch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([words[0], str(launch), *words[1:]]) == 0, capsys.readouterr().err
    assert shown in capsys.readouterr().out


def test_diff_convert_and_python_take_the_kernel(
    launch: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, converted = tmp_path / "k.mlir", tmp_path / "k.tileirbc"
    text.write_text(TEXT)
    assert main(["diff", str(launch), str(text)]) == 0
    assert main(["convert", str(launch), "--version", "13.2", "-o", str(converted)]) == 0
    assert tilery.equal(tilery.load(launch), tilery.load(converted))
    assert tilery.load(launch.read_bytes()).entries[0].sym_name == "double"


def test_a_comparison_of_a_recorded_launch_names_the_array(
    launch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tilery.engines.reference.launch import ReferenceKernel

    run, count = ReferenceKernel.run, 0

    def worse(self: ReferenceKernel, started: Any) -> Any:
        nonlocal count
        stats, count = run(self, started), count + 1
        if count == 1:  # the first of two engines
            ctypes.c_float.from_address(started.buffers[0].address + 12).value += 1
        return stats

    monkeypatch.setattr(ReferenceKernel, "run", worse)
    assert main(["compare", str(launch), "--engines", "reference,reference"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("x: 1 of 8 elements of f32 differ\n  first at [1, 1]\n")
    assert "written by tile block (0, 0, 0)" in out
    assert main(["compare", str(launch), "--grid", "2"]) == 2
    assert main(["compare", str(launch), "--first-difference", "--passes", "cse"]) == 2


@pytest.mark.parametrize("content", [{}, {"kernel.tileirbc": b"x"}, {"launch.json": b"{}"}])
def test_kernels_of_other_zip_files_are_refused(
    content: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("some", b"")
        for name, data in content.items():
            opened.writestr(name, data)
    for data in (path.read_bytes(), path.read_bytes()[:40]):
        path.write_bytes(data)
        for verb in ("dis", "check", "info", "run", "compare"):
            assert main([verb, str(path)]) == 1
            assert "error: " in capsys.readouterr().err
