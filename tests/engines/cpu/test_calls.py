"""Operations without code of their own call the reference engine, and are counted."""

from __future__ import annotations

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

from tilery.engines.cpu import launch

TEXT = """
cuda_tile.module @m {
  entry @k(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>) {
    %i = iota : tile<8xi32>
    %a = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
    %b = broadcast %a : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %p = offset %b, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
    %c = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>
    %d = broadcast %c : tile<1xptr<f32>> -> tile<8xptr<f32>>
    %q = offset %d, %i : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
    %v, %t = load_ptr_tko weak %p : tile<8xptr<f32>> -> tile<8xf32>, token
    %s = atan2 %v, %v : tile<8xf32>
    print_tko "%f\\n", %s : tile<8xf32> -> token
    %u = store_ptr_tko weak %q, %s : tile<8xptr<f32>>, tile<8xf32> -> token
  }
}
"""


def test_results_and_text_are_those_of_the_reference() -> None:
    module = tilery.parse(TEXT)
    kernel = launch.load(module).kernel()
    assert kernel.lowered is not None and [o.name for o in kernel.lowered.callbacks] == ["atan2", "print_tko"]
    found = []
    for each in (kernel, tilery.compile(module)):
        x, y, text = np.linspace(-1e6, 1e6, 8, dtype=np.float32), np.zeros(8, np.float32), list[str]()
        each.launch(3, [x, y], output=text.append)
        found.append((y.tobytes(), "".join(text)))
    assert found[0] == found[1]
    assert kernel.calls == 6
