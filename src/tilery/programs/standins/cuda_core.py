"""`cuda.core` on the host: devices, streams, events, buffers and graphs, and kernels that are Tile IR."""

from __future__ import annotations

import ctypes
import time
from types import SimpleNamespace
from typing import Any

from ..arrays import HostArray
from ..device import STATE, VERSION, allocate
from . import host_memory
from .cuda_graphs import Graph, GraphBuilder, GraphCompleteOptions, handle_of
from .cuda_programs import Kernel, LaunchConfig, ObjectCode, launch

__all__ = ["Buffer", "Device", "Event", "Graph", "GraphBuilder", "GraphCompleteOptions", "Kernel", "LaunchConfig"]
__all__ += ["ObjectCode", "Stream", "launch", "system"]
PROPERTIES = {
    "multiprocessor_count": 148,
    "warp_size": 32,
    **{f"max_grid_dim_{axis}": size for axis, size in zip("xyz", (2**31 - 1, 65535, 65535))},
    **{f"max_block_dim_{axis}": size for axis, size in zip("xyz", (1024, 1024, 64))},
    "max_threads_per_block": 1024,
    "max_threads_per_multiprocessor": 2048,
    "max_blocks_per_multiprocessor": 32,
    "max_shared_memory_per_block": 49152,
    "max_shared_memory_per_block_optin": 232448,
    "max_shared_memory_per_multiprocessor": 233472,
    "max_registers_per_block": 65536,
    "max_registers_per_multiprocessor": 65536,
    "total_constant_memory": 65536,
    "l2_cache_size": 126 << 20,
    "clock_rate": 1965000,
    "memory_clock_rate": 3996000,
    "global_memory_bus_width": 8192,
    "unified_addressing": True,
    "managed_memory": True,
    "memory_pools_supported": True,
    "integrated": False,
    "ecc_enabled": True,
    "pci_bus_id": 0,
    "pci_device_id": 0,
    "pci_domain_id": 0,
}
"""The properties that the device reports, those of a large GPU."""
UNSIGNED = 1
"""DLPack's code for unsigned integers."""


class Event:
    """An event; the difference of two is in milliseconds."""

    def __init__(self) -> None:
        self.time = time.perf_counter()
        self.moment: Any = None

    @property
    def is_done(self) -> bool:
        self.sync()
        return True

    def sync(self) -> None:
        STATE.reached(self.moment)

    def close(self) -> None: ...

    def __sub__(self, other: Event) -> float:
        return max(1e3 * (self.time - other.time), 1e-3)


class Stream:
    """A stream whose work is always finished."""

    def __init__(self, handle: int | None = None, *, is_blocking: bool = False) -> None:
        self.handle = STATE.new_stream(is_blocking=is_blocking) if handle is None else handle

    @classmethod
    def from_handle(cls, handle: int) -> Stream:
        return cls(int(handle))

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle

    def __int__(self) -> int:
        return self.handle

    @property
    def device(self) -> Device:
        return Device()

    def sync(self) -> None:
        STATE.synchronize(self.handle)

    def wait(self, other: object) -> None:
        """Wait for an event, or for the work of a stream so far."""
        STATE.wait(self.handle, other.moment if isinstance(other, Event) else STATE.moment(handle_of(other)))

    def close(self) -> None: ...

    def create_graph_builder(self) -> GraphBuilder:
        return GraphBuilder(self)

    def record(self, event: Event | None = None, **options: Any) -> Event:
        event = event or Event()
        event.time = time.perf_counter()
        event.moment = STATE.moment(self.handle)
        return event


class Buffer:
    """Memory in bytes, which belongs to the host."""

    def __init__(self, size: int) -> None:
        self.handle = allocate(size)
        self.size = size
        self.device_id = 0
        self.is_device_accessible = self.is_host_accessible = True

    def close(self, stream: Any = None) -> None:
        """Free the memory."""
        if self.handle:
            host_memory.free(self.handle)
        self.handle = 0

    def copy_to(self, other: Any = None, *, stream: Any = None) -> Any:
        """Copy to a buffer of the same size, by default a new one."""
        other = other if other is not None else Buffer(self.size)
        if other.size != self.size:
            raise ValueError(f"buffers of {self.size} and {other.size} bytes")
        STATE.submit(handle_of(stream), lambda: ctypes.memmove(other._live(), self._live(), self.size))
        return other

    def copy_from(self, other: Any, *, stream: Any = None) -> None:
        other.copy_to(self, stream=stream)

    def fill(self, value: int, *, stream: Any = None) -> None:
        STATE.submit(handle_of(stream), lambda: ctypes.memset(self._live(), value, self.size))

    def _live(self) -> int:
        """Return the address of memory that is not freed."""
        if not self.handle:
            raise BufferError("the buffer is closed")
        return self.handle

    def __dlpack__(self, **options: Any) -> Any:
        self._lent = HostArray(self._live(), UNSIGNED, 8, [self.size], [1])  # the capsule points into it
        return self._lent.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


class Device:
    """The only device."""

    def __init__(self, number: int = 0) -> None:
        if number:
            raise ValueError(f"there is no device {number}")
        self.device_id = 0

    name = "tilery"
    default_stream = Stream(0)

    @property
    def compute_capability(self) -> tuple[int, int]:
        return STATE.capability

    @property
    def arch(self) -> str:
        return "{}{}".format(*STATE.capability)

    @property
    def uuid(self) -> str:
        return "00000000-0000-0000-0000-000000000000"

    @property
    def pci_bus_id(self) -> str:
        return "0000:00:00.0"

    @property
    def properties(self) -> Any:
        return SimpleNamespace(**PROPERTIES)

    def set_current(self, *context: Any) -> None: ...

    def sync(self) -> None:
        STATE.synchronize()

    def create_stream(self, values: Any = None, options: Any = None, **more: Any) -> Stream:
        is_concurrent = (
            options.get("nonblocking") if isinstance(options, dict) else getattr(options, "nonblocking", None)
        )
        return Stream(is_blocking=is_concurrent is False)

    def create_event(self, *values: Any, **options: Any) -> Event:
        return Event()

    def allocate(self, size: int, stream: Any = None) -> Buffer:
        return Buffer(size)

    def create_graph_builder(self) -> GraphBuilder:
        return GraphBuilder(Stream())


class system:  # a module's name
    """`cuda.core.system`."""

    num_devices = 1
    devices = (Device(),)
    driver_version = (VERSION // 1000, VERSION % 1000 // 10)
