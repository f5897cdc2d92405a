"""Launches in files: the bytecode, the entry, the grid, and the arguments with the memory they point to.

A file is a zip archive of `launch.json`, `kernel.tileirbc` and one `buffer<N>` per piece of memory.
"""

from __future__ import annotations

import ctypes
import json
import struct
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, NamedTuple

from ..diag import TileError
from ..ops import Module
from ..types import Ptr, Tile
from .addresses import HoldsAddresses
from .cutile_abi import Extent

FORMAT = 1
ALIGNMENT = 256
"""What kernels are told of addresses is about smaller powers of two; memory is placed again with the same remainder."""
LIMIT = 1 << 34
"""Bytes that a file may ask for; a larger size is a broken file."""


class Pointer(NamedTuple):
    """An address inside a buffer."""

    buffer: int
    offset: int


@dataclass(slots=True)
class RecordedBuffer:
    """A piece of memory; `pointers` says where in it there are addresses, and what they point to."""

    data: bytes
    remainder: int
    names: list[str]
    pointers: dict[int, Pointer] = field(default_factory=dict)


@dataclass(slots=True)
class Placed(HoldsAddresses):
    """A recorded launch in memory: arguments with real addresses, and each buffer's address and size."""

    arguments: list[int | float | bool]
    buffers: list[tuple[int, int]]
    kept: list[Any]

    def read(self, buffer: int) -> bytes:
        return ctypes.string_at(*self.buffers[buffer])


@dataclass(slots=True)
class Recorded:
    """A launch that can be executed again."""

    bytecode: bytes
    entry: str
    grid: tuple[int, int, int]
    arguments: list[int | float | bool | Pointer]
    buffers: list[RecordedBuffer]

    def place(self) -> Placed:
        """Put the buffers into memory as they were recorded."""
        kept = [(ctypes.c_char * (len(b.data) + 2 * ALIGNMENT))() for b in self.buffers]
        starts = [-(-ctypes.addressof(m) // ALIGNMENT) * ALIGNMENT + b.remainder for m, b in zip(kept, self.buffers)]
        for start, b in zip(starts, self.buffers):
            data = bytearray(b.data)
            for at, (target, offset) in b.pointers.items():
                struct.pack_into("<Q", data, at, starts[target] + offset)
            ctypes.memmove(start, bytes(data), len(data))
        values = [starts[a.buffer] + a.offset if isinstance(a, Pointer) else a for a in self.arguments]
        return Placed(values, [(start, len(b.data)) for start, b in zip(starts, self.buffers)], list(kept))


# ---------------------------------------------------------------- from a launch


def capture(
    module: Module,
    bytecode: bytes,
    entry: str,
    grid: tuple[int, int, int],
    values: Sequence[int | float | bool],
    memory: Sequence[Extent],
) -> Recorded:
    """A launch as it is now; there is one value per parameter, and pointers are addresses into `memory`."""
    buffers, starts = copy_memory(memory)

    def pointer(address: int) -> Pointer:
        for at in range(len(starts) - 1, -1, -1):
            if starts[at] <= address <= starts[at] + len(buffers[at].data):
                return Pointer(at, address - starts[at])
        raise TileError(f"cannot record a launch with the pointer {address:#x}, which points to no array")

    for each in memory:
        for offset in each.pointers:
            place = pointer(each.address + offset)
            buffer = buffers[place.buffer]
            (address,) = struct.unpack_from("<Q", buffer.data, place.offset)
            buffer.pointers[place.offset] = pointer(address)
    kinds = module.entry(entry).function_type.params
    arguments = [
        pointer(int(value)) if isinstance(kind, Tile) and isinstance(kind.element, Ptr) else value
        for kind, value in zip(kinds, values, strict=True)
    ]
    return Recorded(bytecode, entry, grid, arguments, buffers)


def copy_memory(memory: Sequence[Extent]) -> tuple[list[RecordedBuffer], list[int]]:
    """Buffers in order of their addresses, arrays that overlap in one, and where they start."""
    joined: list[tuple[int, int, list[str]]] = []
    for each in sorted(memory, key=lambda each: each.address):
        start, end = each.address, each.address + each.size
        if joined and start < joined[-1][1]:
            first, last, names = joined[-1]
            joined[-1] = first, max(last, end), [*names, each.name]
        else:
            joined.append((start, end, [each.name]))
    buffers = [RecordedBuffer(ctypes.string_at(a, b - a), a % ALIGNMENT, names) for a, b, names in joined]
    return buffers, [start for start, _, _ in joined]


# ---------------------------------------------------------------- files


def save(path: str | PathLike[str], launch: Recorded) -> None:
    """Write a launch to a file."""
    facts = {
        "format": FORMAT,
        "entry": launch.entry,
        "grid": launch.grid,
        "arguments": [
            {"buffer": a.buffer, "offset": a.offset} if isinstance(a, Pointer) else a for a in launch.arguments
        ],
        "buffers": [
            {
                "names": b.names,
                "size": len(b.data),
                "remainder": b.remainder,
                "pointers": [[at, *target] for at, target in b.pointers.items()],
            }
            for b in launch.buffers
        ],
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        file.writestr("launch.json", json.dumps(facts, indent=1))
        file.writestr("kernel.tileirbc", launch.bytecode)
        for at, b in enumerate(launch.buffers):
            file.writestr(f"buffer{at}", b.data)


def load(path: str | PathLike[str]) -> Recorded:
    """Read a launch from a file; a TileError where it is none."""
    with open(path, "rb") as opened:
        try:
            with zipfile.ZipFile(opened) as file:
                found = _read(file)
            check(found)
        except Exception as error:  # of archives, compression, JSON and the facts in it: broken ones have no one error
            raise TileError(f"this is no recorded launch: {error}", file=fspath(path)) from None
    return found


def _read(file: zipfile.ZipFile) -> Recorded:
    if sum(info.file_size for info in file.infolist()) > LIMIT:
        raise ValueError("it is too large")
    facts = json.loads(file.read("launch.json"))
    if facts["format"] != FORMAT:
        raise ValueError(f"its format is {facts['format']}, expected {FORMAT}")
    buffers = [read_buffer(file.read(f"buffer{at}"), each) for at, each in enumerate(facts["buffers"])]
    x, y, z = map(int, facts["grid"])
    arguments = [Pointer(int(a["buffer"]), int(a["offset"])) if isinstance(a, dict) else a for a in facts["arguments"]]
    return Recorded(file.read("kernel.tileirbc"), str(facts["entry"]), (x, y, z), arguments, buffers)


def read_buffer(data: bytes, facts: dict[str, Any]) -> RecordedBuffer:
    pointers = {int(at): Pointer(int(target), int(offset)) for at, target, offset in facts["pointers"]}
    return RecordedBuffer(data, int(facts["remainder"]), [str(name) for name in facts["names"]], pointers)


def check(launch: Recorded) -> None:
    """What `place` relies on."""
    targets = [a for a in launch.arguments if isinstance(a, Pointer)]
    for b in launch.buffers:
        targets += b.pointers.values()
        if not 0 <= b.remainder < ALIGNMENT or any(not 0 <= at <= len(b.data) - 8 for at in b.pointers):
            raise ValueError("a buffer is not as it should be")
    for each in targets:
        if not (0 <= each.buffer < len(launch.buffers) and 0 <= each.offset <= len(launch.buffers[each.buffer].data)):
            raise ValueError("a pointer points to no buffer")
    if not all(isinstance(a, (int, float, Pointer)) for a in launch.arguments):
        raise ValueError("an argument is no number")
