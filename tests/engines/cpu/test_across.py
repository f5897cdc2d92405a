"""Tiles that lie across, permuted or loaded from tensors whose first dimension has no gaps: the same bits."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

TYPES = {"i8": np.int8, "f16": np.float16, "i32": np.int32, "f32": np.float32, "f64": np.float64}
HEAD = """entry @k(%a: tile<ptr<T>>, %b: tile<ptr<T>>, %rows: tile<i32>, %cols: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %zero = constant <i32: 0> : tile<i32>
  %ta = make_tensor_view %a, shape = [%rows, %cols], strides = [STRIDES] : tile<i32> -> TENSOR
  %tb = make_tensor_view %b, shape = [%cols, %rows], strides = [%rows, 1] : tile<i32> -> RESULT
  %pa = make_partition_view %ta : partition_view<tile=(MxN), TENSOR>
  %pb = make_partition_view %tb : partition_view<tile=(NxM), RESULT>
  %v, %t = load_view_tko weak %pa[%x, %y] : partition_view<tile=(MxN), TENSOR>, tile<i32> -> tile<MxNxT>, token
"""
TAIL = """
  %s = store_view_tko weak %w, %pb[%y, %x] : tile<NxMxT>, partition_view<tile=(NxM), RESULT>, tile<i32> -> token
  return
}"""
BODIES = {
    "permuted": "  %w = permute %v [1, 0] : tile<MxNxT> -> tile<NxMxT>",
    "used twice": """  %p = permute %v [1, 0] : tile<MxNxT> -> tile<NxMxT>
  %w = ADD %p, %p : tile<NxMxT>""",
    "after arithmetic": """  %p = ADD %v, %v : tile<MxNxT>
  %w = permute %p [1, 0] : tile<MxNxT> -> tile<NxMxT>""",
    "there and back": """  %p = permute %v [1, 0] : tile<MxNxT> -> tile<NxMxT>
  %q = ADD %p, %p : tile<NxMxT>
  %r = permute %q [1, 0] : tile<NxMxT> -> tile<MxNxT>
  %u = ADD %r, %v : tile<MxNxT>
  %w = permute %u [1, 0] : tile<MxNxT> -> tile<NxMxT>""",
}
PRODUCT = """entry @k(%a: tile<ptr<T>>, %b: tile<ptr<T>>, %c: tile<ptr<ACC>>) {
  %zero = constant <i32: 0> : tile<i32>
  %ta = make_tensor_view %a, shape = [64, 32], strides = [LEFT] : tensor_view<64x32xT, strides=[LEFT]>
  %tb = make_tensor_view %b, shape = [32, 48], strides = [RIGHT] : tensor_view<32x48xT, strides=[RIGHT]>
  %tc = make_tensor_view %c, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xACC, strides=[64,1]>
  %pa = make_partition_view %ta : partition_view<tile=(64x32), tensor_view<64x32xT, strides=[LEFT]>>
  %pb = make_partition_view %tb : partition_view<tile=(32x64), padding_value = zero, tensor_view<32x48xT, strides=[RIGHT]>>
  %pc = make_partition_view %tc : partition_view<tile=(64x64), tensor_view<64x64xACC, strides=[64,1]>>
  %l, %t = load_view_tko weak %pa[%zero, %zero] : partition_view<tile=(64x32), tensor_view<64x32xT, strides=[LEFT]>>, tile<i32> -> tile<64x32xT>, token
  %r, %u = load_view_tko weak %pb[%zero, %zero] : partition_view<tile=(32x64), padding_value = zero, tensor_view<32x48xT, strides=[RIGHT]>>, tile<i32> -> tile<32x64xT>, token
  %o = constant <ACC: ZERO> : tile<64x64xACC>
  %d = MMA %l, %r, %o SIGNS : tile<64x32xT>, tile<32x64xT>, tile<64x64xACC>
  %s = store_view_tko weak %d, %pc[%zero, %zero] : tile<64x64xACC>, partition_view<tile=(64x64), tensor_view<64x64xACC, strides=[64,1]>>, tile<i32> -> token
  return
}"""  # noqa: E501

CUBES = """entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %c: tile<ptr<f32>>, %p: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %ta = make_tensor_view %a, shape = [16, 16, 16], strides = [256, 16, 1] : TENSOR
  %tb = make_tensor_view %b, shape = [16, 16, 16], strides = [256, 16, 1] : TENSOR
  %tc = make_tensor_view %c, shape = [16, 16, 16], strides = [256, 16, 1] : TENSOR
  %tp = make_tensor_view %p, shape = [16, 16, 16], strides = [256, 16, 1] : TENSOR
  %pa = make_partition_view %ta : VIEW
  %pb = make_partition_view %tb : VIEW
  %pc = make_partition_view %tc : VIEW
  %pp = make_partition_view %tp : VIEW
  %l, %t = load_view_tko weak %pa[%z, %z, %z] : VIEW, tile<i32> -> CUBE, token
  %r, %u = load_view_tko weak %pb[%z, %z, %z] : VIEW, tile<i32> -> CUBE, token
  %q = permute %r ORDER : CUBE -> CUBE
  %o = constant <f32: 0.0> : CUBE
  %d = mmaf %l, %q, %o : CUBE, CUBE, CUBE
  %s = store_view_tko weak %d, %pc[%z, %z, %z] : CUBE, VIEW, tile<i32> -> token
  %m = permute %r ORDER : CUBE -> CUBE
  %n = store_view_tko weak %m, %pp[%z, %z, %z] : CUBE, VIEW, tile<i32> -> token
  return
}"""


def numbers(name: str, count: int) -> np.ndarray:
    """Small whole numbers, whose sums every type has exactly, and for floats a NaN and a negative zero."""
    made = np.random.default_rng(len(name)).integers(-8, 8, count).astype(TYPES[name])
    if name[0] == "f":
        made[3:5] = np.nan, -0.0
    return made


@pytest.mark.parametrize("size", [(16, 16), (64, 32), (8, 64), (32, 4)])
@pytest.mark.parametrize("strides", ["%cols, 1", "1, %rows"])
@pytest.mark.parametrize("body", BODIES)
def test_permuted(body: str, strides: str, size: tuple[int, int]) -> None:
    for name in TYPES:
        text = HEAD + BODIES[body] + TAIL
        text = text.replace(
            "TENSOR", f"tensor_view<?x?xT, strides=[{strides.replace('%cols', '?').replace('%rows', '?')}]>"
        )
        text = text.replace("RESULT", "tensor_view<?x?xT, strides=[?,1]>").replace("STRIDES", strides)
        text = text.replace("ADD", "addi" if name[0] == "i" else "addf").replace("MxN", f"{size[0]}x{size[1]}")
        text = text.replace("NxM", f"{size[1]}x{size[0]}").replace("<T>", f"<{name}>").replace("xT", f"x{name}")
        module = tilery.parse(text)
        for rows, cols in ((2 * size[0], 2 * size[1]), (size[0] + 5, 2 * size[1] - 3)):
            given = numbers(name, rows * cols)
            found = [np.zeros(rows * cols, TYPES[name]) for _ in range(2)]
            grid = -(-rows // size[0]), -(-cols // size[1])
            for out, engine in zip(found, ("reference", "cpu")):
                tilery.compile(module, engine=engine).launch(grid, [given, out, rows, cols])
            assert found[0].tobytes() == found[1].tobytes(), (name, rows, cols)


@pytest.mark.parametrize("left", ["32,1", "1,64"])
@pytest.mark.parametrize("right", ["48,1", "1,32"])
@pytest.mark.parametrize("exact", [False, True])
def test_operands_of_products(left: str, right: str, exact: bool) -> None:
    for name, accumulator in (("f16", "f32"), ("f32", "f32"), ("f64", "f64"), ("i8", "i32")):
        text = PRODUCT.replace("LEFT", left).replace("RIGHT", right).replace("<T>", f"<{name}>")
        text = text.replace("xT", f"x{name}").replace("MMA", "mmai" if name[0] == "i" else "mmaf")
        text = text.replace("SIGNS", "signed signed" if name[0] == "i" else "")
        text = text.replace("ZERO", "0" if name[0] == "i" else "0.0").replace("ACC", accumulator)
        module = tilery.parse(text)
        a, b = np.abs(np.nan_to_num(numbers(name, 2048))), np.abs(np.nan_to_num(numbers(name, 1536)))
        found = [np.zeros((64, 64), TYPES[accumulator]) for _ in range(2)]
        tilery.compile(module).launch(1, [a, b, found[0]])
        tilery.compile(module, engine="cpu", exact=exact).launch(1, [a, b, found[1]])
        assert found[0].any()
        assert found[0].tobytes() == found[1].tobytes(), name


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_every_order_of_three_dimensions(order: tuple[int, ...]) -> None:
    text = CUBES.replace("VIEW", "partition_view<tile=(16x16x16), TENSOR>").replace("CUBE", "tile<16x16x16xf32>")
    text = text.replace("TENSOR", "tensor_view<16x16x16xf32, strides=[256,16,1]>").replace("ORDER", str(list(order)))
    a, b = (np.random.default_rng(n).integers(-8, 8, (16, 16, 16)).astype(np.float32) for n in range(2))
    product, moved = np.zeros_like(a), np.zeros_like(a)
    tilery.compile(tilery.parse(text), engine="cpu").launch(1, [a, b, product, moved])
    assert (moved == b.transpose(order)).all()
    assert (product == a @ b.transpose(order)).all()
