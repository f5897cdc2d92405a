"""How attributes are laid out in bytecode: the tagged ones that say what they are, and those whose field says it."""

from __future__ import annotations

from typing import Protocol

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
from ..diag import TileError
from ..types import I1, Scalar, Tile, Type
from ..verifier.hints import no_dictionary, old_problem
from .tables import MAX_NESTING, Tables
from .typecodec import read_count
from .wire import U64, Cursor, enclose, put_fixed, put_svarint, put_varint

INTEGER, FLOAT, BOOL, TYPE, STRING, ARRAY, DENSE, DIV_BY, SAME_ELEMENTS, DICTIONARY, HINTS, BOUNDED = range(1, 13)
TAG_NAMES = {
    INTEGER: "integer",
    FLOAT: "float",
    BOOL: "bool",
    TYPE: "type",
    STRING: "string",
    ARRAY: "array",
    DENSE: "dense",
    DIV_BY: "div_by",
    SAME_ELEMENTS: "same_elements",
    DICTIONARY: "dictionary",
    HINTS: "optimization_hints",
    BOUNDED: "bounded",
}


def read_tagged(c: Cursor, tables: Tables, depth: int = 0) -> Attr:
    """An attribute that starts with its tag."""
    start = c.pos
    if depth > MAX_NESTING:
        raise TileError(f"attributes are nested more than {MAX_NESTING} deep", offset=start)
    try:
        tag = c.varint()
    except TileError as e:
        raise enclose(e, "failed to read AttributeTag for self-contained attribute.") from None
    c.mark(start, f"attribute tag {tag}: {TAG_NAMES.get(tag, 'unknown')}")
    match tag:
        case 1:
            return _read_integer(c, tables)
        case 2:
            return _read_float(c, tables)
        case 3:
            return IntAttr(I1, _read_bool(c), as_bool=True)
        case 4:
            return _read_type(c, tables)
        case 5:
            return StrAttr(read_string(c, tables))
        case 6:
            return ArrayAttr(read_array(c, tables, depth))
        case 7:
            return _read_dense(c, tables)
        case 8:
            return _read_div_by(c, tables)
        case 9:
            return _read_same_elements(c, tables)
        case 10:
            return _read_dictionary(c, tables, depth)
        case 11:
            return read_hints(c, tables, depth)
        case 12:
            return _read_bounded(c, tables)
    raise TileError(f"unsupported AttributeTag {tag} for self-contained attribute", offset=start)


def _read_bool(c: Cursor) -> int:
    start = c.pos
    try:
        value = int(c.byte() != 0)
    except TileError as e:
        raise enclose(e, "failed to read byte for inline bool (i1)") from None
    c.mark(start, "true" if value else "false")
    return value


def read_integer(c: Cursor, width: int) -> int:
    """The bits of an integer whose width is known."""
    start = c.pos
    try:
        bits = c.varint()
    except TileError as e:
        raise enclose(e, f"failed to read VarInt for inline integer (width={width})") from None
    if bits >> width:
        raise TileError(f"value {bits} does not fit in {width} bits", offset=start)
    c.mark(start, str(bits))
    return bits


def _scalar(c: Cursor, tables: Tables, integer: bool) -> Scalar:
    start = c.pos
    what = "Integer" if integer else "Float"
    problem = f"failed to read valid {what}Type for {what}Attr"
    try:
        t = tables.read_type(c)
    except TileError as e:
        raise enclose(e, problem) from None
    if not isinstance(t, Scalar) or t.is_int != integer:
        raise TileError(problem, offset=start)
    c.mark(start, f"of type {t}")
    return t


def _read_integer(c: Cursor, tables: Tables) -> IntAttr:
    t = _scalar(c, tables, True)
    return IntAttr(t, _read_bool(c) if t is I1 else read_integer(c, t.bits))


def _read_float(c: Cursor, tables: Tables) -> FloatAttr:
    t = _scalar(c, tables, False)
    start = c.pos
    try:
        raw = c.byte() if t.bits <= 8 else c.untruncated_varint()
    except TileError as e:
        what = "byte for APInt (<= 8 bits)." if t.bits <= 8 else "signed varint for APInt (<= 64 bits)."
        raise enclose(e, f"failed to read {what}") from None
    if t.bits <= 8:
        bits = raw
    else:
        low = raw & U64
        bits = (low >> 1 ^ -(low & 1)) & U64
    if bits >> t.bits:
        dot = "." if t.bits <= 8 else ""
        raise TileError(f"value {bits} does not fit in {t.bits} bits{dot}", offset=start)
    c.mark(start, f"bits {bits:#x}")
    return FloatAttr(t, bits, lost_sign=t.bits == 64 and raw >> 64 == 1 and raw & 1 == 0)


def _read_type(c: Cursor, tables: Tables) -> TypeAttr:
    start = c.pos
    try:
        t = tables.read_type(c)
    except TileError as e:
        raise enclose(e, "failed to get referenced type for TypeAttr") from None
    c.mark(start, "type")
    return TypeAttr(t)


def read_string(c: Cursor, tables: Tables) -> str:
    start = c.pos
    try:
        text = tables.read_string(c)
    except TileError as e:
        raise enclose(e, "failed to read StringAttr.") from None
    c.mark(start, ascii(text))
    return text


def read_array(c: Cursor, tables: Tables, depth: int = 0) -> tuple[Attr, ...]:
    start = c.pos
    try:
        count = read_count(c)
    except TileError as e:
        raise enclose(e, "failed to read size for ArrayAttr.") from None
    c.mark(start, f"array of {count}")
    items: list[Attr] = []
    for index in range(count):
        try:
            items.append(read_tagged(c, tables, depth + 1))
        except TileError as e:
            raise enclose(e, f"failed to parse ArrayAttr element {index}") from None
    return tuple(items)


def _read_dense(c: Cursor, tables: Tables) -> DenseStrings:
    start = c.pos
    problem = "failed to read valid MLIR Type for self-contained DenseElementsAttr"
    try:
        t = tables.read_type(c)
    except TileError as e:
        raise enclose(e, problem) from None
    if not isinstance(t, Tile):
        raise TileError(problem, offset=start)
    if not tables.profile.first:
        raise TileError("unknown DenseElementsAttr based Attr", offset=start)
    try:
        count = c.varint()
    except TileError as e:
        raise enclose(e, "failed to read number of string attrs in DenseElementsAttr") from None
    strings: list[str] = []
    for _ in range(count):
        try:
            strings.append(tables.read_string(c))
        except TileError as e:
            raise enclose(e, "failed to read string in DenseElementsAttr") from None
    return DenseStrings(t, tuple(strings))


def _read_div_by(c: Cursor, tables: Tables) -> DivBy:
    say, start = tables.profile.say, c.pos
    try:
        divisor = c.varint()
    except TileError as e:
        raise enclose(e, say("failed to read divisor")) from None
    c.mark(start, f"div_by {divisor}")
    flags = _read_flags(c, tables, "DivByAttr")
    every = _read_bound(c, flags & 1, "every", say("failed to read every_val"))
    along = _read_bound(c, flags & 2, "along", say("failed to read along_val"))
    return DivBy(divisor, every, along)


def _read_bounded(c: Cursor, tables: Tables) -> Bounded:
    say = tables.profile.say
    flags = _read_flags(c, tables, "BoundedAttr")
    lb = _read_bound(c, flags & 1, "lower bound", say("failed to read lb_val"))
    ub = _read_bound(c, flags & 2, "upper bound", say("failed to read ub_val"))
    return Bounded(lb, ub)


def _read_flags(c: Cursor, tables: Tables, what: str) -> int:
    start = c.pos
    first = tables.profile.first
    try:
        flags = c.byte() if first else c.varint()
    except TileError as e:
        message = f"failed to read flags byte for {what}" if first else "failed to read optional parameter flags"
        raise enclose(e, message) from None
    c.mark(start, f"flags {flags:#b}")
    return flags


def _read_bound(c: Cursor, present: int, label: str, problem: str) -> int | None:
    if not present:
        return None
    start = c.pos
    try:
        value = c.svarint()
    except TileError as e:
        raise enclose(e, problem) from None
    c.mark(start, f"{label} {value}")
    return value


def _read_same_elements(c: Cursor, tables: Tables) -> SameElements:
    start = c.pos
    first = tables.profile.first
    try:
        values = c.sized(8)
        if first:
            refuse_extremes(values, 64, start)
    except TileError as e:
        enclose(e, tables.profile.say("failed to read values data"))
        raise (enclose(e, "failed to read DenseI64ArrayAttr for SameElementsAttr") if first else e) from None
    c.mark(start, f"same_elements {values}")
    return SameElements(values)


def refuse_extremes(values: tuple[int, ...], width: int, offset: int) -> None:
    """Arrays may not hold the smallest and the largest integer."""
    top = (1 << (width - 1)) - 1
    for value in values:
        if value in (top, -top - 1):
            raise TileError(f"array contains unsupported value {value}", offset=offset)


def _read_dictionary(c: Cursor, tables: Tables, depth: int) -> DictAttr:
    start = c.pos
    try:
        count = read_count(c)
    except TileError as e:
        raise enclose(e, "failed to read size for DictionaryAttr") from None
    c.mark(start, f"dictionary of {count}")
    items: list[tuple[str, Attr]] = []
    for index in range(count):
        at = c.pos
        try:
            key = tables.read_string(c)
        except TileError as e:
            raise enclose(e, f"failed to read key for DictionaryAttr element {index}") from None
        c.mark(at, f"key {key}")
        if not key:
            raise TileError(f"invalid empty attribute name for DictionaryAttr element {index}", offset=at)
        try:
            items.append((key, read_tagged(c, tables, depth + 1)))
        except TileError as e:
            raise enclose(e, f"failed to parse DictionaryAttr value for key {key}") from None
    seen: set[str] = set()
    for key, _ in items:
        if key in seen:
            raise TileError(f'failed to parse DictionaryAttr, duplicate key found: "{key}"', offset=start)
        seen.add(key)
    return DictAttr(tuple(items))


def read_hints(c: Cursor, tables: Tables, depth: int = 0) -> OptimizationHints:
    start = c.pos
    value = _read_dictionary(c, tables, depth)
    why = old_problem(value) if tables.profile.first else None
    for arch, inner in value.items:
        why = why or no_dictionary(arch, inner)
    if why is not None:
        raise TileError(why, offset=start, notes=("failed to parse OptimizationHintsAttr",))
    return OptimizationHints(value)


# ---------------------------------------------------------------- writing


class Indices(Protocol):
    """What the writer offers: the index of a string, a type or a constant, made when it is new."""

    def string(self, text: str) -> int: ...
    def type(self, t: Type) -> int: ...
    def constant(self, value: Dense) -> int: ...


def write_tagged(out: bytearray, attr: Attr, indices: Indices) -> None:
    """An attribute with its tag."""
    match attr:
        case IntAttr(as_bool=True):
            out += bytes([BOOL, attr.bits])
        case IntAttr():
            out.append(INTEGER)
            put_varint(out, indices.type(attr.type))
            put_varint(out, attr.bits)
        case FloatAttr():
            out.append(FLOAT)
            put_varint(out, indices.type(attr.type))
            _put_float(out, attr)
        case TypeAttr():
            out.append(TYPE)
            put_varint(out, indices.type(attr.type))
        case StrAttr():
            out.append(STRING)
            put_varint(out, indices.string(attr.value))
        case ArrayAttr():
            out.append(ARRAY)
            write_array(out, attr.items, indices)
        case DictAttr():
            out.append(DICTIONARY)
            _write_dictionary(out, attr, indices)
        case OptimizationHints():
            out.append(HINTS)
            write_hints(out, attr, indices)
        case DivBy():
            out.append(DIV_BY)
            put_varint(out, attr.divisor)
            _put_bounds(out, attr.every, attr.along)
        case SameElements():
            out.append(SAME_ELEMENTS)
            put_fixed(out, 8, attr.values)
        case Bounded():
            out.append(BOUNDED)
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
    put_varint(out, len(items))
    for item in items:
        write_tagged(out, item, indices)


def _write_dictionary(out: bytearray, value: DictAttr, indices: Indices) -> None:
    put_varint(out, len(value.items))
    for key, item in value.items:
        put_varint(out, indices.string(key))
        write_tagged(out, item, indices)


def write_hints(out: bytearray, value: OptimizationHints, indices: Indices) -> None:
    _write_dictionary(out, value.value, indices)
