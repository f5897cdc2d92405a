"""Poisoned padding: floats that a load leaves undefined are NaN on request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from support.contract import arguments, random_case
from tilery.rewrite.poison import poison_padding

VIEW = "partition_view<tile=(8), PADDING tensor_view<?xf32, strides=[1]>>"
EDGE = """cuda_tile.module @m { entry @k(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<i32>) {
  %z = constant <i32: 0> : tile<i32>
  %tx = make_tensor_view %x, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %vx = make_partition_view %tx : VIEW
  %ty = make_tensor_view %y, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>
  %vy = make_partition_view %ty : partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>
  %a, %u = load_view_tko weak %vx[%z] : VIEW, tile<i32> -> tile<8xf32>, token
  %w = store_view_tko weak %a, %vy[%z] token = %u : tile<8xf32>,
    partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>, tile<i32> -> token
  return } }""".replace("VIEW", VIEW)
MASKED = """cuda_tile.module @m { entry @k(%x: tile<ptr<TYPE>>, %y: tile<ptr<TYPE>>, %n: tile<i32>) {
  %i = iota : tile<8xi32>
  %n1 = reshape %n : tile<i32> -> tile<1xi32>
  %n8 = broadcast %n1 : tile<1xi32> -> tile<8xi32>
  %m = cmpi less_than %i, %n8, signed : tile<8xi32> -> tile<8xi1>
  %x1 = reshape %x : tile<ptr<TYPE>> -> tile<1xptr<TYPE>>
  %x8 = broadcast %x1 : tile<1xptr<TYPE>> -> tile<8xptr<TYPE>>
  %px = offset %x8, %i : tile<8xptr<TYPE>>, tile<8xi32> -> tile<8xptr<TYPE>>
  %y1 = reshape %y : tile<ptr<TYPE>> -> tile<1xptr<TYPE>>
  %y8 = broadcast %y1 : tile<1xptr<TYPE>> -> tile<8xptr<TYPE>>
  %py = offset %y8, %i : tile<8xptr<TYPE>>, tile<8xi32> -> tile<8xptr<TYPE>>
  %a, %u = load_ptr_tko weak %px, %m : tile<8xptr<TYPE>>, tile<8xi1> -> tile<8xTYPE>, token
  %w = store_ptr_tko weak %py, %a token = %u : tile<8xptr<TYPE>>, tile<8xTYPE> -> token
  return } }"""


@pytest.fixture(params=["reference", "cpu"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "cpu":
        pytest.importorskip("llvmlite")
    name: str = request.param
    return name


def run(text: str, engine: str, poison: bool, dtype: type = np.float32) -> list[float]:
    """Load 5 elements of ones with a tile of 8."""
    y: Any = np.zeros(8, dtype)
    tilery.compile(tilery.parse(text), engine=engine, poison=poison).launch(1, [np.ones(5, dtype), y, 5])
    return [float(n) for n in y]


@pytest.mark.parametrize("text", [EDGE.replace("PADDING", ""), MASKED.replace("TYPE", "f32")], ids=["view", "mask"])
def test_undefined_floats_are_nan_on_request(text: str, engine: str) -> None:
    assert run(text, engine, False) == [1.0] * 5 + [0.0] * 3
    poisoned = run(text, engine, True)
    assert poisoned[:5] == [1.0] * 5 and np.isnan(poisoned[5:]).all()


def test_padding_that_is_defined_stays(engine: str) -> None:
    assert run(EDGE.replace("PADDING", "padding_value = zero,"), engine, True) == [1.0] * 5 + [0.0] * 3


def test_integers_stay(engine: str) -> None:
    assert run(MASKED.replace("TYPE", "i32"), engine, True, np.int32) == [1] * 5 + [0] * 3


def test_the_module_itself_does_not_change() -> None:
    module = tilery.parse(EDGE.replace("PADDING", ""))
    before = tilery.show(module)
    assert "padding_value = nan" in tilery.show(poison_padding(module))
    assert tilery.show(module) == before


@pytest.mark.parametrize("seed", range(20))
def test_random_modules_stay_legal(seed: int) -> None:
    """What is poisoned is legal, and runs."""
    module, contract = random_case(seed)
    made = poison_padding(module)
    assert not tilery.verify(made)
    for number, launch in enumerate(contract.launches):
        args = arguments(launch, seed + number)
        tilery.compile(made, launch.entry).launch(launch.grid, args, output=lambda text: None)


def test_the_command_has_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tilery.cli.main import main

    file = tmp_path / "k.mlir"
    file.write_text(EDGE.replace("PADDING", ""))
    words = ["run", str(file), "--arg", "ones:f32:5", "--arg", "y=zeros:f32:8", "--arg", "i32:5", "--print", "y"]
    assert main([*words, "--poison"]) == 0
    assert "nan" in capsys.readouterr().out
