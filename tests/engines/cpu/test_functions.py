"""Functions that no finite arithmetic gives exactly: how far from the reference engine they may be."""

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
  %w = FUNCTION : tile<SIZExf32>
  %s = store_view_tko weak %RESULT, %pb[%x] token = %t : tile<SIZExf32>, VIEW, tile<i32> -> token
  return
}"""


def arguments() -> Any:
    """Numbers of all sizes, most of them where the results are neither 0 nor infinite, and the special ones."""
    rng = np.random.default_rng(3)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 88.7, 88.8, -103.9, -104.0, 128.0, -149.0, -150.0, 3e38]
    numbers = np.concatenate([rng.uniform(-160, 130, COUNT // 2), rng.standard_normal(COUNT // 4), special])
    bits = rng.integers(0, 1 << 32, COUNT - numbers.size, np.uint32)
    return np.concatenate([numbers.astype(np.float32), bits.view(np.float32)])


def computed(function: str, size: int, numbers: Any, engine: str) -> Any:
    text = TEXT.replace("VIEW", f"partition_view<tile=({size}), TENSOR>").replace("FUNCTION", function)
    text = text.replace("RESULT", "u" if "%u" in function else "w")
    text = text.replace("TENSOR", f"tensor_view<{COUNT}xf32, strides=[1]>").replace("COUNT", str(COUNT))
    result = np.zeros(COUNT, np.float32)
    kernel = tilery.compile(tilery.parse(text.replace("SIZE", str(size))), engine=engine)
    kernel.launch((COUNT // size,), [numbers, result])
    return result


@pytest.mark.parametrize("function", ["exp", "exp2"])
def test_one_unit_in_the_last_place(function: str) -> None:
    numbers = arguments()
    found = {size: computed(f"{function} %v", size, numbers, "cpu") for size in (1, 4, 16, 64)}
    exact, fast = computed(f"{function} %v", 64, numbers, "reference"), found[64]
    nan = np.isnan(exact)
    assert (np.isnan(fast) == nan).all()
    distance = np.abs(fast.view(np.int32).astype(np.int64) - exact.view(np.int32))
    assert distance[~nan].max() == 1
    assert [size for size, made in found.items() if made.tobytes() != fast.tobytes()] == []


def test_powers_halfway_between_two_numbers() -> None:
    numbers = np.resize(np.arange(1, 129, dtype=np.float32) / 8, COUNT)
    for count in (0.5, 2.0, 5.0, 7.0, -3.0):
        function = f"constant <f32: {count}> : tile<64xf32>\n  %u = fpowf %v, %w"
        assert (
            computed(function, 64, numbers, "cpu").tobytes() == computed(function, 64, numbers, "reference").tobytes()
        )


@pytest.mark.parametrize("function", ["sin %v", "cos %v", "tan %v", "fpowf %v, %v"])
def test_the_bits_of_the_reference_engine(function: str) -> None:
    numbers = arguments()
    exact = computed(function, 64, numbers, "reference")
    assert np.isfinite(exact).sum() > COUNT // 4
    for size in (1, 16, 64):
        assert computed(function, size, numbers, "cpu").tobytes() == exact.tobytes()
