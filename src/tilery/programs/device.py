"""The device that programs see: its compute capability, its memory, which is the host's, and its streams."""

from __future__ import annotations

import atexit
import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..engines.common.addresses import HoldsAddresses

VERSION = 13040
"""The CUDA version of the driver."""
CONTEXT = 1
"""The handle of the only context."""
MAJOR, MINOR = 75, 76
ATTRIBUTES = {5: 2**31 - 1, 6: 65535, 7: 65535, 8: 49152, 10: 32, 16: 148, 38: 1 << 20, 97: 232448}
"""Device attributes by their CUDA numbers, but for the capability; all others are 1."""

Step = Callable[[], object]
"""Work that a replay of a graph does again."""


@dataclass(slots=True)
class State(HoldsAddresses):
    """The state of the device. There is one per process."""

    capability: tuple[int, int] = (10, 0)
    memory: dict[int, Any] = field(default_factory=dict)
    last: int = 0x1000
    hides_dlpack: bool = False
    """Whether tensors refuse a DLPack capsule to a caller without options; cuTile then uses the data pointer."""
    capture: list[Step] | None = None
    """Collects the work of all streams while torch captures a graph."""
    captures: dict[int, list[Step]] = field(default_factory=dict)
    """Collects the work of each stream that is being captured."""
    program: Any = None
    """The memory of the program as a sanitizer knows it, if one watches."""
    flight: Any = None
    """The launches that may overlap, if a sanitizer takes them for one execution."""
    blocking: set[int] = field(default_factory=set)
    """The streams that the default stream waits for, and that wait for it."""

    def handle(self) -> int:
        """Return a new handle, a number that no other object has."""
        self.last += 0x10
        return self.last

    def new_stream(self, *, is_blocking: bool) -> int:
        """Return the handle of a new stream."""
        handle = self.handle()
        if is_blocking:
            self.blocking.add(handle)
        return handle

    def moment(self, stream: int) -> Any:
        """Return what an event means that is recorded in a stream now."""
        return None if self.flight is None else self.flight.moment(stream)

    def wait(self, stream: int, moment: Any) -> None:
        """Let a stream wait for an event."""
        if self.flight is not None and moment is not None:
            self.flight.wait(moment, stream)

    def reached(self, moment: Any) -> None:
        """Take note that the host has waited for an event."""
        if self.flight is not None and moment is not None:
            self.flight.synchronize(moment)

    def synchronize(self, stream: int | None = None) -> None:
        """Take note that the host has waited for a stream, or for everything."""
        if self.flight is not None:
            self.flight.synchronize(None if stream is None else self.flight.moment(stream))

    def recorded(self, stream: int) -> list[Step] | None:
        """Return the steps of the graph that a stream is captured into."""
        return self.captures.get(stream) if self.capture is None else self.capture

    def submit(self, stream: int, step: Step) -> None:
        """Do work in a stream: now, or in each replay of the graph that the stream is captured into."""
        steps = self.recorded(stream)
        if steps is None:
            step()
        else:
            steps.append(step)


STATE = State()
LENT: dict[int, tuple[int, Callable[[], bool]]] = {}
"""Memory of torch whose address a program has asked for: its size, and whether it was freed, by its first address."""
MAX_LENT = 4096
atexit.register(LENT.clear)  # while torch, which these ask, is still there
THREAD = threading.local()
"""`arguments` are those of the launch that is being started, `read_only` the arrays among them that are."""


def allocate(size: int) -> int:
    """Allocate host memory, aligned to 256 bytes as on a device, and return its address."""
    memory = ctypes.create_string_buffer(max(size, 1) + 256)
    address = (ctypes.addressof(memory) + 255) & ~255
    STATE.memory[address] = memory
    return address


def lend(address: int, size: int, expired: Callable[[], bool]) -> None:
    """Remember memory whose address a program has asked for."""
    if len(LENT) >= MAX_LENT:
        for start in [start for start, (_, gone) in LENT.items() if gone()] or list(LENT)[:1]:
            del LENT[start]
    LENT[address] = size, expired


def memory_at(address: int) -> Any:
    """Return the allocation that holds an address; None if the device made none there."""
    for start, memory in STATE.memory.items():
        if start <= address < ctypes.addressof(memory) + len(memory):
            return memory
    return None
