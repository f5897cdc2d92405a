"""Operations of the documented layout as records of numbers, read, written and annotated without any table.

A record is the opcode, the location, the type of each result (with their number where the operation leaves it open),
the number of operands and the operands, the attribute dictionary, and the regions. All of these refer to tables by
position; `-1` is no location, dictionary 0 is empty.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..bytecode.dump import MAX_INDENT, Dump
from ..bytecode.wire import Cursor, Mark, enclosing, put_varint
from ..declare.fastclass import dataclass, field
from ..declare.fields import Field
from ..declare.operation import BY_OPCODE, OpDef
from ..diag import TileError
from ..ops import registered
from ..text.parse.tasks import Task, run
from ..version import V13_1
from .tables import count, put_sleb, settled, sleb_at

OPCODES = range(110)
UNKNOWN = -1
"""The location of an operation that has none."""


@dataclass(slots=True, eq=False)
class BlockRecord:
    """A block: the types of its arguments, and its operations."""

    arguments: tuple[int, ...] = ()
    records: list[Record] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Record:
    """An operation. An absent region is None."""

    opdef: OpDef
    location: int = UNKNOWN
    results: tuple[int, ...] = ()
    operands: tuple[int, ...] = ()
    attributes: int = 0
    regions: list[BlockRecord | None] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<record of {self.opdef.mnemonic}>"

    @property
    def text(self) -> str:
        """The record as one line with symbolic references: `cuda_tile.addi %4, %5 : type 3`."""
        parts = [f"cuda_tile.{self.opdef.mnemonic}"]
        if self.operands:
            parts.append(", ".join(f"%{n}" for n in self.operands))
        if self.attributes:
            parts.append(f"{{attributes {self.attributes}}}")
        if self.results:
            parts.append(": " + ", ".join(f"type {n}" for n in self.results))
        if self.location != UNKNOWN:
            parts.append(f"loc({self.location})")
        return " ".join(parts)


def known_op(opcode: int, offset: int | None = None) -> OpDef:
    """Return the operation of an opcode; raise TileError if the documented dispatcher has no case for it."""
    registered()
    found = BY_OPCODE.get(opcode) if opcode in OPCODES else None
    if found is None or found.since > V13_1:
        raise TileError(f"unknown or unimplemented opcode: {opcode}", offset=offset)
    return found


def results_of(opdef: OpDef) -> list[Field]:
    """Return the results that an operation has in 13.1."""
    return [f for f in opdef.outs if f.since <= V13_1]


def open_results(opdef: OpDef) -> bool:
    """Whether the number of results is written, because the operation does not determine it."""
    return any(f.arity == "var" for f in opdef.outs)


# ---------------------------------------------------------------- reading


def read_record(c: Cursor, heads: dict[int, str] | None = None) -> Record:
    """Read the record at the cursor and those inside it; `heads` receives the text of each by its offset."""
    found: Record = run(_record(c, {} if heads is None else heads))
    return found


def _record(c: Cursor, heads: dict[int, str]) -> Task:
    start = c.pos
    opcode = _varint(c, "opcode")
    opdef = known_op(opcode, start)
    c.mark(start, f"opcode {opcode}: {opdef.mnemonic}")
    c.depth += 1
    record = Record(opdef, _location(c))
    results = _count(c, "number of results") if open_results(opdef) else len(results_of(opdef))
    record.results = tuple(_reference(c, f"result {n}: type") for n in range(results))
    record.operands = tuple(_reference(c, f"operand {n}: %", "") for n in range(_count(c, "number of operands")))
    record.attributes = _reference(c, "attribute dictionary")
    c.depth -= 1
    heads[start] = "  " * min(c.depth, MAX_INDENT) + record.text
    c.depth += 1
    for f in opdef.regions:
        record.regions.append((yield _region(c, f.name, heads)))
    c.depth -= 1
    return record


def _region(c: Cursor, name: str, heads: dict[int, str]) -> Task:
    start = c.pos
    blocks = _varint(c, "number of blocks")
    if blocks > 1:
        raise TileError(f"region '{name}' has {blocks} blocks, at most one is possible", offset=start)
    c.mark(start, f"{name}: {blocks} blocks" if blocks != 1 else f"{name}: 1 block")
    if not blocks:
        return None
    c.depth += 1
    block = BlockRecord(tuple(_reference(c, f"argument {n}: type") for n in range(_count(c, "number of arguments"))))
    for _ in range(_count(c, "number of operations")):
        block.records.append((yield _record(c, heads)))
    c.depth -= 1
    return block


def _varint(c: Cursor, what: str) -> int:
    return c.varint(f"failed to read {what}")


def _count(c: Cursor, what: str) -> int:
    start = c.pos
    with enclosing(f"failed to read {what}"):
        number = count(c, what)
    c.mark(start, f"{what}: {number}")
    return number


def _reference(c: Cursor, what: str, blank: str = " ") -> int:
    start = c.pos
    index = _varint(c, what.rstrip("% "))
    c.mark(start, f"{what}{blank}{index}")
    return index


def _location(c: Cursor) -> int:
    start = c.pos
    with enclosing("failed to read location index"):
        index = sleb_at(c)
    if index < UNKNOWN:
        raise TileError(f"location index {index} is negative; only -1, an unknown location, is allowed", offset=start)
    c.mark(start, f"location {index}" if index >= 0 else "location -1: unknown")
    return index


# ---------------------------------------------------------------- writing


def write_record(record: Record) -> bytes:
    """Encode a record."""
    out = bytearray()
    run(_put_record(out, record))
    return bytes(out)


def _put_record(out: bytearray, record: Record) -> Task:
    put_varint(out, record.opdef.opcode)
    put_sleb(out, record.location)
    if open_results(record.opdef):
        put_varint(out, len(record.results))
    for number in (*record.results, len(record.operands), *record.operands, record.attributes):
        put_varint(out, number)
    for block in record.regions:
        out.append(0 if block is None else 1)
        if block is None:
            continue
        for number in (len(block.arguments), *block.arguments, len(block.records)):
            put_varint(out, number)
        for inner in block.records:
            yield _put_record(out, inner)


# ---------------------------------------------------------------- annotated


@dataclass(frozen=True)
class RecordDump(Dump):
    """A dump with a line of symbolic text before each record."""

    data: bytes
    marks: list[Mark]
    error: TileError | None
    heads: dict[int, str]

    def lines(self) -> Iterator[str]:
        for mark in self.marks:
            if mark.start in self.heads and mark.text.startswith("opcode "):
                yield self.heads[mark.start]
            yield from Dump(self.data, [mark], None).lines()


def dump_records(data: bytes) -> RecordDump:
    """Annotate every byte of a sequence of records.

    >>> print(dump_records(bytes.fromhex("037f0302040500")).text.splitlines()[1])
    00000000  03                       opcode 3: addi
    """
    marks: list[Mark] = []
    heads: dict[int, str] = {}
    c = Cursor(data, 0, len(data), marks)
    error: TileError | None = None
    try:
        while c.remaining:
            read_record(c, heads)
    except TileError as found:
        error = settled(found, c.pos)
        done = marks[-1].end if marks else 0
        if done < len(data):
            marks.append(Mark(done, len(data), "not read", 0))
    return RecordDump(data, marks, error, heads)
