"""Arguments that share memory: a tile block reads and writes them in the order of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

from support.hostile import guarded
from tilery.engines.cpu import launch
from tilery.engines.reference.launch import ReferenceKernel

VIEW = "partition_view<tile=(TILE), tensor_view<?xf32, strides=[1]>>"
HEAD = """entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %n: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %ta = make_tensor_view %a, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %tb = make_tensor_view %b, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %tc = make_tensor_view %c, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %pa = make_partition_view %ta : VIEW
  %pb = make_partition_view %tb : VIEW
  %pc = make_partition_view %tc : VIEW
"""
LOAD = "  %{0}, %t{0} = load_view_tko weak %p{1}[%x] : VIEW, tile<i32> -> tile<TILExf32>, token\n"
STORE = "  %s{0} = store_view_tko weak %{0}, %p{1}[%x] : tile<TILExf32>, VIEW, tile<i32> -> token\n"
ADD = "  %{0} = addf %{1}, %{2} : tile<TILExf32>\n"
BODIES = {
    "sum": LOAD.format("u", "a") + LOAD.format("v", "b") + ADD.format("w", "u", "v") + STORE.format("w", "c"),
    "used after a store": LOAD.format("u", "a") + LOAD.format("v", "b") + STORE.format("v", "c")
    + ADD.format("w", "u", "v") + STORE.format("w", "b"),
    "used in a loop": LOAD.format("u", "a") + LOAD.format("v", "b") + """
  %o = constant <i32: 0> : tile<i32>
  %i = constant <i32: 1> : tile<i32>
  %e = constant <i32: 3> : tile<i32>
  for %l in (%o to %e, step %i) : tile<i32> {
""" + LOAD.format("f", "c") + ADD.format("g", "u", "f") + STORE.format("g", "b") + "  continue\n  }\n"
    + ADD.format("w", "u", "v") + STORE.format("w", "a"),
    "reversed": LOAD.format("u", "a") + "  %r = reshape %u : tile<TILExf32> -> tile<4xQUARTERxf32>\n"
    "  %q = permute %r [1, 0] : tile<4xQUARTERxf32> -> tile<QUARTERx4xf32>\n"
    "  %w = reshape %q : tile<QUARTERx4xf32> -> tile<TILExf32>\n" + STORE.format("w", "b"),
}  # fmt: skip


@pytest.mark.parametrize("tile", [16, 256])
@pytest.mark.parametrize("body", BODIES)
def test_as_the_reference(body: str, tile: int) -> None:
    text = (HEAD + BODIES[body] + "  return\n}").replace("VIEW", VIEW).replace("QUARTER", str(tile // 4))
    module = tilery.parse(text.replace("TILE", str(tile)))
    fast, slow = launch.load(module).kernel(), tilery.compile(module)
    assert fast.lowered is not None
    for n in (tile, tile - 3):
        for starts in ((0, 0, 0), (0, 1, 0), (1, 0, 1), (0, 7, 300), (5, 0, 64), (64, 60, 0), (300, 600, 0)):
            memory = [np.arange(1000, dtype=np.float32) for _ in range(2)]

            def run(kernel: Any, data: Any, n: int = n, starts: tuple[int, ...] = starts) -> None:
                kernel.launch(1, [*(data[s : s + n] for s in starts), n])

            run(fast, memory[0])
            run(slow, memory[1])
            assert memory[0].tobytes() == memory[1].tobytes(), (n, starts)


def test_in_place_on_many_tile_blocks() -> None:
    text = (HEAD + BODIES["sum"] + "  return\n}").replace("VIEW", VIEW).replace("TILE", "256")
    x = np.arange(100_001, dtype=np.float32)
    launch.load(tilery.parse(text)).kernel().launch(-(-x.size // 256), [x, x, x, x.size])
    assert (x == 2 * np.arange(100_001, dtype=np.float32)).all()


STRIDED = """entry @k(%p: tile<ptr<f32>>, %n: tile<i32>, %m: tile<i32>, %r: tile<i32>, %s: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %v = constant <f32: 1.0> : tile<4x16xf32>
  %t = make_tensor_view %p, shape = [%n, %m], strides = [%r, %s] : tile<i32> -> tensor_view<?x?xf32, strides=[?,?]>
  %w = make_partition_view %t : partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,?]>>
  %d = store_view_tko weak %v, %w[%x, %y] : tile<4x16xf32>,
    partition_view<tile=(4x16), tensor_view<?x?xf32, strides=[?,?]>>, tile<i32> -> token
  return
}"""


@pytest.mark.parametrize("cut", [np.s_[:, :20], np.s_[::2, 5:38], np.s_[:9, ::3], np.s_[3:4, ::2]])
def test_an_array_with_gaps_is_written_through_its_own_view(cut: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = launch.load(tilery.parse(STRIDED)).kernel()
    monkeypatch.setattr(ReferenceKernel, "run", lambda *_, **__: pytest.fail("the reference engine ran it"))
    whole, wanted = np.zeros((13, 40), np.float32), np.zeros((13, 40), np.float32)
    wanted[cut] = 1
    kernel.launch((4, 3), [whole[cut]], convention="cutile")
    assert (whole == wanted).all()


def test_what_lies_between_elements_is_not_written() -> None:
    kernel = launch.load(tilery.parse(STRIDED)).kernel()
    whole = np.zeros((13, 40), np.float32)
    with pytest.raises(tilery.TileError, match="in a gap between elements of argument 0"):
        kernel.launch((1, 2), [whole[:, :20], 4, 40, 40, 1])
    with pytest.raises(tilery.TileError, match="in a gap between elements of argument 0"):
        kernel.bind(1, [whole[:, ::2], 4, 16, 40, 1])()
    assert (whole[:, 20:] == 0).all() and (whole[:, 1::2] == 0).all()


@pytest.mark.skipif(not hasattr(guarded, "LIBC"), reason="needs mprotect")
@pytest.mark.parametrize("number", [0, 1, 2, 26, 37])
def test_hostile_kernels_write_nothing_beside_arrays(number: int) -> None:
    assert guarded.exercise(0, number, (guarded.Region(), guarded.Region()), "cpu").total() == guarded.LAUNCHES
