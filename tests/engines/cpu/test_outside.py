"""Tiles that lie outside of their tensors, wholly or in part: the reference engine's bits, with less work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

TYPES = {"bf16": np.uint16, "f16": np.float16, "f32": np.float32, "f64": np.float64}
LEFT = "tensor_view<24x24xT, strides=[STEPS]>"
SUMS = "tensor_view<32x32xACC, strides=[32,1]>"
KERNEL = f"""entry @k(%a: tile<ptr<T>>, %b: tile<ptr<T>>, %c: tile<ptr<ACC>>, %d: tile<ptr<ACC>>, %n: tile<i32>) {{
  %i, %j, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %ta = make_tensor_view %a, shape = [24, 24], strides = [STEPS] : {LEFT}
  %tb = make_tensor_view %b, shape = [24, 24], strides = [24, 1] : tensor_view<24x24xT, strides=[24,1]>
  %tc = make_tensor_view %c, shape = [32, 32], strides = [32, 1] : {SUMS}
  %td = make_tensor_view %d, shape = [32, 32], strides = [32, 1] : {SUMS}
  %pa = make_partition_view %ta : partition_view<tile=(16x16), PAD{LEFT}>
  %pb = make_partition_view %tb : partition_view<tile=(16x16), tensor_view<24x24xT, strides=[24,1]>>
  %pc = make_partition_view %tc : partition_view<tile=(16x16), {SUMS}>
  %pd = make_partition_view %td : partition_view<tile=(16x16), {SUMS}>
  %o, %t = load_view_tko weak %pc[%i, %j] : partition_view<tile=(16x16), {SUMS}>, tile<i32> -> tile<16x16xACC>, token
  %e = for %k in (%zero to %n, step %one) : tile<i32> iter_values(%s = %o) -> (tile<16x16xACC>) {{
    %l, %u = load_view_tko weak %pa[%i, %k] : partition_view<tile=(16x16), PAD{LEFT}>, tile<i32> -> tile<16x16xT>, token
    %r, %v = load_view_tko weak %pb[%k, %j] : partition_view<tile=(16x16), tensor_view<24x24xT, strides=[24,1]>>, tile<i32> -> tile<16x16xT>, token
    %m = mmaf %l, %r, %s : tile<16x16xT>, tile<16x16xT>, tile<16x16xACC>
    continue %m : tile<16x16xACC>
  }}
  %w = store_view_tko weak %e, %pd[%i, %j] : tile<16x16xACC>, partition_view<tile=(16x16), {SUMS}>, tile<i32> -> token
  return
}}"""  # noqa: E501


@pytest.mark.parametrize("padding", ["", "padding_value = zero, ", "padding_value = nan, "])
@pytest.mark.parametrize("steps", ["24,1", "1,24"])
@pytest.mark.parametrize(("narrow", "wide"), [("bf16", "f32"), ("f16", "f16"), ("f32", "f32"), ("f64", "f64")])
def test_products_of_tiles_outside(narrow: str, wide: str, steps: str, padding: str) -> None:
    """Steps of K beyond the tensors only add zeros: a negative zero in the accumulator becomes positive."""
    text = (
        KERNEL.replace("STEPS", steps)
        .replace("ACC", wide)
        .replace("xT", f"x{narrow}")
        .replace("ptr<T>", f"ptr<{narrow}>")
    )
    module = tilery.parse(text.replace("PAD", padding))
    rng = np.random.default_rng(5)
    floats: list[Any] = [rng.integers(-3, 4, (24, 24)).astype(np.float32) for _ in range(2)]
    floats[0][3, 3] = floats[1][20, 1] = np.inf
    operands = [(x.view(np.uint32) >> 16 if narrow == "bf16" else x).astype(TYPES[narrow]) for x in floats]
    start = np.full((32, 32), -0.0, TYPES[wide])
    start[5, 5:8] = np.nan, np.inf, 1
    for count in (1, 2, 5):
        expected = result("reference", module, operands, start, count)
        found = result("cpu", module, operands, start, count)
        assert found.tobytes() == expected.tobytes()


def result(engine: Any, module: Any, operands: list[Any], start: Any, count: int) -> Any:
    out = np.ones_like(start)
    tilery.compile(module, "k", engine=engine).launch((2, 2), [*operands, start, out, count])
    return out
