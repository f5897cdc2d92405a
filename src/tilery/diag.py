"""Diagnostics: the one exception for user errors, its position, and how it is rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from enum import Enum

RED, BOLD, CYAN, RESET = "\x1b[31;1m", "\x1b[1m", "\x1b[36m", "\x1b[0m"


class ErrorKind(Enum):
    """The reason of an error, for programs: these values are stable, messages are not.

    >>> ErrorKind("timeout")
    <ErrorKind.TIMEOUT: 'timeout'>
    """

    SYNTAX = "syntax"
    """Text or bytecode cannot be read."""
    VERSION = "version"
    """A bytecode version, or a release of a tool, lacks something."""
    ILLEGAL = "illegal"
    """The verifier refuses the module."""
    ARGUMENT = "argument"
    """A caller passed something unsuitable: an option, a grid, an array."""
    FILE = "file"
    """A file cannot be read or written."""
    UNSUPPORTED = "unsupported"
    """The module is legal, but this engine, pass or tool does not handle it."""
    BOUNDS = "bounds"
    """A kernel accessed memory that it may not access."""
    ALIGNMENT = "alignment"
    """A kernel accessed an element at an address that is not a multiple of its size."""
    UNINITIALIZED = "uninitialized"
    """A kernel used memory before anything was written to it."""
    UNDEFINED = "undefined"
    """A kernel did something that the specification leaves undefined."""
    PROMISE = "promise"
    """A promise of the kernel, such as `assume`, is false."""
    RACE = "race"
    """Two accesses to one location are not ordered."""
    ASSERTION = "assertion"
    """An assertion of the kernel failed."""
    DEADLOCK = "deadlock"
    """Tile blocks wait for something that cannot happen."""
    TIMEOUT = "timeout"
    """The limit on time was reached."""
    STEPS = "steps"
    """The limit on steps was reached."""
    MEMORY = "memory"
    """The limit on memory was reached, or there is no more."""
    MISSING_TOOL = "missing-tool"
    """A package, program or device is not there."""
    COMPILER = "compiler"
    """Another compiler refused the program."""
    COMPILER_CRASH = "compiler-crash"
    """Another compiler crashed."""
    DEVICE = "device"
    """The GPU or its driver reported an error."""
    HINT = "hint"
    """Something is suspicious, but allowed."""


class NoteKind(Enum):
    """The purpose of a note."""

    NOTE = "note"
    ERROR = "error"
    """NVIDIA's tools report this as a second error."""
    ORIGIN = "origin"
    """The place in the source that the operation comes from."""
    OTHER = "other"
    """Another operation that takes part in the fault."""
    EARLIER = "earlier"
    """A report from before the error."""


class Note(str):
    """A note with an offset `start` in the text, if it has a place of its own."""

    start: int | None
    kind: NoteKind

    def __new__(cls, text: str, start: int | None = None, kind: NoteKind = NoteKind.NOTE) -> Note:
        note = super().__new__(cls, text)
        note.start, note.kind = start, kind
        return note

    def __reduce__(self) -> tuple[object, ...]:
        return (Note, (str(self), self.start, self.kind))

    @property
    def heading(self) -> str:
        """The word before the note: error, or note."""
        return "error" if self.kind is NoteKind.ERROR else "note"


def has_kind(note: str, kind: NoteKind) -> bool:
    """Tell whether a note is of a kind; a plain string is just a note."""
    return isinstance(note, Note) and note.kind is kind


class TileError(Exception):
    """An error in an input, with its position.

    `message` is NVIDIA's wording if their tools have one; `notes` are the enclosing messages and our explanation.
    The position is a byte `offset` in bytecode, or `start`..`end` in the text `source`. `kind` is for programs.

    >>> TileError("a launch needs at least one thread").kind
    <ErrorKind.ARGUMENT: 'argument'>
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind | None = None,
        rule: str = "",
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
        self._kind = kind
        self.rule = rule
        """The name of the rule that was broken, if a program acts on it."""
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
    def kind(self) -> ErrorKind:
        """The kind of the error; an unsuitable argument is the default."""
        return self._kind or ErrorKind.ARGUMENT

    def settle(self, kind: ErrorKind) -> None:
        """Set the kind if the place that raised the error did not: a reader knows that its input cannot be read."""
        self._kind = self._kind or kind

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
        return {
            "kind": self.kind.value,
            "message": self.message,
            "file": self.file or None,
            **place,
            "notes": list(self.notes),
            **self.facts,
        }

    def render(self, color: bool = False, *, clean: Callable[[str], str] | None = None) -> str:
        """Return lines for people: position, message, the source line with a caret, and the notes.

        `clean` replaces characters of the text, and of messages and names, that must not be shown as they are.
        """
        shown: Callable[[str], str] = clean or (lambda text: text)

        def paint(code: str, text: str) -> str:
            return f"{code}{text}{RESET}" if color else text

        file = [shown(self.file)] if self.file else []
        where = file if self.source is None else [*file, str(self.line), str(self.column)]
        head = ":".join(where) + ": " if where else ""
        at = f"at byte 0x{self.offset:x}: " if self.offset is not None else ""
        lines = [paint(BOLD, head) + paint(RED, "error: ") + paint(BOLD, at + shown(self.message))]
        if self.source is not None:
            lines += map(shown, self._excerpt(self.source))
        lines += map(shown, self.excerpt)
        index: LineIndex | None = None
        for note in self.notes:
            place = ""
            if isinstance(note, Note) and note.start is not None and self.source is not None:
                index = index or LineIndex(self.source)
                place = ":".join([*file, *map(str, index.place(note.start))]) + ": "
            heading = note.heading if isinstance(note, Note) else "note"
            lines.append(paint(BOLD, place) + paint(CYAN, heading + ": ") + shown(note))
        return "\n".join(lines)

    def _excerpt(self, source: str) -> list[str]:
        begin = source.rfind("\n", 0, self.start) + 1
        stop = source.find("\n", self.start)
        stop = len(source) if stop < 0 else stop
        # Cut a line of megabytes around the caret. Each tab counts as one column.
        left, right = max(begin, self.start - 120), min(stop, self.start + 160)
        text = source[left:right].replace("\t", " ")
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
            message = f"not enough memory to {self.what}"
            raise TileError(message, kind=ErrorKind.MEMORY, file=self.file, offset=self.offset) from None


def _rebuild(state: dict[str, object]) -> TileError:
    error = TileError(str(state["message"]))
    error.__dict__.update(state)
    return error


class LineIndex:
    """Finds the line and column of offsets in a text, each in logarithmic time."""

    def __init__(self, text: str) -> None:
        from array import array  # only errors in text need these
        from bisect import bisect_right

        self._row = bisect_right
        self.starts = array("q", [0])
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


def shown(value: object) -> str:
    """Return how an error names a value: numbers, text and short lists of them as Python writes them, others by type.

    The representation of anything else is code of others, may be long, and that of an array reads memory.

    >>> shown([1, 2.5, "x"]), shown(object()), shown(10**50)
    ("[1, 2.5, 'x']", 'an object', 'an integer of 167 bits')
    """
    kind = type(value)
    if kind is int and value.bit_length() > 128:  # type: ignore[attr-defined]
        return f"an integer of {value.bit_length()} bits"  # type: ignore[attr-defined]
    if kind in (list, tuple) and len(value) <= 8:  # type: ignore[arg-type]
        opened, closed = "[]" if kind is list else "()"
        items = [shown(each) if type(each) not in (list, tuple) else "..." for each in value]  # type: ignore[attr-defined]
        return f"{opened}{', '.join(items)}{',' if kind is tuple and len(items) == 1 else ''}{closed}"
    if kind in (int, float, bool, str, bytes, complex, type(None)):
        text = repr(value)
        return text if len(text) <= 80 else f"{text[:80]}..."
    return f"{'an' if kind.__name__[:1].lower() in 'aeio' else 'a'} {kind.__name__}"
