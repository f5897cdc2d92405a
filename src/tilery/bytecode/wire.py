"""The primitives of the container: variable-length integers, sections, tables, and how a file was laid out."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from ..attrs import Attr
from ..declare.codegen import GiveUp
from ..declare.fastclass import dataclass, field, replace
from ..diag import TileError
from ..types import Type
from ..version import Version

MAGIC = b"\x7fTileIR\x00"
PADDING = 0xCB
U64 = (1 << 64) - 1


class Section(IntEnum):
    """The sections of a file, by id."""

    END = 0
    STRING = 1
    FUNC = 2
    DEBUG = 3
    CONSTANT = 4
    TYPE = 5
    GLOBAL = 6
    PRODUCER = 7


# Fixed-width tables inside a section force its alignment.
ALIGNMENT = {
    Section.STRING: 4,
    Section.FUNC: 8,
    Section.DEBUG: 8,
    Section.CONSTANT: 8,
    Section.TYPE: 4,
    Section.GLOBAL: 1,
    Section.PRODUCER: 1,
}

# The order of NVIDIA's C++ writer, used for a module that no file was read for.
DEFAULT_ORDER = (
    Section.GLOBAL,
    Section.FUNC,
    Section.CONSTANT,
    Section.DEBUG,
    Section.TYPE,
    Section.PRODUCER,
    Section.STRING,
)


@dataclass(frozen=True, slots=True)
class SectionHint:
    """How one section was laid out: its alignment, and to what its length was padded at the end."""

    id: Section
    alignment: int
    padded: int


@dataclass(frozen=True, slots=True)
class FileLayout:
    """What the reader saw beside the module's content, so that an unchanged module is written back byte for byte.

    Tables keep their order; entries that nothing uses stay, as raw bytes where they were never decoded. New entries
    are appended. `unused=False` drops what nothing uses, which is right after a pass has changed the module.
    """

    version: Version
    tag: int
    sections: tuple[SectionHint, ...]
    strings: tuple[str, ...] = ()
    types: tuple[Type | bytes, ...] = ()
    constants: tuple[bytes, ...] = ()
    constant_uses: dict[tuple[Type, bytes], tuple[int, ...]] = field(default_factory=dict)
    """For each constant the indices its uses had, in order: some writers store equal constants once, some do not."""
    debug: tuple[Attr | bytes, ...] = ()
    locations: tuple[tuple[int, ...], ...] = ()
    """The lists of indices into `debug`, one per function that has locations."""
    location_list: dict[str, int] = field(default_factory=dict)
    """Which of these lists belongs to which function."""
    unused: bool = True

    def changed(self) -> FileLayout:
        """The layout for a module that a pass has changed."""
        return replace(self, unused=False)


# ---------------------------------------------------------------- errors while reading


def silent(detail: str, offset: int) -> TileError:
    """A failure for which NVIDIA's reader has no text of its own; an enclosing one names it."""
    return TileError("", offset=offset, notes=(detail,))


def enclose(error: TileError, message: str) -> TileError:
    """Add the message of an enclosing reader, as NVIDIA's reader prints one line per level."""
    if error.message:
        error.notes.append(message)
    else:
        error.message = message
        error.args = (message,)
    return error


# ---------------------------------------------------------------- reading


class Mark(NamedTuple):
    """What a range of bytes means; `depth` indents it."""

    start: int
    end: int
    text: str
    depth: int


class Cursor:
    """A position in a range of bytes. With `marks`, everything read through `mark` is recorded for the hexdump."""

    __slots__ = ("data", "depth", "end", "marks", "pos")

    def __init__(self, data: bytes, pos: int, end: int, marks: list[Mark] | None = None, depth: int = 0) -> None:
        self.data = data
        self.pos = pos
        self.end = end
        self.marks = marks
        self.depth = depth

    def mark(self, start: int, text: str) -> None:
        if self.marks is not None and self.pos > start:
            self.marks.append(Mark(start, self.pos, text, self.depth))

    @property
    def remaining(self) -> int:
        return self.end - self.pos

    def byte(self) -> int:
        if self.pos >= self.end:
            raise silent("the data ends here, a byte is missing", self.pos)
        self.pos += 1
        return self.data[self.pos - 1]

    def take(self, count: int) -> bytes:
        if count > self.end - self.pos:
            raise silent(f"{count} bytes are needed, {self.end - self.pos} are left", self.pos)
        self.pos += count
        return self.data[self.pos - count : self.pos]

    def varint(self) -> int:
        """An unsigned LEB128 number, taken modulo 2**64 as NVIDIA's reader does; at most ten bytes."""
        return self.untruncated_varint() & U64

    def untruncated_varint(self) -> int:
        """Like `varint`, but with the bits above 64 that readers drop."""
        data, end, start = self.data, self.end, self.pos
        pos, shift, value = start, 0, 0
        while True:
            if pos >= end:
                raise silent("the data ends inside a variable-length integer", start)
            if shift > 63:
                raise silent("a variable-length integer has more than ten bytes", start)
            byte = data[pos]
            pos += 1
            value |= (byte & 127) << shift
            if byte < 128:
                self.pos = pos
                return value
            shift += 7

    def svarint(self) -> int:
        """A zig-zag number, as a signed 64-bit integer."""
        raw = self.varint()
        return raw >> 1 ^ -(raw & 1)

    def fixed(self, width: int, count: int) -> list[int]:
        """Signed little-endian integers."""
        data = self.take(width * count)
        return [int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width)]

    def sized(self, width: int) -> tuple[int, ...]:
        """A count and that many signed little-endian integers."""
        start = self.pos
        count = self.varint()
        if count > U64 >> 32:
            raise TileError(f"array size in bytecode ({count}) exceeds maximum supported capacity", offset=start)
        return tuple(self.fixed(width, count))

    def align(self, base: int, alignment: int) -> None:
        """Skip padding up to a multiple of `alignment`, counted from `base`."""
        start = self.pos
        if alignment < 2:
            return
        if self.pos >= self.end:
            raise silent("the data ends where padding is expected", start)
        self.take((base - self.pos) % alignment)
        self.mark(start, "padding")


# ---------------------------------------------------------------- for generated code

ONE_BYTE = [bytes([n]) for n in range(128)]
"""The variable-length integers that take one byte."""


def encode_varint(value: int) -> bytes:
    """Return a variable-length integer."""
    out = bytearray()
    put_varint(out, value)
    return bytes(out)


def decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the variable-length integer at `at`, and the offset after it."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & U64, at
        shift += 7
        if shift > 63:
            raise GiveUp


# ---------------------------------------------------------------- writing


def put_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)


def put_svarint(out: bytearray, value: int) -> None:
    """Zig-zag of a signed 64-bit integer."""
    put_varint(out, (value << 1 ^ value >> 63) & U64)


def put_fixed(out: bytearray, width: int, values: tuple[int, ...]) -> None:
    put_varint(out, len(values))
    for value in values:
        out += value.to_bytes(width, "little", signed=True)


def pad(out: bytearray, alignment: int) -> None:
    out += bytes([PADDING]) * (-len(out) % alignment)


def encode_text(text: str) -> bytes:
    """Strings are bytes; those that are not UTF-8 travel as surrogate escapes."""
    return text.encode("utf-8", "surrogateescape")


def decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
