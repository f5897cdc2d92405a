"""Functions that are not computed to the last bit unless `exact` is asked for: how far off they may be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

COUNT = 1 << 16
TEXT = """entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %ta = make_tensor_view %a, shape = [COUNT], strides = [1] : TENSOR
  %tb = make_tensor_view %b, shape = [COUNT], strides = [1] : TENSOR
  %pa = make_partition_view %ta : VIEW
  %pb = make_partition_view %tb : VIEW
  %v, %t = load_view_tko weak %pa[%x] : VIEW, tile<i32> -> tile<SIZExf32>, token
  %w = FUNCTION %v : tile<SIZExf32>
  %s = store_view_tko weak %w, %pb[%x] token = %t : tile<SIZExf32>, VIEW, tile<i32> -> token
  return
}"""


def arguments() -> Any:
    """Numbers of all sizes, most of them where the results are neither 0 nor infinite, and the special ones."""
    rng = np.random.default_rng(3)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 88.7, 88.8, -103.9, -104.0, 128.0, -149.0, -150.0, 3e38]
    numbers = np.concatenate([rng.uniform(-160, 130, COUNT // 2), rng.standard_normal(COUNT // 4), special])
    bits = rng.integers(0, 1 << 32, COUNT - numbers.size, np.uint32)
    return np.concatenate([numbers.astype(np.float32), bits.view(np.float32)])


@pytest.mark.parametrize("function", ["exp", "exp2"])
def test_one_unit_in_the_last_place(function: str) -> None:
    numbers, found = arguments(), {}
    for size in (1, 4, 16, 64):
        text = TEXT.replace("VIEW", f"partition_view<tile=({size}), TENSOR>").replace("FUNCTION", function)
        text = text.replace("TENSOR", f"tensor_view<{COUNT}xf32, strides=[1]>").replace("COUNT", str(COUNT))
        module = tilery.parse(text.replace("SIZE", str(size)))
        found[size] = np.zeros(COUNT, np.float32)
        tilery.compile(module, engine="cpu").launch((COUNT // size,), [numbers, found[size]])
    exact = np.zeros(COUNT, np.float32)
    tilery.compile(module).launch((COUNT // size,), [numbers, exact])
    fast = found[64]
    nan = np.isnan(exact)
    assert (np.isnan(fast) == nan).all()
    distance = np.abs(fast.view(np.int32).astype(np.int64) - exact.view(np.int32))
    assert distance[~nan].max() == 1
    assert [size for size, made in found.items() if made.tobytes() != fast.tobytes()] == []
