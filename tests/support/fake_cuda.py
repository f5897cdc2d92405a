"""A CUDA driver without a GPU: device memory is host memory, and a launch runs the entry on the reference engine."""

from __future__ import annotations

import ctypes
from typing import Any

from tilery.engines.common.cutile_abi import value_of
from tilery.engines.cuda.contract import PARAMETER, LaunchContract
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.ops import Module

ILLEGAL_ADDRESS = 700
ERRORS = {2: b"CUDA_ERROR_OUT_OF_MEMORY", ILLEGAL_ADDRESS: b"CUDA_ERROR_ILLEGAL_ADDRESS"}


def value(argument: Any) -> Any:
    """Return what an argument of a driver function holds, however it is passed."""
    return getattr(argument, "value", argument)


class FakeCuda:
    """The functions of libcuda that the launcher uses. `calls` lists their names in order."""

    def __init__(self, module: Module | None = None, contract: LaunchContract | None = None) -> None:
        self.module, self.contract = module, contract
        self.calls: list[str] = []
        self.memory: dict[int, Any] = {}
        self.launches: list[tuple[int, ...]] = []
        self.failing: dict[str, int] = {}
        self.missing: set[str] = set()
        self.functions: dict[str, Any] = {}
        self._loaded: ReferenceLoaded | None = None
        self._handles = iter(range(16, 1 << 30, 16))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu") or name in self.missing:
            raise AttributeError(name)
        if name not in self.functions:
            body = getattr(type(self), f"_{name}", None)

            def function(*args: Any) -> int:
                self.calls.append(name)
                if name in self.failing:
                    return self.failing[name]
                if body is not None:
                    body(self, *args)
                return 0

            self.functions[name] = function
        return self.functions[name]

    def live(self) -> int:
        """Return how many allocations have not been freed."""
        return len(self.memory)

    # ------------------------------------------------------------ the driver

    def _cuDeviceGetCount(self, count: Any) -> None:
        count._obj.value = 1

    def _cuDevicePrimaryCtxRetain(self, context: Any, _: Any) -> None:
        context._obj.value = 1

    def _cuDeviceGetAttribute(self, found: Any, which: int, _: Any) -> None:
        found._obj.value = {38: 1 << 20, 75: 9, 76: 0}[which]

    def _cuDriverGetVersion(self, found: Any) -> None:
        found._obj.value = 13040

    def _cuDeviceGetName(self, text: Any, *_: Any) -> None:
        text.value = b"Fake"

    def _cuGetErrorName(self, code: int, text: Any) -> None:
        text._obj.value = ERRORS.get(code, b"CUDA_ERROR")

    def _cuGetErrorString(self, code: int, text: Any) -> None:
        text._obj.value = b"something is wrong"

    def _cuMemAlloc_v2(self, address: Any, size: int) -> None:
        raw = ctypes.create_string_buffer(b"\x5a" * (size + 256), size + 256)
        found = -(-ctypes.addressof(raw) // 256) * 256
        self.memory[found] = raw
        address._obj.value = found

    def _cuMemFree_v2(self, address: Any) -> None:
        del self.memory[value(address)]

    def _cuMemcpyHtoD_v2(self, target: Any, source: Any, size: int) -> None:
        ctypes.memmove(value(target), value(source), size)

    _cuMemcpyDtoH_v2 = _cuMemcpyDtoD_v2 = _cuMemcpyHtoD_v2

    def _cuMemsetD8Async(self, address: Any, byte: int, size: int, _: Any) -> None:
        ctypes.memset(value(address), byte, size)

    def _new(self, handle: Any, *_: Any) -> None:
        handle._obj.value = next(self._handles)

    _cuModuleLoadData = _cuModuleGetFunction = _cuStreamCreate = _cuEventCreate = _new
    _cuGraphInstantiateWithFlags = _new

    def _cuStreamEndCapture(self, _: Any, graph: Any) -> None:
        self._new(graph)

    def _cuEventElapsedTime(self, milliseconds: Any, *_: Any) -> None:
        milliseconds._obj.value = 2.5

    def _cuModuleGetGlobal_v2(self, address: Any, size: Any, _: Any, name: bytes) -> None:
        loaded = self._reference()
        address._obj.value = loaded.globals[name.decode()]
        size._obj.value = len(loaded.content(name.decode()))

    def _cuLaunchKernel(self, _: Any, *rest: Any) -> None:
        assert self.contract is not None
        self._launch(tuple(value(n) for n in rest[:3]), value(rest[8]))

    def _cuLaunchKernelEx(self, config: Any, _: Any, params: Any, __: Any) -> None:
        self._launch(tuple((ctypes.c_uint * 3).from_address(value(config))), value(params))

    def _launch(self, grid: tuple[int, ...], params: int) -> None:
        """Run the entry with the words that the parameters point to."""
        assert self.contract is not None
        self.launches.append(grid)
        loaded = self._reference()
        kernel = loaded.kernel(self.contract.name)
        table = (ctypes.c_void_p * len(self.contract.arguments)).from_address(params)
        words: list[Any] = []
        for argument, at in zip(self.contract.arguments, table):
            if argument.kind == PARAMETER:
                words.append(value_of(kernel.params[argument.index], ctypes.string_at(at, 8)))
        buffers = [(address, len(raw) - 256) for address, raw in self.memory.items()]
        kernel.launch(grid, words, buffers=buffers)

    def _reference(self) -> ReferenceLoaded:
        if self._loaded is None:
            assert self.module is not None
            self._loaded = ReferenceLoaded(self.module)
        return self._loaded
