"""A byte-level assembler, independent of tilery's writer, for broken and unusual files."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

MAGIC = b"\x7fTileIR\x00"
RETURN = b"\x5c\x00\x00"


def vi(value: int) -> bytes:
    """Encode an unsigned LEB128 number."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def zz(value: int) -> bytes:
    """Encode a zig-zag number."""
    return vi(value * 2 if value >= 0 else -value * 2 - 1)


def i64(*values: int) -> bytes:
    return vi(len(values)) + struct.pack(f"<{len(values)}q", *values)


def i32(*values: int) -> bytes:
    return vi(len(values)) + struct.pack(f"<{len(values)}i", *values)


def tile(element: int, *shape: int) -> bytes:
    return b"\x0d" + vi(element) + i64(*shape)


def function(params: list[int], results: list[int] | None = None) -> bytes:
    results = results or []
    return b"\x10" + b"".join(vi(len(xs)) + b"".join(map(vi, xs)) for xs in (params, results))


def table(items: list[bytes], width: int) -> bytes:
    out = bytearray(vi(len(items)))
    if items:
        out += b"\xcb" * (-len(out) % width)
        offset = 0
        for item in items:
            out += offset.to_bytes(width, "little")
            offset += len(item)
    return bytes(out) + b"".join(items)


def section(number: int, payload: bytes, alignment: int, position: int) -> bytes:
    """Return a section that starts at `position` in the file."""
    out = bytearray([number | 128 if alignment > 1 else number]) + vi(len(payload))
    if alignment > 1:
        out += vi(alignment)
        out += b"\xcb" * (-(position + len(out)) % alignment)
    return bytes(out) + payload


@dataclass
class File:
    """A file with one entry `k` without parameters. Change its parts, then ask for the bytes."""

    version: tuple[int, int] = (13, 1)
    tag: int = 0
    strings: list[bytes] = field(default_factory=lambda: [b"k"])
    types: list[bytes] = field(default_factory=lambda: [function([])])
    constants: list[bytes] = field(default_factory=list)
    signature: int = 0
    flags: int = 2
    hints: bytes = b""
    location: int = 0
    body: bytes = RETURN
    order: tuple[int, ...] = (2, 4, 3, 5, 1)
    sections: dict[int, tuple[bytes, int]] = field(default_factory=dict)
    """Sections by id that replace the default ones: payload and alignment."""
    tail: bytes = b"\0"

    def data(self) -> bytes:
        made = {
            1: (table(self.strings, 4), 4),
            2: (b"\x01" + self.entry(), 8),
            4: (table(self.constants, 8), 8),
            5: (table(self.types, 4), 4),
            **self.sections,
        }
        out = MAGIC + bytes(self.version) + self.tag.to_bytes(2, "little")
        for number in self.order:
            if number in made and made[number][0] != b"\0":
                out += section(number, *made[number], len(out))
        return out + self.tail

    def entry(self) -> bytes:
        head = vi(0) + vi(self.signature) + bytes([self.flags]) + vi(self.location) + self.hints
        return head + vi(len(self.body)) + self.body
