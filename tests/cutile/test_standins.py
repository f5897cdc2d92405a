"""CuPy, `triton.testing`, `cuda.core` and `cuda.bindings` in programs without a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery.cutile

ct = pytest.importorskip("cuda.tile", reason="needs cuTile (pip install cuda-tile)")
from support import cutile_kernels as kernels  # noqa: E402  # needs cuTile


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    with tilery.cutile.on() as session:
        yield session
    assert not {"cupy", "cuda.core", "cuda.bindings.driver"} & set(sys.modules)


# ---------------------------------------------------------------- CuPy


def test_a_program_with_cupy() -> None:
    cp = import_module("cupy")
    x = cp.arange(64, dtype=cp.float32)
    y, z = cp.ones_like(x), cp.empty(64, cp.float32)
    ct.launch(cp.cuda.get_current_stream().ptr, (4,), kernels.add, (x, y, z, 16))
    cp.cuda.Device().synchronize()
    cp.testing.assert_allclose(z, x + y)
    assert type(z) is type(x + 1) is type(cp.sqrt(x)) is type(x.sum()) is type(x[1:]) is cp.ndarray
    assert type(cp.asnumpy(z)) is type(z.get()) is np.ndarray
    assert x.sum().item() == 64 * 63 // 2 and float(cp.max(x)) == 63.0
    assert cp.get_array_module(x) is cp and cp.get_array_module(np.ones(1)) is np
    assert x.data.ptr == x.__cuda_array_interface__["data"][0]


def test_cupy_copies_between_host_and_device() -> None:
    cp = import_module("cupy")
    host = np.zeros(4)
    there = cp.asarray(host)
    there += 1
    back = there.get()
    there += 1
    assert host.tolist() == [0] * 4 and back.tolist() == [1] * 4 and there.tolist() == [2] * 4
    assert cp.asarray(there) is not None and np.shares_memory(cp.asarray(there), there)
    there.set(host)
    assert there.tolist() == [0] * 4


def test_random_numbers_of_cupy_have_the_type_that_is_asked_for() -> None:
    cp = import_module("cupy")
    for found in (
        cp.random.randn(2, 3, dtype=cp.float32),
        cp.random.standard_normal((2, 3), dtype=cp.float32),
        cp.random.uniform(-1, 1, size=(2, 3), dtype="f4"),
    ):
        assert type(found) is cp.ndarray and found.dtype == np.float32 and found.shape == (2, 3)
    assert cp.random.rand(4).dtype == np.float64
    assert cp.random.randint(2**63, 2**64, size=4, dtype=cp.uint64).dtype == np.uint64
    cp.random.seed(1)
    first = cp.random.rand(4, dtype=cp.float32)
    cp.random.seed(1)
    np.testing.assert_array_equal(first.get(), cp.random.rand(4, dtype=cp.float32).get())


def test_submodules_and_events_of_cupy() -> None:
    cp = import_module("cupy")
    linalg = import_module("cupy.linalg")
    cp.random.seed(1)
    x = cp.random.rand(4, 4)
    assert type(x) is type(linalg.inv(x)) is type(cp.fft.fft(x)) is cp.ndarray
    start, end = cp.cuda.Event(), cp.cuda.Event()
    start.record()
    end.record(cp.cuda.Stream())
    assert cp.cuda.get_elapsed_time(start, end) > 0
    with cp.cuda.Stream(non_blocking=True) as stream:
        assert stream.ptr
    with pytest.raises(NotImplementedError, match="kernels in CUDA C"):
        cp.RawKernel("", "k")
    with pytest.raises(AttributeError, match="'cupy' here is tilery's stand-in"):
        cp.no_such_function()


# ---------------------------------------------------------------- triton.testing


def test_do_bench() -> None:
    testing = import_module("triton.testing")
    x, z = np.ones(64, np.float32), np.zeros(64, np.float32)
    calls = []

    def run() -> None:
        calls.append(1)
        ct.launch(0, (4,), kernels.add, (x, x, z, 16))

    taken = testing.do_bench(run, rep=5)
    assert taken > 0 and 2 <= len(calls) <= 101 and z.tolist() == [2] * 64
    low, middle, high = testing.do_bench(run, rep=5, quantiles=[0.2, 0.5, 0.8])
    assert 0 < low <= middle <= high
    assert testing.do_bench(run, rep=5, return_mode="min") > 0
    assert testing.do_bench_cudagraph(run) > 0


# ---------------------------------------------------------------- NVIDIA's packages


def test_a_program_with_the_driver() -> None:
    cuda = import_module("cuda.bindings.driver")
    assert cuda.cuInit(0) == (cuda.CUresult.CUDA_SUCCESS,)
    status, device = cuda.cuDeviceGet(0)
    assert (status, device) == (0, 0) and cuda.cuDeviceGet(1)[0] == cuda.CUresult.CUDA_ERROR_INVALID_DEVICE
    assert cuda.cuDevicePrimaryCtxRetain(device)[0] == 0
    status, memory = cuda.cuMemAlloc(64)
    source, target = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    assert cuda.cuMemcpyHtoD(memory, source.ctypes.data, 64) == (0,)
    assert cuda.cuMemcpyDtoH(target.ctypes.data, memory, 64) == (0,)
    assert (source == target).all()
    assert cuda.cuMemsetD32(memory, 7, 16) == (0,)
    cuda.cuMemcpyDtoH(target, memory, 64)
    assert (target.view(np.int32) == 7).all()
    for wrong in (cuda.cuMemcpyHtoD(memory, source, 1 << 20), cuda.cuMemsetD8(memory - 8, 0, 8)):
        assert wrong == (cuda.CUresult.CUDA_ERROR_INVALID_VALUE,)
    assert cuda.cuMemFree(memory) == (0,) and cuda.cuMemFree(memory) == (1,)
    events = [cuda.cuEventCreate(0)[1] for _ in range(2)]
    for event in events:
        cuda.cuEventRecord(event, 0)
    assert cuda.cuEventElapsedTime(*events)[1] > 0
    with pytest.raises(AttributeError, match="tilery's stand-in, which runs on the host and has no 'cuMemcpy3D'"):
        cuda.cuMemcpy3D(b"")


def test_a_program_with_the_runtime() -> None:
    runtime = import_module("cuda.bindings.runtime")
    assert runtime.cudaGetDeviceCount() == (0, 1)
    _, memory = runtime.cudaMalloc(64)
    source, target = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    runtime.cudaMemcpy(memory, source, 64, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice)
    assert runtime.cudaMemcpy(target, memory, 64, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost) == (0,)
    assert (source == target).all()
    assert runtime.cudaMemset(memory, 0, 65 + 256)[0] == runtime.cudaError_t.cudaErrorInvalidValue
    assert runtime.cudaFree(memory) == (0,)


@pytest.mark.parametrize("name", ["cuda.core", "cuda.core.experimental"])
def test_a_program_with_cuda_core(name: str) -> None:
    core = import_module(name)
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    buffers = [device.allocate(64, stream=stream) for _ in range(3)]
    for value, buffer in enumerate(buffers, 1):
        buffer.fill(value)
    start = stream.record()
    ct.launch(stream, (4,), kernels.add, (*buffers, 16))
    stream.sync()
    assert (stream.record() - start) > 0
    copy = buffers[2].copy_to()
    buffers[2].fill(0)
    assert copy.size == 64
    out = np.zeros(64, np.uint8)
    import_module("cuda.bindings.driver").cuMemcpyDtoH(out, copy.handle, 64)
    assert (out == 3).all()
    for buffer in (*buffers, copy):
        buffer.close()


# ---------------------------------------------------------------- graphs of NVIDIA's packages


def filled(core: Any, count: int) -> list[Any]:
    """Allocate buffers of 64 bytes whose values are 1, 2, 3 and so on."""
    buffers = [core.Device().allocate(64) for _ in range(count)]
    for value, buffer in enumerate(buffers, 1):
        buffer.fill(value)
    return buffers


def content(buffer: Any) -> set[int]:
    out = np.zeros(64, np.uint8)
    import_module("cuda.bindings.driver").cuMemcpyDtoH(out, buffer.handle, 64)
    return set(out.tolist())


@pytest.mark.parametrize("of_device", [True, False])
def test_a_graph_of_cuda_core_does_again_what_was_recorded(of_device: bool, session: Any) -> None:
    core = import_module("cuda.core")
    device, stream = core.Device(), core.Device().create_stream()
    a, b, c = filled(core, 3)
    builder = (device if of_device else stream).create_graph_builder()
    builder.begin_building()
    assert builder.is_building and not builder.is_join_required
    b.fill(7, stream=builder)
    ct.launch(builder, (4,), kernels.add, (a, b, c, 16))
    c.copy_to(b, stream=builder)
    calls: list[int] = []
    builder.callback(lambda: calls.append(1))
    ct.launch(device.create_stream(), (4,), kernels.add, (a, a, a, 16))  # another stream goes on working
    graph = builder.end_building().complete(core.GraphCompleteOptions())
    assert (content(a), content(b), content(c), session.calls) == ({2}, {2}, {3}, 1)
    for value in (5, 6):
        a.fill(value)
        graph.upload(stream)
        graph.launch(stream)
        stream.sync()
        assert content(c) == content(b) == {value + 7}
    assert len(calls) == 2 and session.calls == 3


def test_graphs_of_cuda_core_split_join_embed_and_change() -> None:
    core = import_module("cuda.core")
    stream = core.Device().create_stream()
    a, b, c = filled(core, 3)
    child = stream.create_graph_builder().begin_building()
    a.fill(9, stream=stream)
    child.end_building()
    parent = core.Device().create_graph_builder().begin_building()
    first, second = parent.split(2)
    assert first is parent and second.is_join_required
    b.fill(8, stream=second)
    with pytest.raises(RuntimeError, match="must be joined"):
        parent.end_building()
    assert core.GraphBuilder.join(second, parent) is parent
    parent.embed(child)
    graph = parent.end_building().complete()
    assert (content(a), content(b)) == ({1}, {2})
    graph.launch(stream)
    assert (content(a), content(b)) == ({9}, {8})

    other = stream.create_graph_builder().begin_building()
    graph.launch(other)  # into a graph: recorded there
    c.fill(1, stream=other)
    a.fill(0), b.fill(0)
    longer = other.end_building()
    assert (content(a), content(b)) == ({0}, {0})
    with pytest.raises(RuntimeError, match="2 steps, and 3"):
        graph.update(longer)
    longer.complete().launch(stream)
    assert (content(a), content(b), content(c)) == ({9}, {8}, {1})


def test_graphs_of_cuda_core_say_what_they_cannot_do() -> None:
    core = import_module("cuda.core")
    with pytest.raises(RuntimeError, match="the default stream cannot be captured"):
        core.Device().default_stream.create_graph_builder().begin_building()
    builder = core.Device().create_graph_builder()
    assert isinstance(builder, import_module("cuda.core.graph").GraphBuilder)
    for wrong in (builder.complete, builder.end_building, lambda: builder.split(2), lambda: builder.callback(print)):
        with pytest.raises(RuntimeError, match=r"building|being built"):
            wrong()
    builder.begin_building()
    with pytest.raises(NotImplementedError, match="conditions of graphs are set by kernels in CUDA C"):
        builder.create_condition()
    (buffer,) = filled(core, 1)
    buffer.fill(3, stream=builder)
    graph = builder.end_building().complete()
    with pytest.raises(RuntimeError, match="cannot resume"):
        builder.begin_building()
    with pytest.raises(NotImplementedError, match="kernels cannot launch them"):
        builder.complete(core.GraphCompleteOptions(device_launch=True))
    buffer.close()
    with pytest.raises(BufferError, match="closed"):
        graph.launch(0)
    graph.close()
    with pytest.raises(RuntimeError, match="the graph is closed"):
        graph.launch(0)


def test_a_graph_keeps_the_memory_of_its_launches() -> None:
    core = import_module("cuda.core")
    builder = core.Device().create_graph_builder().begin_building()
    a, b, c = filled(core, 3)
    ct.launch(builder, (4,), kernels.add, (a, b, c, 16))
    out = np.zeros(64, np.float32)
    ct.launch(builder, (4,), kernels.add, (np.ones(64, np.float32), np.ones(64, np.float32), out, 16))
    graph = builder.end_building().complete()
    for buffer in (a, b, c):
        buffer.close()
    graph.launch(0)
    assert out.tolist() == [2] * 64


def test_a_capture_ends_with_the_session() -> None:
    core = import_module("cuda.core")
    stream = core.Device().create_stream()
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    with tilery.cutile.on():
        stream.create_graph_builder().begin_building()
        ct.launch(stream, (4,), kernels.add, (x, x, out, 16))
    assert out.tolist() == [0] * 64
    ct.launch(stream, (4,), kernels.add, (x, x, out, 16))
    assert out.tolist() == [2] * 64


@pytest.mark.parametrize("kind", ["driver", "runtime"])
def test_a_stream_is_captured_into_a_graph(kind: str) -> None:
    api: Any = import_module(f"cuda.bindings.{kind}")

    def name(rest: str) -> Any:
        return getattr(api, ("cu" if kind == "driver" else "cuda") + rest)

    _, stream = name("StreamCreate")(*([0] if kind == "driver" else []))
    _, memory = name("MemAlloc" if kind == "driver" else "Malloc")(64)
    set_bytes = name("MemsetD8Async" if kind == "driver" else "MemsetAsync")
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    mode = name("StreamCaptureMode") if kind == "runtime" else api.CUstreamCaptureMode
    relaxed = mode.cudaStreamCaptureModeRelaxed if kind == "runtime" else mode.CU_STREAM_CAPTURE_MODE_RELAXED
    assert name("StreamBeginCapture")(0, relaxed)[0] == 900
    assert name("StreamEndCapture")(stream)[0] == 401
    assert name("StreamBeginCapture")(stream, relaxed) == (0,) and name("StreamIsCapturing")(stream) == (0, 1)
    assert name("StreamBeginCapture")(stream, relaxed)[0] == 401
    assert set_bytes(memory, 5, 64, stream) == (0,)
    ct.launch(stream, (4,), kernels.add, (x, x, out, 16))
    status, graph = name("StreamEndCapture")(stream)
    status, executable = name("GraphInstantiate")(graph, 0)
    assert status == 0 and name("GraphDestroy")(graph) == (0,)
    assert out.tolist() == [0] * 64
    assert name("GraphLaunch")(executable, stream) == (0,)
    assert out.tolist() == [2] * 64 and name("StreamIsCapturing")(stream) == (0, 0)
    found = np.zeros(64, np.uint8)
    import_module("cuda.bindings.driver").cuMemcpyDtoH(found, memory, 64)
    assert set(found.tolist()) == {5}
    name("MemFree" if kind == "driver" else "Free")(memory)
    with pytest.raises(RuntimeError, match="memory that was freed"):
        name("GraphLaunch")(executable, stream)
    assert name("GraphExecDestroy")(executable) == (0,) and name("GraphLaunch")(executable, stream)[0] == 1


@pytest.mark.parametrize("kind", ["driver", "runtime"])
def test_handles_are_told_from_numbers(kind: str) -> None:
    """Packages ask whether an argument is a stream, and pass any other number as one."""
    api: Any = import_module(f"cuda.bindings.{kind}")
    prefix, stream_type, event_type = {
        "driver": ("cu", "CUstream", "CUevent"),
        "runtime": ("cuda", "cudaStream_t", "cudaEvent_t"),
    }[kind]
    _, stream = getattr(api, f"{prefix}StreamCreate")(*([0] if kind == "driver" else []))
    _, event = getattr(api, f"{prefix}EventCreate")(*([0] if kind == "driver" else []))
    streams, events = getattr(api, stream_type), getattr(api, event_type)
    assert isinstance(stream, streams) and not isinstance(event, streams)
    assert isinstance(event, events) and not isinstance(stream, events)
    assert not isinstance(-1, streams | events) and streams(int(stream)) == stream
    assert getattr(api, f"{prefix}EventRecord")(event, stream) == (0,)
    if kind == "driver":
        assert isinstance(address := api.cuMemAlloc(64)[1], api.CUdeviceptr) and api.cuMemFree(address) == (0,)
        assert isinstance(api.cuCtxGetCurrent()[1], api.CUcontext) and isinstance(api.cuDeviceGet(0)[1], api.CUdevice)


def test_other_modules_of_installed_bindings_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cuda" / "bindings"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("raise ImportError('this one needs a GPU')\n", "utf-8")
    (folder / "driver.py").write_text("raise ImportError('this one too')\n", "utf-8")
    (folder / "compiles.py").write_text("from .driver import CUresult\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found: Any = import_module("cuda.bindings.compiles")
    del sys.modules[found.__name__]
    assert found.CUresult is import_module("cuda.bindings.driver").CUresult


# ---------------------------------------------------------------- numba and cupyx


def test_numba_kernels_run_for_all_threads() -> None:
    cuda: Any = import_module("numba.cuda")

    def add(a: Any, b: Any, out: Any, per_thread: int) -> None:
        base = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x * per_thread
        for i in range(0, cuda.blockDim.x * per_thread, cuda.blockDim.x):
            out[base + i] = a[base + i] + b[base + i]

    a, out = np.arange(64.0), np.zeros(64)
    cuda.jit(add)[2, 8](a, a, out, 4)
    assert (out == 2 * a).all()


def test_numba_kernels_that_branch_run_thread_by_thread() -> None:
    cuda: Any = import_module("numba.cuda")

    def guarded(a: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < len(out):
            out[i] += a[i]

    a = cuda.to_device(np.arange(10.0))
    out = cuda.device_array_like(a)
    cuda.jit(guarded)[3, 4](a, out)
    assert (out.copy_to_host() == np.arange(10)).all()


def test_the_benchmark_of_cupyx() -> None:
    cupyx: Any = import_module("cupyx")
    calls: list[int] = []
    found = cupyx.profiler.benchmark(calls.append, (1,), n_repeat=5)
    assert len(calls) == 1 and found.gpu_times.shape == (1, 5) and found.cpu_times[0] >= 0
