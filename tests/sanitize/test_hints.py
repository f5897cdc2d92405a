"""The hint `nan`: what elements depend on, in scans, products and operations that move them."""

from __future__ import annotations

import numpy as np
import pytest

import tilery
from tilery.sanitize import Sanitizer

SCAN = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {{
  %i = iota : tile<4xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p4 = broadcast %p1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %from = offset %p4, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q4 = broadcast %q1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %to = offset %q4, %i : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %x, %t = load_ptr_tko weak %from : tile<4xptr<f32>> -> tile<4xf32>, token
  %sums = scan %x dim=0 reverse={reverse} identities=[0.0 : f32] : tile<4xf32> -> tile<4xf32>
  (%a: tile<f32>, %b: tile<f32>) {{
    %c = addf %a, %b : tile<f32>
    yield %c : tile<f32>
  }}
  %u = store_ptr_tko weak %to, %sums token=%t : tile<4xptr<f32>>, tile<4xf32> -> token
  return
}}"""


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("reverse", ["false", "true"])
@pytest.mark.parametrize(
    ("values", "reported"),
    [([1, np.nan, 2, 3], False), ([1, np.inf, 2, 3], False), ([np.inf, -np.inf, 2, 3], True), ([3e38] * 4, True)],
)
def test_what_a_scan_makes_and_what_it_passes_on(
    engine: str, reverse: str, values: list[float], reported: bool
) -> None:
    if engine == "cpu":
        pytest.importorskip("llvmlite")
    given = np.array(values[::-1] if reverse == "true" else values, np.float32)
    sanitizer = Sanitizer("nan")
    kernel = tilery.compile(tilery.parse(SCAN.format(reverse=reverse)), engine=engine)
    kernel.launch(1, [given, np.zeros(4, np.float32)], sanitize=sanitizer)
    assert bool(sanitizer.reports) is reported


SQUARE = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %one = constant <f32: 1.0> : tile<4x4xf32>
  %two = constant <f32: 1.0> : tile<2x4xf32>
  %tp = make_tensor_view %p, shape = [4, 4], strides = [4, 1] : tensor_view<4x4xf32, strides=[4,1]>
  %tq = make_tensor_view %q, shape = [4, 4], strides = [4, 1] : tensor_view<4x4xf32, strides=[4,1]>
  %from = make_partition_view %tp : VIEW
  %to = make_partition_view %tq : VIEW
  %x, %t = load_view_tko weak %from[%z, %z] : VIEW, tile<i32> -> tile<4x4xf32>, token
  BODY
  %u = store_view_tko weak %y, %to[%z, %z] : tile<4x4xf32>, VIEW, tile<i32> -> token
  return
}""".replace("VIEW", "partition_view<tile=(4x4), tensor_view<4x4xf32, strides=[4,1]>>")
MOVES = {
    "permute": "%y = permute %x [1, 0] : tile<4x4xf32> -> tile<4x4xf32>",
    "insert": "%y = insert %two, %x[%z, %z] : tile<2x4xf32>, tile<4x4xf32>",
    "left": "%y = mmaf %x, %one, %one : tile<4x4xf32>, tile<4x4xf32>, tile<4x4xf32>",
    "right": "%y = mmaf %one, %x, %one : tile<4x4xf32>, tile<4x4xf32>, tile<4x4xf32>",
}


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("move", MOVES)
def test_what_moves_or_multiplies_a_nan_does_not_make_it(engine: str, move: str) -> None:
    """The result has NaN where the operand, which has the same shape, has a number."""
    if engine == "cpu":
        pytest.importorskip("llvmlite")
    given = np.ones((4, 4), np.float32)
    given[3, 1] = np.nan
    sanitizer = Sanitizer("nan")
    kernel = tilery.compile(tilery.parse(SQUARE.replace("BODY", MOVES[move])), engine=engine)
    kernel.launch(1, [given, np.zeros((4, 4), np.float32)], sanitize=sanitizer)
    assert not sanitizer.reports


def test_a_product_of_finite_numbers_is_reported_beside_a_nan() -> None:
    """Another row has the NaN, and this one overflows."""
    given = np.full((4, 4), 3e38, np.float32)
    given[3, 1] = np.nan
    sanitizer = Sanitizer("nan")
    kernel = tilery.compile(tilery.parse(SQUARE.replace("BODY", MOVES["left"])))
    kernel.launch(1, [given, np.zeros((4, 4), np.float32)], sanitize=sanitizer)
    assert "finite numbers make an infinity" in str(next(iter(sanitizer.reports)))
