"""Diagnostics: the one exception for user errors, its position, and how it is rendered."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ContextDecorator

RED, BOLD, CYAN, RESET = "\x1b[31;1m", "\x1b[1m", "\x1b[36m", "\x1b[0m"


class Note(str):
    """A note with an offset `start` in the text; its `kind` is "error" if NVIDIA's tools report a second error."""

    start: int | None
    kind: str

    def __new__(cls, text: str, start: int | None = None, kind: str = "note") -> Note:
        note = super().__new__(cls, text)
        note.start, note.kind = start, kind
        return note


class TileError(Exception):
    """An error in an input, with its position.

    `message` is NVIDIA's wording if their tools have one; `notes` are the enclosing messages and our explanation.
    The position is a byte `offset` in bytecode, or `start`..`end` in the text `source`.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        offset: int | None = None,
        field: str = "",
        source: str | None = None,
        start: int = 0,
        end: int = 0,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.offset = offset
        self.field = field
        self.source = source
        self.start = start
        self.end = max(end, start)
        self.notes = list(notes)
        self.excerpt: tuple[str, ...] = ()
        """Lines to show if there is no source text to quote."""
        self.facts: dict[str, object] = {}
        """Additional keys for `--json`."""

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (dict(self.__dict__),))

    @property
    def line(self) -> int | None:
        """The one-based line in `source`, or None for bytecode."""
        return None if self.source is None else self.source.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int | None:
        """The one-based column in `source`, or None for bytecode."""
        return None if self.source is None else self.start - self.source.rfind("\n", 0, self.start)

    def as_dict(self) -> dict[str, object]:
        """Return the error as plain data, for `--json`."""
        place: dict[str, object] = {"offset": self.offset, "field": self.field or None}
        if self.source is not None:
            place = {"line": self.line, "column": self.column}
        return {"message": self.message, "file": self.file or None, **place, "notes": list(self.notes), **self.facts}

    def render(self, color: bool = False) -> str:
        """Return lines for people: position, message, the source line with a caret, and the notes."""

        def paint(code: str, text: str) -> str:
            return f"{code}{text}{RESET}" if color else text

        where = [self.file] if self.file else []
        if self.source is not None:
            where += [str(self.line), str(self.column)]
        head = ":".join(where) + ": " if where else ""
        at = f"at byte 0x{self.offset:x}: " if self.offset is not None else ""
        lines = [paint(BOLD, head) + paint(RED, "error: ") + paint(BOLD, at + self.message)]
        if self.source is not None:
            lines += self._excerpt(paint)
        lines += self.excerpt
        index = LineIndex(self.source or "")
        for note in self.notes:
            place = ""
            if isinstance(note, Note) and note.start is not None and self.source is not None:
                place = ":".join([*([self.file] if self.file else []), *map(str, index.place(note.start))]) + ": "
            kind = note.kind if isinstance(note, Note) else "note"
            lines.append(paint(BOLD, place) + paint(CYAN, kind + ": ") + note)
        return "\n".join(lines)

    def _excerpt(self, paint: object) -> list[str]:
        assert self.source is not None
        begin = self.source.rfind("\n", 0, self.start) + 1
        stop = self.source.find("\n", self.start)
        stop = len(self.source) if stop < 0 else stop
        # Cut a line of megabytes around the caret. Each tab counts as one column.
        left, right = max(begin, self.start - 120), min(stop, self.start + 160)
        text = self.source[left:right].replace("\t", " ")
        width = max(1, min(self.end, right) - self.start)
        return ["    " + text, "    " + " " * (self.start - left) + "^" * width]


class enough_memory(ContextDecorator):
    """Turn a MemoryError that leaves the block, or the function, into a TileError. Set `offset` where it is known."""

    def __init__(self, what: str, file: str = "") -> None:
        self.what, self.file = what, file
        self.offset: int | None = None

    def __enter__(self) -> enough_memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is not None and issubclass(kind, MemoryError):
            raise TileError(f"not enough memory to {self.what}", file=self.file, offset=self.offset) from None


def _rebuild(state: dict[str, object]) -> TileError:
    error = TileError(str(state["message"]))
    error.__dict__.update(state)
    return error


class LineIndex:
    """Finds the line and column of offsets in a text, each in logarithmic time."""

    def __init__(self, text: str) -> None:
        from bisect import bisect_right  # only errors in text need it

        self._row = bisect_right
        self.starts = [0]
        find = text.find
        at = find("\n")
        while at >= 0:
            self.starts.append(at + 1)
            at = find("\n", at + 1)

    def place(self, offset: int) -> tuple[int, int]:
        """Return the one-based line and column of an offset."""
        row = self._row(self.starts, offset)
        return row, offset - self.starts[row - 1] + 1


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the nearest of the known words, or nothing.

    >>> did_you_mean("chekc", ["check", "convert"])
    "; did you mean 'check'?"
    """
    return "".join(f"; {note}" for note in suggest(word, known))


def suggest(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return a note that suggests the nearest of the known words, or the only one that starts like it; or none.

    >>> suggest("eq", ["equal", "not_equal"])
    ("did you mean 'equal'?",)
    """
    from difflib import get_close_matches

    words = list(known)
    longer = [each for each in words if len(word) > 1 and each.startswith(word)]
    near = get_close_matches(word, words, 1) or (longer if len(longer) == 1 else [])
    return (f"did you mean '{near[0]}'?",) if near else ()
