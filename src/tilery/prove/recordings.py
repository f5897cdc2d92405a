"""Recorded launches as programs: arrays of floats are any real numbers, everything else is as it was recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..diag import TileError
from ..engines.common.tiles import carrier
from ..engines.recorded import Pointer, Recorded
from ..ops import Module
from ..types import Ptr, Tile
from .programs import GIVEN, REAL, Buffer, Program, Stage


def from_recorded(recorded: Recorded, module: Module) -> tuple[Program, dict[str, Buffer]]:
    """Return the program of a recorded launch, and its buffers by the names of its arguments."""
    entry = module.entry(recorded.entry)
    buffers: dict[str, Buffer] = {}
    args: list[Any] = []
    seen: set[int] = set()
    for name, value, kind in zip(recorded.names, recorded.arguments, entry.function_type.params):
        assert isinstance(kind, Tile)
        if not isinstance(value, Pointer):
            args.append(value)
            continue
        if not isinstance(kind.element, Ptr) or kind.element.pointee.bits == 4:
            raise TileError(f"the argument '{name}' of a recorded launch cannot be compared: {kind.text}")
        if value.buffer in seen or name in buffers:
            raise TileError(
                f"the argument '{name}' of a recorded launch shares its memory or its name with another one"
            )
        seen.add(value.buffer)
        memory = recorded.buffers[value.buffer]
        if memory.pointers:
            raise TileError(f"the argument '{name}' of a recorded launch holds pointers")
        element = kind.element.pointee
        dtype = carrier(element)
        count = (len(memory.data) - value.offset) // dtype.itemsize
        data = np.frombuffer(memory.data, dtype, count, value.offset)
        buffers[name] = Buffer((count,), REAL) if element.is_float else Buffer((count,), GIVEN, data)
        args.append(name)
    return Program([Stage(module, recorded.grid, args, recorded.entry)]), buffers


def join(a: tuple[Program, dict[str, Buffer]], b: tuple[Program, dict[str, Buffer]]) -> Any:
    """Return what `reals` takes for two recorded launches: arrays of one name are the same, and are all compared."""
    buffers = dict(a[1])
    for name, buffer in b[1].items():
        known = buffers.setdefault(name, buffer)
        if known.shape != buffer.shape:
            raise TileError(f"the recorded launches have {known.shape[0]} and {buffer.shape[0]} elements in '{name}'")
        if known.data is not None and buffer.data is not None and not np.array_equal(known.data, buffer.data):
            raise TileError(f"the recorded launches have different integers in '{name}'")
    shared = [name for name in a[1] if name in b[1]]
    if not shared:
        raise TileError("the recorded launches have no array of the same name")
    return a[0], b[0], buffers, shared
