"""Recorded launches on the command line: their arguments by name, as numbers and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.common.cutile_abi import ArrayExtent
from ..engines.common.tiles import carrier
from ..engines.recorded import Pointer, Recorded, load
from ..types import Ptr, Tile
from .arguments import ArgumentSpec
from .files import CommandFailed, reason

if TYPE_CHECKING:
    from ..engines.recorded import Placed
    from ..ops import Entry


def open_recorded(file: str, memory: int) -> Recorded:
    """Load a recorded launch from a file."""
    try:
        return load(file, memory=memory)
    except OSError as error:
        raise CommandFailed(f"cannot read '{file}': {reason(error)}") from None


def arguments_of(launch: Recorded, entry: Entry, placed: Placed) -> list[ArgumentSpec]:
    """Return the arguments by name; arrays are views of the memory that the kernel works on."""
    arguments = []
    for index, (name, value) in enumerate(zip(launch.names, launch.arguments)):
        kind = entry.function_type.params[index]
        element = kind.element if isinstance(kind, Tile) else None
        if isinstance(value, Pointer) and isinstance(element, Ptr):
            shape, strides = _layout(launch, name)
            dtype = np.dtype(np.uint8) if element.pointee.bits == 4 else carrier(element.pointee)
            array = _view(placed.kept_view(value.buffer), value.offset, dtype, shape, strides)
            arguments.append(ArgumentSpec(name, array, element.pointee))
        else:
            arguments.append(ArgumentSpec(name, value, None if isinstance(element, Ptr) else element))
    return arguments


def extents_of(launch: Recorded, placed: Placed) -> list[ArrayExtent]:
    """Return the memory of a launch, for the option `buffers`."""
    return [ArrayExtent(", ".join(b.names), *place) for b, place in zip(launch.buffers, placed.buffers)]


def _layout(launch: Recorded, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape and the strides that the launch passes with an array; both empty if it passes none."""
    given = dict(zip(launch.names, launch.arguments))
    found: list[tuple[int, ...]] = []
    for what in ("shape", "strides"):
        sizes: list[int] = []
        while isinstance(size := given.get(f"{name}.{what}[{len(sizes)}]"), int):
            sizes.append(size)
        found.append(tuple(sizes))
    return (found[0], found[1]) if len(found[0]) == len(found[1]) else ((), ())


def _view(
    memory: Any, offset: int, dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]
) -> np.ndarray[Any, np.dtype[Any]]:
    """Return an array in a buffer; the rest of the buffer if its shape is unknown or does not fit."""
    if shape and dtype != np.uint8 and _fits(len(memory), offset, dtype.itemsize, shape, strides):
        try:
            return np.ndarray(shape, dtype, memory, offset, [stride * dtype.itemsize for stride in strides])
        except (TypeError, ValueError, OverflowError, MemoryError):
            pass  # the file says something else than what it holds
    return np.ndarray(((len(memory) - offset) // dtype.itemsize,), dtype, memory, offset)


def _fits(size: int, offset: int, item: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Tell whether all elements lie in a buffer. NumPy looks, too, but its sums wrap around at 64 bits."""
    reaches = [(n - 1) * stride * item for n, stride in zip(shape, strides) if n > 0]
    low = offset + sum(min(reach, 0) for reach in reaches)
    high = offset + sum(max(reach, 0) for reach in reaches)
    return low >= 0 and high + item <= size


def launch_data(launch: Recorded, entry: Entry) -> dict[str, Any]:
    """Describe a recorded launch as plain data."""
    arguments: list[dict[str, Any]] = []
    for name, value, kind in zip(launch.names, launch.arguments, entry.function_type.params):
        facts: dict[str, Any] = {"name": name, "type": kind.text}
        if isinstance(value, Pointer):
            facts |= {"shape": list(_layout(launch, name)[0]), "bytes": len(launch.buffers[value.buffer].data)}
        else:
            facts["value"] = value
        arguments.append(facts)
    return {"entry": launch.entry, "grid": list(launch.grid), "arguments": arguments}
