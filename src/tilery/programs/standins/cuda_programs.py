"""Compiled kernels of `cuda.core` and of the driver: images that hold Tile IR bytecode, and their launches."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ...diag import ErrorKind, TileError
from ...engines.common.cutile_abi import ArrayExtent, slot_size, value_of
from ...ops import Module
from ...source.input import Input
from ...types import Type
from ...verifier.explain import read_legal
from .. import device, launches
from .cuda_graphs import handle_of

MAGIC = b"\x7fTileIR\0"


class ObjectCode:
    """`cuda.core.ObjectCode`: an image that `nvcc` wrote here, which is bytecode."""

    def __init__(self, image: bytes | str, name: str = "", symbol_mapping: dict[str, str] | None = None) -> None:
        self.code = image if isinstance(image, bytes) else Path(image).read_bytes()
        self.name, self.symbol_mapping = name, dict(symbol_mapping or {})
        if not self.code.startswith(MAGIC):
            note = "kernels are compiled by the stand-in for nvcc, and stay Tile IR; clear caches of kernels for a GPU"
            raise TileError("the image is not Tile IR", kind=ErrorKind.UNSUPPORTED, notes=(note,))

    @classmethod
    def from_cubin(cls, image: bytes | str, *, name: str = "", symbol_mapping: Any = None) -> ObjectCode:
        return cls(image, name, symbol_mapping)

    from_fatbin = from_cubin
    code_type = "cubin"

    @cached_property
    def module(self) -> Module:
        return read_legal(Input(self.code))

    def get_kernel(self, name: str | bytes) -> Kernel:
        """Return a kernel by its symbol, or by the name expression that it was compiled for."""
        wanted = name.decode() if isinstance(name, bytes) else name
        return Kernel(self, self.symbol_mapping.get(wanted, wanted))


class Kernel:
    """`cuda.core.Kernel`."""

    def __init__(self, image: ObjectCode, symbol: str) -> None:
        self.image, self.symbol = image, symbol
        self.parameters: Sequence[Type] = image.module.entry(symbol).function_type.params

    @property
    def handle(self) -> int:
        return id(self)


class LaunchConfig:
    """`cuda.core.LaunchConfig`: the grid; tile kernels ignore the rest."""

    def __init__(self, grid: Any = 1, block: Any = 1, cluster: Any = None, shmem_size: int = 0, **more: Any) -> None:
        given = (grid,) if isinstance(grid, int) else tuple(grid)
        self.grid = (*map(int, given), 1, 1)[:3]
        self.block, self.cluster, self.shmem_size = block, cluster, shmem_size


def launch(stream: Any, config: LaunchConfig, kernel: Kernel, *arguments: Any) -> None:
    """Launch a kernel in the session that is active."""
    if len(arguments) != len(kernel.parameters):
        raise TypeError(f"the kernel has {len(kernel.parameters)} parameters, {len(arguments)} arguments were given")
    values = [value_of(kind, bytes_of(kind, given)) for kind, given in zip(kernel.parameters, arguments)]
    names = [f"argument {number}" for number in range(len(values))]
    image = kernel.image
    grid = config.grid[0], config.grid[1], config.grid[2]
    call = launches.DecodedLaunch(image.code, kernel.symbol, grid, image.module, values, names, known_memory())
    launches.current().submit(call, handle_of(stream))


def bytes_of(kind: Type, given: Any) -> bytes:
    """Return an argument as the bytes of its parameter; a number must have the parameter's size."""
    size = slot_size(kind)
    if hasattr(given, "handle"):  # a buffer
        given = int(given.handle)
    if isinstance(given, ctypes._SimpleCData):
        made = bytes(given)
    elif isinstance(given, np.generic):
        made = given.tobytes()
    elif isinstance(given, bool):
        made = bytes([given])
    elif isinstance(given, int):
        made = (given & (1 << 8 * size) - 1).to_bytes(size, "little")
    elif isinstance(given, float):
        made = np.float64(given).tobytes()
    else:
        raise TypeError(f"cannot pass an argument of type '{type(given).__name__}' to a kernel")
    if len(made) != size:
        raise TypeError(f"a parameter of {size} bytes was given {len(made)} bytes, of type '{type(given).__name__}'")
    return made


def known_memory() -> list[ArrayExtent]:
    """Return the memory whose addresses the program has: allocations of the device, and tensors it asked for theirs."""
    made = {start: ctypes.addressof(memory) + len(memory) - start for start, memory in device.STATE.memory.items()}
    for start, (size, expired) in list(device.LENT.items()):
        if expired():
            del device.LENT[start]
        else:
            made[start] = size
    return [ArrayExtent(f"memory at {start:#x}", start, size) for start, size in made.items() if size]
