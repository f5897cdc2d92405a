"""The tables that records of the documented layout refer to, and the fields that all its codecs share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..attrs import Attr, DictAttr, Loc
from ..bytecode.wire import U64, Cursor, decode_text, enclose, encode_text, put_varint
from ..diag import TileError
from ..types import SCALARS, Type

T = TypeVar("T")

LEAF = SCALARS["f8E8M0FNU"]
"""The type of tag 18, which can only be an element of tiles and views."""
LEAF_RULE = "f8E8M0FNU, type tag 18, can only be the element of a tile or a view"
FIRST, LAST = (13, 1, 0), (13, 1, (1 << 32) - 1)
"""The versions that the documented reader accepts, both included."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a module. Entry 0 of `attributes` is the empty dictionary, whatever the table contains."""

    types: Sequence[Type] = ()
    strings: Sequence[str] = ()
    attributes: Sequence[Attr] = ()
    pool: Sequence[int] = ()
    """The 64-bit integers that arrays share."""
    locations: Sequence[Loc | None] | None = ()
    """The locations of operations; None if all are written as unknown."""


def check_version(major: int, minor: int, patch: int = 0) -> None:
    """Raise TileError for a version that the documented reader does not accept."""
    if not FIRST <= (major, minor, patch) <= LAST:
        window = "this reader supports versions [13.1, 13.1]"
        raise TileError(f"unsupported Tile version {major}.{minor}.{patch}, {window}", offset=0)


def settled(error: TileError, end: int) -> TileError:
    """Complete an error that leaves the codec: give it a message and an offset."""
    if not error.message:
        enclose(error, str(error.notes.pop(0)))
    error.offset = end if error.offset is None else error.offset
    return error


def whole(data: bytes, what: str, read: Callable[[Cursor], T]) -> T:
    """Read one thing that takes up all the bytes."""
    c = Cursor(data, 0, len(data))
    try:
        found = read(c)
        ended(c, what)
    except TileError as error:
        raise settled(error, c.pos) from None
    return found


def ended(c: Cursor, what: str) -> None:
    """Raise TileError if bytes are left."""
    if c.remaining:
        raise TileError(f"{c.remaining} bytes are left after the {what}", offset=c.pos)


def count(c: Cursor, what: str, least: int = 1) -> int:
    """Read a number of items of at least `least` bytes each, which must fit in the remaining bytes."""
    start = c.pos
    number = c.varint()
    if number * least > c.remaining:
        raise TileError(f"{what} {number} exceeds the {c.remaining} bytes that are left", offset=start)
    return number


def reference(c: Cursor, table: Sequence[object], what: str) -> int:
    """Read an index into a table."""
    start = c.pos
    index = c.varint()
    if index >= len(table):
        raise TileError(f"{what} index {index} out of bounds", offset=start, notes=(f"the table has {len(table)}",))
    return index


def type_at(c: Cursor, tables: Tables, leaf: bool = False) -> Type:
    """Read a reference to a type; the type of tag 18 is only accepted as a `leaf`."""
    start = c.pos
    found = tables.types[reference(c, tables.types, "type")]
    if found is LEAF and not leaf:
        raise TileError(LEAF_RULE, offset=start)
    return found


def put_type(out: bytearray, t: Type, tables: Tables, leaf: bool = False) -> None:
    if t is LEAF and not leaf:
        raise TileError(LEAF_RULE)
    index = next((n for n, known in enumerate(tables.types) if known is t), None)
    if index is None:
        raise TileError(f"the type table does not have {t}")
    put_varint(out, index)


def attribute_at(c: Cursor, tables: Tables) -> Attr:
    """Read a reference to an attribute; 0 is the empty dictionary."""
    start = c.pos
    index = c.varint()
    if index == 0:
        return DictAttr()
    if index >= len(tables.attributes):
        known = len(tables.attributes)
        raise TileError(f"attribute index {index} out of bounds", offset=start, notes=(f"the table has {known}",))
    return tables.attributes[index]


def attribute_index(attr: Attr, tables: Tables) -> int:
    if attr == DictAttr():
        return 0
    index = next((n for n, known in enumerate(tables.attributes) if n and known == attr), None)
    if index is None:
        raise TileError("the attribute table does not have this attribute", notes=(f"{attr}",))
    return index


def string_at(c: Cursor, tables: Tables) -> str:
    """Read a string: an even number is twice the length of the bytes that follow, an odd one refers to the table."""
    start = c.pos
    head = c.varint()
    if not head & 1:
        return decode_text(c.take(head >> 1))
    if head >> 1 >= len(tables.strings):
        raise TileError(f"string index {head >> 1} out of bounds", offset=start)
    return tables.strings[head >> 1]


def put_string(out: bytearray, text: str, tables: Tables) -> None:
    """Write a reference to the string table, or the string itself if the table does not have it."""
    if text in tables.strings:
        put_varint(out, tables.strings.index(text) << 1 | 1)
        return
    data = encode_text(text)
    put_varint(out, len(data) << 1)
    out += data


def sizes_at(c: Cursor) -> tuple[int, ...]:
    """Read a rank and that many sizes; the dynamic size is the lowest 64-bit integer."""
    return tuple(signed(c.varint()) for _ in range(count(c, "rank")))


def put_sizes(out: bytearray, sizes: Sequence[int]) -> None:
    put_varint(out, len(sizes))
    for size in sizes:
        put_varint(out, size & U64)


def signed(number: int) -> int:
    """Read a 64-bit number as two's complement."""
    return number - (1 << 64) if number >> 63 else number


def sleb_at(c: Cursor) -> int:
    """Read a signed LEB128 number of at most ten bytes: `7f` is -1."""
    start, shift, value = c.pos, 0, 0
    while True:
        byte = c.byte()
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
        if shift > 63:
            raise TileError("a signed LEB128 number has more than ten bytes", offset=start)
    return value - (1 << shift) if byte & 64 else value


def put_sleb(out: bytearray, value: int) -> None:
    while not -64 <= value < 64:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value & 127)
