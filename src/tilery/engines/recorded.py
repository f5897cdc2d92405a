"""Launches saved in files: bytecode, entry, grid, and arguments with the memory they point to.

A file is a zip archive of `launch.json`, `kernel.tileirbc` and one `buffer<N>` per buffer.
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

from ..diag import ErrorKind, TileError, enough_memory
from ..ops import Module
from ..types import Ptr, Tile
from .common.addresses import HoldsAddresses
from .common.cutile_abi import ArrayExtent

FORMAT = 1
ALIGNMENT = 256
"""Buffers are restored with the same address modulo this; kernels assume alignments up to smaller powers of two."""
LIMIT = 1 << 34
"""The most bytes that the buffers of a file may take."""
MAX_FACTS = 16 << 20
"""The most bytes of `launch.json`."""


class Pointer(NamedTuple):
    """An address inside a buffer."""

    buffer: int
    offset: int


@dataclass(slots=True, repr=False)
class RecordedBuffer:
    """A copy of some memory. `pointers` maps the offsets of addresses in it to what they point to."""

    data: bytes
    remainder: int
    names: list[str]
    pointers: dict[int, Pointer] = field(default_factory=dict)


@dataclass(slots=True)
class Placed(HoldsAddresses):
    """A recorded launch restored to memory: arguments with real addresses, and the address and size of each buffer."""

    arguments: list[int | float | bool]
    buffers: list[tuple[int, int]]
    kept: list[Any]

    def read(self, buffer: int) -> bytes:
        """Return the bytes that a buffer holds now."""
        return ctypes.string_at(*self.buffers[buffer])

    def kept_view(self, buffer: int) -> memoryview:
        """Return the memory of a buffer, which the kernel changes."""
        address, size = self.buffers[buffer]
        start = address - ctypes.addressof(self.kept[buffer])
        return memoryview(self.kept[buffer]).cast("B")[start : start + size]


@dataclass(slots=True, repr=False)
class Recorded:
    """A launch that can be repeated."""

    bytecode: bytes
    entry: str
    grid: tuple[int, int, int]
    arguments: list[int | float | bool | Pointer]
    buffers: list[RecordedBuffer]
    names: list[str] = field(default_factory=list)
    """The names of the arguments; their numbers if the file has none."""

    def __post_init__(self) -> None:
        given = self.names + [""] * (len(self.arguments) - len(self.names))
        self.names = [name or str(number) for number, name in enumerate(given[: len(self.arguments)])]

    def __repr__(self) -> str:
        memory = sum(len(b.data) for b in self.buffers)
        grid = "x".join(map(str, self.grid))
        return f"<launch of @{self.entry}, grid {grid}, {memory:,} bytes in {len(self.buffers)} buffers>"

    def place(self) -> Placed:
        """Restore the buffers to memory."""
        kept = [(ctypes.c_char * (len(b.data) + 2 * ALIGNMENT))() for b in self.buffers]
        starts = [-(-ctypes.addressof(m) // ALIGNMENT) * ALIGNMENT + b.remainder for m, b in zip(kept, self.buffers)]
        for start, b in zip(starts, self.buffers):
            ctypes.memmove(start, b.data, len(b.data))
            for at, (target, offset) in b.pointers.items():
                ctypes.memmove(start + at, struct.pack("<Q", starts[target] + offset), 8)
        values = [starts[a.buffer] + a.offset if isinstance(a, Pointer) else a for a in self.arguments]
        return Placed(values, [(start, len(b.data)) for start, b in zip(starts, self.buffers)], list(kept))


# ---------------------------------------------------------------- from a launch


def capture(
    module: Module,
    bytecode: bytes,
    entry: str,
    grid: tuple[int, int, int],
    values: Sequence[int | float | bool],
    memory: Sequence[ArrayExtent],
    names: Sequence[str] = (),
) -> Recorded:
    """Record a launch and the contents of `memory`; `values` has one value per parameter, addresses for pointers."""
    buffers, starts = copy_memory(memory)

    def pointer(address: int) -> Pointer:
        for at in range(len(starts) - 1, -1, -1):
            if starts[at] <= address <= starts[at] + len(buffers[at].data):
                return Pointer(at, address - starts[at])
        raise TileError(f"cannot record a launch with the pointer {address:#x}: it does not point to an array")

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
    return Recorded(bytecode, entry, grid, arguments, buffers, list(names))


def copy_memory(memory: Sequence[ArrayExtent]) -> tuple[list[RecordedBuffer], list[int]]:
    """Copy memory to buffers, in order of address; overlapping arrays share one. Return buffers and addresses."""
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


def save(path: str | PathLike[str], launch: Recorded, *, compress: bool = True) -> None:
    """Save a launch to a file. Without compression it is larger, and saved much faster."""
    facts = {
        "format": FORMAT,
        "entry": launch.entry,
        "grid": launch.grid,
        "names": launch.names,
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
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method, compresslevel=1) as file:
        file.writestr("launch.json", json.dumps(facts, indent=1))
        file.writestr("kernel.tileirbc", launch.bytecode)
        for at, b in enumerate(launch.buffers):
            file.writestr(f"buffer{at}", b.data)


def load(path: str | PathLike[str], *, memory: int = LIMIT) -> Recorded:
    """Load a launch from a file. Raise TileError if the file is not a recorded launch.

    `memory` limits the bytes that its buffers take, each of which is held twice: as it was, and for the kernel.
    """
    with open(path, "rb") as opened, enough_memory("load the recorded launch", fspath(path)):
        try:
            with zipfile.ZipFile(opened) as file:
                needed = 2 * sum(info.file_size for info in file.infolist())
                if needed > memory:
                    message = f"the recorded launch needs {needed} bytes, the limit is {memory}"
                    raise TileError(message, file=fspath(path))
                found = _read(file)
            check(found)
        except (TileError, MemoryError):
            raise
        except Exception as error:  # zip, zlib, JSON and wrong contents all raise different exceptions
            raise TileError(
                f"this is not a recorded launch: {error}", kind=ErrorKind.SYNTAX, file=fspath(path)
            ) from None
    return found


def _read(file: zipfile.ZipFile) -> Recorded:
    if file.getinfo("launch.json").file_size > MAX_FACTS:
        raise ValueError("launch.json is too large")
    facts = json.loads(file.read("launch.json"))
    if facts["format"] != FORMAT:
        raise ValueError(f"format {facts['format']}, expected {FORMAT}")
    buffers = [read_buffer(file.read(f"buffer{at}"), each) for at, each in enumerate(facts["buffers"])]
    x, y, z = map(int, facts["grid"])
    arguments = [Pointer(int(a["buffer"]), int(a["offset"])) if isinstance(a, dict) else a for a in facts["arguments"]]
    names = list(map(str, facts.get("names", ())))  # files of older versions have none
    return Recorded(file.read("kernel.tileirbc"), str(facts["entry"]), (x, y, z), arguments, buffers, names)


def read_buffer(data: bytes, facts: dict[str, Any]) -> RecordedBuffer:
    pointers = {int(at): Pointer(int(target), int(offset)) for at, target, offset in facts["pointers"]}
    return RecordedBuffer(data, int(facts["remainder"]), [str(name) for name in facts["names"]], pointers)


def check(launch: Recorded) -> None:
    """Raise ValueError for anything that `place` would trip over."""
    targets = [a for a in launch.arguments if isinstance(a, Pointer)]
    for b in launch.buffers:
        targets += b.pointers.values()
        if not 0 <= b.remainder < ALIGNMENT or any(not 0 <= at <= len(b.data) - 8 for at in b.pointers):
            raise ValueError("bad alignment or pointer offset in a buffer")
    for each in targets:
        if not (0 <= each.buffer < len(launch.buffers) and 0 <= each.offset <= len(launch.buffers[each.buffer].data)):
            raise ValueError("a pointer is outside its buffer")
    if not all(isinstance(a, (int, float, Pointer)) for a in launch.arguments):
        raise ValueError("an argument is not a number")
