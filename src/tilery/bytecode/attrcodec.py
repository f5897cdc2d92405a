"""The layout of attributes in bytecode: those that start with a tag, and those whose kind follows from the field."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from ..attrs import (
    ArrayAttr,
    Attr,
    Bounded,
    Dense,
    DenseStrings,
    DictAttr,
    DivBy,
    FloatAttr,
    IntAttr,
    OptimizationHints,
    SameElements,
    StrAttr,
    TypeAttr,
)
from ..checking import TYPE_CHECKING
from ..diag import TileError
from ..types import I1, Scalar, Tile, Type
from .hints import no_dictionary, old_problem
from .tables import MAX_NESTING, FileTables
from .typecodec import refuse_extremes
from .wire import U64, Cursor, brief, enclosing, put_fixed, put_svarint, put_varint

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class AttrTag(IntEnum):
    """The first number of a tagged attribute."""

    INTEGER = 1
    FLOAT = 2
    BOOL = 3
    TYPE = 4
    STRING = 5
    ARRAY = 6
    DENSE = 7
    DIV_BY = 8
    SAME_ELEMENTS = 9
    DICTIONARY = 10
    OPTIMIZATION_HINTS = 11
    BOUNDED = 12


def read_tagged(c: Cursor, tables: FileTables, depth: int = 0) -> Attr:
    """Read an attribute that starts with its tag."""
    start = c.pos
    if depth > MAX_NESTING:
        raise TileError(f"attributes are nested more than {MAX_NESTING} deep", offset=start)
    tag = c.varint("failed to read AttributeTag for self-contained attribute.")
    read = _READERS.get(tag)
    if c.marks is not None:
        c.mark(start, f"attribute tag {tag}: {'unknown' if read is None else AttrTag(tag).name.lower()}")
    if read is None:
        raise TileError(f"unsupported AttributeTag {tag} for self-contained attribute", offset=start)
    return read(c, tables, depth)


def read_bool(c: Cursor, label: str = "") -> bool:
    """Read a boolean."""
    start = c.pos
    value = c.byte("failed to read byte for inline bool (i1)") != 0
    c.mark(start, f"{label} {str(value).lower()}".lstrip())
    return value


def read_integer(c: Cursor, width: int) -> int:
    """Read the bits of an integer whose width is known."""
    start = c.pos
    bits = c.varint(f"failed to read VarInt for inline integer (width={width})")
    if bits >> width:
        raise TileError(f"value {bits} does not fit in {width} bits", offset=start)
    c.mark(start, str(bits))
    return bits


def _scalar(c: Cursor, tables: FileTables, integer: bool) -> Scalar:
    start = c.pos
    what = "Integer" if integer else "Float"
    failure = f"failed to read valid {what}Type for {what}Attr"
    t = tables.read_type(c, failure)
    if not isinstance(t, Scalar) or t.is_int != integer:
        raise TileError(failure, offset=start)
    c.mark(start, f"of type {t}")
    return t


def _read_integer(c: Cursor, tables: FileTables, depth: int) -> IntAttr:
    t = _scalar(c, tables, True)
    return IntAttr(t, int(read_bool(c)) if t is I1 else read_integer(c, t.bits))


def _read_float(c: Cursor, tables: FileTables, depth: int) -> FloatAttr:
    t = _scalar(c, tables, False)
    start = c.pos
    if t.bits <= 8:
        raw = bits = c.byte("failed to read byte for APInt (<= 8 bits).")
    else:
        raw = c.untruncated_varint("failed to read signed varint for APInt (<= 64 bits).")
        low = raw & U64
        bits = (low >> 1 ^ -(low & 1)) & U64
    if bits >> t.bits:
        dot = "." if t.bits <= 8 else ""
        raise TileError(f"value {bits} does not fit in {t.bits} bits{dot}", offset=start)
    c.mark(start, f"bits {bits:#x}")
    return FloatAttr(t, bits, lost_sign=t.bits == 64 and raw >> 64 == 1 and raw & 1 == 0)


def _read_type(c: Cursor, tables: FileTables, depth: int) -> TypeAttr:
    start = c.pos
    t = tables.read_type(c, "failed to get referenced type for TypeAttr")
    c.mark(start, "type")
    return TypeAttr(t)


def read_string(c: Cursor, tables: FileTables) -> str:
    """Read the index of a string."""
    start = c.pos
    text = tables.read_string(c, "failed to read StringAttr.")
    c.mark(start, brief(text))
    return text


def read_array(c: Cursor, tables: FileTables, depth: int = 0) -> tuple[Attr, ...]:
    """Read a count and that many attributes."""
    start = c.pos
    count = c.count("failed to read size for ArrayAttr.")
    c.mark(start, f"array of {count}")
    items: list[Attr] = []
    for index in range(count):
        with enclosing(f"failed to parse ArrayAttr element {index}"):
            items.append(read_tagged(c, tables, depth + 1))
    return tuple(items)


def _read_dense(c: Cursor, tables: FileTables, depth: int) -> DenseStrings:
    start = c.pos
    failure = "failed to read valid MLIR Type for self-contained DenseElementsAttr"
    t = tables.read_type(c, failure)
    if not isinstance(t, Tile):
        raise TileError(failure, offset=start)
    if not tables.profile.reads_dense_strings:
        raise TileError("unknown DenseElementsAttr based Attr", offset=start)
    count = c.varint("failed to read number of string attrs in DenseElementsAttr")
    failure = "failed to read string in DenseElementsAttr"
    return DenseStrings(t, tuple([tables.read_string(c, failure) for _ in range(count)]))


def _read_div_by(c: Cursor, tables: FileTables, depth: int) -> DivBy:
    say, start = tables.profile.say, c.pos
    divisor = c.varint(say("failed to read divisor"))
    c.mark(start, f"div_by {divisor}")
    flags = _read_flags(c, tables, "DivByAttr")
    every = _read_bound(c, flags & 1, "every", say("failed to read every_val"))
    along = _read_bound(c, flags & 2, "along", say("failed to read along_val"))
    return DivBy(divisor, every, along)


def _read_bounded(c: Cursor, tables: FileTables, depth: int) -> Bounded:
    say = tables.profile.say
    flags = _read_flags(c, tables, "BoundedAttr")
    lb = _read_bound(c, flags & 1, "lower bound", say("failed to read lb_val"))
    ub = _read_bound(c, flags & 2, "upper bound", say("failed to read ub_val"))
    return Bounded(lb, ub)


def _read_flags(c: Cursor, tables: FileTables, what: str) -> int:
    start = c.pos
    if tables.profile.flags_are_bytes:
        flags = c.byte(f"failed to read flags byte for {what}")
    else:
        flags = c.varint("failed to read optional parameter flags")
    c.mark(start, f"flags {flags:#b}")
    return flags


def _read_bound(c: Cursor, present: int, label: str, failure: str) -> int | None:
    if not present:
        return None
    start = c.pos
    value = c.svarint(failure)
    c.mark(start, f"{label} {value}")
    return value


def _read_same_elements(c: Cursor, tables: FileTables, depth: int) -> SameElements:
    start = c.pos
    failure = tables.profile.say("failed to read values data")
    if tables.profile.same_elements_is_array:
        with enclosing("failed to read DenseI64ArrayAttr for SameElementsAttr"):
            values = c.sized(8, failure)
            with enclosing(failure):
                refuse_extremes(values, 64, start)
    else:
        values = c.sized(8, failure)
    c.mark(start, f"same_elements {values}")
    return SameElements(values)


def _read_dictionary(c: Cursor, tables: FileTables, depth: int) -> DictAttr:
    start = c.pos
    count = c.count("failed to read size for DictionaryAttr")
    c.mark(start, f"dictionary of {count}")
    items: list[tuple[str, Attr]] = []
    for index in range(count):
        at = c.pos
        key = tables.read_string(c, f"failed to read key for DictionaryAttr element {index}")
        c.mark(at, f"key {brief(key)}")
        if not key:
            raise TileError(f"invalid empty attribute name for DictionaryAttr element {index}", offset=at)
        with enclosing(f"failed to parse DictionaryAttr value for key {key}"):
            items.append((key, read_tagged(c, tables, depth + 1)))
    seen: set[str] = set()
    for key, _ in items:
        if key in seen:
            raise TileError(f'failed to parse DictionaryAttr, duplicate key found: "{key}"', offset=start)
        seen.add(key)
    return DictAttr(tuple(items))


def read_hints(c: Cursor, tables: FileTables, depth: int = 0) -> OptimizationHints:
    """Read optimization hints, a dictionary of dictionaries."""
    start = c.pos
    value = _read_dictionary(c, tables, depth)
    known = tables.profile.hint_architectures
    why = old_problem(value, known) if known else None
    for arch, inner in value.items:
        why = why or no_dictionary(arch, inner)
    if why is not None:
        raise TileError(why, offset=start, notes=("failed to parse OptimizationHintsAttr",))
    return OptimizationHints(value)


_READERS: dict[int, Callable[[Cursor, FileTables, int], Attr]] = {
    AttrTag.INTEGER: _read_integer,
    AttrTag.FLOAT: _read_float,
    AttrTag.BOOL: lambda c, tables, depth: IntAttr(I1, int(read_bool(c)), as_bool=True),
    AttrTag.TYPE: _read_type,
    AttrTag.STRING: lambda c, tables, depth: StrAttr(read_string(c, tables)),
    AttrTag.ARRAY: lambda c, tables, depth: ArrayAttr(read_array(c, tables, depth)),
    AttrTag.DENSE: _read_dense,
    AttrTag.DIV_BY: _read_div_by,
    AttrTag.SAME_ELEMENTS: _read_same_elements,
    AttrTag.DICTIONARY: _read_dictionary,
    AttrTag.OPTIMIZATION_HINTS: read_hints,
    AttrTag.BOUNDED: _read_bounded,
}


# ---------------------------------------------------------------- writing


class Indices(Protocol):
    """The tables of a file being written: each method returns an index and adds what is new."""

    def string(self, text: str) -> int: ...
    def type(self, t: Type) -> int: ...
    def constant(self, value: Dense) -> int: ...


def write_tagged(out: bytearray, attr: Attr, indices: Indices) -> None:
    """Write an attribute with its tag."""
    match attr:
        case IntAttr(as_bool=True):
            out += bytes((AttrTag.BOOL, attr.bits))
        case IntAttr():
            out.append(AttrTag.INTEGER)
            put_varint(out, indices.type(attr.type))
            put_varint(out, attr.bits)
        case FloatAttr():
            out.append(AttrTag.FLOAT)
            put_varint(out, indices.type(attr.type))
            _put_float(out, attr)
        case TypeAttr():
            out.append(AttrTag.TYPE)
            put_varint(out, indices.type(attr.type))
        case StrAttr():
            out.append(AttrTag.STRING)
            put_varint(out, indices.string(attr.value))
        case ArrayAttr():
            out.append(AttrTag.ARRAY)
            write_array(out, attr.items, indices)
        case DictAttr():
            out.append(AttrTag.DICTIONARY)
            _write_dictionary(out, attr, indices)
        case OptimizationHints():
            out.append(AttrTag.OPTIMIZATION_HINTS)
            write_hints(out, attr, indices)
        case DivBy():
            out.append(AttrTag.DIV_BY)
            put_varint(out, attr.divisor)
            _put_bounds(out, attr.every, attr.along)
        case SameElements():
            out.append(AttrTag.SAME_ELEMENTS)
            put_fixed(out, 8, attr.values)
        case Bounded():
            out.append(AttrTag.BOUNDED)
            _put_bounds(out, attr.lb, attr.ub)
        case _:
            raise TileError(f"bytecode cannot hold a {type(attr).__name__}")


def _put_float(out: bytearray, attr: FloatAttr) -> None:
    if attr.type.bits <= 8:
        out.append(attr.bits)
    elif attr.lost_sign:
        put_varint(out, (attr.bits | 1 << 63) << 1)
    else:
        put_svarint(out, attr.bits - (attr.bits >> 63 << 64))


def _put_bounds(out: bytearray, low: int | None, high: int | None) -> None:
    out.append((low is not None) | (high is not None) << 1)
    for value in (low, high):
        if value is not None:
            put_svarint(out, value)


def write_array(out: bytearray, items: tuple[Attr, ...], indices: Indices) -> None:
    """Write a count and the attributes."""
    put_varint(out, len(items))
    for item in items:
        write_tagged(out, item, indices)


def _write_dictionary(out: bytearray, value: DictAttr, indices: Indices) -> None:
    put_varint(out, len(value.items))
    for key, item in value.items:
        put_varint(out, indices.string(key))
        write_tagged(out, item, indices)


def write_hints(out: bytearray, value: OptimizationHints, indices: Indices) -> None:
    """Write optimization hints without a tag."""
    _write_dictionary(out, value.value, indices)
