"""`numba.cuda` on the host: arrays, and SIMT kernels that NumPy runs for all threads at once.

A kernel whose threads branch differently runs thread by thread instead, which is slow. There are no barriers and no
shared memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..device import STATE

__all__ = [
    "blockDim",
    "blockIdx",
    "cuda",
    "grid",
    "gridDim",
    "gridsize",
    "jit",
    "synchronize",
    "threadIdx",
    "to_device",
]
MAX_THREADS = 1 << 26
"""The most threads that run at once."""


class Index:
    """`threadIdx` and its like: numbers, or arrays of the numbers of all threads."""

    x: Any = 0
    y: Any = 0
    z: Any = 0

    def set(self, values: Any) -> None:
        self.x, self.y, self.z = values


threadIdx, blockIdx, blockDim, gridDim = Index(), Index(), Index(), Index()


def three(size: Any) -> tuple[int, int, int]:
    """Return a size as three numbers."""
    given = (size,) if isinstance(size, (int, np.integer)) else tuple(size)
    return (*map(int, given), 1, 1)[:3]  # type: ignore[return-value]  # it has three


class Dispatcher:
    """A kernel, which `kernel[blocks, threads]` configures."""

    def __init__(self, body: Callable[..., None]) -> None:
        self.body, self.__name__, self.__doc__ = body, getattr(body, "__name__", "kernel"), body.__doc__

    def __getitem__(self, configuration: Any) -> Callable[..., None]:
        blocks, threads = three(configuration[0]), three(configuration[1])
        return lambda *arguments: self.run(blocks, threads, arguments)

    def run(self, blocks: tuple[int, int, int], threads: tuple[int, int, int], arguments: tuple[Any, ...]) -> None:
        """Run for all threads at once, or one after another if they do not agree on a branch."""
        blockDim.set(threads)
        gridDim.set(blocks)
        count = int(np.prod(blocks)) * int(np.prod(threads))
        kept = [(array, array.copy()) for array in arguments if isinstance(array, np.ndarray)]
        if count <= MAX_THREADS and np.prod(blocks[1:]) == np.prod(threads[1:]) == 1:
            number = np.arange(count)
            blockIdx.set((number // threads[0], 0, 0))
            threadIdx.set((number % threads[0], 0, 0))
            try:
                with np.errstate(all="ignore"):
                    self.body(*arguments)
                return
            except (ValueError, TypeError, IndexError):  # a branch, a loop or a guard that depends on the thread
                for array, before in kept:
                    array[...] = before
        for block, thread in itertools.product(places(blocks), places(threads)):
            blockIdx.set(block)
            threadIdx.set(thread)
            self.body(*arguments)


def places(size: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    for z, y, x in itertools.product(*map(range, size[::-1])):
        yield x, y, z


def jit(*signature: Any, **options: Any) -> Any:
    """`numba.cuda.jit`, with and without arguments; a device function is a plain function."""
    if options.get("device"):
        return lambda body: body
    if len(signature) == 1 and callable(signature[0]):
        return Dispatcher(signature[0])
    return Dispatcher


def grid(dimensions: int) -> Any:
    """Return the number of this thread in the whole grid."""
    found = tuple(
        getattr(blockIdx, axis) * getattr(blockDim, axis) + getattr(threadIdx, axis) for axis in "xyz"[:dimensions]
    )
    return found[0] if dimensions == 1 else found


def gridsize(dimensions: int) -> Any:
    found = tuple(getattr(blockDim, axis) * getattr(gridDim, axis) for axis in "xyz"[:dimensions])
    return found[0] if dimensions == 1 else found


class DeviceArray(np.ndarray[Any, Any]):
    """An array of the device, which is an array of the host."""

    def copy_to_host(self, to: Any = None, stream: Any = None) -> Any:
        STATE.synchronize(0)
        made = np.array(self)
        if to is None:
            return made
        to[...] = made
        return to

    def copy_to_device(self, source: Any, stream: Any = None) -> None:
        self[...] = source


def to_device(array: Any, stream: Any = None, copy: bool = True, to: Any = None) -> Any:
    return np.array(array).view(DeviceArray)


def device_array(shape: Any, dtype: Any = np.float64, *options: Any, **more: Any) -> Any:
    return np.full(shape, 0, dtype).view(DeviceArray)


def device_array_like(array: Any, stream: Any = None) -> Any:
    return device_array(array.shape, array.dtype)


def synchronize() -> None:
    """Tell a sanitizer; all work is finished."""
    STATE.synchronize()


class Stream:
    handle = SimpleNamespace(value=0)

    def synchronize(self) -> None:
        STATE.synchronize(0)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 0


def stream() -> Stream:
    return Stream()


default_stream = stream
pinned_array = mapped_array = device_array


def is_available() -> bool:
    return True


cuda = SimpleNamespace(
    **{
        name: globals()[name]
        for name in (
            *("jit", "grid", "gridsize", "threadIdx", "blockIdx", "blockDim", "gridDim", "to_device", "device_array"),
            *("device_array_like", "synchronize", "stream", "default_stream", "pinned_array", "mapped_array"),
            "is_available",
        )
    },
    __doc__="`numba.cuda`.",
)
