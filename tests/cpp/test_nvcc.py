"""The stand-in for nvcc, and launches of what it compiles by `cuda.core` and the driver."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tilery.cpp.nvcc import main
from tilery.diag import TileError

pytest.importorskip("cuda.tile")
SOURCE = """#include <cuda_tile.h>
namespace ct = cuda::tiles;
template <int N>
__tile_global__ void scale(float* x, float factor, int n) {
  auto i = (int)ct::bid().x * N + ct::iota<ct::tile<int, ct::shape<N>>>();
  auto inside = i < n;
  ct::store_masked(x + i, ct::load_masked(x + i, inside) * factor, inside);
}
template __tile_global__ void scale<16>(float*, float, int);
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A kernel, compiled as TileGym does it: by a program called nvcc."""
    from tilery.programs.children import cover

    folder = tmp_path_factory.mktemp("nvcc")
    (folder / "k.cu").write_text(SOURCE)
    command = ["nvcc", "-tilecubin", "-arch=sm_100", "-std=c++20", "--tile-only", "-o", "k.cubin", "-I", ".", "k.cu"]
    with cover("cutile", engine="reference"):
        subprocess.run(command, cwd=folder, check=True, timeout=120)
        said = subprocess.run(["nvcc", "--version"], capture_output=True, check=True, timeout=60)
    assert b"release 13." in said.stdout
    return (folder / "k.cubin").read_bytes()


@pytest.mark.nvrtc
def test_launch_by_cuda_core(image: bytes) -> None:
    from tilery.cutile import on

    with on("reference") as session:
        from cuda.bindings import driver
        from cuda.core import Device, LaunchConfig, ObjectCode, launch

        status, module = driver.cuModuleLoadData(image)
        assert status == 0 and driver.cuModuleGetFunctionCount(module)[1] == 1
        [function] = driver.cuModuleEnumerateFunctions(1, module)[1]
        name = driver.cuFuncGetName(function)[1].decode()
        kernel = ObjectCode.from_cubin(image).get_kernel(name)
        device = Device(0)
        buffer = device.allocate(4 * 40)
        x = np.arange(40, dtype=np.float32)
        ctypes.memmove(buffer.handle, x.ctypes.data, x.nbytes)
        arguments = np.uint64(buffer.handle), np.float32(3), np.int32(40)
        launch(device.default_stream, LaunchConfig(grid=3, block=1), kernel, *arguments)
        result = np.frombuffer(ctypes.string_at(buffer.handle, x.nbytes), np.float32)
        assert (result == 3 * x).all() and session.calls == 1
        with pytest.raises(TypeError, match="4 bytes was given 8 bytes"):
            launch(device.default_stream, LaunchConfig(grid=3), kernel, buffer, 3.0, np.int32(40))
        with pytest.raises(TypeError, match="3 parameters, 1 arguments"):
            launch(device.default_stream, LaunchConfig(grid=3), kernel, buffer)
        with pytest.raises(TileError, match="outside every buffer"):
            launch(device.default_stream, LaunchConfig(grid=64), kernel, buffer, np.float32(3), np.int32(1000))
        with pytest.raises(TileError, match="not Tile IR"):
            ObjectCode.from_cubin(b"\x7fELF")
        assert driver.cuModuleLoadData(b"\x7fELF")[0] == driver.CUresult.CUDA_ERROR_INVALID_IMAGE


@pytest.mark.nvrtc
def test_launch_with_addresses_of_tensors(image: bytes) -> None:
    """A kernel may access the memory of a tensor whose address the program asked for, and only that."""
    torch = pytest.importorskip("torch")
    from tilery.cutile import on

    with on("reference"):
        from cuda.core import LaunchConfig, ObjectCode, Stream, launch

        kernel = ObjectCode.from_cubin(image).get_kernel("_Z5scaleILi16EEvPffi")
        x = torch.arange(40, dtype=torch.float32, device="cuda")
        address = np.uint64(x.view(-1).data_ptr())
        stream = Stream.from_handle(torch.cuda.current_stream().cuda_stream)
        launch(stream, LaunchConfig(grid=(3,)), kernel, address, np.float32(2), np.int32(40))
        assert x.tolist() == [2.0 * i for i in range(40)]
        with pytest.raises(TileError, match="outside every buffer"):
            launch(stream, LaunchConfig(grid=(3,)), kernel, address, np.float32(2), np.int32(41))


def test_other_code_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["-o", "a.out", "a.cu"]) == 1
    assert "compiles tile code only" in capsys.readouterr().err
    assert main(["-tilecubin", str(tmp_path / "missing.cu")]) == 1
