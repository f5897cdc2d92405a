"""Files of bytecode 13.5, made from those of 13.4 by what is known to differ."""

from __future__ import annotations

from support.assemble import File, vi
from tilery.bytecode.profile import find_profile
from tilery.bytecode.reader import FileReader
from tilery.bytecode.wire import Section
from tilery.version import READ_ONLY

EMPTY = b"\x0b\0\x06\0"
"""No hints, and no attributes of arguments."""


def newer(data: bytes, old: bytes = b"", new: bytes = b"", *, hints: bytes = EMPTY, flags: int = 2) -> bytes:
    """Return a file of 13.4 without hints as one of 13.5; in the bodies of its functions, `new` replaces `old`."""
    reader = FileReader(data, find_profile(None), None)
    rows = reader.outside()[2]
    table = bytearray(vi(len(rows)))
    for row in rows:
        body = data[row.start : row.end].replace(old, new) if old else data[row.start : row.end]
        table += vi(row.name) + vi(row.signature) + bytes([flags]) + vi(row.location) + hints + vi(len(body)) + body
    made = File(version=READ_ONLY, order=tuple(map(int, reader.order)))
    made.sections = {int(s): (data[f.start : f.end], f.alignment or 1) for s, f in reader.sections.items()}
    made.sections[int(Section.FUNC)] = bytes(table), 8
    return made.data()
