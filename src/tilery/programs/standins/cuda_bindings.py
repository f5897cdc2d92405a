"""`cuda.bindings` on the host: memory, streams, events and captured graphs of the driver and of the runtime.

Functions return a status and then their results, as NVIDIA's do. What is not here does not exist, and says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from ...diag import TileError
from .. import device
from . import host_memory
from .cuda_graphs import handle_of

INVALID_IMAGE, ILLEGAL_STATE, NOT_FOUND, CAPTURE_UNSUPPORTED = 200, 401, 500, 900
GRAPHS: dict[int, list[device.Step]] = {}
"""The graphs of programs, and what has been made executable of them."""


class CUresult(IntEnum):
    """The status of a call of the driver."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_IMAGE = INVALID_IMAGE
    CUDA_ERROR_ILLEGAL_STATE = ILLEGAL_STATE
    CUDA_ERROR_NOT_FOUND = NOT_FOUND
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = CAPTURE_UNSUPPORTED


class cudaError_t(IntEnum):  # NVIDIA's name
    """The status of a call of the runtime."""

    cudaSuccess = 0
    cudaErrorInvalidValue = 1
    cudaErrorInvalidDevice = 101
    cudaErrorIllegalState = ILLEGAL_STATE
    cudaErrorStreamCaptureUnsupported = CAPTURE_UNSUPPORTED


class CUdevice(int):
    """A device of the driver. Handles have classes of their own: programs ask whether an argument is a stream."""


class CUcontext(int):
    """A context."""


class CUdeviceptr(int):
    """An address in the memory of the device."""


class CUstream(int):
    """A stream."""


class CUevent(int):
    """An event."""


class cudaStream_t(CUstream):  # NVIDIA's name
    """A stream of the runtime."""


class cudaEvent_t(CUevent):  # NVIDIA's name
    """An event of the runtime."""


class Api:
    """The functions of one of the two, whose statuses and handles have different names."""

    _address: type[int] = int
    _stream_type: type[int]
    _event_type: type[int]

    def __init__(self, status: type[IntEnum]) -> None:
        self._status = status
        self._times: dict[int, float] = {}
        self._moments: dict[int, Any] = {}
        """Where events were recorded, for a sanitizer."""

    def _ok(self, *results: Any) -> tuple[Any, ...]:
        return (self._status(0), *results)

    def _wrong(self, *results: Any, code: int = 1) -> tuple[Any, ...]:
        return (self._status(code), *results)

    def _said(self, good: bool) -> tuple[Any, ...]:
        return self._ok() if good else self._wrong()

    # memory

    def _allocate(self, size: int) -> tuple[Any, ...]:
        return self._ok(self._address(device.allocate(size))) if size > 0 else self._wrong(0)

    def _free(self, address: int) -> tuple[Any, ...]:
        return self._said(int(address) == 0 or host_memory.free(address))

    def _in_stream(self, stream: tuple[Any, ...], work: Callable[[], bool]) -> tuple[Any, ...]:
        """Do work in a stream; of a stream that is captured, in each launch of the graph."""
        steps = device.STATE.recorded(handle_of(*stream)) if stream else None
        if not stream:
            device.STATE.synchronize(0)  # the host waits for such a copy, and it is in the default stream
        if steps is None:
            return self._said(work())
        steps.append(lambda: require(work()))
        return self._ok()

    # graphs

    def _begin_capture(self, stream: Any, *mode: Any) -> tuple[Any, ...]:
        if not (handle := handle_of(stream)):
            return self._wrong(code=CAPTURE_UNSUPPORTED)
        if device.STATE.recorded(handle) is not None:
            return self._wrong(code=ILLEGAL_STATE)
        device.STATE.captures[handle] = []
        return self._ok()

    def _end_capture(self, stream: Any) -> tuple[Any, ...]:
        steps = device.STATE.captures.pop(handle_of(stream), None)
        return self._wrong(0, code=ILLEGAL_STATE) if steps is None else self._keep(steps)

    def _keep(self, steps: list[device.Step]) -> tuple[Any, ...]:
        handle = device.STATE.handle()
        GRAPHS[handle] = steps
        return self._ok(handle)

    def _is_capturing(self, stream: Any) -> tuple[Any, ...]:
        return self._ok(int(device.STATE.recorded(handle_of(stream)) is not None))

    def _instantiate(self, graph: int, *flags: Any) -> tuple[Any, ...]:
        return self._keep(list(GRAPHS[int(graph)])) if int(graph) in GRAPHS else self._wrong(0)

    def _launch_graph(self, graph: int, stream: Any) -> tuple[Any, ...]:
        for step in (steps := GRAPHS.get(int(graph))) or ():
            device.STATE.submit(handle_of(stream), step)
        return self._said(steps is not None)

    def _destroy_graph(self, graph: int) -> tuple[Any, ...]:
        return self._said(GRAPHS.pop(int(graph), None) is not None)

    # streams and events

    def _event(self, *options: Any) -> tuple[Any, ...]:
        return self._ok(self._event_type(device.STATE.handle()))

    def _stream(self, flags: int = 0, *priority: Any) -> tuple[Any, ...]:
        return self._ok(self._stream_type(device.STATE.new_stream(is_blocking=not int(flags) & 1)))

    def _synchronize(self) -> tuple[Any, ...]:
        device.STATE.synchronize()
        return self._ok()

    def _synchronize_stream(self, stream: Any) -> tuple[Any, ...]:
        device.STATE.synchronize(handle_of(stream))
        return self._ok()

    def _synchronize_event(self, event: Any) -> tuple[Any, ...]:
        device.STATE.reached(self._moments.get(int(event)))
        return self._ok()

    def _wait_event(self, stream: Any, event: Any, *flags: Any) -> tuple[Any, ...]:
        device.STATE.wait(handle_of(stream), self._moments.get(int(event)))
        return self._ok()

    def _nothing(self, *values: Any) -> tuple[Any, ...]:
        return self._ok()

    def _record(self, event: int, *stream: Any) -> tuple[Any, ...]:
        self._times[int(event)] = time.perf_counter()
        self._moments[int(event)] = device.STATE.moment(handle_of(*stream) if stream else 0)
        return self._ok()

    def _elapsed(self, start: int, end: int) -> tuple[Any, ...]:
        if int(start) not in self._times or int(end) not in self._times:
            return self._wrong(0.0)
        return self._ok(max(1e3 * (self._times[int(end)] - self._times[int(start)]), 1e-3))

    def _device(self, number: int = 0) -> tuple[Any, ...]:
        return self._ok(CUdevice(0)) if number == 0 else self._wrong(CUdevice(0), code=101)

    def _context(self, *values: Any) -> tuple[Any, ...]:
        return self._ok(CUcontext(device.CONTEXT))


def require(done: bool) -> None:
    """Raise the error of a copy in a graph, whose status the program does not see."""
    if not done:
        raise RuntimeError("a graph copies or sets memory outside of every allocation, or memory that was freed")


class Modes(IntEnum):
    """Limits on other threads during a capture; nothing here depends on them."""

    GLOBAL = 0
    THREAD_LOCAL = 1
    RELAXED = 2


def named(prefix: str, names: dict[str, Modes]) -> SimpleNamespace:
    return SimpleNamespace(**{prefix + name: mode for name, mode in names.items()})


class DriverBindings(Api):
    """`cuda.bindings.driver`."""

    CUresult = CUresult
    CUdevice, CUcontext = CUdevice, CUcontext
    CUdeviceptr = _address = CUdeviceptr
    CUstream = _stream_type = CUstream
    CUevent = _event_type = CUevent

    def __init__(self) -> None:
        super().__init__(CUresult)
        self._modules: dict[int, list[Any]] = {}

    cuInit = cuCtxSetCurrent = cuCtxDestroy = cuDevicePrimaryCtxRelease = Api._nothing
    cuStreamDestroy = cuEventDestroy = Api._nothing
    cuCtxSynchronize, cuStreamWaitEvent = Api._synchronize, Api._wait_event
    cuStreamSynchronize = cuStreamQuery = Api._synchronize_stream
    cuEventSynchronize = cuEventQuery = Api._synchronize_event
    cuStreamCreate = cuStreamCreateWithPriority = Api._stream
    cuEventCreate = Api._event
    cuEventRecord, cuEventElapsedTime = Api._record, Api._elapsed
    cuMemAlloc = cuMemAllocHost = Api._allocate
    cuMemFree = cuMemFreeHost = Api._free
    cuDeviceGet = Api._device
    cuDevicePrimaryCtxRetain = cuCtxCreate = cuCtxGetCurrent = Api._context
    CUstreamCaptureMode = named("CU_STREAM_CAPTURE_MODE_", {mode.name: mode for mode in Modes})
    cuStreamBeginCapture, cuStreamEndCapture = Api._begin_capture, Api._end_capture
    cuStreamIsCapturing = Api._is_capturing
    cuGraphInstantiate = cuGraphInstantiateWithFlags = Api._instantiate
    cuGraphLaunch, cuGraphUpload = Api._launch_graph, Api._nothing
    cuGraphDestroy = cuGraphExecDestroy = Api._destroy_graph

    def cuModuleLoadData(self, image: bytes) -> tuple[Any, ...]:
        from .cuda_programs import ObjectCode

        try:
            module = ObjectCode(bytes(image))
        except TileError:
            return self._wrong(0, code=INVALID_IMAGE)
        handle = device.STATE.handle()
        self._modules[handle] = [module.get_kernel(entry.sym_name) for entry in module.module.entries]
        return self._ok(handle)

    def cuModuleUnload(self, module: int) -> tuple[Any, ...]:
        return self._said(self._modules.pop(int(module), None) is not None)

    def cuModuleGetFunctionCount(self, module: int) -> tuple[Any, ...]:
        return self._ok(len(self._modules[int(module)]))

    def cuModuleEnumerateFunctions(self, count: int, module: int) -> tuple[Any, ...]:
        return self._ok(self._modules[int(module)][:count])

    def cuModuleGetFunction(self, module: int, name: bytes) -> tuple[Any, ...]:
        found = [each for each in self._modules[int(module)] if each.symbol.encode() == name]
        return self._ok(found[0]) if found else self._wrong(None, code=NOT_FOUND)

    def cuFuncGetName(self, function: Any) -> tuple[Any, ...]:
        return self._ok(function.symbol.encode())

    def cuDriverGetVersion(self) -> tuple[Any, ...]:
        return self._ok(device.VERSION)

    def cuDeviceGetCount(self) -> tuple[Any, ...]:
        return self._ok(1)

    def cuDeviceGetName(self, length: int, number: int) -> tuple[Any, ...]:
        return self._ok(b"tilery")

    def cuDeviceGetAttribute(self, attribute: int, number: int) -> tuple[Any, ...]:
        known = device.ATTRIBUTES | {device.MAJOR: device.STATE.capability[0], device.MINOR: device.STATE.capability[1]}
        return self._ok(known.get(int(attribute), 1))

    def cuMemGetInfo(self) -> tuple[Any, ...]:
        return self._ok(1 << 36, 1 << 36)

    def cuMemcpyHtoD(self, to: int, source: Any, size: int, *stream: Any) -> tuple[Any, ...]:
        return self._in_stream(stream, lambda: host_memory.copy(to, source, size, device_to=True, device_from=False))

    def cuMemcpyDtoH(self, to: Any, source: int, size: int, *stream: Any) -> tuple[Any, ...]:
        return self._in_stream(stream, lambda: host_memory.copy(to, source, size, device_to=False, device_from=True))

    def cuMemcpyDtoD(self, to: int, source: int, size: int, *stream: Any) -> tuple[Any, ...]:
        return self._in_stream(stream, lambda: host_memory.copy(to, source, size, device_to=True, device_from=True))

    cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemcpyDtoDAsync = cuMemcpyHtoD, cuMemcpyDtoH, cuMemcpyDtoD

    def cuMemsetD8(self, address: int, value: int, count: int, *stream: Any) -> tuple[Any, ...]:
        return self._in_stream(stream, lambda: host_memory.fill(address, (value & 0xFF).to_bytes(1, "little"), count))

    def cuMemsetD32(self, address: int, value: int, count: int, *stream: Any) -> tuple[Any, ...]:
        return self._in_stream(
            stream, lambda: host_memory.fill(address, (value & 0xFFFFFFFF).to_bytes(4, "little"), count)
        )

    cuMemsetD8Async, cuMemsetD32Async = cuMemsetD8, cuMemsetD32

    def cuGetErrorName(self, status: int) -> tuple[Any, ...]:
        return self._ok(CUresult(status).name.encode())

    cuGetErrorString = cuGetErrorName


class Kinds(IntEnum):
    """The directions of a copy."""

    cudaMemcpyHostToHost = 0
    cudaMemcpyHostToDevice = 1
    cudaMemcpyDeviceToHost = 2
    cudaMemcpyDeviceToDevice = 3


class Runtime(Api):
    """`cuda.bindings.runtime`."""

    cudaError_t = cudaError_t
    cudaMemcpyKind = Kinds
    cudaStream_t = _stream_type = cudaStream_t
    cudaEvent_t = _event_type = cudaEvent_t

    def __init__(self) -> None:
        super().__init__(cudaError_t)

    cudaSetDevice = cudaFreeHost = cudaStreamDestroy = cudaEventDestroy = Api._nothing
    cudaDeviceSynchronize, cudaStreamWaitEvent = Api._synchronize, Api._wait_event
    cudaStreamSynchronize = cudaStreamQuery = Api._synchronize_stream
    cudaEventSynchronize = cudaEventQuery = Api._synchronize_event
    cudaStreamCreate = cudaStreamCreateWithFlags = Api._stream
    cudaEventCreate = cudaEventCreateWithFlags = Api._event
    cudaEventRecord, cudaEventElapsedTime = Api._record, Api._elapsed
    cudaStreamCaptureMode = named("cudaStreamCaptureMode", {mode.name.title().replace("_", ""): mode for mode in Modes})
    cudaStreamBeginCapture, cudaStreamEndCapture = Api._begin_capture, Api._end_capture
    cudaStreamIsCapturing = Api._is_capturing
    cudaGraphInstantiate = cudaGraphInstantiateWithFlags = Api._instantiate
    cudaGraphLaunch, cudaGraphUpload = Api._launch_graph, Api._nothing
    cudaGraphDestroy = cudaGraphExecDestroy = Api._destroy_graph

    def cudaMalloc(self, size: int) -> tuple[Any, ...]:
        return self._allocate(size)

    def cudaMallocAsync(self, size: int, stream: Any) -> tuple[Any, ...]:
        return self._allocate(size)

    def cudaFree(self, address: int) -> tuple[Any, ...]:
        return self._free(address)

    def cudaFreeAsync(self, address: int, stream: Any) -> tuple[Any, ...]:
        return self._free(address)

    def cudaMemcpy(self, to: Any, source: Any, size: int, kind: int, *stream: Any) -> tuple[Any, ...]:
        return self._in_stream(
            stream, lambda: host_memory.copy(to, source, size, device_to=bool(kind & 1), device_from=bool(kind & 2))
        )

    cudaMemcpyAsync = cudaMemcpy

    def cudaMemset(self, address: int, value: int, count: int, *stream: Any) -> tuple[Any, ...]:
        return self._in_stream(stream, lambda: host_memory.fill(address, (value & 0xFF).to_bytes(1, "little"), count))

    cudaMemsetAsync = cudaMemset

    def cudaGetDevice(self) -> tuple[Any, ...]:
        return self._ok(0)

    def cudaGetDeviceCount(self) -> tuple[Any, ...]:
        return self._ok(1)

    def cudaMemGetInfo(self) -> tuple[Any, ...]:
        return self._ok(1 << 36, 1 << 36)

    def cudaGetDeviceProperties(self, number: int) -> tuple[Any, ...]:
        major, minor = device.STATE.capability
        return self._ok(SimpleNamespace(name=b"tilery", major=major, minor=minor, multiProcessorCount=148))

    def cudaGetErrorString(self, status: int) -> tuple[Any, ...]:
        return self._ok(cudaError_t(status).name.encode())

    cudaGetErrorName = cudaGetErrorString


driver, runtime = DriverBindings(), Runtime()
for member in Kinds:
    setattr(runtime, member.name, member)
