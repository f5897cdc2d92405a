"""NVIDIA's driver through ctypes: devices, memory, modules, streams and graphs. Errors carry the driver's own names."""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from functools import cache
from typing import Any

from ...diag import ErrorKind, TileError
from ..common.addresses import HoldsAddresses

Handle = int
"""A stream, module, function, event, graph or context, as the driver numbers them."""

MAX_SHARED_BYTES = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: above this much, a kernel must ask for it."""
FREE_SHARED_BYTES = 48 << 10
MAJOR, MINOR, L2_BYTES = 75, 76, 38
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR, and CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE."""
NOT_FOUND = 500
NOT_READY = 600
STICKY = {700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721}
"""Errors after which the context refuses everything: illegal addresses, traps, time-outs, failed launches."""
CAPTURE_RELAXED = 2

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDevicePrimaryCtxRetain": (POINTER(c_void_p), c_int),
    "cuCtxSetCurrent": (c_void_p,),
    "cuCtxSynchronize": (),
    "cuMemAlloc_v2": (POINTER(c_uint64), c_size_t),
    "cuMemFree_v2": (c_uint64,),
    "cuMemcpyHtoD_v2": (c_uint64, c_void_p, c_size_t),
    "cuMemcpyDtoH_v2": (c_void_p, c_uint64, c_size_t),
    "cuMemcpyDtoD_v2": (c_uint64, c_uint64, c_size_t),
    "cuMemsetD8Async": (c_uint64, c_uint, c_size_t, c_void_p),
    "cuModuleLoadData": (POINTER(c_void_p), c_char_p),
    "cuModuleUnload": (c_void_p,),
    "cuModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "cuModuleGetGlobal_v2": (POINTER(c_uint64), POINTER(c_size_t), c_void_p, c_char_p),
    "cuFuncSetAttribute": (c_void_p, c_int, c_int),
    "cuLaunchKernel": (c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p),
    "cuLaunchKernelEx": (c_void_p, c_void_p, c_void_p, c_void_p),
    "cuTensorMapEncodeTiled": (
        c_void_p, c_int, c_uint, c_uint64, c_void_p, c_void_p, c_void_p, c_void_p, c_int, c_int, c_int, c_int,
    ),
    "cuStreamSynchronize": (c_void_p,),
    "cuStreamCreate": (POINTER(c_void_p), c_uint),
    "cuStreamDestroy_v2": (c_void_p,),
    "cuStreamBeginCapture_v2": (c_void_p, c_int),
    "cuStreamEndCapture": (c_void_p, POINTER(c_void_p)),
    "cuGraphInstantiateWithFlags": (POINTER(c_void_p), c_void_p, c_uint64),
    "cuGraphLaunch": (c_void_p, c_void_p),
    "cuGraphDestroy": (c_void_p,),
    "cuGraphExecDestroy": (c_void_p,),
    "cuEventCreate": (POINTER(c_void_p), c_uint),
    "cuEventDestroy_v2": (c_void_p,),
    "cuEventRecord": (c_void_p, c_void_p),
    "cuEventQuery": (c_void_p,),
    "cuEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
}  # fmt: skip
"""The functions that are used, with the types of their parameters."""


class DriverError(TileError):
    """An error of NVIDIA's driver; `code` is its CUresult."""

    def __init__(self, message: str, code: int, *notes: str) -> None:
        super().__init__(message, kind=ErrorKind.DEVICE, notes=notes)
        self.code = code


class Driver(HoldsAddresses):
    """The driver and the primary context of one device."""

    def __init__(self, library: Any, device: int = 0) -> None:
        """Start the driver. `library` is libcuda as ctypes loads it, or an object with the same functions."""
        self._library = library
        self._lock = threading.Lock()
        self._lost = ""
        for name, kinds in _SIGNATURES.items():
            if (function := getattr(library, name, None)) is not None:
                function.argtypes, function.restype = kinds, c_int
        self.call("cuInit", 0)
        count = c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        if not 0 <= device < count.value:
            raise TileError(f"there is no GPU {device}, the driver lists {count.value}", kind=ErrorKind.MISSING_TOOL)
        ordinal, context = c_int(), c_void_p()
        self.call("cuDeviceGet", ctypes.byref(ordinal), device)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), ordinal.value)
        self.device, self._context = ordinal.value, context
        self.make_current()

    # ------------------------------------------------------------ calls and errors

    def function(self, name: str) -> Any:
        """Return a function of the driver, or raise TileError if this driver is too old to have it."""
        found = getattr(self._library, name, None)
        if found is None:
            raise TileError(f"NVIDIA's driver has no {name}; it is too old", kind=ErrorKind.VERSION)
        return found

    def has(self, name: str) -> bool:
        """Tell whether this driver has a function."""
        return getattr(self._library, name, None) is not None

    def call(self, name: str, *args: Any) -> None:
        """Call a function; raise DriverError if it fails."""
        self.check(name, self.function(name)(*args))

    def check(self, name: str, code: int) -> None:
        """Raise DriverError unless a function succeeded. After a sticky error, say which one came first."""
        if code == 0:
            return
        if self._lost and code in STICKY:
            note = f"the first error was {self._lost}; the GPU can be used again in a new process"
            raise DriverError(f"{name}: the context of the GPU is lost", code, note)
        message = f"{name}: {self.describe(code)}"
        if code in STICKY:
            self._lost = self._lost or message
            raise DriverError(message, code, "the context of the GPU is lost; use it again in a new process")
        raise DriverError(message, code)

    def describe(self, code: int) -> str:
        """Return the driver's name of an error and what it says about it."""
        texts = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = c_char_p()
            if not self.function(name)(code, ctypes.byref(text)) and text.value:
                texts.append(text.value.decode("utf-8", "replace"))
        return ": ".join(texts) or f"error {code}"

    def make_current(self) -> None:
        """Make the context current in the calling thread."""
        self.call("cuCtxSetCurrent", self._context)

    # ------------------------------------------------------------ the device

    @property
    def name(self) -> str:
        """The name of the device."""
        text = ctypes.create_string_buffer(256)
        self.call("cuDeviceGetName", text, len(text), self.device)
        return text.value.decode("utf-8", "replace")

    @property
    def version(self) -> tuple[int, int]:
        """The CUDA version that the driver supports."""
        number = c_int()
        self.call("cuDriverGetVersion", ctypes.byref(number))
        return number.value // 1000, number.value % 1000 // 10

    @property
    def target(self) -> str:
        """The architecture of the device, such as sm_90."""
        major, minor = (self._attribute(which) for which in (MAJOR, MINOR))
        return f"sm_{major}{minor}"

    @property
    def cache_bytes(self) -> int:
        """The size of the cache that all multiprocessors share."""
        return self._attribute(L2_BYTES)

    def _attribute(self, which: int) -> int:
        value = c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), which, self.device)
        return value.value

    # ------------------------------------------------------------ memory

    def allocate(self, size: int) -> int:
        """Allocate device memory, aligned to 256 bytes; return its address."""
        address = c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), max(size, 1))
        return address.value

    def free(self, address: int) -> None:
        """Free device memory. After a lost context there is nothing to free."""
        if not self._lost:
            self.call("cuMemFree_v2", address)

    def copy_in(self, target: int, source: int, size: int) -> None:
        """Copy host memory to the device."""
        if size:
            self.call("cuMemcpyHtoD_v2", target, source, size)

    def copy_out(self, target: int, source: int, size: int) -> None:
        """Copy device memory to the host."""
        if size:
            self.call("cuMemcpyDtoH_v2", target, source, size)

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy memory on the device, in the order of the default stream."""
        if size:
            self.call("cuMemcpyDtoD_v2", target, source, size)

    def clear(self, address: int, size: int, stream: Handle = 0) -> None:
        """Set device memory to zero, in the order of a stream."""
        if size:
            self.call("cuMemsetD8Async", address, 0, size, stream)

    # ------------------------------------------------------------ code

    def load_image(self, image: bytes) -> Handle:
        """Load a cubin."""
        module = c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), image)
        return module.value or 0

    def find_function(self, module: Handle, name: str, shared_bytes: int = 0) -> Handle:
        """Return a kernel of a module, allowed to use that much dynamic shared memory."""
        function = c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared_bytes > FREE_SHARED_BYTES:
            self.call("cuFuncSetAttribute", function, MAX_SHARED_BYTES, shared_bytes)
        return function.value or 0

    def find_global(self, module: Handle, name: str) -> tuple[int, int]:
        """Return the address and size of a global variable of a module."""
        address, size = c_uint64(), c_size_t()
        self.call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), module, name.encode())
        return address.value, size.value

    # ------------------------------------------------------------ streams, events, graphs

    def synchronize(self, stream: Handle = 0) -> None:
        """Wait until everything in a stream has finished."""
        self.call("cuStreamSynchronize", stream)

    def create(self, function: str, flags: int = 0) -> Handle:
        """Create a stream (`cuStreamCreate`) or an event (`cuEventCreate`)."""
        made = c_void_p()
        self.call(function, ctypes.byref(made), flags)
        return made.value or 0

    def is_done(self, event: Handle) -> bool:
        """Tell whether an event has happened."""
        code = self.function("cuEventQuery")(event)
        if code == NOT_READY:
            return False
        self.check("cuEventQuery", code)
        return True

    def elapsed(self, start: Handle, end: Handle) -> float:
        """Return the seconds between two events."""
        milliseconds = c_float()
        self.call("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return milliseconds.value / 1e3


@cache
def open_driver(device: int | None = None) -> Driver:
    """Start NVIDIA's driver on a device, by default the first; a TileError says why there is none."""
    names = ("nvcuda.dll",) if os.name == "nt" else ("libcuda.so.1", "libcuda.so")
    for name in names:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return Driver(library, device or 0)
    raise TileError(
        "there is no NVIDIA driver on this machine, so nothing can run on a GPU",
        kind=ErrorKind.MISSING_TOOL,
        notes=("`tilery compile` works without one, and engine 'reference' runs any kernel on the CPU",),
    )
