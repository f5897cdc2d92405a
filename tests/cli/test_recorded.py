"""Recorded launches: their arguments by name, with `tilery run` and `tilery info`."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tilery
from tilery.cli.main import main
from tilery.engines.common.cutile_abi import Extent
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
    memory = [Extent("x", data.ctypes.data, data.nbytes, data.shape, (2, 1))]
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


def test_other_zip_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", b"")
    assert main(["info", str(path)]) == 1
    assert "this is not a recorded launch" in capsys.readouterr().err


def test_names_fit_the_arguments() -> None:
    assert Recorded(b"", "k", (1, 1, 1), [1, 2], [], ["a", "b", "c"]).names == ["a", "b"]
    assert Recorded(b"", "k", (1, 1, 1), [1, 2], [], [""]).names == ["0", "1"]
