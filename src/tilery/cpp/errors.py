"""The log of NVRTC as errors and warnings, each at its line of C++."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from ..diag import ErrorKind, Note, NoteKind, TileError

MAX_NOTES = 4
"""The most notes of the compiler of one kind that an error repeats; a failed constraint has dozens."""
MAX_ERRORS = 20
"""The most errors besides the first that are shown."""
MAX_HEADER = 16 << 20
"""The most bytes of a header that an error quotes."""
NAME_MAP = "__nv_name_map"
"""The file that NVRTC makes of the names of instances."""
END = ""
"""The name of the source for an error at its end."""
_HEAD = re.compile(r"(.+?)\((\d+)\): (catastrophic error|internal error|error|warning|note|remark)(?: #[\w-]+)?: (.*)")
_END = re.compile(r"At end of source: ((?:catastrophic |internal )?error): (.*)")
_FROM = re.compile(r"(?:at|from) line (\d+) of (.+)$")


@dataclass
class Said:
    """One message of the compiler: what kind, where, and the lines that belong to it."""

    kind: str
    file: str
    line: int
    text: str
    column: int = 1
    details: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    """Where the code was instantiated."""

    @property
    def is_error(self) -> bool:
        return self.kind.endswith("error")


def read_log(log: str) -> list[Said]:
    """Split a log into messages; notes belong to the message before them."""
    found: list[Said] = []
    note = False
    for line in log.splitlines():
        if head := _HEAD.fullmatch(line):
            file, number, kind, text = head.groups()
            note = kind == "note" and bool(found)
            if note:
                found[-1].notes.append(f"{file}({number}): {text}")
            else:
                found.append(Said(kind, file, int(number), text))
        elif head := _END.fullmatch(line):
            note = False
            found.append(Said(head[1], END, 1 << 30, head[2]))
        elif not found or not line.startswith(" "):  # the number of errors, or advice about options
            note = False
        elif line.strip() == "^":
            found[-1].column = found[-1].column if note else max(1, line.index("^") - 1)
        elif line.startswith(" " * 10 + "detected") or _FROM.search(line):
            found[-1].origins.append(line.strip())
        elif not note and line.startswith(" " * 12):
            found[-1].details.append(line.strip())
    return found


def errors(said: list[Said], text: str, name: str, file: str) -> TileError | None:
    """Return one error for all errors of a log: the first, with the others as notes; None if there are none.

    `name` is what the compiler calls the source, and `file` what the user does.
    """
    wrong = [each for each in said if each.is_error]
    for each in wrong:
        each.file = each.file or name
    if not wrong:
        return None
    first, *others = wrong
    error = located(first, text, name, file)
    others = [other for other in others if other.file != NAME_MAP]
    for other in others[:MAX_ERRORS]:
        start = offset(other, text) if other.file == name and error.source is text else None
        where = "" if start is not None else f"{shown(other, name, file)}: "
        error.notes.append(Note(where + other.text, start, NoteKind.ERROR))
    if len(others) > MAX_ERRORS:
        error.notes.append(f"{len(others) - MAX_ERRORS} more errors")
    return error


def located(said: Said, text: str, name: str, file: str) -> TileError:
    """Return a message at its line of the source; at the line that led to it, if a header of NVIDIA has the error."""
    notes = [*said.details, *said.origins[:MAX_NOTES], *said.notes[:MAX_NOTES]]
    if len(said.notes) > MAX_NOTES:
        notes.append(f"{len(said.notes) - MAX_NOTES} more notes of the compiler")
    if said.file == NAME_MAP:
        return TileError(
            said.text,
            kind=ErrorKind.SYNTAX,
            file=file,
            notes=("an instance is named as in C++, such as scale<float, 64>",),
        )
    if said.file == name:
        start, end = span(said, text)
        return TileError(
            said.text, kind=ErrorKind.SYNTAX, file=file, source=text, start=start, end=end, notes=tuple(notes)
        )
    if (header := read_header(said.file)) is not None:
        start, end = span(said, header)
        return TileError(
            said.text, kind=ErrorKind.SYNTAX, file=said.file, source=header, start=start, end=end, notes=tuple(notes)
        )
    inside = f"in {said.file}, line {said.line}"
    for origin in said.origins:
        place = _FROM.search(origin)
        if place and place[2] == name:
            start = offset(Said("", name, int(place[1]), ""), text)
            return TileError(
                said.text, kind=ErrorKind.SYNTAX, file=file, source=text, start=start, notes=(inside, *notes)
            )
    return TileError(said.text, kind=ErrorKind.SYNTAX, file=file, notes=(inside, *notes))


def offset(said: Said, text: str) -> int:
    """Return the offset in a text of a line and a column."""
    start = 0
    for _ in range(said.line - 1):
        end = text.find("\n", start)
        if end < 0:
            return start
        start = end + 1
    end = text.find("\n", start)
    return min(start + said.column - 1, len(text) if end < 0 else end)


def span(said: Said, text: str) -> tuple[int, int]:
    """Return the start of a message in a text, and the end of the word there."""
    start = offset(said, text)
    word = re.compile(r"\w+").match(text, start)
    return start, word.end() if word else start + 1


def shown(said: Said, name: str, file: str) -> str:
    return f"{file if said.file == name else said.file}:{said.line}"


def read_header(name: str) -> str | None:
    """Return the text of a header; None if it is one of the compiler's own, which have no folder, or too large."""
    try:
        if not os.path.isabs(name) or os.path.getsize(name) > MAX_HEADER:
            return None
        with open(name, encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except OSError:
        return None
