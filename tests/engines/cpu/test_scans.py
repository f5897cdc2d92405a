"""Scans have the bits of the reference engine, which combines elements in the order of hardware."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

TYPES = {"i1": np.bool_, "i8": np.int8, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
CASES = [((1024,), 0), ((16,), 0), ((2, 64), 1), ((8, 32), 1), ((16, 32), 1), ((64, 64), 1), ((32, 16), 1),
         ((128, 8), 1), ((2, 16, 32), 2), ((64, 4), 0), ((4, 8, 16), 1), ((1, 64), 1)]  # fmt: skip
TEXT = """entry @k(%a: tile<ptr<T>>, %b: tile<ptr<T>>, %c: tile<ptr<T>>) {
  %ta = make_tensor_view %a, shape = [COUNT], strides = [1] : TENSOR
  %tb = make_tensor_view %b, shape = [COUNT], strides = [1] : TENSOR
  %tc = make_tensor_view %c, shape = [COUNT], strides = [1] : TENSOR
  %pa = make_partition_view %ta : VIEW
  %pb = make_partition_view %tb : VIEW
  %pc = make_partition_view %tc : VIEW
  %zero = constant <i32: 0> : tile<i32>
  %v, %t = load_view_tko weak %pa[%zero] : VIEW, tile<i32> -> tile<COUNTxT>, token
  %x = reshape %v : tile<COUNTxT> -> TILE
  %one = scan %x dim=DIM reverse=REVERSE identities=[ZERO] : TILE -> TILE
  (%l: tile<T>, %r: tile<T>) {
    %s = ADD %l, %r : tile<T>
    yield %s : tile<T>
  }
  %two:2 = scan %x, %one dim=DIM reverse=REVERSE identities=[ZERO, ZERO] : TILE, TILE -> TILE, TILE
  (%l0: tile<T>, %r0: tile<T>, %l1: tile<T>, %r1: tile<T>) {
    %s0 = ADD %l0, %r1 : tile<T>
    yield %r0, %s0 : tile<T>, tile<T>
  }
  %y = reshape %one : TILE -> tile<COUNTxT>
  %z = reshape %two#1 : TILE -> tile<COUNTxT>
  %u = store_view_tko weak %y, %pb[%zero] : tile<COUNTxT>, VIEW, tile<i32> -> token
  %w = store_view_tko weak %z, %pc[%zero] : tile<COUNTxT>, VIEW, tile<i32> -> token
  return
}"""


@pytest.mark.parametrize("reverse", ["false", "true"])
@pytest.mark.parametrize("sizes,dim", CASES)
def test_scans(sizes: tuple[int, ...], dim: int, reverse: str) -> None:
    count = prod(sizes)
    for name, dtype in TYPES.items():
        whole = name[0] == "i"
        text = TEXT.replace("VIEW", f"partition_view<tile=({count}), TENSOR>").replace("REVERSE", reverse)
        text = text.replace("TENSOR", f"tensor_view<{count}xT, strides=[1]>").replace("COUNT", str(count))
        text = text.replace("TILE", f"tile<{'x'.join(map(str, sizes))}xT>").replace("DIM", str(dim))
        text = text.replace("ADD", "xori" if name == "i1" else "addi" if whole else "addf")
        text = text.replace("ZERO", "false" if name == "i1" else "0 : T" if whole else "0.0 : T")
        module = tilery.parse(text.replace("<T>", f"<{name}>").replace("xT", f"x{name}").replace(": T", f": {name}"))
        numbers = np.random.default_rng(count).standard_normal(count) * 3
        given = (numbers > 0) if name == "i1" else numbers.astype(dtype)
        if not whole:
            given[[1, 5]] = np.inf, np.nan
        found: list[list[bytes]] = []
        for engine in ("reference", "cpu"):
            out: list[Any] = [np.zeros(count, dtype) for _ in range(2)]
            tilery.compile(module, engine=engine).launch(1, [given, *out])
            found.append([x.tobytes() for x in out])
        assert found[0] == found[1], name
