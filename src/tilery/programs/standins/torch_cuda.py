"""The answers of `torch.cuda`: a GPU whose work is always finished.

Streams and events tell a sanitizer what would be in order on a GPU.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import torch

from ..device import STATE
from .placement import MEMORY
from .torch_random import DEFAULT as DEFAULT_GENERATOR


class Stream:
    """A stream whose work is always finished."""

    made = 0

    def __init__(
        self, device: object = None, priority: int = 0, *, cuda_stream: int | None = None, **more: Any
    ) -> None:
        Stream.made += 1
        self.cuda_stream = 0x5000 + 16 * Stream.made if cuda_stream is None else cuda_stream
        self.device_index = 0
        self.priority = priority

    @staticmethod
    def priority_range() -> tuple[int, int]:
        return 0, -5

    @property
    def device(self) -> Any:
        import torch

        return torch.device("cuda", 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def synchronize(self) -> None:
        STATE.synchronize(self.cuda_stream)

    def wait_stream(self, stream: Stream) -> None:
        STATE.wait(self.cuda_stream, STATE.moment(stream.cuda_stream))

    def wait_event(self, event: Event) -> None:
        STATE.wait(self.cuda_stream, event.moment)

    def query(self) -> bool:
        self.synchronize()
        return True

    def is_capturing(self) -> bool:
        return STATE.capture is not None

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def __enter__(self) -> Stream:
        streams().append(self)
        return self

    def __exit__(self, *error: object) -> None:
        streams().pop()


class Event:
    """An event that completes when it is recorded, since all earlier work is finished."""

    def __init__(self, *values: Any, **options: Any) -> None:
        self.time = time.perf_counter()
        self.moment: Any = None

    def record(self, stream: Any = None) -> None:
        self.time = time.perf_counter()
        self.moment = STATE.moment((stream or streams()[-1]).cuda_stream)

    def synchronize(self) -> None:
        STATE.reached(self.moment)

    def wait(self, stream: Any = None) -> None:
        STATE.wait((stream or streams()[-1]).cuda_stream, self.moment)

    def query(self) -> bool:
        self.synchronize()
        return True

    def elapsed_time(self, other: Event) -> float:
        """Return the milliseconds until the other event; never 0, because programs divide by it."""
        return max(1e3 * (other.time - self.time), 1e-3)


@contextlib.contextmanager
def stream_context(stream: Stream | None) -> Iterator[None]:
    with stream or contextlib.nullcontext():
        yield


class DeviceContext:
    """The only device, as a context manager."""

    def __init__(self, *device: Any) -> None: ...

    def __enter__(self) -> DeviceContext:
        return self

    def __exit__(self, *error: object) -> None: ...


LOCAL = threading.local()
DEFAULT = Stream(cuda_stream=0)


def streams() -> list[Stream]:
    if not hasattr(LOCAL, "streams"):
        LOCAL.streams = [DEFAULT]
    found: list[Stream] = LOCAL.streams
    return found


def set_stream(stream: Stream) -> None:
    """Make a stream the current one."""
    streams()[-1] = stream


NOTHING = (
    *("empty_cache", "init", "set_device", "ipc_collect", "set_sync_debug_mode"),
    *("set_per_process_memory_fraction", "reset_accumulated_memory_stats", "caching_allocator_delete"),
)
RESETS = ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached")
STATISTICS = ("allocated_bytes.all", "active_bytes.all", "reserved_bytes.all", "requested_bytes.all")


def memory_stats(*device: Any) -> dict[str, int]:
    """Count the memory of the tensors that the program has on its GPU."""
    values = {"current": MEMORY.now, "peak": MEMORY.most, "allocated": MEMORY.made, "freed": MEMORY.made - MEMORY.now}
    found = {f"{name}.{key}": value for name in STATISTICS for key, value in values.items()}
    return {**found, "allocation.all.current": len(MEMORY.live), "num_alloc_retries": 0, "num_ooms": 0}


def memory_summary(*device: Any, **options: Any) -> str:
    rows = [f"{name:<32} {value:>16,}" for name, value in memory_stats().items()]
    return "\n".join(["memory of the GPU's tensors, in bytes, in the host's memory", *rows])


def reset_peak(*device: Any) -> None:
    MEMORY.most = MEMORY.now


def seed_all(seed: int) -> None:
    DEFAULT_GENERATOR.manual_seed(int(seed))


def cuda_functions() -> dict[str, Any]:
    """Return the replacements of `torch.cuda`'s functions."""
    free = lambda *device: (max(0, (1 << 36) - MEMORY.now), 1 << 36)  # noqa: E731
    allocated, most = lambda *device: MEMORY.now, lambda *device: MEMORY.most
    generator = DEFAULT_GENERATOR
    state: Any = lambda *device: generator.get_state()  # noqa: E731
    found = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *including_emulation: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "can_device_access_peer": lambda *devices: False,
        "get_arch_list": lambda: [f"sm_{STATE.capability[0]}{STATE.capability[1]}"],
        **dict.fromkeys(("_exchange_device", "_maybe_exchange_device"), lambda device: 0),
        "get_device_capability": lambda *device: STATE.capability,
        "get_device_properties": lambda *device: properties(),
        "get_device_name": lambda *device: "tilery",
        "mem_get_info": free,
        "memory_stats": memory_stats,
        "memory_summary": memory_summary,
        "memory_snapshot": lambda *values: [],
        **dict.fromkeys(("memory_allocated", "memory_reserved", "memory_cached"), allocated),
        **dict.fromkeys(("max_memory_allocated", "max_memory_reserved", "max_memory_cached"), most),
        **dict.fromkeys(
            ("reset_peak_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached"), reset_peak
        ),
        "current_stream": lambda *device: streams()[-1],
        "default_stream": lambda *device: DEFAULT,
        "set_stream": set_stream,
        "synchronize": lambda *device, **options: STATE.synchronize(),
        "manual_seed": seed_all,
        "manual_seed_all": seed_all,
        "seed": generator.seed,
        "seed_all": generator.seed,
        "initial_seed": generator.initial_seed,
        "get_rng_state": state,
        "get_rng_state_all": lambda: [state()],
        "set_rng_state": lambda new, *device: generator.set_state(new),
        "set_rng_state_all": lambda new: generator.set_state(next(iter(new))),
        "default_generators": (generator,),
        "Stream": Stream,
        "ExternalStream": external_stream,
        "Event": Event,
        "stream": stream_context,
        "device": DeviceContext,
        "device_of": DeviceContext,
        "cudart": lambda: CudaRuntime,
        "_sleep": lambda cycles: None,
        "get_stream_from_external": external_stream,
        **dict.fromkeys(("utilization", "memory_usage", "temperature", "power_draw", "clock_rate"), lambda *device: 0),
        **{f"{name}Tensor": typed(f"{name}Tensor") for name in TYPED},
        **dict.fromkeys(NOTHING, lambda *values, **options: None),
    }
    # One object must not have two names: torch's compiler, if something imports it, keeps rules by object.
    return {name: functools.partial(value) if inspect.isfunction(value) else value for name, value in found.items()}


TYPED = ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte", "Bool")
"""The classes of tensors that torch has for each type, as in `torch.cuda.FloatTensor`."""


def typed(name: str) -> Any:
    """Return the constructor `torch.cuda.NAME`."""

    def make(*values: Any) -> Any:
        return getattr(torch, name)(*values).cuda()

    make.gpu_type = f"torch.cuda.{name}"  # type: ignore[attr-defined]  # for `Tensor.type`
    return make


class CudaRuntime:
    """`torch.cuda.cudart()`: the functions of CUDA's runtime that torch passes on."""

    cudaError = SimpleNamespace(success=0)

    @staticmethod
    def cudaProfilerStart() -> int:
        return 0

    @staticmethod
    def cudaProfilerStop() -> int:
        return 0

    @staticmethod
    def cudaMemGetInfo(device: int = 0) -> tuple[int, int]:
        return max(0, (1 << 36) - MEMORY.now), 1 << 36

    @staticmethod
    def cudaGetErrorString(error: int) -> str:
        return "no error" if error == 0 else f"error {error}"

    @staticmethod
    def cudaHostRegister(*values: Any) -> int:
        return 0

    @staticmethod
    def cudaHostUnregister(*values: Any) -> int:
        return 0


def external_stream(pointer: int, *device: Any, **more: Any) -> Stream:
    return Stream(cuda_stream=pointer)


class Nvtx:
    """`torch.cuda.nvtx` without a profiler: ranges only nest."""

    depth = 0

    @classmethod
    def range_push(cls, message: str) -> int:
        cls.depth += 1
        return cls.depth - 1

    @classmethod
    def range_pop(cls) -> int:
        cls.depth -= 1
        return cls.depth

    @classmethod
    def range_start(cls, message: str) -> int:
        cls.depth += 1
        return cls.depth

    @staticmethod
    def range_end(number: int) -> None: ...

    @staticmethod
    def mark(message: str) -> None: ...


def properties() -> SimpleNamespace:
    major, minor = STATE.capability
    return SimpleNamespace(
        name="tilery",
        major=major,
        minor=minor,
        L2_cache_size=1 << 20,
        multi_processor_count=148,
        total_memory=1 << 36,
        max_threads_per_multi_processor=2048,
        shared_memory_per_multiprocessor=233472,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=232448,
        regs_per_multiprocessor=65536,
        max_threads_per_block=1024,
        warp_size=32,
        clock_rate=1965000,
        memory_clock_rate=3996000,
        memory_bus_width=8192,
        is_integrated=0,
        is_multi_gpu_board=0,
        pci_bus_id=0,
        pci_device_id=0,
        pci_domain_id=0,
        gcnArchName="",
        uuid=UUID(int=0),
    )
