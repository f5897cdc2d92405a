"""Rows of a tile block shared by two: the same bits, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.cuda.contract import LaunchContract
from tilery.engines.cuda.driver import Driver
from tilery.engines.cuda.launch import Binary, CudaKernel, CudaLoaded, Prebuilt
from tilery.engines.gpu.variants import Variant, VariantCompiler
from tilery.engines.rows import split_rows
from tilery.engines.tileiras.launch import launch_contract

from .test_ahead import TwoKernels

T = "tensor_view<?x16xf32, strides=[16,1]>"
Q = f"partition_view<tile=(64x16), {T}>"
KEYS = f"partition_view<tile=(32x16), {T}>"
ATTENTION = f"""
cuda_tile.module @m {{
  entry @attend(%q: tile<ptr<f32>>, %k: tile<ptr<f32>>, %o: tile<ptr<f32>>, %n: tile<i32>) {{
    %tq = make_tensor_view %q, shape = [%n], strides = [] : tile<i32> -> {T}
    %tk = make_tensor_view %k, shape = [%n], strides = [] : tile<i32> -> {T}
    %to = make_tensor_view %o, shape = [%n], strides = [] : tile<i32> -> {T}
    %vq = make_partition_view %tq : {Q}
    %vk = make_partition_view %tk : {KEYS}
    %vo = make_partition_view %to : {Q}
    %x, %y, %z = get_tile_block_id : tile<i32>
    %0 = constant <i32: 0> : tile<i32>
    %1 = constant <i32: 1> : tile<i32>
    %64 = constant <i32: 64> : tile<i32>
    %32 = constant <i32: 32> : tile<i32>
    %first = muli %x, %64 : tile<i32>
    %r0 = reshape %first : tile<i32> -> tile<1xi32>
    %r1 = broadcast %r0 : tile<1xi32> -> tile<64xi32>
    %r2 = iota : tile<64xi32>
    %r3 = addi %r1, %r2 : tile<64xi32>
    %r4 = reshape %r3 : tile<64xi32> -> tile<64x1xi32>
    %row = broadcast %r4 : tile<64x1xi32> -> tile<64x32xi32>
    %tile, %t0 = load_view_tko weak %vq[%x, %0] : {Q}, tile<i32> -> tile<64x16xf32>, token
    %zero = constant <f32: 0.0> : tile<64x16xf32>
    %none = constant <f32: 0.0> : tile<64x32xf32>
    %steps, %one = get_index_space_shape %vk : {KEYS} -> tile<i32>
    %sum = for %i in (%0 to %steps, step %1) : tile<i32> iter_values(%acc = %zero) -> (tile<64x16xf32>) {{
      %key, %t1 = load_view_tko weak %vk[%i, %0] : {KEYS}, tile<i32> -> tile<32x16xf32>, token
      %turned = permute %key [1, 0] : tile<32x16xf32> -> tile<16x32xf32>
      %s = mmaf %tile, %turned, %none : tile<64x16xf32>, tile<16x32xf32>, tile<64x32xf32>
      %c0 = muli %i, %32 : tile<i32>
      %c1 = reshape %c0 : tile<i32> -> tile<1xi32>
      %c2 = broadcast %c1 : tile<1xi32> -> tile<32xi32>
      %c3 = iota : tile<32xi32>
      %c4 = addi %c2, %c3 : tile<32xi32>
      %c5 = reshape %c4 : tile<32xi32> -> tile<1x32xi32>
      %column = broadcast %c5 : tile<1x32xi32> -> tile<64x32xi32>
      %in = cmpi greater_than_or_equal %row, %column, signed : tile<64x32xi32> -> tile<64x32xi1>
      %m = select %in, %s, %none : tile<64x32xi1>, tile<64x32xf32>
      %top = reduce %m dim=1 identities=[0xFF800000 : f32] : tile<64x32xf32> -> tile<64xf32>
      (%a: tile<f32>, %b: tile<f32>) {{
        %w = maxf %a, %b : tile<f32>
        yield %w : tile<f32>
      }}
      %t2 = reshape %top : tile<64xf32> -> tile<64x1xf32>
      %t3 = broadcast %t2 : tile<64x1xf32> -> tile<64x32xf32>
      %p = subf %m, %t3 : tile<64x32xf32>
      %d = mmaf %p, %key, %acc : tile<64x32xf32>, tile<32x16xf32>, tile<64x16xf32>
      continue %d : tile<64x16xf32>
    }}
    %t4 = store_view_tko weak %sum, %vo[%x, %0] : tile<64x16xf32>, {Q}, tile<i32> -> token
    return
  }}
}}
""".replace("shape = [%n], strides = []", "shape = [%n, 16], strides = [16, 1]")
N = 150


def arguments() -> list[Any]:
    rng = np.random.default_rng(2)
    q, k = (rng.integers(-3, 4, (N, 16)).astype(np.float32) for _ in range(2))
    return [q, k, np.full((N, 16), 7, np.float32), N]


def halves(text: str = ATTENTION) -> Any:
    return split_rows(tilery.parse(text), "attend")


def test_the_same_bits() -> None:
    changed = halves()
    assert changed is not None and tilery.verify(changed) == []
    wanted, found = arguments(), arguments()
    tilery.compile(tilery.parse(ATTENTION)).launch(3, wanted)
    tilery.compile(changed).launch(6, found)
    assert wanted[2].tobytes() == found[2].tobytes() and (wanted[2] != 7).any()


def test_tiles_have_half_the_rows() -> None:
    text = tilery.show(halves())
    assert "tile<64x" not in text and "tile=(32x16)" in text and "tile<32x32xi1>" in text


def test_rows_that_the_position_does_not_select_are_refused() -> None:
    assert halves(ATTENTION.replace("%vo[%x, %0]", "%vo[%y, %0]")) is None
    assert halves(ATTENTION.replace("%vq[%x, %0]", "%vq[%y, %0]")) is None


def test_a_grid_that_the_kernel_asks_for_is_refused() -> None:
    asks = ATTENTION.replace("%0 = constant", "%gx, %gy, %gz = get_num_tile_blocks : tile<i32>\n    %0 = constant", 1)
    assert halves(asks) is None


def test_rows_that_depend_on_each_other_are_refused() -> None:
    cumulative = ATTENTION.replace(
        "%p = subf %m, %t3 : tile<64x32xf32>",
        """%u = scan %m dim=0 reverse=false identities=[0.0 : f32] : tile<64x32xf32> -> tile<64x32xf32>
      (%e: tile<f32>, %f: tile<f32>) {
        %g = addf %e, %f : tile<f32>
        yield %g : tile<f32>
      }
      %p = subf %u, %t3 : tile<64x32xf32>""",
    )
    assert halves(cumulative) is None


def test_a_launch_takes_twice_the_grid() -> None:
    changed = halves()
    plain = launch_contract(changed.entries[0])
    contract = LaunchContract(plain.name, plain.arguments, plain.threads, spread=2)
    assert LaunchContract.from_dict(json.loads(json.dumps(contract.as_dict()))) == contract
    gpu = TwoKernels({"main": changed})
    module = tilery.parse(ATTENTION)
    kernel = CudaKernel(CudaLoaded(module, Prebuilt(Binary(b'"main"', contract)), Driver(gpu)), module.entries[0])
    wanted, found = arguments(), arguments()
    kernel.launch(3, found)
    tilery.compile(module).launch(3, wanted)
    assert gpu.launches == [(6, 1, 1)] and wanted[2].tobytes() == found[2].tobytes()


def test_a_kernel_without_such_rows_is_refused() -> None:
    module = tilery.parse(ATTENTION.replace("%vo[%x, %0]", "%vo[%y, %0]"))
    compiler = VariantCompiler(Variant.of("tileiras", split=True))
    with pytest.raises(tilery.TileError, match="no rows that two tile blocks could share"):
        compiler.compile(module, module.entries[0], "sm_90")
