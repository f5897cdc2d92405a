"""`tilery compare`: the first difference, who wrote it, and how far apart results are."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.cli.comparison import compare_arrays, distances, histogram, operations_behind
from tilery.cli.main import main
from tilery.engines import registry
from tilery.engines.reference import launch as reference
from tilery.types import BF16, F32, F64, I8, I32, Scalar

SQUARE = """entry @square(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {
  %b, %c, %d = get_tile_block_id : tile<i32>
  %p = offset %x, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %q = offset %y, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t0 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %w = mulf %v, %v : tile<f32>
  %t1 = store_ptr_tko weak %q, %w : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""
ARGS = ["--grid", "8", "--arg", "x=arange:f32:8", "--arg", "y=zeros:f32:8"]


class Other:
    """An engine that makes element 5 of the second argument one ULP larger, and element 6 NaN."""

    @staticmethod
    def load(module: Any, **options: Any) -> Any:
        class Kernel(reference.ReferenceKernel):
            engine = "other"

            def run(self, launch: Any) -> Any:
                stats = super().run(launch)
                args = launch.args
                args[1][5] = np.nextafter(args[1][5], np.float32(np.inf))
                args[1][6] = np.nan
                return stats

        loaded = reference.ReferenceLoaded(module)
        loaded.kernel = lambda entry=None: Kernel(loaded, module.entries[0])  # type: ignore[method-assign]  # a fake
        return loaded


@pytest.fixture
def square(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(registry.ENGINES, "other", registry.EngineRow("other", "other_engine", "differs"))
    monkeypatch.setitem(sys.modules, "other_engine", Other)
    path = tmp_path / "square.mlir"
    path.write_text(SQUARE)
    return str(path)


def test_equal_results(square: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", square, "--engines", "reference,reference", *ARGS]) == 0
    assert capsys.readouterr().out == "equal, bit for bit\n"


def test_the_first_difference_and_who_wrote_it(square: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", square, "--engines", "reference,other", *ARGS]) == 1
    out = capsys.readouterr().out
    assert "y: 2 of 8 elements of f32 differ\n  first at [5]\n" in out
    assert "reference  25.0 (0x41c80000)" in out and "other      25.00000" in out
    assert "written by tile block (5, 0, 0)" in out and "    store_ptr_tko\n" in out and "    mulf\n" in out
    assert "      1          1  ###" in out and "    NaN          1  ###" in out
    assert "x:" not in out


def test_the_same_as_json(square: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", square, "--engines", "reference,other", "--json", *ARGS]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["engines"] == ["reference", "other"] and not found["equal"]
    (difference,) = found["differences"]
    assert difference["first"]["index"] == [5] and difference["first"]["block"] == [5, 0, 0]
    assert difference["ulps"] == {"1": 1, "NaN": 1}
    assert [o["operation"] for o in difference["first"]["operations"]][:3] == ["store_ptr_tko", "offset", "mulf"]


@pytest.mark.parametrize("engines", ["reference", "reference,nothing", "a,b,c", ""])
def test_engines_must_be_two_that_exist(square: str, engines: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", square, "--engines", engines, *ARGS]) == 2
    assert "--engines: expected two of" in capsys.readouterr().err


def test_a_kernel_that_fails_is_reported_as_in_run(square: str, capsys: pytest.CaptureFixture[str]) -> None:
    args = ["--grid", "9", "--arg", "x=arange:f32:8", "--arg", "y=zeros:f32:8"]
    assert main(["compare", square, "--engines", "reference,reference", *args]) == 1
    assert "outside every buffer" in capsys.readouterr().err


@pytest.mark.parametrize(
    "element, left, right, apart",
    [
        (F32, [1.0, -1.0, 0.0], [np.nextafter(np.float32(1), np.float32(2)), -1.0, -0.0], [1, 0, 0]),
        (F64, [1.0], [np.nextafter(1.0, 0.0)], [1]),
        (F32, [-1e-45], [1e-45], [2]),
        (I32, [-3], [4], [7]),
        (I8, [-128], [127], [255]),
    ],
)
def test_distances(element: Scalar, left: list[Any], right: list[Any], apart: list[int]) -> None:
    dtype = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i8": np.int8}[element.name]
    found, nan = distances(element, np.array(left, dtype), np.array(right, dtype))
    assert list(found) == apart and not nan.any()


def test_bits_of_types_that_numpy_lacks_are_compared() -> None:
    left, right = np.array([0x3F80, 0x4000], np.uint16), np.array([0x3F80, 0x4003], np.uint16)
    found = compare_arrays("x", BF16, left, right)
    assert found is not None and found.index == (1,) and found.values == (2.0, 2.046875)
    assert found.ulps == {"3 to 4": 1} and compare_arrays("x", BF16, left, left) is None
    assert histogram(F32, np.array([np.nan], np.float32), np.array([np.nan], np.float32)) == {"0": 1}


def test_the_operations_behind_a_store_are_bounded() -> None:
    chain = "\n".join(f"  %v{n + 1} = addf %v{n}, %v{n} : tile<f32>" for n in range(100))
    text = f"""entry @k(%p: tile<ptr<f32>>, %v0: tile<f32>) {{
{chain}
  %t = store_ptr_tko weak %p, %v100 : tile<ptr<f32>>, tile<f32> -> token
  return
}}"""
    store = tilery.parse(text).entries[0].body.ops[-2]
    assert [o.name for o in operations_behind(store)] == ["store_ptr_tko"] + ["addf"] * 23
