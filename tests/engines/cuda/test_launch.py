"""Launches through the CUDA driver, on a driver that needs no GPU."""

from __future__ import annotations

import copy
import ctypes
import pickle
from typing import Any

import numpy as np
import pytest

import tilery
from support.fake_cuda import ILLEGAL_ADDRESS, FakeCuda
from tilery.engines.common.limits import Limits
from tilery.engines.cuda import driver as driver_module
from tilery.engines.cuda.contract import Descriptor, Extent
from tilery.engines.cuda.driver import Driver, DriverError
from tilery.engines.cuda.launch import Binary, CudaKernel, CudaLoaded, LaunchGraph
from tilery.engines.cuda.tensor_map import encode
from tilery.engines.tileiras.launch import launch_contract
from tilery.ops import Entry, Global, Module

ADD = """global @count <i32: 3> : tile<1xi32>
entry @add(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %n: tile<f32>) {
  %b, %c, %d = get_tile_block_id : tile<i32>
  %p = offset %x, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %q = offset %y, %b : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t0 = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  %s = addf %v, %n : tile<f32>
  %t1 = store_ptr_tko weak %q, %s : tile<ptr<f32>>, tile<f32> -> token
  return
}"""
LISTS = """entry @lists(%list: tile<ptr<i64>>, %length: tile<i32>) {
  %a, %t0 = load_ptr_tko weak %list : tile<ptr<i64>> -> tile<i64>, token
  %p = int_to_ptr %a : tile<i64> -> tile<ptr<f32>>
  %one = constant <f32: 1.0> : tile<f32>
  %t1 = store_ptr_tko weak %p, %one : tile<ptr<f32>>, tile<f32> -> token
  return
}"""


class Compiled:
    """A compiler whose machine code is nothing, since the stand-in driver runs the module itself."""

    engine = "fake"

    def compile(self, module: Module, entry: Entry, target: str) -> Binary:
        assert target == "sm_90"
        return Binary(b"image", launch_contract(entry))

    def initial(self, o: Global) -> bytes | None:
        return None


def load(text: str) -> tuple[FakeCuda, CudaKernel]:
    module = tilery.parse(text)
    library = FakeCuda(module, launch_contract(module.entries[0]))
    return library, CudaLoaded(module, Compiled(), Driver(library)).kernel()


def test_arrays_of_the_host_are_copied_in_and_out() -> None:
    library, kernel = load(ADD)
    x, y = np.arange(4, dtype=np.float32), np.zeros(6, np.float32)
    stats = kernel.launch(4, [x, y[1:5], 0.5])
    assert y.tolist() == [0, 0.5, 1.5, 2.5, 3.5, 0]
    assert (stats.blocks, stats.device_nanoseconds) == (4, 2_500_000)
    assert library.launches == [(4, 1, 1)]
    assert library.live() == 0, "copies are freed"


def test_an_array_that_cannot_be_written_is_not_copied_out() -> None:
    library, kernel = load(ADD)
    x = np.zeros(2, np.float32)
    x.flags.writeable = False
    kernel.launch(1, [x, np.zeros(1, np.float32), 1.0])
    assert library.calls.count("cuMemcpyDtoH_v2") == 1


def test_overlapping_arrays_stay_overlapping() -> None:
    library, kernel = load(ADD)
    x = np.array([1, 2, 3], np.float32)
    kernel.launch(1, [x[:2], x[1:], 10.0])
    assert x.tolist() == [1, 11, 3]
    assert library.calls.count("cuMemAlloc_v2") == 1


def test_adjacent_arrays_have_copies_of_their_own() -> None:
    """The first address of the second array is the end of the first one."""
    _, kernel = load(ADD)
    both = np.arange(8, dtype=np.float32)
    kernel.launch(4, [both[:4], both[4:], 0.5])
    assert both.tolist() == [0, 1, 2, 3, 0.5, 1.5, 2.5, 3.5]
    kernel.launch(4, [both[4:], both[:4], 1])
    assert both.tolist() == [1.5, 2.5, 3.5, 4.5, 0.5, 1.5, 2.5, 3.5]


def test_copies_keep_the_alignment_of_arrays() -> None:
    library, kernel = load(ADD)
    x = np.zeros(200, np.float32)[7:90]
    with kernel.bind(1, [x, x, 1.0]) as bound:
        (copied,) = bound._staged.copies
        assert copied.device % 256 == x.ctypes.data % 256
        assert library.live() == 1


def test_addresses_in_lists_of_arrays_are_those_of_the_device() -> None:
    _, kernel = load(LISTS)
    x, y = np.zeros(3, np.float32), np.zeros(3, np.float32)
    kernel.launch(1, [[x, y]], convention="cutile")
    assert x.tolist() == [1, 0, 0] and not y.any()


def test_a_bound_launch_runs_again_without_new_memory() -> None:
    library, kernel = load(ADD)
    x, y = np.zeros(1, np.float32), np.zeros(1, np.float32)
    bound = kernel.bind(1, [x, y, 1.0])
    allocated = library.calls.count("cuMemAlloc_v2")
    for start in (1.0, 5.0):
        x[0] = start
        bound.copy_in()
        bound.launch()
        bound.copy_out()
        assert y[0] == start + 1
    assert library.calls.count("cuMemAlloc_v2") == allocated
    bound.close()
    assert library.live() == 0


def test_a_graph_replays_launches_of_its_stream() -> None:
    library, kernel = load(ADD)
    x = np.zeros(1, np.float32)
    with LaunchGraph(kernel.loaded.driver) as graph:
        with kernel.bind(1, [x, x, 1.0]) as elsewhere, pytest.raises(tilery.TileError, match="its own stream"):
            graph.record([elsewhere])
        with kernel.bind(1, [x, x, 1.0], stream=graph.stream) as bound:
            graph.record([bound])
            graph.replay()
    begin, end = (library.calls.index(f"cuStream{word}") for word in ("BeginCapture_v2", "EndCapture"))
    assert "cuLaunchKernelEx" in library.calls[begin:end]
    assert library.calls[-3:] == ["cuGraphExecDestroy", "cuGraphDestroy", "cuStreamDestroy_v2"]


def test_a_driver_without_the_newer_function_launches_with_the_older_one() -> None:
    library, kernel = load(ADD)
    library.missing.add("cuLaunchKernelEx")
    x, y = np.arange(3, dtype=np.float32), np.zeros(3, np.float32)
    kernel.launch(3, [x, y, 1.0])
    assert y.tolist() == [1, 2, 3] and library.calls.count("cuLaunchKernel") == 1


def test_errors_of_the_driver_have_their_names() -> None:
    library, kernel = load(ADD)
    library.failing["cuMemAlloc_v2"] = 2
    x = np.zeros(1, np.float32)
    with pytest.raises(DriverError, match="cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY: something is wrong") as caught:
        kernel.launch(1, [x, x, 1.0])
    assert caught.value.code == 2


def test_a_lost_context_is_said_with_its_first_error() -> None:
    library, kernel = load(ADD)
    x = np.zeros(1, np.float32)
    library.failing["cuEventQuery"] = ILLEGAL_ADDRESS
    with pytest.raises(DriverError, match="CUDA_ERROR_ILLEGAL_ADDRESS") as caught:
        kernel.launch(1, [x, x, 1.0])
    assert "new process" in str(caught.value)
    library.failing["cuMemAlloc_v2"] = ILLEGAL_ADDRESS
    with pytest.raises(DriverError, match="the context of the GPU is lost") as caught:
        kernel.launch(1, [x, x, 1.0])
    assert "the first error was cuEventQuery" in str(caught.value)


def test_a_kernel_that_takes_too_long_is_given_up() -> None:
    library, kernel = load(ADD)
    library.failing["cuEventQuery"] = driver_module.NOT_READY
    x = np.zeros(1, np.float32)
    with pytest.raises(tilery.TileError, match=r"@add did not finish within 0\.01 seconds"):
        kernel.launch(1, [x, x, 1.0], limits=Limits(seconds=0.01))
    assert "cuMemFree_v2" not in library.calls, "it would wait for the kernel"


def test_a_grid_that_no_gpu_takes_is_refused() -> None:
    library, kernel = load(ADD)
    x = np.zeros(1, np.float32)
    with pytest.raises(tilery.TileError, match="at most 65535 tile blocks along y, got 65536"):
        kernel.launch((1, 65536), [x, x, 1.0])
    assert library.live() == 0


def test_globals_can_be_read_and_set() -> None:
    _, kernel = load(ADD)
    assert kernel.loaded.content("count") == b"\3\0\0\0"
    kernel.loaded.write("count", b"\5\0\0\0")
    assert kernel.loaded.content("count") == b"\5\0\0\0"


def test_a_global_that_the_machine_code_lacks_keeps_its_content() -> None:
    library, kernel = load(ADD)
    library.failing["cuModuleGetGlobal_v2"] = driver_module.NOT_FOUND
    assert kernel.loaded.content("count") == b"\3\0\0\0"


def test_a_copy_of_a_module_has_the_globals_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    library, kernel = load(ADD)
    kernel.loaded.write("count", b"\7\0\0\0")
    other = FakeCuda(library.module, library.contract)
    monkeypatch.setattr("tilery.engines.cuda.launch.open_driver", lambda: Driver(other))
    again = pickle.loads(pickle.dumps(kernel))
    assert again.loaded.content("count") == b"\7\0\0\0"
    kernel.loaded.write("count", b"\1\0\0\0")
    assert again.loaded.content("count") == b"\7\0\0\0"


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_launches_and_drivers_cannot_be_copied(again: Any) -> None:
    _, kernel = load(ADD)
    x = np.zeros(1, np.float32)
    with kernel.bind(1, [x, x, 1.0]) as bound:
        for holder in (bound, kernel.loaded.driver, bound._staged):
            with pytest.raises(TypeError, match="holds addresses"):
                again(holder)


def test_a_machine_without_a_driver_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("ctypes.CDLL", missing)
    driver_module.open_driver.cache_clear()
    with pytest.raises(tilery.TileError, match="there is no NVIDIA driver on this machine"):
        tilery.compile(tilery.parse(ADD), engine="tileiras")


def test_a_tensor_map_counts_dimensions_from_the_innermost() -> None:
    library = FakeCuda()
    seen: list[Any] = []

    def record(*args: Any) -> int:
        shape = list((ctypes.c_uint64 * 2).from_address(args[4]))
        strides = list((ctypes.c_uint64 * 1).from_address(args[5]))
        box = list((ctypes.c_uint32 * 2).from_address(args[6]))
        seen.append((args[1:4], shape, strides, box, args[8:]))
        assert args[0] % 64 == 0
        return 0

    library.functions["cuTensorMapEncodeTiled"] = record
    shape = (Extent(parameter=1), Extent(64))
    made = Descriptor(0, "f16", shape, (Extent(parameter=2), Extent(1)), (16, 32), swizzle=3)
    encode(Driver(library), made, 4096, {1: 100, 2: 128}.__getitem__)
    assert seen == [((1, 2, 4096), [64, 100], [256], [32, 16], (0, 3, 2, 0))]
