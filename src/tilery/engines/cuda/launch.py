"""Launching compiled kernels on an NVIDIA GPU. The engines that compile for GPUs share these classes."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, Protocol

from ...diag import ErrorKind, TileError
from ...ir import walk
from ...ops import Entry, Global, Module, PrintTko
from ...types import Ptr, Tile
from ..common.addresses import HoldsAddresses
from ..common.arguments import Buffers
from ..common.kernel import Kernel, find_entry
from ..common.launch import Launch
from ..common.limits import Limits, Stats
from ..common.output import printer
from ..common.tiles import dense_array, packed
from . import contract as kinds
from .contract import LaunchContract
from .driver import CAPTURE_RELAXED, NOT_FOUND, Driver, DriverError, Handle, open_driver
from .printing import BUFFER_BYTES, HEAD, captured, check_complete, decode, device_string
from .staging import Staged, stage
from .tensor_map import encode

MAX_GRID = (2**31 - 1, 65535, 65535)
"""The largest grid that a GPU takes."""
POLL_SECONDS = 50e-6
LAUNCH = "cuLaunchKernelEx"
"""The function that launches; drivers before CUDA 11.8 have only cuLaunchKernel."""


class Binary(NamedTuple):
    """Machine code for a GPU, and how to launch one kernel of it."""

    image: bytes
    contract: LaunchContract


class Compiler(Protocol):
    """Compiles the entries of a module for a GPU; it can be pickled. `engine` is the name of its engine."""

    engine: str

    def compile(self, module: Module, entry: Entry, target: str) -> Binary:
        """Compile an entry for an architecture such as sm_90."""

    def initial(self, o: Global) -> bytes | None:
        """Return the bytes that a global starts with, or None if the machine code holds the global itself."""


@dataclass(frozen=True)
class Prebuilt:
    """A compiler that returns what has been compiled before."""

    engine = "gpu"

    binary: Binary

    def compile(self, module: Module, entry: Entry, target: str) -> Binary:
        """Return the binary, whatever the target."""
        return self.binary

    def initial(self, o: Global) -> bytes | None:
        """The machine code holds the globals: only kernels without globals are compiled ahead."""


class CudaLoaded:
    """A module on a GPU. Its globals keep what kernels write to them for as long as this object lives.

    A copy, by `copy` or `pickle`, has its own memory, with the bytes that the globals had when it was made.
    """

    def __init__(self, module: Module, compiler: Compiler, driver: Driver | None = None) -> None:
        self.module, self.compiler = module, compiler
        self.driver = driver or open_driver()
        self.driver.make_current()
        self._images: dict[bytes, Handle] = {}
        self._globals: dict[str, tuple[int, int]] = {}
        self._pending: dict[str, bytes] = {}
        for o in module.globals:
            initial = compiler.initial(o)
            if initial is not None:
                self._globals[o.sym_name] = self.driver.allocate(len(initial)), len(initial)
                self.write(o.sym_name, initial)

    def __reduce__(self) -> tuple[Any, ...]:
        contents = {o.sym_name: self.content(o.sym_name) for o in self.module.globals}
        return _load_with, (self.module, self.compiler, contents)

    def __del__(self) -> None:
        if not sys.is_finalizing():
            for address, _ in getattr(self, "_globals", {}).values():
                self.driver.free(address)

    def kernel(self, entry: str | None = None) -> CudaKernel:
        """Compile and load a kernel: the one of that name, or the only one."""
        return CudaKernel(self, find_entry(self.module, entry))

    def content(self, name: str) -> bytes:
        """Return the bytes that a global holds now. A compiler may leave out a global that no kernel can change."""
        if (found := self._find(name)) is None:
            return self._pending.get(name) or global_bytes(next(o for o in self.module.globals if o.sym_name == name))
        address, size = found
        data = ctypes.create_string_buffer(size)
        self.driver.copy_out(ctypes.addressof(data), address, size)
        return data.raw

    def write(self, name: str, content: bytes) -> None:
        """Set the bytes of a global; one that the machine code holds is set when that is loaded."""
        if (found := self._find(name)) is None:
            self._pending[name] = content
            return
        address, size = found
        source = ctypes.create_string_buffer(content, size)  # alive until it is copied
        self.driver.copy_in(address, ctypes.addressof(source), size)

    def address(self, name: str) -> int:
        """Return where a global is on the device."""
        found = self._find(name)
        if found is None:
            raise TileError(f"global @{name} is not on the device")
        return found[0]

    def _find(self, name: str) -> tuple[int, int] | None:
        """Return where a global is on the device and its size, or None if no machine code with it is loaded."""
        if name in self._globals:
            return self._globals[name]
        for image in self._images.values():
            try:
                return self.driver.find_global(image, name)
            except DriverError as error:
                if error.code != NOT_FOUND:
                    raise
        return None

    def load_image(self, image: bytes) -> Handle:
        """Load machine code, once."""
        if image not in self._images:
            self._images[image] = self.driver.load_image(image)
            for name, content in list(self._pending.items()):
                if self._find(name) is not None:
                    self.write(name, self._pending.pop(name, content))
        return self._images[image]


def global_bytes(o: Global) -> bytes:
    """Return the bytes that a global starts with."""
    content = dense_array(o.value).reshape(-1)
    return (packed(content) if o.value.element.bits == 4 else content).tobytes()


def _load_with(module: Module, compiler: Compiler, contents: dict[str, bytes]) -> CudaLoaded:
    loaded = CudaLoaded(module, compiler)
    for name, content in contents.items():
        loaded.write(name, content)
    return loaded


class CudaKernel(Kernel):
    """An entry of a module, compiled for a GPU. A deep or pickled copy has its own globals.

    `batch` and `threads` have no meaning here. Of `limits` only the seconds apply: a kernel that runs longer
    raises an error, but goes on running, and the process should end. Text is printed when the kernel has ended.
    """

    loaded: CudaLoaded

    def __init__(self, loaded: CudaLoaded, entry: Entry) -> None:
        super().__init__(loaded, entry)
        self.engine = loaded.compiler.engine
        driver = loaded.driver
        self.binary = loaded.compiler.compile(loaded.module, entry, driver.target)
        contract = self.binary.contract
        image = loaded.load_image(self.binary.image)
        self.function = driver.find_function(image, contract.name, contract.shared_bytes)
        self._pointers = [isinstance(p, Tile) and isinstance(p.element, Ptr) for p in self.params]
        self._prints = any(isinstance(o, PrintTko) for o in walk(entry))

    def bind(
        self,
        grid: int | Sequence[int],
        args: Sequence[Any] = (),
        *,
        names: Sequence[str] = (),
        convention: str | None = None,
        buffers: Buffers = (),
        stream: Handle = 0,
    ) -> BoundLaunch:
        """Prepare a launch that can be repeated. Arrays in host memory get copies on the device, see `BoundLaunch`."""
        return self.prepare(Launch(self.entry, grid, args, names, convention, buffers=buffers), stream)

    def prepare(self, launch: Launch, stream: Handle = 0) -> BoundLaunch:
        """Prepare a launch: allocate the memory that it needs on the device."""
        self.loaded.driver.make_current()
        staged, slots = stage(self.loaded.driver, launch.bound, self._pointers)
        return BoundLaunch(self, launch.grid, staged, slots, stream, launch)

    def run(self, launch: Launch) -> Stats:
        """Run a launch: copy arrays in host memory to the device, and back after the kernel has ended."""
        if launch.is_watched:
            name = next(name for name in ("sanitize", "observe", "machine") if getattr(launch, name) is not None)
            what = {"sanitize": "sanitize", "observe": "be observed", "machine": "run a machine of Python"}[name]
            raise TileError(f"a GPU cannot {what}; use engine 'reference'", kind=ErrorKind.UNSUPPORTED)
        with self.prepare(launch) as bound:
            bound.copy_in()
            with captured(launch.output if self._prints else None):
                elapsed = bound.run(launch.limits.seconds)
            bound.copy_out()
            bound.print_records(launch.output, launch.limits)
        if launch.progress is not None:
            launch.progress(launch.blocks)
        return Stats(blocks=launch.blocks, device_nanoseconds=round(elapsed * 1e9))


class _AheadKernel:
    """The kernel that transposes a matrix before another one is launched."""

    def __init__(self, loaded: CudaLoaded, ahead: kinds.Ahead) -> None:
        self.loaded, self.name = loaded, ahead.contract.name
        self.binary = Binary(ahead.image, ahead.contract)
        image = self.loaded.load_image(ahead.image)
        self.function = self.loaded.driver.find_function(image, ahead.contract.name, ahead.contract.shared_bytes)


class BoundLaunch(HoldsAddresses):
    """A kernel with its grid and arguments, ready to be launched again and again.

    Arrays in device memory are used in place. Arrays in host memory have copies on the device: `copy_in` and `copy_out`
    move their content, and `close` (or leaving the context) frees them. Values that a kernel of the Triton engine
    prints are kept until the next launch, and printed by `print_records`.
    """

    def __init__(
        self,
        kernel: CudaKernel | _AheadKernel,
        grid: tuple[int, int, int],
        staged: Staged,
        slots: Sequence[bytes],
        stream: Handle,
        keep: object,
    ) -> None:
        self.kernel, self.grid, self.stream = kernel, grid, stream
        self._driver, self._staged, self._slots = kernel.loaded.driver, staged, list(slots)
        self._owned: list[int] = []
        self._before: list[BoundLaunch] = []
        self._frames: list[tuple[int, int]] = []
        self._prints = 0
        contract = kernel.binary.contract
        self._extents = grid[0] * contract.spread, grid[1], grid[2]
        self._blocks = prod(self._extents)
        shape = (self._blocks, 1, 1) if contract.folded else self._extents
        for extent, most, name in zip(shape, MAX_GRID, "xyz"):
            if extent > most - contract.programs:  # programs add their number to that of their last tile block
                self.close()
                raise TileError(f"a GPU takes at most {most} tile blocks along {name}, got {extent}")
        if contract.programs:
            shape = (min(self._blocks, contract.programs), 1, 1)
        try:
            for each in contract.ahead:
                self._copy_ahead(each)
            values = [self._value(argument, contract) for argument in contract.arguments]
        except TileError:
            self.close()
            raise
        pointers = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(value) for value in values])
        self._keep: list[Any] = [values, pointers, keep]
        function, table = ctypes.c_void_p(kernel.function), ctypes.cast(pointers, ctypes.c_void_p)
        self._arguments: tuple[Any, ...]
        if self._driver.has(LAUNCH) or contract.cluster != (1, 1, 1):
            # ctypes takes several times as long to pass the arguments of the older function.
            config = _launch_config(shape, contract, stream)
            self._keep.append(config)
            self._launch = self._driver.function(LAUNCH)
            self._arguments = (ctypes.c_void_p(ctypes.addressof(config)), function, table, None)
        else:
            sizes = [ctypes.c_uint(n) for n in (*shape, contract.threads, 1, 1, contract.shared_bytes)]
            self._launch = self._driver.function("cuLaunchKernel")
            self._arguments = (function, *sizes, ctypes.c_void_p(stream), table, None)

    def __enter__(self) -> BoundLaunch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _value(self, argument: kinds.Passed, contract: LaunchContract) -> Any:
        """Return a parameter of the compiled kernel as a ctypes object."""
        match argument.kind:
            case kinds.PARAMETER:
                return ctypes.create_string_buffer(self._slots[argument.index].ljust(8, b"\0"), 8)
            case kinds.DESCRIPTOR:
                found = contract.descriptors[argument.index]
                return encode(self._driver, found, self._parameter(found.base), self._parameter)
            case kinds.GLOBAL:
                return ctypes.c_uint64(self.kernel.loaded.address(argument.name))
            case kinds.CONSTANT:
                content = contract.constants[argument.index]
                address = self._own(len(content))
                source = ctypes.create_string_buffer(content, len(content))
                self._driver.copy_in(address, ctypes.addressof(source), len(content))
                return ctypes.c_uint64(address)
            case kinds.FRAME:
                size = contract.frame_bytes * self._blocks
                address = self._own(size + contract.frame_alignment)
                address += -address % contract.frame_alignment
                self._frames.append((address, size))
                return ctypes.c_uint64(address)
            case kinds.WORD:
                return ctypes.c_uint64(self._own(8))
            case kinds.SCRATCH:
                size = contract.scratch_bytes * self._blocks
                address = self._own(size + contract.scratch_alignment) if size else 0
                return ctypes.c_uint64(address + -address % contract.scratch_alignment)
            case kinds.GRID:
                return ctypes.c_uint32(self._extents[argument.index])
            case kinds.PRINTS:
                self._prints = self._own(BUFFER_BYTES)
                self._frames.append((self._prints, HEAD))
                return ctypes.c_uint64(self._prints)
            case kinds.NULL:
                return ctypes.c_uint64(0)
        raise AssertionError(f"an argument of kind {argument.kind}")

    def _copy_ahead(self, ahead: kinds.Ahead) -> None:
        """Prepare the launch that transposes a matrix; the address of the copy is the next parameter."""
        rows, columns, stride = (
            e.value if e.parameter is None else int.from_bytes(self._slots[e.parameter], "little", signed=True)
            for e in (ahead.rows, ahead.columns, ahead.stride)
        )
        copy = self._own(max(rows, 0) * max(columns, 0) * ahead.item).to_bytes(8, "little")
        if rows > 0 and columns > 0:
            sizes = [n.to_bytes(4, "little") for n in (rows, columns, stride)]
            slots = [self._slots[ahead.source], copy, *sizes]
            grid = (-(-rows // ahead.side), -(-columns // ahead.side), 1)
            kernel = _AheadKernel(self.kernel.loaded, ahead)
            self._before.append(BoundLaunch(kernel, grid, Staged(self._driver), slots, self.stream, None))
        self._slots.append(copy)

    def _own(self, size: int) -> int:
        address = self._driver.allocate(size)
        self._owned.append(address)
        return address

    def _parameter(self, index: int) -> int:
        return int.from_bytes(self._slots[index], "little")

    # ------------------------------------------------------------ running

    def launch(self) -> None:
        """Start the kernel in its stream, without waiting. In a captured stream, it becomes part of the graph."""
        for before in self._before:
            before.launch()
        for address, size in self._frames:
            self._driver.clear(address, size, self.stream)
        if code := self._launch(*self._arguments):
            self._driver.check("cuLaunchKernel", code)

    def run(self, seconds: float | None = None) -> float:
        """Start the kernel, wait for it, and return the seconds that it took on the device."""
        driver = self._driver
        start, end = (driver.create("cuEventCreate") for _ in range(2))
        try:
            driver.call("cuEventRecord", start, self.stream)
            self.launch()
            driver.call("cuEventRecord", end, self.stream)
            self._wait(end, seconds)
            driver.synchronize(self.stream)
            return driver.elapsed(start, end)
        finally:
            for event in (start, end):
                driver.function("cuEventDestroy_v2")(event)

    def _wait(self, event: Handle, seconds: float | None) -> None:
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self._driver.is_done(event):
            if deadline is not None and time.monotonic() > deadline:
                # To free the memory of this launch would wait for the kernel.
                self._staged.copies, self._owned, self._before = [], [], []
                raise TileError(
                    f"@{self.kernel.name} did not finish within {seconds} seconds",
                    kind=ErrorKind.TIMEOUT,
                    notes=("the GPU is still running it; end the process to stop it",),
                )
            time.sleep(POLL_SECONDS)

    def copy_in(self) -> None:
        """Copy arrays in host memory to their copies on the device."""
        self._staged.copy_in()

    def copy_out(self) -> None:
        """Copy the copies of writable arrays back to host memory."""
        self._staged.copy_out()

    def print_records(self, output: Callable[[str], None] | None = None, limits: Limits | None = None) -> None:
        """Print what the last launch left in the buffer for printed values, once it has ended."""
        if not self._prints or not isinstance(self.kernel, CudaKernel):
            return
        most = (limits or Limits()).memory
        head = ctypes.create_string_buffer(8)
        self._driver.copy_out(ctypes.addressof(head), self._prints, 8)
        wanted = int.from_bytes(head.raw, "little")
        data = ctypes.create_string_buffer(min(BUFFER_BYTES, HEAD + wanted))
        self._driver.copy_out(ctypes.addressof(data), self._prints, len(data))
        if text := decode(self.kernel.entry, data.raw, device_string(self._driver, most), most):
            printer(output)(text)
        check_complete(self.kernel.name, wanted)

    def close(self) -> None:
        """Free the memory of this launch on the device."""
        self._staged.free()
        while self._before:
            self._before.pop().close()
        while self._owned:
            self._driver.free(self._owned.pop())


class LaunchGraph(HoldsAddresses):
    """Launches recorded once and replayed together, which costs less than a microsecond each.

    with LaunchGraph(driver) as graph:
        first, second = kernel.bind(4, [x, y], stream=graph.stream), ...
        graph.record([first, second])
        graph.replay()
    """

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        driver.make_current()
        self.stream = driver.create("cuStreamCreate", 1)
        self._graph = self._executable = 0

    def record(self, launches: Sequence[BoundLaunch]) -> None:
        """Record launches, which must be bound to this graph's stream."""
        if any(bound.stream != self.stream for bound in launches):
            raise TileError("a graph records launches that are bound to its own stream")
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self.driver.call("cuStreamBeginCapture_v2", self.stream, CAPTURE_RELAXED)
        try:
            for bound in launches:
                bound.launch()
        finally:
            self.driver.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self._graph = graph.value or 0
        self.driver.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), self._graph, 0)
        self._executable = executable.value or 0

    def replay(self) -> None:
        """Start everything that was recorded, without waiting."""
        self.driver.call("cuGraphLaunch", self._executable, self.stream)

    def __enter__(self) -> LaunchGraph:
        return self

    def __exit__(self, *_: object) -> None:
        for function, handle in (
            ("cuGraphExecDestroy", self._executable),
            ("cuGraphDestroy", self._graph),
            ("cuStreamDestroy_v2", self.stream),
        ):
            if handle:
                self.driver.call(function, handle)


# ---------------------------------------------------------------- structures of the driver


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute, for the dimensions of a cluster."""

    _fields_ = (("id", ctypes.c_uint), ("pad", ctypes.c_uint), ("value", ctypes.c_uint * 16))


class _Config(ctypes.Structure):
    """CUlaunchConfig"""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


CLUSTER_DIMENSION = 4


def _launch_config(grid: tuple[int, int, int], contract: LaunchContract, stream: Handle) -> _Config:
    # A grid counts tile blocks; each has as many thread blocks as its cluster.
    blocks = tuple(n * m for n, m in zip(grid, contract.cluster))
    config = _Config(blocks, (contract.threads, 1, 1), contract.shared_bytes, stream)
    if contract.cluster != (1, 1, 1):
        attribute = _Attribute(CLUSTER_DIMENSION, 0, (ctypes.c_uint * 16)(*contract.cluster))
        config.attributes, config.count = ctypes.pointer(attribute), 1
    return config
