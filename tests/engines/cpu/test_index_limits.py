"""Indices, sizes and strides at the limits of 32 and 64 bits, where offsets wrap around: as the reference engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.common.limits import Limits

pytest.importorskip("llvmlite")

LIMITS = [
    0, 1, 3, 1 << 30, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 39, 1 << 40, (1 << 40) + 5, 1 << 50, 1 << 58,
    1 << 60, (1 << 61) - 1, 1 << 61, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, -1, -2, -4, -(1 << 40), -(1 << 63),
]  # fmt: skip
STEPS = [4, 1 << 24, (1 << 31) - 1]
INTEGERS = {"i32": 32, "i64": 64}
SIZES = [0, 3, 4, 1 << 41, (1 << 61) + 1, -1]

HEAD = "entry @k(%p: tile<ptr<i32>>, %o: tile<ptr<i32>>, %n: tile<i64>, %s: tile<i64>, %i: tile<INDEX>) {"
TENSOR = "tensor_view<?xi32, strides=[?]>"
MAKE = f"%t = make_tensor_view %p, shape = [%n], strides = [%s] : tile<i64> -> {TENSOR}"
STORE = """  %ov = make_tensor_view %o, shape = [4], strides = [1] : tensor_view<4xi32, strides=[1]>
  %w = make_partition_view %ov : partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>
  %z = constant <i32: 0> : tile<i32>
  %u = store_view_tko weak %x, %w[%z] : tile<4xi32>, partition_view<tile=(4), tensor_view<4xi32, strides=[1]>>, tile<i32> -> token
  return }"""  # noqa: E501


def strided(index: str, step: int, promised: bool) -> str:
    view = f"strided_view<tile=(4), traversal_strides=[{step}], padding_value = zero, {TENSOR}, dim_map=[0]>"
    bounds = " inbounds = [true]" if promised else ""
    return f"""{HEAD}
  {MAKE}
  %v = make_strided_view %t : {view}
  %x, %k = load_view_tko weak %v[%i]{bounds} : {view}, tile<{index}> -> tile<4xi32>, token
{STORE}""".replace("INDEX", index)


def sparse(index: str, promised: bool) -> str:
    """Gathers rows of a tensor with two columns; the position is a row, or the column where the rows begin."""
    tensor = "tensor_view<?x?xi32, strides=[2,?]>"
    view = f"gather_scatter_view<tile=(2x2), padding_value = zero, {tensor}, sparse_dim=0>"
    flag = "true" if promised else "false"
    return f"""{HEAD}
  %t = make_tensor_view %p, shape = [%n, %n], strides = [2, %s] : tile<i64> -> {tensor}
  %v = make_gather_scatter_view %t : {view}
  %c = constant <{index}: 0> : tile<{index}>
  %j = iota : tile<2x{index}>
  %i1 = reshape %i : tile<{index}> -> tile<1x{index}>
  %ib = broadcast %i1 : tile<1x{index}> -> tile<2x{index}>
  %r = addi %ib, %j : tile<2x{index}>
  %a, %k = load_view_tko weak %v[%r, %c] inbounds = [{flag}, false] : {view}, tile<2x{index}>, tile<{index}> -> tile<2x2xi32>, token
  %b, %l = load_view_tko weak %v[%j, %i] inbounds = [false, {flag}] : {view}, tile<2x{index}>, tile<{index}> -> tile<2x2xi32>, token
  %y = addi %a, %b : tile<2x2xi32>
  %x = reshape %y : tile<2x2xi32> -> tile<4xi32>
{STORE}""".replace("INDEX", index)  # noqa: E501


def compare(text: str, index: str, sizes: list[int], strides: list[int]) -> None:
    module = tilery.parse(text)
    fast: Any = tilery.compile(module, engine="cpu")
    slow = tilery.compile(module)
    assert fast.lowered is not None
    p = np.arange(1, 17, dtype=np.int32)
    for i in sorted({_wrapped(i, INTEGERS[index]) for i in LIMITS}):
        for n in sizes:
            for stride in strides:
                found = [_result(kernel, [p, np.full(4, -1, np.int32), n, stride, i]) for kernel in (fast, slow)]
                assert found[0] == found[1], (i, n, stride)


def _wrapped(number: int, bits: int) -> int:
    number %= 1 << bits
    return number - (1 << bits) * (number >> (bits - 1))


def _result(kernel: Any, args: list[Any]) -> list[int] | str:
    try:
        kernel.launch(1, args)
    except tilery.TileError as error:
        assert "something illegal" not in error.message
        return "fault"
    result: list[int] = args[1].tolist()
    return result


@pytest.mark.parametrize("promised", [False, True])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("index", INTEGERS)
def test_strided_views(index: str, step: int, promised: bool) -> None:
    compare(strided(index, step, promised), index, SIZES, [0, 1, 1 << 62])


@pytest.mark.parametrize("promised", [False, True])
@pytest.mark.parametrize("index", INTEGERS)
def test_gathers(index: str, promised: bool) -> None:
    compare(sparse(index, promised), index, SIZES, [0, 1, 1 << 62])


@pytest.mark.parametrize("unsigned", ["", "unsigned "])
@pytest.mark.parametrize(("element", "bits"), INTEGERS.items())
@pytest.mark.parametrize("step", [1, 2, 3, 1 << 30, -1])
def test_counters_of_loops_at_the_largest_number(element: str, bits: int, step: int, unsigned: str) -> None:
    """The counter would wrap around after the last iteration. A step of -1 here is the largest positive one."""
    largest = (1 << bits) - 1 if unsigned else (1 << (bits - 1)) - 1
    step = (1 << (bits - 1)) - 1 if step == -1 else step
    tile = f"tile<{element}>"
    text = f"""entry @k(%o: tile<ptr<{element}>>, %low: tile<{element}>, %high: tile<{element}>) {{
      %step = constant <{element}: {step}> : tile<{element}>
      %zero = constant <{element}: 0> : tile<{element}>
      %r = for {unsigned}%i in (%low to %high, step %step) : {tile} iter_values(%s = %zero) -> ({tile}) {{
        %n = addi %s, %i : tile<{element}>
        continue %n : tile<{element}>
      }}
      %t = store_ptr_tko weak %o, %r : tile<ptr<{element}>>, tile<{element}> -> token
      return
    }}"""
    kernels = [tilery.compile(tilery.parse(text), engine=engine) for engine in ("reference", "cpu")]
    lows = (largest - 2 * step, largest - 1, largest - step + 1, largest)
    for low in lows:
        if low < 0:
            continue
        found = []
        for kernel in kernels:
            out = np.zeros(1, np.int64 if bits == 64 else np.int32)
            signed = [n - (1 << bits) if n >> (bits - 1) else n for n in (low, largest)]
            kernel.launch(1, [out, *signed], limits=Limits(seconds=20))
            found.append(out[0])
        assert found[0] == found[1], low
