"""Transposing the right operand of products ahead: the same bits, and the order of launches."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import tilery
from engines.tileiras.test_compiler import needs_tileiras
from support.fake_cuda import FakeCuda, value
from tilery.engines.ahead import transpose_ahead, transposing_kernel
from tilery.engines.cuda.contract import Ahead, LaunchContract
from tilery.engines.cuda.driver import Driver
from tilery.engines.cuda.launch import Binary, CudaKernel, CudaLoaded, Prebuilt
from tilery.engines.gpu.variants import Variant, VariantCompiler
from tilery.engines.tileiras.launch import launch_contract

MATRIX = "tensor_view<?x?xf8E4M3FN, strides=[?,1]>"
TILES = f"partition_view<tile=(16x16), padding_value = zero, {MATRIX}>"
RESULT = "partition_view<tile=(16x16), tensor_view<?x?xf32, strides=[?,1]>>"
GEMM = f"""
cuda_tile.module @m {{
  entry @gemm(%a: tile<ptr<f8E4M3FN>>, %b: tile<ptr<f8E4M3FN>>, %c: tile<ptr<f32>>,
              %m: tile<i32>, %n: tile<i32>, %k: tile<i32>, %s: tile<i32>) {{
    %ta = make_tensor_view %a, shape = [%m, %k], strides = [%k, 1] : tile<i32> -> {MATRIX}
    %tb = make_tensor_view %b, shape = [%k, %n], strides = [%s, 1] : tile<i32> -> {MATRIX}
    %tc = make_tensor_view %c, shape = [%m, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf32, strides=[?,1]>
    %va = make_partition_view %ta : {TILES}
    %vb = make_partition_view %tb : {TILES}
    %vc = make_partition_view %tc : {RESULT}
    %x, %y, %z = get_tile_block_id : tile<i32>
    %0 = constant <i32: 0> : tile<i32>
    %1 = constant <i32: 1> : tile<i32>
    %steps, %columns = get_index_space_shape %vb : {TILES} -> tile<i32>
    %zero = constant <f32: 0.0> : tile<16x16xf32>
    %sum = for %i in (%0 to %steps, step %1) : tile<i32> iter_values(%acc = %zero) -> (tile<16x16xf32>) {{
      %p, %tp = load_view_tko weak %va[%x, %i] : {TILES}, tile<i32> -> tile<16x16xf8E4M3FN>, token
      %q, %tq = load_view_tko weak %vb[%i, %y] : {TILES}, tile<i32> -> tile<16x16xf8E4M3FN>, token
      %d = mmaf %p, %q, %acc : tile<16x16xf8E4M3FN>, tile<16x16xf8E4M3FN>, tile<16x16xf32>
      continue %d : tile<16x16xf32>
    }}
    %t = store_view_tko weak %sum, %vc[%x, %y] : tile<16x16xf32>, {RESULT}, tile<i32> -> token
    return
  }}
}}
"""
M, N, K, STRIDE = 20, 37, 50, 41


def arguments() -> list[Any]:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 0x70, (M, K), np.uint8)
    b = rng.integers(0, 0x70, (K, STRIDE), np.uint8)
    return [a, b, np.zeros((M, N), np.float32), M, N, K, STRIDE]


def test_the_same_bits() -> None:
    module = tilery.parse(GEMM)
    changed, matrix = transpose_ahead(module, "gemm") or pytest.fail("nothing to transpose")
    assert tilery.verify(changed) == [] and len(changed.entries[0].function_type.params) == 8
    args = arguments()
    tilery.compile(module).launch((2, 3), args)
    wanted = args[2].copy()
    copy = np.full((N, K), 0x7F, np.uint8)
    grid = (-(-K // matrix.side), -(-N // matrix.side))
    tilery.compile(transposing_kernel(matrix)).launch(grid, [args[1], copy, K, N, STRIDE])
    assert np.array_equal(copy, args[1][:, :N].T)
    args = [*arguments(), copy]
    args[1][:] = 0x7F  # NaN: nothing reads it
    tilery.compile(changed).launch((2, 3), args)
    assert wanted.any() and wanted.tobytes() == args[2].tobytes()


STORE = f"""
    %e, %te = load_view_tko weak %va[%x, %0] : {TILES}, tile<i32> -> tile<16x16xf8E4M3FN>, token
    %we = store_view_tko weak %e, %vb[%x, %y] : tile<16x16xf8E4M3FN>, {TILES}, tile<i32> -> token
    return"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load_view_tko weak %vb[%i, %y]", "load_view_tko relaxed device %vb[%i, %y]"),  # at a time that matters
        ("f8E4M3FN", "f16"),  # tensor cores take it in any order
        ("\n    return", STORE),  # it is written
    ],
)
def test_what_is_not_transposed(old: str, new: str) -> None:
    assert old in GEMM and transpose_ahead(tilery.parse(GEMM.replace(old, new)), "gemm") is None


class TwoKernels(FakeCuda):
    """A stand-in that runs the module an image names."""

    def __init__(self, modules: dict[str, Any]) -> None:
        super().__init__()
        self.modules = modules
        self.images: dict[int, str] = {}

    def _cuModuleLoadData(self, handle: Any, image: Any) -> None:
        self._new(handle)
        self.images[handle._obj.value] = json.loads(value(image))

    def _cuModuleGetFunction(self, handle: Any, module: Any, _: Any) -> None:
        self._new(handle)
        self.images[handle._obj.value] = self.images[value(module)]

    def _cuLaunchKernelEx(self, config: Any, function: Any, params: Any, extra: Any) -> None:
        self.module = self.modules[self.images[value(function)]]
        assert self.module is not None
        self.contract, self._loaded = launch_contract(self.module.entries[0]), None
        super()._cuLaunchKernelEx(config, function, params, extra)


def test_a_launch_transposes_first() -> None:
    module = tilery.parse(GEMM)
    changed, matrix = transpose_ahead(module, "gemm") or pytest.fail("nothing to transpose")
    copying = transposing_kernel(matrix)
    inner = launch_contract(copying.entries[0])
    ahead = Ahead(matrix.source, matrix.rows, matrix.columns, matrix.stride, 1, matrix.side, b'"copy"', inner)
    main = launch_contract(changed.entries[0])
    contract = LaunchContract(main.name, main.arguments, main.threads, ahead=(ahead,))
    assert LaunchContract.from_dict(json.loads(json.dumps(contract.as_dict()))) == contract
    gpu = TwoKernels({"copy": copying, "main": changed})
    kernel = CudaKernel(CudaLoaded(module, Prebuilt(Binary(b'"main"', contract)), Driver(gpu)), module.entries[0])
    args, wanted = arguments(), arguments()
    kernel.launch((2, 3), args)
    tilery.compile(module).launch((2, 3), wanted)
    assert gpu.launches == [(1, 1, 1), (2, 3, 1)]
    assert args[2].tobytes() == wanted[2].tobytes()
    assert gpu.live() == 0


@needs_tileiras
def test_tileiras_compiles_it() -> None:
    module = tilery.parse(GEMM)
    variant = Variant.of("tileiras", level=1, transpose=True)
    made = VariantCompiler(variant).compile(module, module.entries[0], "sm_90")
    (ahead,) = made.contract.ahead
    assert made.image.startswith(b"\x7fELF") and ahead.image.startswith(b"\x7fELF")
    assert variant.label == "tileiras O1 transpose"


def test_a_kernel_without_such_an_operand_is_refused(module: Any) -> None:
    compiler = VariantCompiler(Variant.of("tileiras", transpose=True))
    with pytest.raises(tilery.TileError, match="no operand that could be transposed ahead"):
        compiler.compile(module, module.entries[0], "sm_90")
