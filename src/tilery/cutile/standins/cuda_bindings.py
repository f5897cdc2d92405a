"""`cuda.bindings` on the host: memory, streams and events of the driver and of the runtime.

Functions return a status and then their results, as NVIDIA's do. What is not here does not exist, and says so.
"""

from __future__ import annotations

import time
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

from .. import driver as device
from . import host_memory


class CUresult(IntEnum):
    """The status of a call of the driver."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_INVALID_DEVICE = 101


class cudaError_t(IntEnum):  # NVIDIA's name
    """The status of a call of the runtime."""

    cudaSuccess = 0
    cudaErrorInvalidValue = 1
    cudaErrorInvalidDevice = 101


class Api:
    """The functions of one of the two, whose statuses have different names."""

    def __init__(self, status: type[IntEnum]) -> None:
        self._status = status
        self._times: dict[int, float] = {}

    def _ok(self, *results: Any) -> tuple[Any, ...]:
        return (self._status(0), *results)

    def _wrong(self, *results: Any, code: int = 1) -> tuple[Any, ...]:
        return (self._status(code), *results)

    def _said(self, good: bool) -> tuple[Any, ...]:
        return self._ok() if good else self._wrong()

    # memory

    def _allocate(self, size: int) -> tuple[Any, ...]:
        return self._ok(host_memory.allocate(size)) if size > 0 else self._wrong(0)

    def _free(self, address: int) -> tuple[Any, ...]:
        return self._said(int(address) == 0 or host_memory.free(address))

    # streams and events

    def _handle(self, *options: Any) -> tuple[Any, ...]:
        return self._ok(device.STATE.handle())

    def _nothing(self, *values: Any) -> tuple[Any, ...]:
        return self._ok()

    def _record(self, event: int, *stream: Any) -> tuple[Any, ...]:
        self._times[int(event)] = time.perf_counter()
        return self._ok()

    def _elapsed(self, start: int, end: int) -> tuple[Any, ...]:
        if int(start) not in self._times or int(end) not in self._times:
            return self._wrong(0.0)
        return self._ok(max(1e3 * (self._times[int(end)] - self._times[int(start)]), 1e-3))

    def _device(self, number: int = 0) -> tuple[Any, ...]:
        return self._ok(0) if number == 0 else self._wrong(0, code=101)


class Driver(Api):
    """`cuda.bindings.driver`."""

    CUresult = CUresult
    CUdeviceptr = CUstream = CUevent = CUcontext = CUdevice = int

    def __init__(self) -> None:
        super().__init__(CUresult)

    cuInit = cuCtxSetCurrent = cuCtxSynchronize = cuCtxDestroy = cuDevicePrimaryCtxRelease = Api._nothing
    cuStreamSynchronize = cuStreamQuery = cuStreamDestroy = cuStreamWaitEvent = Api._nothing
    cuEventSynchronize = cuEventQuery = cuEventDestroy = Api._nothing
    cuStreamCreate = cuStreamCreateWithPriority = cuEventCreate = Api._handle
    cuEventRecord, cuEventElapsedTime = Api._record, Api._elapsed
    cuMemAlloc = cuMemAllocHost = Api._allocate
    cuMemFree = cuMemFreeHost = Api._free
    cuDeviceGet = Api._device

    def cuDriverGetVersion(self) -> tuple[Any, ...]:
        return self._ok(device.VERSION)

    def cuDeviceGetCount(self) -> tuple[Any, ...]:
        return self._ok(1)

    def cuDeviceGetName(self, length: int, number: int) -> tuple[Any, ...]:
        return self._ok(b"tilery")

    def cuDeviceGetAttribute(self, attribute: int, number: int) -> tuple[Any, ...]:
        known = device.ATTRIBUTES | {device.MAJOR: device.STATE.capability[0], device.MINOR: device.STATE.capability[1]}
        return self._ok(known.get(int(attribute), 1))

    def cuDevicePrimaryCtxRetain(self, number: int) -> tuple[Any, ...]:
        return self._ok(device.CONTEXT)

    def cuCtxCreate(self, *values: Any) -> tuple[Any, ...]:
        return self._ok(device.CONTEXT)

    def cuCtxGetCurrent(self) -> tuple[Any, ...]:
        return self._ok(device.CONTEXT)

    def cuMemGetInfo(self) -> tuple[Any, ...]:
        return self._ok(1 << 36, 1 << 36)

    def cuMemcpyHtoD(self, to: int, source: Any, size: int, *stream: Any) -> tuple[Any, ...]:
        return self._said(host_memory.copy(to, source, size, device_to=True, device_from=False))

    def cuMemcpyDtoH(self, to: Any, source: int, size: int, *stream: Any) -> tuple[Any, ...]:
        return self._said(host_memory.copy(to, source, size, device_to=False, device_from=True))

    def cuMemcpyDtoD(self, to: int, source: int, size: int, *stream: Any) -> tuple[Any, ...]:
        return self._said(host_memory.copy(to, source, size, device_to=True, device_from=True))

    cuMemcpyHtoDAsync, cuMemcpyDtoHAsync, cuMemcpyDtoDAsync = cuMemcpyHtoD, cuMemcpyDtoH, cuMemcpyDtoD

    def cuMemsetD8(self, address: int, value: int, count: int, *stream: Any) -> tuple[Any, ...]:
        return self._said(host_memory.fill(address, (value & 0xFF).to_bytes(1, "little"), count))

    def cuMemsetD32(self, address: int, value: int, count: int, *stream: Any) -> tuple[Any, ...]:
        return self._said(host_memory.fill(address, (value & 0xFFFFFFFF).to_bytes(4, "little"), count))

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
    cudaStream_t = cudaEvent_t = int

    def __init__(self) -> None:
        super().__init__(cudaError_t)

    cudaSetDevice = cudaDeviceSynchronize = cudaFreeHost = Api._nothing
    cudaStreamSynchronize = cudaStreamQuery = cudaStreamDestroy = cudaStreamWaitEvent = Api._nothing
    cudaEventSynchronize = cudaEventQuery = cudaEventDestroy = Api._nothing
    cudaStreamCreate = cudaStreamCreateWithFlags = cudaEventCreate = cudaEventCreateWithFlags = Api._handle
    cudaEventRecord, cudaEventElapsedTime = Api._record, Api._elapsed

    def cudaMalloc(self, size: int) -> tuple[Any, ...]:
        return self._allocate(size)

    def cudaMallocAsync(self, size: int, stream: Any) -> tuple[Any, ...]:
        return self._allocate(size)

    def cudaFree(self, address: int) -> tuple[Any, ...]:
        return self._free(address)

    def cudaFreeAsync(self, address: int, stream: Any) -> tuple[Any, ...]:
        return self._free(address)

    def cudaMemcpy(self, to: Any, source: Any, size: int, kind: int, *stream: Any) -> tuple[Any, ...]:
        return self._said(host_memory.copy(to, source, size, device_to=bool(kind & 1), device_from=bool(kind & 2)))

    cudaMemcpyAsync = cudaMemcpy

    def cudaMemset(self, address: int, value: int, count: int, *stream: Any) -> tuple[Any, ...]:
        return self._said(host_memory.fill(address, (value & 0xFF).to_bytes(1, "little"), count))

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


driver, runtime = Driver(), Runtime()
for member in Kinds:
    setattr(runtime, member.name, member)
