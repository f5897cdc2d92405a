"""Read the operations of a function body with generated decoders: the fast twin of `read_body`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat

from ..attrs import Loc
from ..checking import TYPE_CHECKING
from ..declare.codegen import GiveUp
from ..declare.operation import BY_OPCODE
from ..declare.relations import TERMINATOR, TOP_LEVEL
from ..ir import Block, Value
from ..types import Type
from ..version import Version
from .decoders import Decoder, DecoderBinding, decoder
from .layout import OpLayout
from .read_body import BodyReader
from .tables import FileTables
from .wire import Cursor, decode_varint

if TYPE_CHECKING:
    from typing import Any


class _Filled(dict[int, "Any"]):
    """A table that decodes an entry on first use."""

    def __init__(self, decode: Callable[[int, int], Any]) -> None:
        self.decode = decode

    def __missing__(self, index: int) -> Any:
        found = self[index] = self.decode(index, 0)
        return found


def _decoders(b: DecoderBinding, version: Version) -> list[Decoder]:
    """Return the decoders of one function body by the first byte of an operation, bound on first use.

    A list is faster here than a dictionary with `__missing__`: reading takes 2 % less time.
    """

    def bind(opcode: int) -> Decoder:
        opdef = BY_OPCODE.get(opcode)
        if opdef is None or opdef.since > version or opdef.has(TOP_LEVEL):
            raise GiveUp
        return decoder(opdef, version)(b)

    def first(at: int, push: Callable[[Any], None]) -> int:
        """Decode the first operation with an opcode."""
        opcode = b.data[at - 1]
        bound = found[opcode] = bind(opcode)
        return bound(at, push)

    def multibyte(at: int, push: Callable[[Any], None]) -> int:
        """Decode an operation whose opcode takes several bytes."""
        opcode, at = decode_varint(b.data, at - 1)
        return bind(opcode)(at, push)

    found: list[Decoder] = [first] * 128 + [multibyte] * 128
    return found


class FastTables:
    """The tables of a file for generated decoders, shared by all functions."""

    def __init__(self, tables: FileTables) -> None:
        self.tables = tables
        self.types: list[Type | None] = [None] * len(tables.types)
        self.strings = _Filled(tables.string)

    def type_at(self, index: int) -> Type:
        """Decode a type on its first use."""
        found = self.types[index] = self.tables.type(index, 0)
        return found


def read_fast(c: Cursor, shared: FastTables, block: Block, location_list: int, exact_locs: bool = True) -> None:
    """Fill `block`, whose arguments are set, up to the cursor's end, or raise one of `GIVING_UP`."""
    tables, b = shared.tables, DecoderBinding()
    b.data, b.values, b.opened, b.cursor = c.data, list(block.args), [], c
    b.types, b.type_at, b.strings = shared.types, shared.type_at, shared.strings
    b.constants = tables.use_constant
    b.attr = BodyReader(c, tables, block, location_list, None).attr_value
    b.loc = _locations(tables, location_list, exact_locs)
    at = _run(_decoders(b, tables.version), b, c.pos, c.end, block)
    # A decoder that reads past the end of the function means that the file is broken.
    if at != c.end:
        raise GiveUp
    c.pos = at


def _locations(tables: FileTables, index: int, exact_locs: bool) -> Callable[[], Any]:
    """Return a function that returns the location of each operation in turn; entry 0 of the list is the function's."""
    if index == 0:
        return repeat(None).__next__
    first = tables.location_starts[index - 1] + 1
    entries = map(tables.locations.__getitem__, range(first, len(tables.locations)))
    read = tables.quick_debug_entry if exact_locs else tables.scoped_entry

    def decode(entry: int, _: int) -> Any:
        found = read(entry)
        if found is not None and not isinstance(found, Loc):
            raise GiveUp
        return found

    return map(_Filled(decode).__getitem__, entries).__next__


OpenRegion = tuple["Any", OpLayout, int, Block, int, int]
"""A block being read: its operation with layout and region index, the block, how many operations are left, and how many
values are visible outside."""


def _run(decoders: list[Decoder], b: DecoderBinding, at: int, end: int, top: Block) -> int:
    data, opened = b.data, b.opened
    frames: list[OpenRegion] = []
    while True:
        if frames:
            o, plan, region, block, left, outer = frames.pop()
            push = block.ops.append
            while left:
                left -= 1
                at = decoders[data[at]](at + 1, push)
                if opened:
                    frames.append((o, plan, region, block, left, outer))
                    at = _begin(b, at, frames, *opened.pop(), 0)
                    break
            else:
                _check_end(block)
                del b.values[outer:]
                at = _begin(b, at, frames, o, plan, region + 1)
        else:
            push = top.ops.append
            while at < end:
                at = decoders[data[at]](at + 1, push)
                if opened:
                    at = _begin(b, at, frames, *opened.pop(), 0)
                    break
            else:
                return at


def _begin(b: DecoderBinding, at: int, frames: list[OpenRegion], o: Any, plan: OpLayout, index: int) -> int:
    """Start region `index` of `o`, or finish `o` if there is none. Return the offset after what was read."""
    data, values, regions = b.data, b.values, plan.opdef.regions
    while index < len(regions):
        f = regions[index]
        if data[at] == 1:
            count, at = data[at + 1], at + 2
            if count > 127:
                count, at = decode_varint(data, at - 1)
            outer = len(values)
            while count:
                count -= 1
                number, at = data[at], at + 1
                if number > 127:
                    number, at = decode_varint(data, at - 1)
                values.append(Value(b.types[number] or b.type_at(number)))
            block = Block(values[outer:])
            setattr(o, f.attr, block)
            count, at = data[at], at + 1
            if count > 127:
                count, at = decode_varint(data, at - 1)
            frames.append((o, plan, index, block, count, outer))
            return at
        if data[at] or f.arity == "one":
            raise GiveUp
        setattr(o, f.attr, None)
        at += 1
        index += 1
    for f in plan.results:
        if f.arity == "var":
            values += getattr(o, f.attr)
        else:
            values.append(getattr(o, f.attr))
    return at


def _check_end(block: Block) -> None:
    if not block.ops or TERMINATOR not in block.ops[-1].opdef.traits:
        raise GiveUp
