"""CuPy over NumPy: arrays are in the host's memory, functions are NumPy's of the same name."""

from __future__ import annotations

import functools
import threading
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy

from ..device import STATE, VERSION


class ndarray(numpy.ndarray):  # CuPy's name
    """An array that a program believes to be on a GPU."""

    def get(self, *values: Any, **options: Any) -> Any:
        """Copy to the host."""
        STATE.synchronize(cuda.get_current_stream().ptr)
        return numpy.array(self, subok=False)

    def set(self, source: Any, *values: Any) -> None:
        """Copy from the host."""
        self[...] = source

    @property
    def data(self) -> Any:
        address = self.ctypes.data
        return SimpleNamespace(ptr=address, mem=SimpleNamespace(ptr=address, size=self.nbytes), device=cuda.Device())

    @property
    def device(self) -> Any:
        return cuda.Device()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.__array_interface__, "version": 3, "stream": None}

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return numpy.asarray(array).view(ndarray)  # sums are arrays too, as in CuPy

    def item(self, *values: Any) -> Any:
        return numpy.asarray(self).item(*values)


def claim(value: Any) -> Any:
    """Turn NumPy's results into arrays of this module."""
    if isinstance(value, (numpy.ndarray, numpy.generic)) and not isinstance(value, ndarray):
        return numpy.asarray(value).view(ndarray)
    if type(value) in (tuple, list):
        return type(value)(map(claim, value))
    return value


def adapt(function: Any) -> Any:
    """Let a function of NumPy return arrays of this module."""

    @functools.wraps(function, updated=())
    def call(*values: Any, **options: Any) -> Any:
        return claim(function(*values, **options))

    return call


class NumpyModule:
    """A module of NumPy, with functions that return arrays of this module."""

    def __init__(self, original: ModuleType) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return adapted(getattr(self._original, name))


def adapted(value: Any) -> Any:
    return adapt(value) if callable(value) and not isinstance(value, type) else value


class Random(NumpyModule):
    """`cupy.random`: its functions take a `dtype`; of NumPy's, `randint` alone does."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        return typed(found) if callable(found) and not isinstance(found, type) and name != "randint" else found


def typed(function: Any) -> Any:
    """Let a function that draws numbers take a `dtype`."""

    @functools.wraps(function, updated=())
    def draw(*values: Any, dtype: Any = None, **options: Any) -> Any:
        found = function(*values, **options)
        return found if dtype is None else claim(numpy.asarray(found, dtype))

    return draw


linalg, fft, testing = (NumpyModule(getattr(numpy, name)) for name in ("linalg", "fft", "testing"))
random = Random(numpy.random)


def array(value: Any, *values: Any, **options: Any) -> Any:
    """Make an array; a copy, unless it is one of this module and `copy=False`."""
    options = {key: option for key, option in options.items() if key not in ("blocking", "copy")} | (
        {"copy": None} if isinstance(value, ndarray) and options.get("copy", True) is False else {"copy": True}
    )
    return claim(numpy.array(value, *values, **options))


def asarray(value: Any, *values: Any, **options: Any) -> Any:
    """Make an array; a copy, unless it is one of this module."""
    return array(value, *values, copy=False, **options)


ascontiguousarray = adapt(lambda value, *values: numpy.ascontiguousarray(asarray(value, *values)))


def asnumpy(value: Any, *values: Any, **options: Any) -> Any:
    """Copy to the host."""
    return value.get() if isinstance(value, ndarray) else numpy.asarray(value)


def get_array_module(*values: Any) -> Any:
    """Return the module that made one of the arrays."""
    import sys

    return sys.modules["cupy"] if any(isinstance(value, ndarray) for value in values) else numpy


def get_default_memory_pool() -> Any:
    """Return an object that knows of no memory."""
    return SimpleNamespace(used_bytes=lambda: 0, total_bytes=lambda: 0, free_all_blocks=lambda *stream: None)


get_default_pinned_memory_pool = get_default_memory_pool


def RawKernel(*values: Any, **options: Any) -> Any:  # CuPy's name
    """Refuse: there is no compiler for CUDA C++ here."""
    raise NotImplementedError("tilery runs Tile IR; kernels in CUDA C++ need a GPU")


RawModule = ElementwiseKernel = ReductionKernel = RawKernel


class cuda:  # a module's name
    """`cupy.cuda`: one device, whose work is always finished."""

    class Device:
        def __init__(self, number: int = 0) -> None:
            self.id = number

        compute_capability = property(lambda self: "{}{}".format(*STATE.capability))
        mem_info = (1 << 36, 1 << 36)

        def use(self) -> None: ...

        def synchronize(self) -> None: ...

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: object) -> None: ...

        def __eq__(self, other: object) -> bool:
            return isinstance(other, cuda.Device) and other.id == self.id

        def __hash__(self) -> int:
            return self.id

    class Stream:
        null: Any

        def __init__(self, null: bool = False, non_blocking: bool = False, **more: Any) -> None:
            self.ptr = 0 if null else STATE.new_stream(is_blocking=not non_blocking)

        def use(self) -> Any:
            streams()[-1] = self
            return self

        def synchronize(self) -> None:
            STATE.synchronize(self.ptr)

        def record(self, event: Any = None) -> Any:
            event = event or cuda.Event()
            event.record(self)
            return event

        def wait_event(self, event: Any) -> None:
            STATE.wait(self.ptr, event.moment)

        def __enter__(self) -> Any:
            streams().append(self)
            return self

        def __exit__(self, *error: object) -> None:
            streams().pop()

        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, self.ptr

    class Event:
        """Events measure the time on this machine."""

        def __init__(self, *values: Any, **options: Any) -> None:
            self.time = time.perf_counter()
            self.moment: Any = None

        def record(self, stream: Any = None) -> None:
            self.time = time.perf_counter()
            self.moment = STATE.moment((stream or cuda.get_current_stream()).ptr)

        def synchronize(self) -> None:
            STATE.reached(self.moment)

        @property
        def done(self) -> bool:
            self.synchronize()
            return True

    @staticmethod
    def ExternalStream(pointer: int, *device: Any) -> Any:  # CuPy's name
        stream = cuda.Stream(null=True)
        stream.ptr = pointer
        return stream

    @staticmethod
    def get_elapsed_time(start: Any, end: Any) -> float:
        return float(max(1e3 * (end.time - start.time), 1e-3))

    @staticmethod
    def get_current_stream(*device: Any) -> Any:
        return streams()[-1]

    @staticmethod
    def is_available() -> bool:
        return True

    class runtime:  # a module's name
        getDeviceCount = staticmethod(lambda: 1)
        getDevice = staticmethod(lambda: 0)
        setDevice = staticmethod(lambda device: None)
        deviceSynchronize = staticmethod(lambda: STATE.synchronize())
        streamSynchronize = staticmethod(lambda stream: STATE.synchronize(int(stream)))
        memGetInfo = staticmethod(lambda: (1 << 36, 1 << 36))
        driverGetVersion = runtimeGetVersion = staticmethod(lambda: VERSION)
        getDeviceProperties = staticmethod(lambda device: {"name": b"tilery", "multiProcessorCount": 148})


cuda.Stream.null = cuda.Stream(null=True)
LOCAL = threading.local()


def streams() -> list[Any]:
    """Return the streams of this thread, the current one last."""
    if not hasattr(LOCAL, "streams"):
        LOCAL.streams = [cuda.Stream.null]
    found: list[Any] = LOCAL.streams
    return found


def __getattr__(name: str) -> Any:
    return adapted(getattr(numpy, name))
