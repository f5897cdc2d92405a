"""The thirteen self-contained attributes of the documented layout: one row per tag, with the documents' messages."""

from __future__ import annotations

from collections.abc import Callable

from ..attrs import Attr, Bounded, Dense, DenseArray, DivBy, FloatAttr, SameElements, StrAttr, TypeAttr
from ..bytecode.wire import U64, Cursor, enclosing, put_svarint, put_varint
from ..declare.fastclass import dataclass
from ..diag import TileError
from ..types import I1, I64, Scalar, Tile
from .tables import (
    Tables,
    attribute_at,
    attribute_index,
    count,
    ended,
    put_sizes,
    put_string,
    put_type,
    signed,
    sizes_at,
    string_at,
    type_at,
    whole,
)

STRING, FLOAT, TYPE, DENSE, STRINGS, DIV_BY, ARRAY, POOLED, SAME, LOWER, UPPER, BOTH, ASSUME = range(1, 14)
BOUNDS = {LOWER: 1, UPPER: 2, BOTH: 3}
"""The flags byte of each variant of a bound: bit 0 for the lower bound, bit 1 for the upper one."""
VALUES = "failed to read DenseI64ArrayAttr values."
NO_ELEMENT = "failed to read valid MLIR Type for self-contained DenseElementsAttr"
NO_STRING = "failed to read string in DenseElementsAttr"
END_OF_DATA = "array contains unsupported value <end of data>"
NO_COUNT = "failed to read number of string attrs in DenseElementsAttr"


@dataclass(frozen=True, slots=True)
class StringElements(Attr):
    """Strings in the shape of a tile."""

    shape: tuple[int, ...]
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckedDivBy(Attr):
    """A `div_by` with `verify_with_assume`, the first of its two documented flags, which no tool has."""

    predicate: DivBy


@dataclass(frozen=True, slots=True)
class AssumePredicate(Attr):
    """A predicate in a wrapper with a condition word, which no tool has."""

    predicate: Attr
    condition: int = 0


# ---------------------------------------------------------------- reading


def reworded(error: TileError, message: str, offset: int) -> TileError:
    """Make an error with the document's message; the original one becomes a note."""
    return TileError(message, offset=offset, notes=(error.message or str(error.notes[0]),))


def decode_attr(data: bytes, tables: Tables) -> Attr:
    """Decode an attribute.

    >>> decode_attr(b"\\x01\\x04hi", Tables())
    StrAttr(value='hi')
    """
    return whole(data, "attribute", lambda c: read_attr(c, tables))


def read_attr(c: Cursor, tables: Tables) -> Attr:
    start = c.pos
    tag = c.varint("failed to read AttributeTag for self-contained attribute.")
    read = READERS.get(tag)
    if read is None:
        raise TileError(f"unsupported AttributeTag {tag} for self-contained attribute", offset=start)
    return read(c, tables)


def _string(c: Cursor, tables: Tables) -> Attr:
    with enclosing("failed to read StringAttr."):
        return StrAttr(string_at(c, tables))


def _float(c: Cursor, tables: Tables) -> Attr:
    start, problem = c.pos, "failed to read valid FloatType for FloatAttr"
    try:
        t = type_at(c, tables)
    except TileError as error:
        raise reworded(error, problem, start) from None
    if not isinstance(t, Scalar) or not t.is_float:
        raise TileError(problem, offset=start, notes=(f"got {t}",))
    try:
        return FloatAttr(t, _pattern(c, t))
    except TileError as error:
        raise reworded(error, "failed to cast parsed attribute to FloatAttr", start) from None


def _pattern(c: Cursor, t: Scalar, failure: str = "") -> int:
    """Read the bits of a float, lowest byte first."""
    return int.from_bytes(c.take(t.storage_bytes, failure), "little")


def _type(c: Cursor, tables: Tables) -> Attr:
    start = c.pos
    try:
        return TypeAttr(type_at(c, tables))
    except TileError as error:
        raise reworded(error, "failed to get referenced type for TypeAttr", start) from None


def _dense(c: Cursor, tables: Tables) -> Attr:
    shape, start = sizes_at(c), c.pos
    try:
        element = type_at(c, tables, leaf=True)
    except TileError as error:
        raise reworded(error, NO_ELEMENT, start) from None
    if not isinstance(element, Scalar):
        raise TileError(NO_ELEMENT, offset=start, notes=(f"got {element}",))
    tile = Tile(shape, element)
    if tile.size > c.remaining:
        raise TileError(
            END_OF_DATA,
            offset=c.end,
            notes=(f"{tile.size} elements are needed, {c.remaining} bytes are left",),
        )
    read = _integer if element.is_int else _bits
    return Dense.of(tile, [read(c, element) for _ in range(tile.size)])


def _integer(c: Cursor, t: Scalar) -> int:
    """Read a zig-zag number that fits the type, as signed or as unsigned."""
    start = c.pos
    value = c.svarint(END_OF_DATA)
    if not -(1 << t.bits) // 2 <= value < 1 << t.bits:
        raise TileError(f"array contains unsupported value {value}", offset=start)
    return value & ((1 << t.bits) - 1)


def _bits(c: Cursor, t: Scalar) -> int:
    start = c.pos
    bits = _pattern(c, t, END_OF_DATA)
    if bits >> t.bits:
        raise TileError(f"array contains unsupported value {bits}", offset=start)
    return bits


def _strings(c: Cursor, tables: Tables) -> Attr:
    shape, start = sizes_at(c), c.pos
    try:
        number = count(c, "number of strings")
    except TileError as error:
        raise reworded(error, NO_COUNT, start) from None
    if number != _product(shape, number):
        raise TileError(NO_COUNT, offset=start, notes=(f"got {number} for the shape {list(shape)}",))
    values: list[str] = []
    for _ in range(number):
        start = c.pos
        with enclosing(NO_STRING):
            values.append(string_at(c, tables))
    return StringElements(shape, tuple(values))


def _product(shape: tuple[int, ...], limit: int) -> int:
    """Return the number of elements; -1 if it exceeds `limit` or a size is not positive."""
    total = 1
    for size in shape:
        if size <= 0 or total > limit:
            return -1
        total *= size
    return total


def _div_by(c: Cursor, tables: Tables) -> Attr:
    divisor = c.varint("failed to read divisor for DivByAttr")
    flags = _flags(c, "DivByAttr", range(4))
    every = along = None
    if flags & 2:
        every = signed(c.varint("failed to read value for 'every' in DivByAttr"))
        along = signed(c.varint("failed to read value for 'along' in DivByAttr"))
    predicate = DivBy(divisor, every, along)
    return CheckedDivBy(predicate) if flags & 1 else predicate


def _flags(c: Cursor, of: str, allowed: range) -> int:
    start, problem = c.pos, f"failed to read flags byte for {of}"
    flags = c.byte(problem)
    if flags not in allowed:
        raise TileError(problem, offset=start, notes=(f"got {flags:#04x}",))
    return flags


def _i64s(c: Cursor, problem: str = VALUES) -> tuple[int, ...]:
    """Read a rank and that many 64-bit integers, lowest byte first."""
    start = c.pos
    try:
        return tuple(c.fixed(8, count(c, "rank", 8)))
    except TileError as error:
        raise reworded(error, problem, start) from None


def _array(c: Cursor, tables: Tables) -> Attr:
    return DenseArray(I64, _i64s(c))


def _pooled(c: Cursor, tables: Tables) -> Attr:
    rank, start = c.varint(VALUES), c.pos
    at = c.varint(VALUES)
    if at + rank > len(tables.pool):
        found = f"{rank} values from {at} on, the pool has {len(tables.pool)}"
        raise TileError(VALUES, offset=start, notes=(found,))
    return DenseArray(I64, tuple(tables.pool[at : at + rank]))


def _same(c: Cursor, tables: Tables) -> Attr:
    return SameElements(_i64s(c, "failed to read DenseI64ArrayAttr for SameElementsAttr"))


def _bounded(variant: int) -> Callable[[Cursor, Tables], Attr]:
    def read(c: Cursor, tables: Tables) -> Attr:
        return _bounds(c, range(variant, variant + 1))

    return read


def _bounds(c: Cursor, allowed: range) -> Bounded:
    flags = _flags(c, "BoundedAttr", allowed)
    low = signed(c.varint("failed to read lower bound for BoundedAttr")) if flags & 1 else None
    high = signed(c.varint("failed to read upper bound for BoundedAttr")) if flags & 2 else None
    return Bounded(low, high)


def _assume(c: Cursor, tables: Tables) -> Attr:
    """Read a header of kind and size, a predicate of that many bytes, and the condition word."""
    start = c.pos
    header = c.varint()
    kind, size = header & 3, header >> 2
    if size > c.remaining:
        raise TileError(f"a predicate of {size} bytes does not fit in the {c.remaining} that are left", offset=start)
    inner = Cursor(c.data, c.pos, c.pos + size)
    predicate = PREDICATES[kind](inner, tables)
    ended(inner, "predicate")
    c.pos = inner.pos
    return AssumePredicate(predicate, c.varint())


READERS: dict[int, Callable[[Cursor, Tables], Attr]] = {
    STRING: _string,
    FLOAT: _float,
    TYPE: _type,
    DENSE: _dense,
    STRINGS: _strings,
    DIV_BY: _div_by,
    ARRAY: _array,
    POOLED: _pooled,
    SAME: _same,
    **{tag: _bounded(flags) for tag, flags in BOUNDS.items()},
    ASSUME: _assume,
}
PREDICATES: tuple[Callable[[Cursor, Tables], Attr], ...] = (
    _div_by,
    lambda c, tables: _bounds(c, range(1, 4)),
    _same,
    attribute_at,
)
"""The predicates by kind: `div_by`, `bounded`, `same_elements`, and an entry of the attribute table."""


# ---------------------------------------------------------------- writing


def encode_attr(attr: Attr, tables: Tables, *, sidecar: bool = False) -> bytes:
    """Encode an attribute; with `sidecar`, an array of integers refers to the shared pool."""
    tag, payload = _encoded(attr, tables, sidecar)
    return bytes([tag]) + payload


def _encoded(attr: Attr, tables: Tables, sidecar: bool) -> tuple[int, bytes]:
    out = bytearray()
    match attr:
        case StrAttr(value):
            put_string(out, value, tables)
            return STRING, bytes(out)
        case FloatAttr(t, bits):
            put_type(out, t, tables)
            return FLOAT, bytes(out) + bits.to_bytes(t.storage_bytes, "little")
        case TypeAttr(t):
            put_type(out, t, tables)
            return TYPE, bytes(out)
        case Dense():
            return DENSE, _put_dense(attr, tables)
        case StringElements(shape, values):
            put_sizes(out, shape)
            put_varint(out, len(values))
            for value in values:
                put_string(out, value, tables)
            return STRINGS, bytes(out)
        case DenseArray(t, values) if t is I64 and sidecar:
            put_varint(out, len(values))
            put_varint(out, _find(tables, values))
            return POOLED, bytes(out)
        case DenseArray(t, values) if t is I64:
            return ARRAY, _put_i64s(values)
        case DivBy() | CheckedDivBy():
            return DIV_BY, _put_div_by(attr)
        case SameElements(values):
            return SAME, _put_i64s(values)
        case Bounded():
            flags, payload = _put_bounds(attr)
            return next(tag for tag, known in BOUNDS.items() if known == flags), payload
        case AssumePredicate(predicate, condition):
            return ASSUME, _put_assume(predicate, condition, tables)
    raise TileError(f"the documented layout has no tag for {type(attr).__name__}")


def _put_dense(attr: Dense, tables: Tables) -> bytes:
    out = bytearray()
    put_sizes(out, attr.type.shape)
    put_type(out, attr.element, tables, leaf=True)
    bits = attr.element.bits
    for element in attr.elements():
        if attr.element.is_float:
            out += element.to_bytes(attr.element.storage_bytes, "little")
        else:
            negative = attr.element is not I1 and element >> (bits - 1)
            put_svarint(out, element - (1 << bits) if negative else element)
    return bytes(out)


def _put_i64s(values: tuple[int, ...]) -> bytes:
    out = bytearray()
    put_varint(out, len(values))
    for value in values:
        out += value.to_bytes(8, "little", signed=True)
    return bytes(out)


def _find(tables: Tables, values: tuple[int, ...]) -> int:
    """Find the values in the shared pool."""
    pool, size = tuple(tables.pool), len(values)
    for at in range(len(pool) - size + 1):
        if pool[at : at + size] == values:
            return at
    raise TileError("the pool does not have these values", notes=(str(list(values)),))


def _put_div_by(of: DivBy | CheckedDivBy) -> bytes:
    attr = of if isinstance(of, DivBy) else of.predicate
    if (attr.every is None) != (attr.along is None):
        raise TileError("the documented layout has 'every' and 'along' together or not at all")
    out = bytearray()
    put_varint(out, attr.divisor & U64)
    out.append(isinstance(of, CheckedDivBy) | (attr.every is not None) << 1)
    for value in (attr.every, attr.along):
        if value is not None:
            put_varint(out, value & U64)
    return bytes(out)


def _put_bounds(attr: Bounded) -> tuple[int, bytes]:
    flags = (attr.lb is not None) | (attr.ub is not None) << 1
    if not flags:
        raise TileError("the documented layout has no variant of 'bounded' without a bound")
    out = bytearray([flags])
    for bound in (attr.lb, attr.ub):
        if bound is not None:
            put_varint(out, bound & U64)
    return flags, bytes(out)


def _put_assume(predicate: Attr, condition: int, tables: Tables) -> bytes:
    out, payload = bytearray(), bytearray()
    match predicate:
        case DivBy() | CheckedDivBy():
            kind, made = 0, _put_div_by(predicate)
        case Bounded():
            kind, made = 1, _put_bounds(predicate)[1]
        case SameElements(values):
            kind, made = 2, _put_i64s(values)
        case _:
            put_varint(payload, attribute_index(predicate, tables))
            kind, made = 3, bytes(payload)
    put_varint(out, len(made) << 2 | kind)
    out += made
    put_varint(out, condition)
    return bytes(out)
