"""Whole files in the layout of the documents: an operation and its tables, in a container that is tilery's own.

The documents describe records and tables and leave the container to MLIR. This one has a magic number, then the
strings, the types and the attributes, each with their number and each entry with its length, then the record.
"""

from __future__ import annotations

from ..bytecode.dump import Dump
from ..bytecode.wire import Cursor, Mark, put_varint
from ..diag import TileError
from ..ir import Block, Op, Value, walk
from ..ops import Module
from ..text.print.names import name_values
from ..text.print.printer import LIMIT
from .packing import Packed, decoded_tables, pack, unpack
from .records import RecordDump, read_record

MAGIC = b"TileIRd\0"
DICTIONARY, TAGGED = 1, 0


def write_file(module: Module) -> bytes:
    """Return a module as a file in the documented layout; TileError names what the layout has no tag for."""
    packed = pack(module)
    out = bytearray(MAGIC)
    for table in ([s.encode("utf-8", "surrogateescape") for s in packed.strings], packed.types):
        put_varint(out, len(table))
        for entry in table:
            put_varint(out, len(entry))
            out += entry
    put_varint(out, len(packed.attributes))
    for index, entry in enumerate(packed.attributes):
        out.append(DICTIONARY if index in packed.dictionaries else TAGGED)
        put_varint(out, len(entry))
        out += entry
    put_varint(out, len(packed.record))
    return bytes(out + packed.record)


def is_documented_file(data: bytes) -> bool:
    return data.startswith(MAGIC)


def read_file(data: bytes) -> Module:
    """Read a file in the documented layout.

    >>> from tilery import parse
    >>> module = parse("entry @k(%n: tile<i32>) { %a = addi %n, %n : tile<i32> return }")
    >>> [o.name for o in read_file(write_file(module)).entries[0].body.ops]
    ['addi', 'return']
    """
    made = unpack(_read(Cursor(data, 0, len(data)))[0])
    if not isinstance(made, Module):
        raise TileError(f"the record is not a module but '{made.name}'")
    return made


def _read(c: Cursor) -> tuple[Packed, int]:
    """Read the container; return its content, and where the record starts."""
    if c.take(len(MAGIC)) != MAGIC:
        raise TileError("this is not a file in the documented layout", offset=0)
    c.mark(0, "magic")
    strings = [data.decode("utf-8", "surrogateescape") for data in _table(c, "string")]
    types = _table(c, "type")
    kinds: list[int] = []
    attributes = _table(c, "attribute", kinds)
    start = c.pos
    size = c.count("failed to read the size of the record")
    c.mark(start, f"record of {size} bytes")
    at = c.pos
    record = c.take(size, "the record is cut off")
    dictionaries = frozenset(i for i, kind in enumerate(kinds) if kind == DICTIONARY)
    return Packed(record, tuple(types), tuple(strings), tuple(attributes), dictionaries), at


def _table(c: Cursor, what: str, kinds: list[int] | None = None) -> list[bytes]:
    start = c.pos
    number = c.count(f"failed to read the number of {what}s")
    c.mark(start, f"{number} {what}s")
    out: list[bytes] = []
    for index in range(number):
        start = c.pos
        if kinds is not None:
            kinds.append(c.byte(f"failed to read the kind of {what} {index}"))
        out.append(c.take(c.count(f"failed to read {what} {index}"), f"{what} {index} is cut off"))
        c.mark(start, f"{what} {index}")
    return out


# ---------------------------------------------------------------- annotated


def dump_file(data: bytes) -> Dump:
    """Annotate every byte of a file; entries and records have the types, attributes and values that they stand for."""
    marks: list[Mark] = []
    heads: dict[int, str] = {}
    try:
        packed, at = _read(Cursor(data, 0, len(data), marks))
        entries = _entries(packed)
        marks = [Mark(m.start, m.end, entries.get(m.text, m.text), m.depth) for m in marks]
        c = Cursor(data, at, at + len(packed.record), marks)
        while c.remaining:
            read_record(c, heads)
        _resolve(heads, unpack(packed))
    except TileError as error:
        done = marks[-1].end if marks else 0
        if done < len(data):
            marks.append(Mark(done, len(data), "not read", 0))
        return RecordDump(data, marks, error, heads)
    return RecordDump(data, marks, None, heads)


def _entries(packed: Packed) -> dict[str, str]:
    """Return the annotations of table entries by their plain ones."""
    types, attributes = decoded_tables(packed)
    out = {f"string {i}": f"string {i}: {text!r}" for i, text in enumerate(packed.strings)}
    out |= {f"type {i}": f"type {i}: {t}" for i, t in enumerate(types)}
    return out | {f"attribute {i}": f"attribute {i}: {a}" for i, a in enumerate(attributes)}


def _resolve(heads: dict[int, str], root: Op) -> None:
    """Replace the symbolic text of each record by the operation that it is."""
    names = name_values(Block([], [root]), limit=LIMIT)
    for at, o in zip(sorted(heads), walk(root)):
        heads[at] = _line(o, names)


def _line(o: Op, names: dict[Value, str]) -> str:
    results, operands = ([names.get(v, "%?") for v in values] for values in (o.results, o.operands))
    text = f"{', '.join(results)} = {o.name}" if results else o.name
    text += f" {', '.join(operands)}" if operands else ""
    types = [str(v.type) for v in o.results]
    return f"{text} : {', '.join(types)}" if types else text
