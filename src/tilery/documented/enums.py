"""The six enums of the documented layout. Each is a table; they share their code."""

from __future__ import annotations

from enum import Enum

from ..attrs import ComparisonPredicate, IntegerOverflow, RoundingMode, Signedness, TileEnum
from ..bytecode.wire import Cursor, put_varint
from ..diag import TileError
from ..types import PaddingValue
from ..version import V13_1
from .tables import whole


class Width(Enum):
    """The width of an integer in bits. No tool has this enum, and the document does not state its values."""

    W1 = 0
    W8 = 1
    W16 = 2
    W32 = 3
    W64 = 4

    @property
    def text(self) -> str:
        return self.name[1:]


Member = TileEnum | PaddingValue | Width
ENUMS: dict[str, type[TileEnum] | type[PaddingValue] | type[Width]] = {
    "Comparison": ComparisonPredicate,
    "Overflow": IntegerOverflow,
    "PaddingValue": PaddingValue,
    "Rounding": RoundingMode,
    "Signedness": Signedness,
    "Width": Width,
}
TABLES: dict[str, dict[int, Member]] = {
    name: {m.value: m for m in cls if getattr(m, "since", V13_1) == V13_1} for name, cls in ENUMS.items()
}


def read_enum(c: Cursor, name: str) -> Member:
    """Read a member of the enum of that name."""
    start = c.pos
    number = c.varint(f"failed to read {name}")
    if number not in TABLES[name]:
        known = ", ".join(f"{n} {m.text}" for n, m in TABLES[name].items())
        raise TileError(f"invalid {name} value: {number}", offset=start, notes=(f"{name} has {known}",))
    return TABLES[name][number]


def decode_enum(data: bytes, name: str) -> Member:
    """Decode a member of the enum of that name.

    >>> decode_enum(b"\\x02", "Comparison").text
    'less_than'
    """
    if name not in ENUMS:
        raise TileError(f"unknown enum '{name}', expected one of {', '.join(ENUMS)}")
    return whole(data, "number", lambda c: read_enum(c, name))


def name_of(member: object) -> str | None:
    """Return the name of the enum that a member belongs to, or None if it is not one of the six."""
    return next((name for name, table in TABLES.items() if member in table.values()), None)


def encode_enum(member: Member) -> bytes:
    """Encode a member of one of the six enums."""
    if name_of(member) is None:
        raise TileError(f"the documented layout has no reader for '{member.text}' of {type(member).__name__}")
    out = bytearray()
    put_varint(out, member.value)
    return bytes(out)
