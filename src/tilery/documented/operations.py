"""Operations of the documented layout: conversion between an `Op` and a record with its tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..attrs import Attr, DenseArray, DictAttr, Loc
from ..bytecode.wire import Cursor
from ..declare.fields import INFER, REQUIRED, Field
from ..declare.operation import OpDef
from ..diag import TileError
from ..ir import Block, Op, UnknownOp, Value
from ..text.parse.tasks import Task, run
from ..text.parse.values import mismatch, value_of
from ..text.print.attributes import ENUM_NAMES
from ..text.print.generic import attr_of
from ..types import I32, TOKEN, Type
from ..version import V13_1
from .dictionaries import SEGMENTS, enum_attr
from .records import UNKNOWN, BlockRecord, Record, known_op, read_record, results_of, write_record
from .tables import LEAF, LEAF_RULE, Tables, attribute_index, ended, settled


def decode_op(
    data: bytes,
    types: Sequence[Type],
    values: Sequence[Value],
    *,
    attributes: Sequence[Attr] = (),
    locations: Sequence[Loc | None] = (),
) -> Op:
    """Decode an operation, with the tables that it refers to.

    >>> from tilery.types import I32, Tile
    >>> tile = Tile((8,), I32)
    >>> value = [Value(tile) for _ in range(6)]
    >>> o = decode_op(bytes.fromhex("03 7f 03 02 04 05 00"), [I32, I32, I32, tile], value)
    >>> o.name, o.operands == value[4:6], o.results[0].type
    ('addi', True, tile<8xi32>)
    """
    c = Cursor(data, 0, len(data))
    try:
        record = read_record(c)
        ended(c, "operation")
        made: Op = run(_build(record, Tables(types, (), attributes, (), locations), list(values)))
    except TileError as error:
        raise settled(error, c.pos) from None
    return made


def encode_op(
    o: Op,
    types: Sequence[Type],
    values: Sequence[Value],
    *,
    attributes: Sequence[Attr] = (),
    locations: Sequence[Loc | None] = (),
    without_locations: bool = False,
) -> bytes:
    """Encode an operation. Everything it refers to must be in the tables; see `dictionary` for its attributes."""
    tables = Tables(types, (), attributes, (), None if without_locations else locations)
    record: Record = run(_unbuild(o, tables, {value: n for n, value in enumerate(values)}))
    return write_record(record)


# ---------------------------------------------------------------- from records


def _pick(table: Sequence[Any], index: int, what: str, o: OpDef) -> Any:
    if index >= len(table):
        raise TileError(f"{o.mnemonic}: {what} index {index} out of bounds, the table has {len(table)}")
    return table[index]


def _type(tables: Tables, index: int, opdef: OpDef) -> Type:
    found: Type = _pick(tables.types, index, "type", opdef)
    if found is LEAF:
        raise TileError(f"{opdef.mnemonic}: {LEAF_RULE}")
    return found


def _build(record: Record, tables: Tables, values: list[Value]) -> Task:
    opdef = record.opdef
    o = object.__new__(opdef.cls)
    o.loc = _pick(tables.locations or (), record.location, "location", opdef) if record.location != UNKNOWN else None
    given = _dictionary(record, tables)
    _set_operands(o, [_pick(values, n, "value", opdef) for n in record.operands], given)
    for f, inner in zip(opdef.regions, record.regions):
        if inner is None and f.arity == "one":
            raise TileError(f"{opdef.mnemonic}: region '{f.name}' must have a block")
        setattr(o, f.attr, None if inner is None else (yield _block(inner, opdef, tables, values)))
    _set_attributes(o, given)
    results = [Value(_type(tables, n, opdef), o) for n in record.results]
    values += results
    for f in opdef.outs:
        if f.since > V13_1:
            setattr(o, f.attr, Value(TOKEN, o))  # the only results that were added later are tokens
        else:
            setattr(o, f.attr, tuple(results) if f.arity == "var" else results.pop(0))
    for f in opdef.fields:
        if f.role == "state":
            setattr(o, f.attr, None)
    return o


def _block(record: BlockRecord, opdef: OpDef, tables: Tables, values: list[Value]) -> Task:
    """Build a block. The values that it defines are dropped at its end."""
    outside = len(values)
    block = Block([Value(_type(tables, n, opdef)) for n in record.arguments])
    values += block.args
    for inner in record.records:
        block.ops.append((yield _build(inner, tables, values)))
    del values[outside:]
    return block


def _dictionary(record: Record, tables: Tables) -> dict[str, Attr]:
    if record.attributes == 0:
        return {}
    found = _pick(tables.attributes, record.attributes, "attribute", record.opdef)
    if not isinstance(found, DictAttr):
        raise TileError(f"{record.opdef.mnemonic}: attribute {record.attributes} is not a dictionary")
    return dict(found.items)


def _set_operands(o: Op, operands: list[Value], given: dict[str, Attr]) -> None:
    opdef, fields = o.opdef, o.opdef.operands
    match given.pop(SEGMENTS, None):
        case DenseArray(t, sizes) if t is I32 and len(sizes) == len(fields) and min(sizes, default=0) >= 0:
            pass
        case None:
            sizes = _sizes(opdef, len(operands))
        case _:
            raise TileError(f"{opdef.mnemonic}: '{SEGMENTS}' must have {len(fields)} sizes")
    if sum(sizes) != len(operands):
        raise TileError(f"{opdef.mnemonic}: {len(operands)} operands do not fit, expected {sum(sizes)}")
    rest = iter(operands)
    for f, size in zip(fields, sizes):
        values = tuple(next(rest) for _ in range(size))
        if (f.arity != "var" and size > 1) or (f.arity == "one" and size != 1):
            raise TileError(f"{opdef.mnemonic}: operand '{f.name}' is one value, got {size}")
        setattr(o, f.attr, values if f.arity == "var" else values[0] if values else None)


def _sizes(opdef: OpDef, count: int) -> tuple[int, ...]:
    """Guess the operand segments if the dictionary has none.

    Optional and variadic operands are absent, unless there is only one such field, which takes the rest.
    """
    fixed = sum(f.arity == "one" for f in opdef.operands)
    rest = max(count - fixed, 0) if len(opdef.operands) - fixed == 1 else 0
    return tuple(1 if f.arity == "one" else rest for f in opdef.operands)


def _set_attributes(o: Op, given: dict[str, Attr]) -> None:
    for f in o.opdef.attrs:
        attr = given.pop(f.name, None)
        if attr is not None and f.since > V13_1:
            raise newer(o.opdef, f)
        if attr is None and f.default is REQUIRED:
            raise TileError(f"'cuda_tile.{o.opdef.mnemonic}' op requires attribute '{f.name}'")
        value = f.default_of(o) if attr is None else value_of(f, attr)
        if attr is not None and value is None:
            raise TileError(f"'cuda_tile.{o.opdef.mnemonic}' op {mismatch(f)}")
        setattr(o, f.attr, value)
    o.extra = dict(sorted(given.items())) or None


# ---------------------------------------------------------------- to records


def newer(opdef: OpDef, f: Field) -> TileError:
    """Make the error about a field that records, which are of 13.1, cannot have."""
    return TileError(f"{opdef.mnemonic}: '{f.name}' exists since {f.since}, and the documented layout is that of 13.1")


def dictionary(o: Op) -> DictAttr:
    """Return the attributes that an operation's record must refer to: those without a default value."""
    items: dict[str, Attr] = dict(o.extra or {})
    for f in o.opdef.attrs:
        value = getattr(o, f.attr)
        if f.default not in (REQUIRED, INFER) and value == f.default:
            continue
        if f.default is INFER and value == f.default_of(o):
            continue
        attr = attr_of(f, value)
        if attr is not None and f.since > V13_1:
            raise newer(o.opdef, f)
        if attr is not None:
            items[f.name] = enum_attr(value) if type(value) in ENUM_NAMES else attr
    sizes = [getattr(o, f.attr) for f in o.opdef.operands]
    loose = [v for f, v in zip(o.opdef.operands, sizes) if f.arity != "one"]
    if len(loose) > 1 and any(loose):
        counts = tuple(len(v) if isinstance(v, tuple) else int(v is not None) for v in sizes)
        items[SEGMENTS] = DenseArray(I32, counts)
    return DictAttr(tuple(sorted(items.items())))


def _unbuild(o: Op, tables: Tables, places: dict[Value, int]) -> Task:
    if isinstance(o, UnknownOp):
        raise TileError(f"{o.name}: the documented layout holds operations of cuda_tile only")
    opdef = known_op(o.opdef.opcode)
    for f in opdef.operands:
        if f.since > V13_1 and getattr(o, f.attr):
            raise newer(opdef, f)
    record = Record(opdef, _location(o, tables))
    record.operands = tuple(_place(v, places, opdef) for v in o.operands)
    record.attributes = attribute_index(dictionary(o), tables)
    for f in opdef.regions:
        block = getattr(o, f.attr)
        record.regions.append(None if block is None else (yield _unblock(block, opdef, tables, places)))
    results = _results(o)
    record.results = tuple(_type_index(v.type, tables, opdef) for v in results)
    for value in results:
        places[value] = len(places)
    return record


def _results(o: Op) -> list[Value]:
    found = [getattr(o, f.attr) for f in results_of(o.opdef)]
    return [v for value in found for v in (value if isinstance(value, tuple) else (value,))]


def _unblock(block: Block, opdef: OpDef, tables: Tables, places: dict[Value, int]) -> Task:
    outside = len(places)
    for value in block.args:
        places[value] = len(places)
    made = BlockRecord(tuple(_type_index(v.type, tables, opdef) for v in block.args))
    for o in block.ops:
        made.records.append((yield _unbuild(o, tables, places)))
    for value in list(places)[outside:]:
        del places[value]
    return made


def _type_index(t: Type, tables: Tables, opdef: OpDef) -> int:
    if t is LEAF:
        raise TileError(f"{opdef.mnemonic}: {LEAF_RULE}")
    for n, known in enumerate(tables.types):
        if known is t:
            return n
    raise TileError(f"{opdef.mnemonic}: the type table does not have {t}")


def _place(value: Value, places: dict[Value, int], opdef: OpDef) -> int:
    if value not in places:
        raise TileError(f"{opdef.mnemonic}: an operand is not in the value table", notes=(f"it is a {value}",))
    return places[value]


def _location(o: Op, tables: Tables) -> int:
    if o.loc is None or tables.locations is None:
        return UNKNOWN
    for n, known in enumerate(tables.locations):
        if known is o.loc:
            return n
    raise TileError(f"{o.opdef.mnemonic}: the location table does not have the operation's location")
