"""A driver of Triton without a GPU: it loads Tile IR, and turns launches into those of an engine."""

from __future__ import annotations

import operator
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from unittest.mock import patch

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from ..api import load
from ..diag import TileError
from ..engines.common.cutile_abi import ArrayExtent
from ..ir import Refused, walk
from ..ops import IntToPtr, Module
from ..programs import device
from ..programs.launches import DecodedLaunch, explain
from . import versions
from .settings import SETTINGS

PROPERTIES = {
    "max_shared_mem": 232448,
    "multiprocessor_count": 4,
    "sm_clock_rate": 1_000_000,
    "mem_clock_rate": 1_000_000,
    "mem_bus_width": 256,
    "max_num_regs": 65536,
    "warpSize": 32,
}
REGISTERS, SPILLS, THREADS = 32, 0, 1024


class TritonBinary:
    """A kernel that Triton has loaded: its bytecode and module."""

    def __init__(self, name: str, bytecode: bytes) -> None:
        self.name, self.bytecode = name, bytecode
        self.module: Module = load(bytecode)
        self.follows_addresses = any(isinstance(op, IntToPtr) for op in walk(self.module))


class Utilities:
    """The functions that Triton expects of a driver's extension module."""

    def get_device_properties(self, number: int) -> dict[str, int]:
        return dict(PROPERTIES)

    def load_binary(self, name: str, binary: bytes, shared: int, number: int) -> tuple[Any, ...]:
        loaded = TritonBinary(name, binary)
        facts = loaded, loaded, REGISTERS, SPILLS, THREADS
        return facts[:4] if versions.require().startswith("3.3.") else facts

    def unload_module(self, loaded: TritonBinary) -> None:
        """Do nothing: the module is garbage when nothing refers to it."""


class DeviceNumber(int):
    """Device 0, which Triton takes for another device under other settings: it keeps kernels for each device."""

    key: tuple[object, ...]

    def __new__(cls, *key: object) -> DeviceNumber:
        made = super().__new__(cls, 0)
        made.key = key
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceNumber) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


class Launcher:
    """Launches one kernel; Triton makes it from the kernel's source and calls it with the arguments."""

    def __init__(self, src: Any, metadata: Any) -> None:
        self.signature = list(src.signature.items())
        self.names = getattr(getattr(src, "fn", None), "arg_names", [])
        self.is_dependent = bool(getattr(metadata, "launch_pdl", False))

    def __call__(self, x: int, y: int, z: int, stream: Any, loaded: TritonBinary, *rest: Any) -> None:
        __tracebackhide__ = True  # pytest shows the test instead
        _, metadata, enter, leave, *args = rest
        x, y, z = map(operator.index, (x, y, z))  # also a tensor of one integer
        if SETTINGS.session is None:
            why = "kernels that were compiled for tilery need it again"
            raise TileError("a kernel was launched after `tilery.triton.on` had ended", notes=(why,))
        if x * y * z == 0 or SETTINGS.trying:
            return
        if enter is not None:
            enter(metadata)
        call = self.call((x, y, z), loaded, args)
        call.is_dependent = self.is_dependent
        device.THREAD.arguments = args
        try:
            SETTINGS.session.submit(call, int(stream or 0))
        except Refused as error:
            explain(error, f"launched at {caller()}")
            raise error.with_traceback(None) from None
        finally:
            device.THREAD.arguments = None
        if leave is not None:
            leave(metadata)

    def call(self, grid: tuple[int, int, int], loaded: TritonBinary, args: Sequence[Any]) -> DecodedLaunch:
        """Decode the arguments of a launch."""
        found = Arguments()
        with plain_tensors():
            for (key, kind), value in zip(self.signature, args):
                found.add(self.names[key] if isinstance(key, int) else str(key), kind, value)
        if loaded.follows_addresses:
            found.memory += other_memory()
        return DecodedLaunch(
            loaded.bytecode, loaded.name, grid, loaded.module, found.values, found.names, list(merged(found.memory))
        )


def plain_tensors() -> AbstractContextManager[Any]:
    """Return a context in which no mode of torch watches what is asked of tensors, which takes time."""
    return sys.modules["torch"]._C.DisableTorchFunction() if "torch" in sys.modules else nullcontext()


class Arguments:
    """The arguments of a launch as the kernel takes them: numbers, and the addresses and memory of tensors."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.names: list[str] = []
        self.memory: list[ArrayExtent] = []

    def add(self, name: str, kind: Any, value: Any) -> None:
        """Add an argument of a type of Triton's signature; constants are compiled in."""
        if isinstance(kind, (tuple, list)):
            for index, (each, part) in enumerate(zip(kind, value)):
                self.add(f"{name}[{index}]", each, part)
        elif kind == "constexpr":
            return
        elif kind.startswith("tensordesc"):
            for suffix, each, part in descriptor_parts(value):
                self.add(name + suffix, each, part)
        elif kind.startswith("*"):
            self.put(name, self.address(name, value))
        elif kind in ("i1", "u1", "B"):
            self.put(name, bool(value))
        elif kind[0] in "iu":
            bits = int(kind[1:])
            self.put(name, (int(value) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))
        else:
            self.put(name, float(value))

    def put(self, name: str, value: Any) -> None:
        self.names.append(name)
        self.values.append(value)

    def address(self, name: str, value: Any) -> int:
        """Return the address of a tensor, and note its memory."""
        if value is None or isinstance(value, int):
            return value or 0
        tensor = value
        while not hasattr(tensor, "untyped_storage") and hasattr(tensor, "base"):
            tensor = tensor.base  # a tensor whose elements are taken for another type
        if hasattr(tensor, "untyped_storage"):
            if is_on_host(tensor):
                raise ValueError(f"Pointer argument '{name}' cannot be accessed from Triton (cpu tensor?)")
            self.memory.append(extent(name, tensor))
        elif (found := array_extent(name, value)) is not None:
            self.memory.append(found)
        else:  # an object of the program, for a part of some tensor
            self.memory += other_memory()
        return int(value.data_ptr())


def descriptor_parts(value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield the parameters that a tensor descriptor becomes: name, type and value.

    Releases differ in what follows the shape and strides; the number of parts tells which one it is.
    """
    from triton.backends import driver as protocol

    rank = len(value.shape)
    if hasattr(protocol, "decompose_descriptor"):
        parts = protocol.decompose_descriptor(value)
    else:
        options = [value.padding == "nan"] if hasattr(value, "padding") else []
        options += [value.round_f32_to_tf32] if hasattr(value, "round_f32_to_tf32") else []
        parts = [value.base, *value.shape, *value.strides, *options, *value.shape, *value.strides]
    flags = len(parts) - 1 - 4 * rank
    kinds = ["*"] + ["i64"] * 2 * rank + ["i1"] * flags + ["i32"] * rank + ["i64"] * rank
    suffixes = [""] + [f".{what}[{axis}]" for what in ("shape", "strides") for axis in range(rank)]
    suffixes += [".flag"] * flags + [""] * 2 * rank
    yield from zip(suffixes, kinds, parts)


def is_on_host(tensor: Any) -> bool:
    """Whether a program keeps a tensor on the host, where a kernel on a GPU cannot read it."""
    from ..programs.standins.placement import is_on_gpu

    return not is_on_gpu(tensor) and not tensor.is_pinned()


def extent(name: str, tensor: Any) -> ArrayExtent:
    """Return the memory of a tensor, from its first element to its last."""
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    last = sum((size - 1) * stride for size, stride in zip(shape, strides))
    size = (last + 1) * tensor.element_size() if tensor.numel() else 0
    return ArrayExtent(name, int(tensor.data_ptr()), size, shape, strides)


def array_extent(name: str, value: Any) -> ArrayExtent | None:
    """Return the memory of an object that is no tensor; None if it does not say how large it is."""
    size = getattr(value, "nbytes", None)
    return None if size is None else ArrayExtent(name, int(value.data_ptr()), int(size))


def other_memory() -> Iterator[ArrayExtent]:
    """Yield the memory of all tensors on the device: a kernel that computes addresses may use any of them."""
    if "torch" in sys.modules:
        from ..programs.standins.placement import MEMORY

        for storage in MEMORY.storages():
            if storage.nbytes():
                yield ArrayExtent("another tensor", storage.data_ptr(), storage.nbytes())


def merged(memory: list[ArrayExtent]) -> Iterator[ArrayExtent]:
    """Yield the memory without repetitions: an argument comes before other memory that it is part of."""
    seen: set[tuple[int, int]] = set()
    for each in memory:
        if (each.address, each.size) not in seen:
            seen.add((each.address, each.size))
            yield each


def caller() -> str:
    """Return the file and line that launched: the first frame outside of this package and Triton."""
    import triton

    skipped = (__file__.rsplit("/triton/", 1)[0], triton.__path__[0])
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(skipped):
        frame = frame.f_back
    return "an unknown place" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


class TileDriver(DriverBase):  # type: ignore[misc]  # Triton's
    """The driver that Triton finds active."""

    def __init__(self) -> None:
        self.utils = Utilities()
        self.launcher_cls = Launcher

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, kind: str) -> str:
        return kind

    def get_current_target(self) -> Any:
        major, minor = SETTINGS.capability
        return GPUTarget("cuda", 10 * major + minor, 32)

    def get_current_device(self) -> int:
        return DeviceNumber("tilery", SETTINGS.strict, SETTINGS.capability)

    def set_current_device(self, number: int) -> None:
        """Do nothing: there is one device."""

    def get_current_stream(self, number: int) -> int:
        if "torch" in sys.modules:
            import torch

            return int(torch.cuda.current_stream().cuda_stream)
        return 0

    def get_device_capability(self, number: int = 0) -> tuple[int, int]:
        return SETTINGS.capability

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        import torch

        return torch.cuda

    def get_empty_cache_for_benchmark(self) -> Any:
        import torch

        return torch.empty(1, dtype=torch.int32, device="cuda")

    def clear_cache(self, cache: Any) -> None:
        """Do nothing: there is no cache to clear."""

    def get_benchmarker(self) -> Any:
        return benchmark


def benchmark(call: Any, *, quantiles: Sequence[float] | None = None, **more: Any) -> Any:
    """Launch a configuration once and return its time; all that compile take the same time unless they are measured.

    Times on this machine say nothing about a GPU, so autotuning takes the first configuration that compiles: the call
    raises the error of another one, and those after the first that compiles are not tried.
    """
    taken = 1.0
    if SETTINGS.time_configurations:
        start = time.perf_counter()
        call()
        taken = 1e3 * (time.perf_counter() - start)
    elif not SETTINGS.chosen:
        with patch.object(SETTINGS, "trying", True):
            call()
        SETTINGS.chosen = None if SETTINGS.chosen is None else True
    return [taken] * len(quantiles) if quantiles else taken
