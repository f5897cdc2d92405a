"""Stores past the caches: the same bits wherever rows begin, and nothing beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

from tilery.engines.cpu import launch
from tilery.engines.cpu.native import jobs

KERNELS = Path(__file__).parents[3] / "bench" / "kernels"
TYPES = {"i8": np.int8, "i16": np.int16, "f16": np.float16, "i32": np.int32, "f32": np.float32, "f64": np.float64}
TEXT = """entry @k(%a: tile<ptr<T>>, %b: tile<ptr<T>>, %rows: tile<i32>, %cols: tile<i32>, %step: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %ta = make_tensor_view %a, shape = [%rows, %cols], strides = [%step, 1] : tile<i32> -> TENSOR
  %tb = make_tensor_view %b, shape = [%rows, %cols], strides = [%step, 1] : tile<i32> -> TENSOR
  %pa = make_partition_view %ta : VIEW
  %pb = make_partition_view %tb : VIEW
  %v, %t = load_view_tko weak %pa[%x, %y] : VIEW, tile<i32> -> tile<SHAPExT>, token
  %w = ADD %v, %v : tile<SHAPExT>
  %s = store_view_tko weak %w, %pb[%x, %y] token = %t : tile<SHAPExT>, VIEW, tile<i32> -> token
  return
}"""


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Store past the caches however small the arrays are."""
    monkeypatch.setattr(jobs, "LARGE", 0)


def placed(values: Any, offset: int) -> tuple[Any, Any]:
    """An array with the same elements that begins `offset` elements after a line, and the memory around it."""
    size = values.itemsize
    memory = np.full(values.nbytes + 256, 0x5A, np.uint8)
    start = 64 + -memory.ctypes.data % 64 + offset * size
    made = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made, memory


@pytest.mark.parametrize("shape", [(1, 16), (1, 64), (4, 32), (2, 256)])
@pytest.mark.parametrize("name", TYPES)
def test_every_alignment(name: str, shape: tuple[int, int]) -> None:
    text = TEXT.replace("VIEW", "partition_view<tile=(SHAPE), TENSOR>")
    text = text.replace("TENSOR", "tensor_view<?x?xT, strides=[?,1]>")
    text = text.replace("SHAPE", f"{shape[0]}x{shape[1]}").replace("xT", f"x{name}").replace("<T>", f"<{name}>")
    kernel = launch.load(tilery.parse(text.replace("ADD", "addi" if name[0] == "i" else "addf"))).kernel()
    rows, cols = 2 * shape[0], 2 * shape[1]
    for offset in range(64 // np.dtype(TYPES[name]).itemsize):
        for gap in (0, 1, 16):
            values = np.arange(rows * (cols + gap)).reshape(rows, cols + gap).astype(TYPES[name])
            wanted, _ = placed(values, offset)
            wanted[:, :cols] += wanted[:, :cols]
            for where in (offset, 0):  # in place, or from elsewhere
                out, memory = placed(values, offset)
                source = out if where == offset else placed(values, where)[0]
                kernel.launch((2, 2), [source, out, rows, cols, cols + gap])
                assert out.tobytes() == wanted.tobytes(), (offset, gap, where)
                start = out.ctypes.data - memory.ctypes.data
                assert {*memory[:start].tolist(), *memory[start + out.nbytes :].tolist()} == {0x5A}


@pytest.mark.parametrize("name", ["softmax", "layernorm"])
def test_rows_that_are_read_several_times(name: str) -> None:
    module = tilery.load(KERNELS / f"{name}.mlir")
    kernel = launch.load(module, exact=True).kernel()
    rng = np.random.default_rng(7)
    x, factors = rng.standard_normal((40, 1024)).astype(np.float32), []
    if name == "layernorm":
        factors = [rng.standard_normal(1024).astype(np.float32) for _ in range(2)]
    wanted = np.zeros_like(x)
    tilery.compile(module).launch(40, [x, *factors, wanted], convention="cutile")
    for offset in (0, 4, 5, 15):
        for in_place in (False, True):
            out, _ = placed(x, offset)
            kernel.launch(40, [out if in_place else x, *factors, out], convention="cutile")
            assert out.tobytes() == wanted.tobytes(), (offset, in_place)
