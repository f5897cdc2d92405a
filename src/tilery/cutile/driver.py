"""A CUDA driver written in Python: the part of libcuda that cuTile's C extension calls, on host memory.

The extension finds every driver function through one pointer, `cuda.tile._load_libcuda.cuGetProcAddress_v2_ptrptr`.
Pointing it at `find_function` lets NVIDIA's dispatcher run unchanged: it sorts the arguments, compiles, stages lists
and launches, and the launch arrives here as raw 64-bit words.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from ..engines.common.addresses import HoldsAddresses
from ..programs.device import ATTRIBUTES, CONTEXT, MAJOR, MINOR, STATE, VERSION, allocate

LOADER = "cuda.tile._load_libcuda"
MAGIC = b"tilery\0\0"

INVALID_VALUE, INVALID_DEVICE, INVALID_IMAGE, LAUNCH_FAILED, NOT_SUPPORTED = 1, 101, 200, 719, 801


@dataclass(slots=True)
class DriverLaunch(HoldsAddresses):
    """A launch as the driver sees it: the Tile IR, the entry, the grid, and the address of the argument pointers."""

    bytecode: bytes
    entry: str
    grid: tuple[int, int, int]
    slots: int
    stream: int = 0
    is_dependent: bool = False
    """Whether it may start before the launch before it in its stream has ended."""

    def word(self, index: int, size: int) -> bytes:
        """Read the first `size` bytes of an argument; they are only valid during the launch."""
        return ctypes.string_at(read(self.slots + 8 * index, c_void_p), size)


@dataclass(slots=True)
class LoadedKernel(HoldsAddresses):
    """The code that cuTile has loaded. There is one per process, because cuTile asks for its driver once."""

    run: Callable[[DriverLaunch], None] | None = None
    """Executes launches; None outside of `on`."""
    libraries: dict[int, bytes] = field(default_factory=dict)
    kernels: dict[int, tuple[bytes, str]] = field(default_factory=dict)
    graphs: dict[int, list[DriverLaunch]] = field(default_factory=dict)


LOADED = LoadedKernel()
FAILURE = threading.local()
FUNCTIONS: dict[str, int] = {}
KEPT: list[Any] = []


def put(address: int, kind: Any, value: int | float) -> None:
    """Write a C value to memory."""
    kind.from_address(address).value = value


def read(address: int, kind: Any) -> int:
    """Read a C value from memory; a null pointer is 0."""
    value: int | None = kind.from_address(address).value
    return value or 0


def take_failure() -> BaseException | None:
    """Return and clear the exception that made this thread's last driver call fail."""
    found: BaseException | None = getattr(FAILURE, "error", None)
    FAILURE.error = None
    return found


def image(bytecode: bytes) -> bytes:
    """Wrap bytecode to pass as a cubin. The driver is not told an image's size, so it is stored in front."""
    return MAGIC + struct.pack("<Q", len(bytecode)) + bytecode


def function(*kinds: Any) -> Callable[[Callable[..., int | None]], Callable[..., int | None]]:
    """Declare a driver function under its own name. None means success; an exception becomes a failed launch."""

    def add(body: Callable[..., int | None]) -> Callable[..., int | None]:
        def call(*values: Any) -> int:
            try:
                return body(*values) or 0
            except BaseException as error:  # it cannot propagate through C code; the launch raises it again
                FAILURE.error = error
                return LAUNCH_FAILED

        pointer = ctypes.CFUNCTYPE(c_int, *kinds)(call)
        KEPT.append(pointer)
        FUNCTIONS[body.__name__] = ctypes.cast(pointer, c_void_p).value or 0
        return body

    return add


# ---------------------------------------------------------------- devices, contexts, errors


@function(c_uint)
def cuInit(flags: int) -> None:
    """Succeed: there is nothing to set up."""


@function(c_void_p)
def cuDriverGetVersion(version: int) -> None:
    put(version, c_int, VERSION)


@function(c_int, c_void_p)
def cuGetErrorString(code: int, text: int) -> None:
    error = getattr(FAILURE, "error", None)
    message = f"CUDA error {code}" if error is None else f"{type(error).__name__}: {error}"
    FAILURE.text = ctypes.create_string_buffer(message.encode("utf-8", "replace"))
    put(text, c_void_p, ctypes.addressof(FAILURE.text))


@function(c_void_p)
def cuDeviceGetCount(count: int) -> None:
    put(count, c_int, 1)


@function(c_void_p, c_int)
def cuDeviceGet(device: int, ordinal: int) -> int | None:
    if ordinal != 0:
        return INVALID_DEVICE
    put(device, c_int, 0)
    return None


@function(c_void_p, c_int, c_int)
def cuDeviceGetAttribute(value: int, attribute: int, device: int) -> None:
    known = ATTRIBUTES | {MAJOR: STATE.capability[0], MINOR: STATE.capability[1]}
    put(value, c_int, known.get(attribute, 1))


@function(c_void_p, c_int)
def cuDevicePrimaryCtxRetain(context: int, device: int) -> None:
    put(context, c_void_p, CONTEXT)


@function(c_void_p)
def cuCtxGetCurrent(context: int) -> None:
    put(context, c_void_p, CONTEXT)


@function(c_void_p)
def cuCtxPopCurrent(context: int) -> None:
    if context:
        put(context, c_void_p, CONTEXT)


@function(c_void_p)
def cuCtxGetDevice(device: int) -> None:
    put(device, c_int, 0)


@function(c_void_p, c_void_p)
def cuCtxGetId(context: int, number: int) -> None:
    put(number, c_uint64, CONTEXT)


@function(c_void_p, c_int, c_uint64)
def cuPointerGetAttribute(value: int, attribute: int, pointer: int) -> None:
    put(value, c_void_p, CONTEXT)


# ---------------------------------------------------------------- memory, streams, events


@function(c_void_p, c_size_t)
def cuMemAlloc(place: int, size: int) -> None:
    put(place, c_void_p, allocate(size))


@function(c_void_p, c_size_t)
def cuMemAllocHost(place: int, size: int) -> None:
    put(place, c_void_p, allocate(size))


@function(c_uint64)
def cuMemFree(address: int) -> None:
    STATE.memory.pop(address, None)


@function(c_uint64)
def cuMemFreeHost(address: int) -> None:
    STATE.memory.pop(address, None)


@function(c_uint64, c_uint64, c_size_t, c_void_p)
def cuMemcpyHtoDAsync(to: int, source: int, size: int, stream: int) -> None:
    ctypes.memmove(to, source, size)


@function(c_void_p, c_uint)
def cuStreamCreate(stream: int, flags: int) -> None:
    put(stream, c_void_p, STATE.handle())


@function(c_void_p, c_void_p)
def cuStreamGetCtx(stream: int, context: int) -> None:
    put(context, c_void_p, CONTEXT)


@function(c_void_p, c_void_p)
def cuStreamGetId(stream: int | None, number: int) -> None:
    put(number, c_uint64, stream or 0)


@function(c_void_p, c_void_p)
def cuStreamIsCapturing(stream: int | None, status: int) -> None:
    put(status, c_int, int(STATE.recorded(stream or 0) is not None))


@function(c_void_p, c_uint)
def cuEventCreate(event: int, flags: int) -> None:
    put(event, c_void_p, STATE.handle())


@function(c_void_p, c_void_p, c_void_p)
def cuEventElapsedTime(milliseconds: int, start: int, end: int) -> None:
    """Report one millisecond, always.

    Events are recorded by `cuEventRecord`, which must not run Python code (see `SILENT`) and so cannot note the time.
    The value is not zero because programs divide by it. cuTile's tuner does not use it: `session.make_timed` replaces
    its clock.
    """
    put(milliseconds, c_float, 1.0)


# ---------------------------------------------------------------- kernels and launches


@function(c_void_p, c_void_p, c_void_p, c_void_p, c_uint, c_void_p, c_void_p, c_uint)
def cuLibraryLoadData(library: int, code: int, *options: int) -> int | None:
    head = ctypes.string_at(code, 16)
    if not head.startswith(MAGIC):
        return INVALID_IMAGE  # compiled for a GPU, before this driver was installed
    handle = STATE.handle()
    LOADED.libraries[handle] = ctypes.string_at(code + 16, struct.unpack("<Q", head[8:])[0])
    put(library, c_void_p, handle)
    return None


@function(c_void_p, c_void_p, c_char_p)
def cuLibraryGetKernel(kernel: int, library: int, name: bytes) -> None:
    handle = STATE.handle()
    LOADED.kernels[handle] = LOADED.libraries[library], name.decode()
    put(kernel, c_void_p, handle)


@function(c_void_p, c_void_p)
def cuKernelGetFunction(function: int, kernel: int) -> None:
    put(function, c_void_p, kernel)


@function(c_void_p, c_int, c_void_p, c_int)
def cuKernelGetAttribute(value: int, attribute: int, kernel: int, device: int) -> None:
    put(value, c_int, 0)


@function(c_int, c_int, c_void_p, c_int)
def cuKernelSetAttribute(attribute: int, value: int, kernel: int, device: int) -> None:
    pass


class CULaunchConfig(ctypes.Structure):
    """CUDA's `CUlaunchConfig`."""

    _fields_ = [
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared_memory", c_uint),
        ("stream", c_void_p),
        ("attributes", c_void_p),
        ("attribute_count", c_uint),
    ]


class LaunchAttribute(ctypes.Structure):
    """CUDA's `CUlaunchAttribute`: of the values, the first word."""

    _fields_ = [("id", c_int), ("padding", c_int), ("value", c_int), ("more", c_int * 15)]


EARLY = 6
"""The attribute of launches that may start before the launch before them has ended."""


def launch(kernel: int, grid: tuple[int, ...], slots: int, stream: int, is_dependent: bool = False) -> int | None:
    """Run a kernel in the current session."""
    if 0 in grid or grid[1] > ATTRIBUTES[6] or grid[2] > ATTRIBUTES[7]:
        return INVALID_VALUE
    bytecode, entry = LOADED.kernels[kernel]
    if LOADED.run is None:
        raise RuntimeError("a kernel was launched outside `with tilery.cutile.on(...)`")
    LOADED.run(DriverLaunch(bytecode, entry, (grid[0], grid[1], grid[2]), slots, stream, is_dependent))
    return None


@function(c_void_p, c_void_p, c_void_p, c_void_p)
def cuLaunchKernelEx(config: int, kernel: int, slots: int | None, extra: int) -> int | None:
    found = CULaunchConfig.from_address(config)
    count = found.attribute_count if found.attributes else 0
    attributes = (LaunchAttribute * count).from_address(found.attributes) if count else ()
    is_dependent = any(each.id == EARLY and each.value for each in attributes)
    return launch(kernel, tuple(found.grid), slots or 0, found.stream or 0, is_dependent)


@function(c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p)
def cuLaunchKernel(kernel: int, x: int, y: int, z: int, *rest: int) -> int | None:
    return launch(kernel, (x, y, z), rest[5] or 0, rest[4] or 0)


# ---------------------------------------------------------------- graphs, with which cuTile's tuner times kernels


class KernelNode(ctypes.Structure):
    """CUDA's `CUDA_KERNEL_NODE_PARAMS`."""

    _fields_ = [
        ("function", c_void_p),
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared_memory", c_uint),
        ("slots", c_void_p),
        ("extra", c_void_p),
        ("kernel", c_void_p),
        ("context", c_void_p),
    ]


@function(c_void_p, c_uint)
def cuGraphCreate(graph: int, flags: int) -> None:
    handle = STATE.handle()
    LOADED.graphs[handle] = []
    put(graph, c_void_p, handle)


@function(c_void_p, c_void_p, c_void_p, c_size_t, c_void_p)
def cuGraphAddKernelNode(node: int, graph: int, needs: int, count: int, what: int) -> None:
    kernel = KernelNode.from_address(what)
    bytecode, entry = LOADED.kernels[kernel.kernel or kernel.function]
    grid = kernel.grid[0], kernel.grid[1], kernel.grid[2]
    LOADED.graphs[graph].append(DriverLaunch(bytecode, entry, grid, kernel.slots or 0))
    put(node, c_void_p, STATE.handle())


def add_node(node: int, *rest: int) -> None:
    """Add a graph node that does nothing."""
    put(node, c_void_p, STATE.handle())


for name, count in (
    ("cuGraphAddMemAllocNode", 5),
    ("cuGraphAddMemFreeNode", 5),
    ("cuGraphAddMemsetNode", 6),
    ("cuGraphAddEventRecordNode", 5),
):
    renamed = lambda node, *rest: add_node(node)  # noqa: E731  # one function object for each name
    renamed.__name__ = name
    function(*[c_void_p] * count)(renamed)


@function(c_void_p, c_void_p, c_uint64)
def cuGraphInstantiateWithFlags(executable: int, graph: int, flags: int) -> None:
    handle = STATE.handle()
    LOADED.graphs[handle] = LOADED.graphs[graph]
    put(executable, c_void_p, handle)


@function(c_void_p, c_void_p)
def cuGraphLaunch(executable: int, stream: int) -> None:
    for each in LOADED.graphs[executable]:
        assert LOADED.run is not None
        LOADED.run(each)


# The extension calls these from destructors, also while a Python exception propagates, when no Python code may run. The
# C library's `feclearexcept` takes their place: whatever it is called with, it returns 0 and does no harm.
SILENT = (
    *("cuCtxPushCurrent", "cuCtxSetCurrent", "cuCtxSynchronize", "cuEventDestroy", "cuEventQuery", "cuEventRecord"),
    *("cuGraphDestroy", "cuGraphExecDestroy", "cuLibraryUnload"),
    *("cuStreamDestroy", "cuStreamSynchronize", "cuStreamWaitEvent"),
)


def return_zero() -> int:
    """Return the address of a C function that returns 0."""
    names = ["ucrtbase"] if sys.platform == "win32" else [None, "libm.so.6", "libm.dylib"]
    for library in names:
        try:
            found = ctypes.CDLL(library).feclearexcept
        except (OSError, AttributeError):
            continue
        KEPT.append(found)
        return ctypes.cast(found, c_void_p).value or 0
    raise OSError("the C library has no feclearexcept")


@function()
def unsupported() -> int:
    return NOT_SUPPORTED


def find(name: bytes, place: Any, version: int, flags: int, status: int) -> int:
    """Look up a driver function, as `cuGetProcAddress` does; unknown ones report that they are not supported."""
    place[0] = FUNCTIONS.get(name.decode()) or FUNCTIONS["unsupported"]
    return 0


find_function = ctypes.CFUNCTYPE(c_int, c_char_p, POINTER(c_void_p), c_int, c_uint64, c_void_p)(find)


def install() -> None:
    """Make this the driver that cuTile finds when it first needs one."""
    FUNCTIONS.update(dict.fromkeys(SILENT, return_zero()))
    loader = ModuleType(LOADER)
    loader.__dict__.update(
        tilery=True,
        _cuGetProcAddress_v2=find_function,
        cuGetProcAddress_v2_ptrptr=ctypes.addressof(find_function),
    )
    sys.modules[LOADER] = loader


def installed() -> bool:
    """Whether cuTile's driver is this one."""
    return hasattr(sys.modules.get(LOADER), "tilery")
