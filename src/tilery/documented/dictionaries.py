"""The other payloads of the documented layout: dictionaries, hints, operand segments, shapes and debug entries."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from ..attrs import Attr, Dense, DenseArray, DictAttr, IntAttr, OptimizationHints
from ..bytecode import debuginfo
from ..bytecode.wire import Cursor, enclosing, put_svarint, put_varint
from ..declare.fields import AttrKind
from ..diag import TileError
from ..ops import registered
from ..text.parse.leaves import EnumAttr
from ..text.print.attributes import ENUM_NAMES
from ..types import I32, Tile
from .enums import ENUMS, Member, encode_enum, read_enum
from .tables import Tables, attribute_at, attribute_index, count, put_sizes, put_string, sizes_at, string_at, whole

SEGMENTS = "operandSegmentSizes"
INTEGERS = (AttrKind.I64, AttrKind.I32, AttrKind.BOOL, AttrKind.ENUM)
"""Fields that are integers. Enumerations are, unless they have a name in MLIR's text."""


@cache
def keys_of(kind: AttrKind) -> frozenset[str]:
    """Return the names of the fields of a kind, from the declarations of operations."""
    return frozenset(f.name for d in registered() for f in d.attrs if f.kind is kind)


@cache
def enum_keys() -> dict[str, str]:
    """Return the dictionary keys whose values are members of the six enums, from the declarations of operations."""
    kinds = {cls: name for name, cls in ENUMS.items()}
    return {f.name: kinds[f.enum] for d in registered() for f in d.attrs if f.enum in kinds}


def enum_attr(member: Member) -> EnumAttr:
    """Make an attribute of a keyword."""
    name = ENUM_NAMES.get(type(member), type(member).__name__)  # type: ignore[arg-type]  # two have no name there
    return EnumAttr(f"#cuda_tile.{name}<{member.text}>", member)  # type: ignore[arg-type]  # Width is no tool's


def decode_dict(data: bytes, tables: Tables) -> DictAttr:
    """Decode named attributes: a number of entries, each a key and a reference, or the number of an enum member."""
    return whole(data, "dictionary", lambda c: _dict(c, tables))


def _dict(c: Cursor, tables: Tables, *, hints: bool = False) -> DictAttr:
    items: dict[str, Attr] = {}
    for _ in range(count(c, "number of entries", 2)):
        start = c.pos
        key = string_at(c, tables)
        if key in items:
            raise TileError(f"duplicate key '{key}' in dictionary attribute", offset=start)
        items[key] = attribute_at(c, tables) if hints else _value(c, key, tables)
    return DictAttr(tuple(items.items()))


def _value(c: Cursor, key: str, tables: Tables) -> Attr:
    """Read what follows a key: the number of an enum member, sizes, hints, or a reference."""
    name = enum_keys().get(key)
    if name is not None:
        return enum_attr(read_enum(c, name))
    if key == SEGMENTS or key in keys_of(AttrKind.I32_ARRAY):
        return DenseArray(I32, _segments(c))
    if key in keys_of(AttrKind.HINTS):
        return OptimizationHints(_hints(c, tables))
    found = attribute_at(c, tables)
    return as_integer(found) if any(key in keys_of(kind) for kind in INTEGERS) else found


def as_integer(attr: Attr) -> Attr:
    """Return the integer that a constant of rank 0 is; other attributes as they are."""
    if isinstance(attr, Dense) and attr.element.is_int and not attr.type.shape:
        return IntAttr(attr.element, attr.elements()[0])
    return attr


def as_constant(attr: Attr) -> Attr:
    """Return an integer as a constant of rank 0, the only form that has a tag; other attributes as they are."""
    return Dense.of(Tile((), attr.type), [attr.bits]) if isinstance(attr, IntAttr) else attr


def encode_dict(attr: DictAttr, tables: Tables) -> bytes:
    out = bytearray()
    put_varint(out, len(attr.items))
    for key, value in attr.items:
        put_string(out, key, tables)
        if key in enum_keys() and isinstance(value, EnumAttr):
            out += encode_enum(value.member)
        elif isinstance(value, DenseArray) and (key == SEGMENTS or key in keys_of(AttrKind.I32_ARRAY)):
            out += encode_segments(value.values)
        elif isinstance(value, OptimizationHints) and key in keys_of(AttrKind.HINTS):
            out += encode_hints(value, tables)
        else:
            put_varint(out, _index(value, tables))
    return bytes(out)


def _index(value: Attr, tables: Tables) -> int:
    """Return the position of an attribute, which is there as it is or, if it is an integer, as a constant."""
    try:
        return attribute_index(value, tables)
    except TileError:
        return attribute_index(as_constant(value), tables)


def decode_hints(data: bytes, tables: Tables) -> OptimizationHints:
    """Decode optimization hints: a number of entries, each an architecture and a reference to a dictionary."""
    return OptimizationHints(whole(data, "hints", lambda c: _hints(c, tables)))


def _hints(c: Cursor, tables: Tables) -> DictAttr:
    start = c.pos
    items = []
    for key, value in _dict(c, tables, hints=True).items:
        if not isinstance(value, DictAttr):
            raise TileError(f"the hints for '{key}' are not a dictionary", offset=start)
        items.append((key, DictAttr(tuple((name, as_integer(hint)) for name, hint in value.items))))
    return DictAttr(tuple(items))


def encode_hints(hints: OptimizationHints, tables: Tables) -> bytes:
    out = bytearray()
    put_varint(out, len(hints.value.items))
    for key, value in hints.value.items:
        put_string(out, key, tables)
        put_varint(out, attribute_index(value, tables))
    return bytes(out)


def decode_segments(data: bytes) -> tuple[int, ...]:
    """Decode the sizes of operand segments: a rank and zig-zag numbers."""
    return whole(data, "segments", _segments)


def _segments(c: Cursor) -> tuple[int, ...]:
    sizes = []
    for _ in range(count(c, "rank")):
        start = c.pos
        size = c.svarint("failed to read operand segments")
        if not -(1 << 31) <= size < 1 << 31:
            raise TileError(f"{size} does not fit in 32 bits", offset=start)
        sizes.append(size)
    return tuple(sizes)


def encode_segments(sizes: Sequence[int]) -> bytes:
    out = bytearray()
    put_varint(out, len(sizes))
    for size in sizes:
        put_svarint(out, size)
    return bytes(out)


def decode_shape(data: bytes) -> tuple[int, ...]:
    """Decode a shape that is an attribute."""
    return whole(data, "shape", sizes_at)


def encode_shape(shape: Sequence[int]) -> bytes:
    out = bytearray()
    put_sizes(out, shape)
    return bytes(out)


def decode_debug(data: bytes, tables: Tables, entries: Sequence[Attr | None] = ()) -> Attr | None:
    """Decode a debug entry, tags 0 to 6; None is an unknown location.

    It refers to strings from 0 on, and to earlier entries from 1 on.
    """
    if data[:1] and data[0] > max(row.tag for row in debuginfo.ROWS):
        raise TileError(f"unknown debug tag: {data[0]}", offset=0)

    def string(c: Cursor, failure: str) -> str:
        with enclosing(failure):
            start, index = c.pos, c.varint()
            if index >= len(tables.strings):
                raise TileError(f"string index {index} out of bounds", offset=start)
            return tables.strings[index]

    def entry(c: Cursor, kind: Any, failure: str) -> Any:
        with enclosing(failure):
            return entry_at(c, kind)

    def entry_at(c: Cursor, kind: Any) -> Any:
        start, index = c.pos, c.varint()
        if index > len(entries):
            raise TileError(f"debug index {index} out of bounds", offset=start)
        found = entries[index - 1] if index else None
        if found is not None and not isinstance(found, kind):
            raise TileError(f"debug entry {index} is {type(found).__name__}", offset=start)
        if found is None and not (isinstance(kind, type) and kind.__name__ == "Loc"):
            raise TileError(f"debug entry {index} is an unknown location", offset=start)
        return found

    return whole(data, "debug entry", lambda c: debuginfo.read_entry(c, string, entry))


def encode_debug(node: Attr | None, tables: Tables, entries: Sequence[Attr | None] = ()) -> bytes:
    """Encode a debug entry."""
    if node is None:
        return b"\x00"

    def string(text: str) -> int:
        if text not in tables.strings:
            raise TileError(f"the string table does not have {text!r}")
        return tables.strings.index(text)

    def place(part: Any) -> int:
        if part is None:
            return 0
        found = next((n for n, known in enumerate(entries, 1) if known is part), 0)
        if not found:
            raise TileError(f"the debug entries do not have {part!r}")
        return found

    return debuginfo.write_entry(node, string, place)
