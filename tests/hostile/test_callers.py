"""Arguments of launches: a clear error for anything unsuitable, and no write outside them."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from support.hostile.growth import peak_of
from tilery import TileError
from tilery.engines import recorded
from tilery.engines.common.errors import ExecutionError

STORE = """
entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %i: tile<i32>) {
  %at = offset %p, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %one = constant <i32: 1> : tile<i32>
  %t = store_ptr_tko weak %at, %one : tile<ptr<i32>>, tile<i32> -> token
  return
}
"""
SWAP = STORE.replace(
    "%t = store_ptr_tko weak %at, %one : tile<ptr<i32>>, tile<i32> -> token",
    "%old, %t = atomic_rmw_tko relaxed device %at, add, %one : tile<ptr<i32>>, tile<i32> -> tile<i32>, token",
)
EMPTY = "entry @k() { return }"
ENGINES = [
    "reference",
    pytest.param("cpu", marks=pytest.mark.skipif(find_spec("llvmlite") is None, reason="needs llvmlite")),
]


def launch(text: str, *arguments: Any, **options: Any) -> None:
    tilery.compile(tilery.parse(text)).launch(1, arguments, **options)


@pytest.mark.parametrize("text", [STORE, SWAP], ids=["store", "atomic"])
def test_a_read_only_array_stays_so_where_it_overlaps_a_writable_one(text: str) -> None:
    whole = np.zeros(16, np.int32)
    fixed = whole[4:8]
    fixed.flags.writeable = False
    for index in range(16):
        if 4 <= index < 8:
            with pytest.raises(ExecutionError, match="is in argument 1, which is read-only"):
                launch(text, whole, fixed, index)
        else:
            launch(text, whole, fixed, index)
    assert whole.tolist() == [1] * 4 + [0] * 4 + [1] * 8


@pytest.mark.parametrize("text", [STORE, SWAP], ids=["store", "atomic"])
def test_the_gaps_of_a_strided_array_are_not_writable(text: str) -> None:
    whole = np.zeros((4, 8), np.int32)
    other = np.zeros(1, np.int32)
    view = whole[1:3, 2:5]
    for index in range(11):
        if index in (0, 1, 2, 8, 9, 10):
            launch(text, view, other, index)
        else:
            with pytest.raises(ExecutionError, match="is in a gap between elements of argument 0"):
                launch(text, view, other, index)
    view[...] = 0
    assert not whole.any()
    launch(text, whole[::-1], whole, 0)  # no gaps, and a second array that covers them


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"buffers": [np.array([object()])]}, "an array of object cannot be passed: it holds Python objects"),
        ({"buffers": np.zeros(3)}, "buffers must be a list, got a ndarray"),
        ({"buffers": 3}, "buffers must be a list, got a int"),
        ({"batch": 1.5}, "a batch must be an integer, got 1.5"),
        ({"batch": "2"}, "a batch must be an integer, got '2'"),
        ({"batch": 0}, "a batch needs at least one tile block, got 0"),
        ({"threads": 1.5}, "the number of threads must be an integer, got 1.5"),
        ({"threads": "all"}, "the number of threads must be an integer, got 'all'"),
        ({"threads": 100_000}, "a launch can use at most 1024 threads, got 100000"),
        ({"names": "x"}, "names must be a list of strings, got 'x'"),
        ({"names": [3]}, "names must be a list of strings"),
        ({"names": 3}, "names must be a list of strings"),
        ({"limits": 3}, "limits must be a Limits, got 3"),
        ({"output": "stdout"}, "output must be a function, got 'stdout'"),
        ({"progress": True}, "progress must be a function, got True"),
        ({"machine": 1}, "machine must be a function, got 1"),
    ],
    ids=lambda given: given if isinstance(given, str) else next(iter(given)),
)
@pytest.mark.parametrize("engine", ENGINES)
def test_wrong_options_get_a_clear_error(options: dict[str, Any], message: str, engine: str) -> None:
    kernel = tilery.compile(tilery.parse(EMPTY), engine=engine)
    with pytest.raises(TileError, match=message.replace("(", r"\(")):
        kernel.launch(1, **options)


def test_arrays_in_a_list_are_checked_like_others() -> None:
    data = np.zeros(33, np.uint8)
    odd = data[1:33] if data.ctypes.data % 4 == 0 else data[:32]
    kernel = tilery.compile(tilery.parse("entry @k(%p: tile<ptr<i64>>, %n: tile<i32>) { return }"))
    fine = np.zeros(8, np.int32)
    kernel.launch(1, [[fine, fine]], convention="cutile")
    with pytest.raises(TileError, match=r"argument 0, item 1: the array at 0x\w+ is not aligned to its elements of 4"):
        kernel.launch(1, [[fine, odd.view(np.int32)]], convention="cutile")
    with pytest.raises(TileError, match="argument 'xs', item 0: an array of int32 in non-native byte order"):
        kernel.launch(1, [[fine.astype(">i4")]], names=["xs"], convention="cutile")


@pytest.mark.parametrize("engine", ENGINES[1:])
def test_a_bound_launch_keeps_the_words_of_a_list(engine: str) -> None:
    text = """entry @k(%p: tile<ptr<i64>>, %n: tile<i32>, %out: tile<ptr<i64>>, %s: tile<i64>, %t: tile<i64>) {
      %word, %t0 = load_ptr_tko weak %p : tile<ptr<i64>> -> tile<i64>, token
      %t1 = store_ptr_tko weak %out, %word : tile<ptr<i64>>, tile<i64> -> token
      return
    }"""
    kernel: Any = tilery.compile(tilery.parse(text), engine=engine)
    x, out = np.zeros(4, np.int64), np.zeros(1, np.int64)
    again = kernel.bind(1, [[x], out], convention="cutile")
    taken = [np.full(8 * 3 + 16 + 1024, 255, np.uint8) for _ in range(50)]  # the memory that would be free
    again()
    assert out[0] == x.ctypes.data and len(taken) == 50


def archive(path: Path, size: int, facts: str = "") -> str:
    """A recorded launch whose buffer is zeros, which compress well."""
    described = {"names": ["x"], "size": size, "remainder": 0, "pointers": []}
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        known = {"format": 1, "entry": "k", "grid": [1, 1, 1], "arguments": [], "buffers": [described]}
        file.writestr("launch.json", facts or json.dumps(known))
        file.writestr("kernel.tileirbc", tilery.dumps(tilery.parse(EMPTY)))
        file.writestr("buffer0", bytes(size))
    path.write_bytes(data.getvalue())
    return str(path)


def test_a_recorded_launch_is_limited_in_memory(tmp_path: Path) -> None:
    name = archive(tmp_path / "launch.zip", 1 << 26)
    assert Path(name).stat().st_size < 1 << 18

    def load() -> None:
        with pytest.raises(TileError, match=r"needs 134.* bytes, the limit is 1000000"):
            recorded.load(name, memory=1_000_000)

    assert peak_of(load) < 1 << 22
    assert len(recorded.load(name).place().buffers) == 1


def test_the_description_of_a_recorded_launch_is_limited(tmp_path: Path) -> None:
    name = archive(tmp_path / "launch.zip", 1, facts="[" * (17 << 20))
    with pytest.raises(TileError, match=r"launch\.json is too large"):
        recorded.load(name)


def test_the_command_limits_a_recorded_launch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tilery.cli.main import main

    assert main(["run", "--recorded", archive(tmp_path / "a.zip", 1 << 20), "--max-memory", "1000"]) == 1
    assert "the limit is 1000" in capsys.readouterr().err
    assert main(["run", "--recorded", archive(tmp_path / "a.zip", 1 << 20)]) == 0
    assert sys.stdout is not None


FAR_STORES = {
    "partition": (4, "%a", "tile<i64>", ""),
    "gather_scatter": (1, "%i", "tile<1xi64>", ", sparse_dim=0"),
}


@pytest.mark.parametrize("form", FAR_STORES)
@pytest.mark.parametrize("index", [1 << 60, 1 << 61, 1 << 62, (1 << 63) - 1])
def test_indices_that_no_memory_has_are_faults(form: str, index: int) -> None:
    size, at, type, last = FAR_STORES[form]
    view = f"{form}_view<tile=({size}), tensor_view<?xi32, strides=[1]>{last}>"
    text = f"""
entry @k(%p: tile<ptr<i32>>, %a: tile<i64>, %n: tile<i64>) {{
  %v = constant <i32: 7> : tile<{size}xi32>
  %tensor = make_tensor_view %p, shape = [%n], strides = [1] : tile<i64> -> tensor_view<?xi32, strides=[1]>
  %view = make_{form}_view %tensor : {view}
  %i = reshape %a : tile<i64> -> tile<1xi64>
  %t = store_view_tko weak %v, %view[{at}] : tile<{size}xi32>, {view}, {type} -> token
  return
}}"""
    array = np.zeros(64, np.int32)
    with pytest.raises(ExecutionError, match="is outside every buffer"):
        launch(text, array, index, (1 << 63) - 1)
    launch(text, array, index, 64)  # outside of the tensor: nothing is stored
    assert not array.any()


class Raises:
    """An object whose attributes raise what no caller expects."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["f32", "ptr<f32>"])
def test_an_argument_that_raises_is_an_error(kind: str, engine: str) -> None:
    kernel = tilery.compile(tilery.parse(f"entry @k(%x: tile<{kind}>) {{ return }}"), engine=engine)
    with pytest.raises(TileError, match=r"argument 0: .*this Raises: no"):
        kernel.launch(1, [Raises()])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tile_of_many_dimensions_is_refused(engine: str) -> None:
    text = f"entry @k() {{ %t = constant <i32: 1> : tile<{'1x' * 65}i32> return }}"
    with pytest.raises(TileError, match="has more than 31 dimensions"):
        tilery.compile(tilery.parse(text), engine=engine).launch(1)
