"""The types of the documented layout, tags 0 to 18: every size is a variable-length integer."""

from __future__ import annotations

from collections.abc import Sequence

from ..bytecode.typecodec import ROWS, TypeTag
from ..bytecode.wire import Cursor, put_varint
from ..diag import TileError
from ..types import (
    DYNAMIC,
    SCALARS,
    TOKEN,
    Function,
    PaddingValue,
    PartitionView,
    Ptr,
    Scalar,
    TensorView,
    Tile,
    Token,
    Type,
)
from .tables import LEAF, Tables, count, put_sizes, put_type, sizes_at, type_at, whole

LAST_TAG = LEAF.tag
_TAGS = {row.cls: row.tag for row in ROWS}
POINTER, TILE, TENSOR, PARTITION = (_TAGS[cls] for cls in (Ptr, Tile, TensorView, PartitionView))
_SCALARS = {s.tag: s for s in SCALARS.values() if s.tag <= LAST_TAG}


def decode_type(data: bytes, types: Sequence[Type] = ()) -> Type:
    """Decode a type; it refers to earlier types in the table.

    >>> decode_type(bytes.fromhex("0d 00 02 08 10"), [SCALARS["i32"]])
    tile<8x16xi32>
    """
    return whole(data, "type", lambda c: read_type(c, Tables(types)))


def read_type(c: Cursor, tables: Tables) -> Type:
    start = c.pos
    tag = c.varint()
    if tag in _SCALARS:
        return _SCALARS[tag]
    if tag == _TAGS[Token]:
        return TOKEN
    if tag == POINTER:
        return _pointer(c, tables)
    if tag == TILE:
        return Tile(element=type_at(c, tables, leaf=True), shape=sizes_at(c))
    if tag == TENSOR:
        return TensorView(type_at(c, tables, leaf=True), sizes_at(c), sizes_at(c))
    if tag == PARTITION:
        return _partition(c, tables)
    if tag == TypeTag.FUNCTION:
        return Function(_types(c, tables), _types(c, tables))
    raise TileError(f"unknown type tag: {tag}", offset=start)


def _pointer(c: Cursor, tables: Tables) -> Type:
    pointee = type_at(c, tables)
    start = c.pos
    if (space := c.varint()) != 0:
        raise TileError(f"address space {space} of a pointer is not 0, the only one", offset=start)
    return Ptr(pointee)


def _partition(c: Cursor, tables: Tables) -> Type:
    """Read a view of a tensor, or of an element: then the tensor's sizes and strides are dynamic."""
    of = type_at(c, tables, leaf=True)
    shape, dim_map = sizes_at(c), sizes_at(c)
    tensor = of if isinstance(of, TensorView) else TensorView(of, (DYNAMIC,) * len(shape), (DYNAMIC,) * len(shape))
    start = c.pos
    mode = c.byte()
    if mode > len(PaddingValue):
        raise TileError(f"partition mode {mode} is not one of 0 to {len(PaddingValue)}", offset=start)
    return PartitionView(shape, tensor, dim_map, PaddingValue(mode - 1) if mode else None)


def _types(c: Cursor, tables: Tables) -> tuple[Type, ...]:
    return tuple(type_at(c, tables) for _ in range(count(c, "number of types")))


def encode_type(t: Type, types: Sequence[Type] = ()) -> bytes:
    """Encode a type whose parts are in the table."""
    out, tables = bytearray(), Tables(types)
    match t:
        case Ptr(pointee=pointee):
            out.append(POINTER)
            put_type(out, pointee, tables)
            out.append(0)
        case Tile(element=element, shape=shape):
            out.append(TILE)
            put_type(out, element, tables, leaf=True)
            put_sizes(out, shape)
        case TensorView(element=element, shape=shape, strides=strides):
            out.append(TENSOR)
            put_type(out, element, tables, leaf=True)
            put_sizes(out, shape)
            put_sizes(out, strides)
        case PartitionView(tensor_view=view, tile_shape=shape, dim_map=dim_map, padding_value=padding):
            out.append(PARTITION)
            put_type(out, view, tables)
            put_sizes(out, shape)
            put_sizes(out, dim_map)
            out.append(0 if padding is None else padding.value + 1)
        case Function(params=params, results=results):
            out.append(TypeTag.FUNCTION)
            for part in (params, results):
                put_varint(out, len(part))
                for inner in part:
                    put_type(out, inner, tables)
        case Token():
            out.append(_TAGS[Token])
        case Scalar(tag=tag) if tag in _SCALARS:
            out.append(tag)
        case _:
            raise TileError(f"the documented layout has no tag for {t}")
    return bytes(out)
