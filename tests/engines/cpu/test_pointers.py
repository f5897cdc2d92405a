"""Tiles of pointers to neighbours: accessed at once, with the results and the faults of the reference engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

from tilery.engines.cpu import launch
from tilery.engines.cpu.native.build import lower_kernel
from tilery.engines.cpu.native.compiler import host

TEXT = """entry @k(%a: tile<ptr<T>>, %b: tile<ptr<T>>, %first: tile<i64>, %n: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %c = constant <i32: 64> : tile<i32>
  %s = muli %x, %c : tile<i32>
  %s1 = reshape %s : tile<i32> -> tile<1xi32>
  %sb = broadcast %s1 : tile<1xi32> -> tile<64xi32>
  %i = iota : tile<64xi32>
  %o = addi %sb, %i : tile<64xi32>
  %n1 = reshape %n : tile<i32> -> tile<1xi32>
  %nb = broadcast %n1 : tile<1xi32> -> tile<64xi32>
  %m = cmpi less_than %o, %nb, signed : tile<64xi32> -> tile<64xi1>
  %f = offset %a, %first : tile<ptr<T>>, tile<i64> -> tile<ptr<T>>
  %a1 = reshape %f : tile<ptr<T>> -> tile<1xptr<T>>
  %ab = broadcast %a1 : tile<1xptr<T>> -> tile<64xptr<T>>
  %b1 = reshape %b : tile<ptr<T>> -> tile<1xptr<T>>
  %bb = broadcast %b1 : tile<1xptr<T>> -> tile<64xptr<T>>
  %pa = offset %ab, %o : tile<64xptr<T>>, tile<64xi32> -> tile<64xptr<T>>
  %pb = offset %bb, %o : tile<64xptr<T>>, tile<64xi32> -> tile<64xptr<T>>
  %v, %t = load_ptr_tko weak %pa, %m : tile<64xptr<T>>, tile<64xi1> -> tile<64xT>, token
  %q = store_ptr_tko weak %pb, %v, %m : tile<64xptr<T>>, tile<64xT>, tile<64xi1> -> token
  return
}"""
TYPES = {"i8": np.int8, "f16": np.float16, "f32": np.float32, "f64": np.float64}


def both(name: str) -> tuple[Any, Any]:
    module = tilery.parse(TEXT.replace("<T>", f"<{name}>").replace("xT>", f"x{name}>"))
    lowered = lower_kernel(module, module.entries[0], False, host())
    assert lowered is not None and "gather" not in lowered.text and "scatter" not in lowered.text
    return launch.load(module).kernel(), tilery.compile(module)


@pytest.mark.parametrize("name", TYPES)
def test_whole_tiles_and_parts(name: str) -> None:
    fast, slow = both(name)
    x = np.arange(300).astype(TYPES[name])
    for first, n in ((0, 300), (3, 290), (7, 1), (0, 0), (250, 50), (-5, 0)):
        found, wanted = np.zeros(300, x.dtype), np.zeros(300, x.dtype)
        fast.launch(5, [x, found, first, n])
        slow.launch(5, [x, wanted, first, n])
        assert found.tobytes() == wanted.tobytes(), (first, n)


def test_what_lies_outside_is_a_fault() -> None:
    fast, slow = both("f32")
    x, out = np.arange(300, dtype=np.float32), np.zeros(256, np.float32)
    for first, n in ((0, 300), (-1, 10), (290, 20), (1 << 61, 1)):
        messages = []
        for kernel in (fast, slow):
            with pytest.raises(tilery.TileError) as caught:
                kernel.launch(5, [x, out, first, n])
            messages.append(str(caught.value))
        assert messages[0].splitlines()[0] == messages[1].splitlines()[0], (first, n)


def test_neighbours_in_two_arrays() -> None:
    fast, slow = both("f32")
    memory = np.arange(400, dtype=np.float32)
    found, wanted = np.zeros(200, np.float32), np.zeros(200, np.float32)
    for kernel, out in ((fast, found), (slow, wanted)):
        kernel.launch(4, [memory[:210], out, 20, 200], buffers=[memory[210:]])
    assert found.tobytes() == wanted.tobytes() == memory[20:220].tobytes()
