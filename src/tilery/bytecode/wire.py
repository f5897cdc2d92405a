"""The primitives of the container: variable-length integers, sections, the layout of a file, and the cursor."""

from __future__ import annotations

from enum import IntEnum

from ..attrs import Attr
from ..declare.codegen import GiveUp
from ..declare.fastclass import dataclass, field, replace
from ..diag import TileError
from ..types import Type
from ..version import Version

MAGIC = b"\x7fTileIR\x00"
PADDING = 0xCB
U64 = (1 << 64) - 1
MAX_COUNT = 0xFFFFFFFE
BRIEF = 80
"""The most characters of a string or a type that a mark repeats."""


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


# A section is aligned for the fixed-width tables inside it.
ALIGNMENT = {
    Section.STRING: 4,
    Section.FUNC: 8,
    Section.DEBUG: 8,
    Section.CONSTANT: 8,
    Section.TYPE: 4,
    Section.GLOBAL: 1,
    Section.PRODUCER: 1,
}

# The order of NVIDIA's C++ writer, used for a module that was not read from a file.
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
    """The layout of one section: its alignment, and what its length is padded to."""

    id: Section
    alignment: int
    padded: int


@dataclass(frozen=True, slots=True)
class FileLayout:
    """The layout of a file that was read, so that an unchanged module is written back byte for byte.

    Tables keep their order. Unused entries stay, as raw bytes if they were never decoded, and new ones are appended.
    `unused=False` drops unused entries, which is right after a pass has changed the module.
    """

    version: Version
    tag: int
    sections: tuple[SectionHint, ...]
    strings: tuple[str, ...] = ()
    types: tuple[Type | bytes, ...] = ()
    constants: tuple[bytes, ...] = ()
    constant_uses: dict[tuple[Type, bytes], tuple[int, ...]] = field(default_factory=dict)
    """The indices of each constant's uses, in order: some writers store equal constants once, some do not."""
    debug: tuple[Attr | bytes, ...] = ()
    locations: tuple[tuple[int, ...], ...] = ()
    """The lists of indices into `debug`, one per function that has locations."""
    location_list: dict[str, int] = field(default_factory=dict)
    """The list of each function, by name."""
    unused: bool = True

    def changed(self) -> FileLayout:
        """Return the layout for a module that a pass has changed."""
        return replace(self, unused=False)


# ---------------------------------------------------------------- errors while reading


def silent(detail: str, offset: int, message: str = "") -> TileError:
    """Make an error that has no message in NVIDIA's reader. Without `message`, an enclosing reader adds one."""
    return TileError(message, offset=offset, notes=(detail,))


def enclose(error: TileError, message: str) -> TileError:
    """Add the message of an enclosing reader, as NVIDIA's reader prints one line per level."""
    if error.message:
        error.notes.append(message)
    else:
        error.message = message
        error.args = (message,)
    return error


class enclosing:
    """Add a message to every `TileError` that leaves the block."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TileError):
            enclose(error, self.message)


# ---------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class Mark:
    """The meaning of a range of bytes; `depth` indents it."""

    start: int
    end: int
    text: str
    depth: int


def brief(text: str) -> str:
    """Quote a string for a mark; the section of strings shows a long one in full."""
    return ascii(text) if len(text) <= BRIEF else f"{text[:BRIEF]!a}... of {len(text)} characters"


def brief_type(t: Type) -> str:
    """Return the text of a type for a mark; the section of types shows what a long one consists of."""
    return t.text if len(t.text) <= BRIEF else f"{t.text[:BRIEF]}..."


class Cursor:
    """A position in a range of bytes.

    The readers take a `failure`: NVIDIA's message for something that cannot be read. With `marks`, every range of bytes
    passed to `mark` is recorded for the hexdump.
    """

    __slots__ = ("data", "depth", "end", "marks", "pos")

    def __init__(self, data: bytes, pos: int, end: int, marks: list[Mark] | None = None, depth: int = 0) -> None:
        self.data = data
        self.pos = pos
        self.end = end
        self.marks = marks
        self.depth = depth

    def mark(self, start: int, text: str) -> None:
        """Record the meaning of the bytes from `start` to here."""
        if self.marks is not None and self.pos > start:
            self.marks.append(Mark(start, self.pos, text, self.depth))

    @property
    def remaining(self) -> int:
        return self.end - self.pos

    def byte(self, failure: str = "") -> int:
        if self.pos >= self.end:
            raise silent("the data ends here, a byte is missing", self.pos, failure)
        self.pos += 1
        return self.data[self.pos - 1]

    def take(self, count: int, failure: str = "") -> bytes:
        """Read `count` bytes."""
        if count > self.end - self.pos:
            raise silent(f"{count} bytes are needed, {self.end - self.pos} are left", self.pos, failure)
        self.pos += count
        return self.data[self.pos - count : self.pos]

    def varint(self, failure: str = "") -> int:
        """Read an unsigned LEB128 number of at most ten bytes, modulo 2**64 as NVIDIA's reader does."""
        pos = self.pos
        if pos < self.end and (byte := self.data[pos]) < 128:
            self.pos = pos + 1
            return byte
        return self.untruncated_varint(failure) & U64

    def untruncated_varint(self, failure: str = "") -> int:
        """Like `varint`, but keep the bits above 64 that readers drop."""
        data, end, start = self.data, self.end, self.pos
        pos, shift, value = start, 0, 0
        while True:
            if pos >= end:
                raise silent("the data ends inside a variable-length integer", start, failure)
            if shift > 63:
                raise silent("a variable-length integer has more than ten bytes", start, failure)
            byte = data[pos]
            pos += 1
            value |= (byte & 127) << shift
            if byte < 128:
                self.pos = pos
                return value
            shift += 7

    def svarint(self, failure: str = "") -> int:
        """Read a zig-zag number, as a signed 64-bit integer."""
        raw = self.varint(failure)
        return raw >> 1 ^ -(raw & 1)

    def count(self, failure: str = "") -> int:
        """Read a count below 2**32. Each counted item takes at least a byte, so memory stays bounded."""
        start = self.pos
        count = self.varint(failure)
        if count > MAX_COUNT:
            limit = f"(expected value less than {MAX_COUNT}, got {count})"
            error = TileError(f"varint value exceeds maximum supported capacity. {limit}.", offset=start)
            raise enclose(error, failure) if failure else error
        return count

    def fixed(self, width: int, count: int, failure: str = "") -> list[int]:
        """Read signed little-endian integers."""
        data = self.take(width * count, failure)
        return [int.from_bytes(data[i : i + width], "little", signed=True) for i in range(0, len(data), width)]

    def sized(self, width: int, failure: str = "") -> tuple[int, ...]:
        """Read a count and that many signed little-endian integers."""
        start = self.pos
        count = self.varint(failure)
        if count > U64 >> 32:
            error = TileError(f"array size in bytecode ({count}) exceeds maximum supported capacity", offset=start)
            raise enclose(error, failure) if failure else error
        return tuple(self.fixed(width, count, failure))

    def align(self, base: int, alignment: int, failure: str = "") -> None:
        """Skip padding up to a multiple of `alignment`, counted from `base`."""
        start = self.pos
        if alignment < 2:
            return
        if self.pos >= self.end:
            raise silent("the data ends where padding is expected", start, failure)
        self.take((base - self.pos) % alignment, failure)
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
    """Write a signed 64-bit integer as a zig-zag number."""
    put_varint(out, (value << 1 ^ value >> 63) & U64)


def put_fixed(out: bytearray, width: int, values: tuple[int, ...]) -> None:
    put_varint(out, len(values))
    for value in values:
        out += value.to_bytes(width, "little", signed=True)


def pad(out: bytearray, alignment: int) -> None:
    out += bytes([PADDING]) * (-len(out) % alignment)


def encode_text(text: str) -> bytes:
    """Return the bytes of a string; surrogate escapes stand for bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape")


def decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
