"""The hint `nan` in scans: an element depends on all elements before it."""

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
