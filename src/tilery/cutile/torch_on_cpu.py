"""torch without a GPU: tensors on `cuda` are created on the CPU, and `torch.cuda` answers like an idle GPU."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from . import driver
from .imports import AfterImport


@contextlib.contextmanager
def torch_on_cpu() -> Iterator[None]:
    """Let torch use the CPU as its GPU, also if torch is only imported inside."""
    with ExitStack() as stack:
        if "torch" in sys.modules:
            enter(stack)
        else:
            stack.callback(AfterImport("torch", lambda: enter(stack)).stop)
        yield


def enter(stack: ExitStack) -> None:
    """Patch torch until the stack is closed."""
    import torch

    from .torch_mode import CudaIsCpu as mode

    for name, value in cuda_functions().items():
        stack.enter_context(patch.object(torch.cuda, name, value, create=True))
    for name, value in CLASSES.items():
        stack.enter_context(patch.object(torch.cuda, name, value))
    stack.enter_context(patch.object(torch._C, "_to_dlpack", refuse_dlpack(torch._C._to_dlpack)))
    stack.enter_context(mode())
    run = threading.Thread.run

    def run_in_mode(thread: threading.Thread) -> None:
        with mode():  # modes are per thread
            run(thread)

    stack.enter_context(patch.object(threading.Thread, "run", run_in_mode))


def refuse_dlpack(original: Any) -> Any:
    """Refuse cuTile a DLPack capsule, so that it uses the tensor's data pointer instead."""

    def to_dlpack(*values: Any, **options: Any) -> Any:
        if len(values) == 1 and not options and driver.STATE.run is not None:
            raise BufferError("the tensor is on the CPU")
        return original(*values, **options)

    return to_dlpack


# ---------------------------------------------------------------- torch.cuda


class Stream:
    """A stream whose work is always finished."""

    made = 0

    def __init__(
        self, device: object = None, priority: int = 0, *, cuda_stream: int | None = None, **more: Any
    ) -> None:
        Stream.made += 1
        self.cuda_stream = 0x5000 + 16 * Stream.made if cuda_stream is None else cuda_stream
        self.device_index = 0

    @property
    def device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def synchronize(self) -> None: ...

    def wait_stream(self, stream: Stream) -> None: ...

    def wait_event(self, event: Event) -> None: ...

    def query(self) -> bool:
        return True

    def record_event(self, event: Event | None = None) -> Event:
        return event or Event()

    def __enter__(self) -> Stream:
        streams().append(self)
        return self

    def __exit__(self, *error: object) -> None:
        streams().pop()


class Event:
    """An event that completes when it is recorded, since all earlier work is finished."""

    def __init__(self, *values: Any, **options: Any) -> None:
        self.time = time.perf_counter()

    def record(self, *stream: Any) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None: ...

    def wait(self, *stream: Any) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        """Return the milliseconds until the other event; never 0, because programs divide by it."""
        return max(1e3 * (other.time - self.time), 1e-3)


class CUDAGraph:
    """A graph of kernel launches. Other torch work during the capture runs immediately, and only once."""

    def __init__(self, *values: Any, **options: Any) -> None:
        self.launches: list[Any] = []

    def replay(self) -> None:
        for launch in self.launches:
            launch()

    def reset(self) -> None:
        self.launches = []


@contextlib.contextmanager
def graph(captured: CUDAGraph, pool: object = None, stream: Stream | None = None, **more: Any) -> Iterator[None]:
    with patch.object(driver.STATE, "capture", captured.launches), stream or Stream():
        yield


@contextlib.contextmanager
def stream_context(stream: Stream | None) -> Iterator[None]:
    with stream or contextlib.nullcontext():
        yield


class Device:
    """The only device, as a context manager."""

    def __init__(self, *device: Any) -> None: ...

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None: ...


LOCAL = threading.local()
DEFAULT = Stream(cuda_stream=0)


def streams() -> list[Stream]:
    if not hasattr(LOCAL, "streams"):
        LOCAL.streams = [DEFAULT]
    found: list[Stream] = LOCAL.streams
    return found


CLASSES: dict[str, Any] = {
    "Stream": Stream,
    "Event": Event,
    "CUDAGraph": CUDAGraph,
    "graph": graph,
    "stream": stream_context,
    "device": Device,
}
NOTHING = (
    *("synchronize", "empty_cache", "manual_seed", "manual_seed_all", "init", "set_device", "ipc_collect"),
    "reset_peak_memory_stats",
)


def cuda_functions() -> dict[str, Any]:
    """Return the replacements of `torch.cuda`'s functions."""
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_capability": lambda *device: driver.STATE.capability,
        "get_device_properties": lambda *device: properties(),
        "get_device_name": lambda *device: "tilery",
        "mem_get_info": lambda *device: (1 << 34, 1 << 35),
        "current_stream": lambda *device: streams()[-1],
        "default_stream": lambda *device: DEFAULT,
        **dict.fromkeys(NOTHING, lambda *values, **options: None),
    }


def properties() -> SimpleNamespace:
    major, minor = driver.STATE.capability
    return SimpleNamespace(
        name="tilery",
        major=major,
        minor=minor,
        L2_cache_size=1 << 20,
        multi_processor_count=148,
        total_memory=1 << 36,
        max_threads_per_multi_processor=2048,
        shared_memory_per_multiprocessor=233472,
        shared_memory_per_block_optin=232448,
        regs_per_multiprocessor=65536,
        warp_size=32,
    )
