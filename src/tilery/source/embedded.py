"""Bytecode inside other files: as it is in ELF objects and fat binaries, as a string in dumps of compilers."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

from ..bytecode.wire import MAGIC, Cursor, Section
from ..diag import TileError

MAX_MODULES = 256
"""The most modules that are looked for in one file."""
HEADER = len(MAGIC) + 4
"""The bytes before the sections: the magic number and the version."""
_ESCAPED = re.compile(rb'\\(?:x7[fF]|7[fF]|177)TileIR\\(?:x00|000|00|0)(?:[^"\\]|\\.)*', re.S)
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|[0-7]{3}|[0-9a-fA-F]{2}|.)", re.S)
_BASE64 = re.compile(rb"f1RpbGVJUg[A-P](?:[A-Za-z0-9+/]|\\n|\s)*={0,2}")
_PLAIN = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f", b"a": b"\a", b"b": b"\b", b"0": b"\0"}


class Embedded(NamedTuple):
    """A module in a file: where it starts there, how it is written, and its bytes."""

    offset: int
    form: str
    data: bytes


def embedded_modules(data: bytes) -> list[Embedded]:
    """Find the modules in a file that is not bytecode itself, in the order of their places.

    >>> embedded_modules(b"nothing")
    []
    """
    found = sorted([*_raw(data), *_escaped(data), *_in_base64(data)])
    return found[:MAX_MODULES]


def kernel_in(data: bytes, file: str = "", number: int | None = None) -> bytes:
    """Return the module in another file; data in which there is none, and bytecode itself, are returned as they are.

    `number` selects one of several, counted from 1.
    """
    if data.startswith(MAGIC):
        return data
    found = embedded_modules(data)
    if number is not None and not 1 <= number <= len(found):
        raise TileError(f"there is no module {number} in the file, which has {len(found)}", file=file)
    if not found or (number is None and len(found) == 1):
        return found[0].data if found else data
    if number is None:
        places = ", ".join(f"{at} at {each.offset:#x}" for at, each in enumerate(found[:8], 1))
        notes = (f"modules: {places}{', ...' if len(found) > 8 else ''}", "`tilery dis --module N` prints one of them")
        raise TileError(f"the file has {len(found)} modules", file=file, notes=notes)
    return found[number - 1].data


def module_end(data: bytes, start: int = 0) -> int | None:
    """Return where the sections of the module at an offset end; None if they do not."""
    c = Cursor(data, start + HEADER, len(data))
    try:
        while True:
            byte = c.byte()
            if byte == Section.END:
                return c.pos
            if byte & 0x7F > max(Section):
                return None
            length = c.varint()
            if byte >= 0x80:
                alignment = c.varint()
                if alignment == 0 or alignment & (alignment - 1) or alignment > len(data):
                    return None
                c.pos += (start - c.pos) % alignment
            c.pos += length
            if c.pos > len(data):
                return None
    except (TileError, IndexError):
        return None


def _raw(data: bytes) -> Iterator[Embedded]:
    at = data.find(MAGIC)
    for _ in range(MAX_MODULES):
        if at < 0:
            return
        end = module_end(data, at)
        if end is not None:
            yield Embedded(at, "bytes", data[at:end])
        at = data.find(MAGIC, end or at + len(MAGIC))


def _escaped(data: bytes) -> Iterator[Embedded]:
    """Find strings as MLIR, HLO and C write them."""
    for count, match in enumerate(_ESCAPED.finditer(data)):
        if count >= MAX_MODULES:
            return
        octal = match[0].startswith(b"\\177")

        def plain(escape: re.Match[bytes], octal: bool = octal) -> bytes:
            text = escape[1]
            if text[:1] == b"x" and len(text) == 3:
                return bytes([int(text[1:], 16)])
            if len(text) == 3 or (len(text) == 2 and not octal):
                return bytes([int(text, 8 if len(text) == 3 else 16) & 0xFF])
            return _PLAIN.get(text, text)

        made = _ESCAPE.sub(plain, match[0])
        end = module_end(made) if made.startswith(MAGIC) else None
        if end is not None:
            yield Embedded(match.start(), "escaped string", made[:end])


def _in_base64(data: bytes) -> Iterator[Embedded]:
    for count, match in enumerate(_BASE64.finditer(data)):
        if count >= MAX_MODULES:
            return
        letters = re.sub(rb"\\n|[\s=]", b"", match[0])
        letters = letters[: len(letters) - (len(letters) % 4 == 1)]
        try:
            made = base64.b64decode(letters + b"=" * (-len(letters) % 4))
        except binascii.Error:
            continue
        end = module_end(made) if made.startswith(MAGIC) else None
        if end is not None:
            yield Embedded(match.start(), "base64", made[:end])
