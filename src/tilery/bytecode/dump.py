"""An annotated hexdump that accounts for every byte: a recording of the reader's own walk."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ..declare.fastclass import dataclass, replace
from ..diag import TileError
from .profile import find_profile
from .reader import FileReader, settle
from .tables import EntryRanges, FileTables
from .wire import PADDING, Mark

WIDTH = 8
MAX_INDENT = 24
LONGEST = 1000
"""The most characters of a string that its entry shows."""


@dataclass(frozen=True)
class Dump:
    """The meaning of every byte of a file. `error` is what stopped the reader, or None."""

    data: bytes
    marks: list[Mark]
    error: TileError | None

    def __repr__(self) -> str:
        error = "" if self.error is None else f", stopped by: {self.error.message}"
        return f"<dump of {len(self.data)} bytes, {len(self.marks)} ranges{error}>"

    def _repr_html_(self) -> str:
        from .. import markup

        rows = [
            (f"{m.start:08x}", self.data[m.start : min(m.end, m.start + 2 * WIDTH)].hex(" "), "  " * m.depth + m.text)
            for m in self.marks
        ]
        end = "" if self.error is None else markup.line(self.error.message, strong=True)
        return markup.table(["offset", "bytes", "meaning"], rows) + end

    @property
    def text(self) -> str:
        return "".join(line + "\n" for line in self.lines())

    def lines(self) -> Iterator[str]:
        """Yield offset, bytes and meaning; a long range takes several lines."""
        for mark in self.marks:
            meaning = "  " * min(mark.depth, MAX_INDENT) + mark.text
            for start in range(mark.start, mark.end, WIDTH):
                chunk = self.data[start : min(start + WIDTH, mark.end)]
                yield f"{start:08x}  {chunk.hex(' '):{3 * WIDTH - 1}}  {meaning}".rstrip()
                meaning = ""


def dump(data: bytes, *, file: str = "", reader: str | None = None) -> Dump:
    """Annotate a file; a broken one is annotated up to the error, and one of a newer version as if it were the latest.

    >>> from tilery import ops, dumps, Block
    >>> from tilery.types import Function
    >>> entry = ops.Entry(sym_name="k", function_type=Function([]), body=Block([], [ops.Return()]))
    >>> print(dump(dumps(ops.Module(body=Block([], [entry])))).text.splitlines()[4])
    0000000d  10                       16 bytes
    """
    data = bytes(data)
    marks: list[Mark] = []
    file_reader = FileReader(data, find_profile(reader), marks, guesses=True)
    error: TileError | None = None
    try:
        file_reader.module()
        error = file_reader.too_new and settle(file_reader.too_new, file)
    except TileError as e:
        error = settle(e, file)
    _mark_tables(file_reader.tables)
    return Dump(data, _complete(data, marks, file_reader), error)


def _mark_tables(tables: FileTables) -> None:
    """Annotate the entries that are unused."""
    assert tables.marks is not None
    marks = tables.marks
    for index in range(len(tables.types)):
        if index not in tables.known_types:
            first = len(marks)
            try:
                tables.type(index, 0)
            except TileError as e:
                marks.append(_entry(tables.types, index, f"type {index}, unused and broken: {e.message or e.notes[0]}"))
            else:
                marks[first:] = [replace(m, text=f"{m.text} (unused)") for m in marks[first:]]
    used = {index for _, index in tables.known_dense}
    marks += [
        _entry(tables.constants, index, f"constant {index}, unused")
        for index in range(len(tables.constants))
        if index not in used
    ]
    for index in range(1, len(tables.debug) + 1):
        if index not in tables.known_debug:
            try:
                tables.debug_entry(index, 0)
            except TileError as e:
                text = f"debug entry {index}, unused and broken: {e.message or e.notes[0]}"
                marks.append(_entry(tables.debug, index - 1, text))
    for index in range(len(tables.strings)):
        try:
            text = f"string {index} {tables.string(index, 0)!a}"
        except TileError as e:
            text = f"string {index}: {e.message}"
        marks.append(_entry(tables.strings, index, text if len(text) <= LONGEST else text[:LONGEST] + "..."))


def _entry(ranges: EntryRanges, index: int, text: str) -> Mark:
    start, end = ranges.at(index)
    return Mark(min(start, ranges.end), min(end, ranges.end), text, 1)


def _complete(data: bytes, marks: list[Mark], file_reader: FileReader) -> list[Mark]:
    """Sort the marks, remove overlaps, and fill every gap with a mark."""
    out: list[Mark] = []
    at = 0
    # Of marks with the same start the shortest wins; a table entry yields to what was read inside it.
    for mark in sorted(marks, key=lambda m: (m.start, m.end)):
        start = max(mark.start, at)
        if mark.end <= start:
            continue
        if start > at:
            out += _gap(data, at, start, file_reader)
        out.append(replace(mark, start=start))
        at = mark.end
    if at < len(data):
        out += _gap(data, at, len(data), file_reader)
    return out


def _gap(data: bytes, start: int, end: int, file_reader: FileReader) -> list[Mark]:
    """Mark bytes that the reader never read, split where sections end."""
    edges = {found.start for found in file_reader.sections.values()} | {f.end for f in file_reader.sections.values()}
    cuts = [start, *sorted(edge for edge in edges if start < edge < end), end]
    out: list[Mark] = []
    for first, last in pairwise(cuts):
        filler = data.count(PADDING, first, last) == last - first
        out.append(Mark(first, last, "padding" if filler else "not read", 0))
    return out
