"""Bytecode whose pieces have other bytes, more or fewer of them, while sizes and offsets around them stay right."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tilery.bytecode.dump import dump
from tilery.bytecode.wire import Mark, put_varint


def encoded(value: int) -> bytes:
    out = bytearray()
    put_varint(out, value)
    return bytes(out)


WIDE = (
    *(encoded(value) for value in (0, 1, 2, 127, 128, 255, 256, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32)),
    *(encoded(value) for value in ((1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)),
    *(b"\xff" * 9 + b"\x7f", b"\x80" * 9 + b"\x02", b"\x80" * 10 + b"\x00", b"\x80\x00", b"\x81\x80\x00", b""),
)
"""Numbers at which something may change, among them some in more bytes than they need; and nothing."""
_HEADER = 12
_OFFSET = re.compile(r"\w+ \d+ at (\d+)")


@dataclass(frozen=True)
class Section:
    """The marks of a section: those of its header, and those of what is in it."""

    head: list[Mark]
    body: list[Mark]


def sections_of(data: bytes) -> list[Section]:
    """Return the sections of a file that can be read."""
    found: list[Section] = []
    marks = [mark for mark in dump(data).marks if mark.end > mark.start]
    at = 0
    while at < len(marks):
        if not marks[at].text.startswith("section "):
            at += 1
            continue
        size = 2 if not marks[at].text.endswith("aligned") else 4 if marks[at + 3].text == "padding" else 3
        head = marks[at : at + size]
        at += size
        body = []
        while at < len(marks) and not marks[at].text.startswith(("section ", "end of file")):
            body.append(marks[at])
            at += 1
        found.append(Section(head, body))
    return found


def with_piece(data: bytes, sections: list[Section], which: int, piece: int, new: bytes) -> bytes:
    """Return a file in which one piece has other bytes, and the sizes around it are right."""
    out = bytearray(data[:_HEADER])
    for number, section in enumerate(sections):
        body = [data[mark.start : mark.end] for mark in section.body]
        if number == which:
            delta = len(new) - len(body[piece])
            body[piece] = new
            _resize(section.body, body, piece, delta)
        payload = b"".join(body)
        flags = data[section.head[0].start : section.head[0].end]
        out += flags + encoded(len(payload))
        if len(section.head) > 2:
            alignment = data[section.head[2].start]
            out.append(alignment)
            out += b"\xcb" * (-len(out) % alignment)
        out += payload
    return bytes(out + b"\x00")


def _resize(marks: list[Mark], body: list[bytes], piece: int, delta: int) -> None:
    """Correct the size of the function body around a piece, offsets of entries after it, and padding."""
    around = [
        at for at in range(piece) if marks[at].text.startswith("body of ") and marks[piece].depth > marks[at].depth
    ]
    if around and delta:
        at = around[-1]
        body[at] = encoded(int(marks[at].text.split()[2]) + delta)
    offsets = [at for at, mark in enumerate(marks) if _OFFSET.fullmatch(mark.text)]
    if offsets and piece > offsets[-1] and delta:
        first = marks[offsets[-1]].end
        for at in offsets:
            place = int.from_bytes(body[at], "little")
            if place > marks[piece].start - first:
                body[at] = (place + delta).to_bytes(len(body[at]), "little")


def changed_pieces(data: bytes, turn: int) -> Iterator[list[bytes]]:
    """Yield files for each piece of a file: with some wide numbers instead, and with a byte more or less."""
    sections = sections_of(data)
    for which, section in enumerate(sections):
        for piece, mark in enumerate(section.body):
            if mark.text == "padding":
                continue
            turn += 1
            old = data[mark.start : mark.end]
            others = [WIDE[(turn * 5 + step) % len(WIDE)] for step in (0, 4, 9, 13, 17)]
            others += [old[:-1], old + b"\x00", bytes([old[0] ^ 1]) + old[1:]][turn % 2 :]
            yield [with_piece(data, sections, which, piece, new) for new in others if new != old]
        for size in (1, 2, 3, 5, 9):
            if section.body and size < section.body[-1].end - section.body[-1].start + 8:
                last = section.body[-1]
                kept = data[last.start : last.end]
                shorter = with_piece(data, sections, which, len(section.body) - 1, kept[:-size])
                yield [shorter, with_piece(data, sections, which, len(section.body) - 1, kept + b"\x01" * size)]
