"""One input, bytecode or text: its kind, the module in it, and the positions of operations when an error needs them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import cached_property
from os import PathLike, fspath

from ..checking import TYPE_CHECKING
from ..diag import ErrorKind, Note, NoteKind, TileError
from .recorded import kernel_of

if TYPE_CHECKING:
    from typing import BinaryIO, Protocol

    from ..ir import Op
    from ..ops import Module
    from .printed import Printed

    class Parsed(Protocol):
        """A module with the spans of its operations, which are computed when first asked for."""

        @property
        def module(self) -> Module: ...
        @property
        def spans(self) -> Mapping[Op, tuple[int, int]]: ...

    class Parse(Protocol):
        """A function that parses text."""

        def __call__(self, text: str, *, file: str) -> Parsed: ...


Source = str | PathLike[str] | bytes | bytearray | memoryview
"""A file name, or the content of a file."""


PART = 1 << 16
"""The fewest bytes to ask for at once."""
MAX_INPUT = 1 << 30
"""The most bytes of an input."""


class Kind(Enum):
    """The format of an input. OTHER is neither format; the bytecode reader explains why."""

    BYTECODE = "bytecode"
    TEXT = "text"
    OTHER = "other"


class Input:
    """An input that is read at most twice: once for its module, and once more, slowly, if an error needs positions.

    `text` is the content as text; then `data` is not looked at. `reader` selects the bytecode reader, and `parse`
    replaces the text parser. `fast=None` suits a process that reads a single file, see `bytecode.reader.read`.
    """

    def __init__(
        self,
        data: bytes = b"",
        *,
        text: str | None = None,
        file: str = "",
        reader: str | None = None,
        parse: Parse | None = None,
        fast: bool | None = True,
    ) -> None:
        self.data, self.text, self.file, self.reader, self.parse = data, text, file, reader, parse
        self.fast = fast
        self.kind = Kind.TEXT
        if text is None:
            self.kind, self.text = _classify(data)
        self._parsed: Parsed | None = None
        self._module: Module | None = None

    @classmethod
    def open(cls, source: Source, *, reader: str | None = None) -> Input:
        """Open a file, or wrap bytes. Of a recorded launch, it is the kernel."""
        if isinstance(source, (bytes, bytearray, memoryview)):
            return cls(kernel_of(bytes(source)), reader=reader)
        file = fspath(source)
        return cls(kernel_of(read_file(file), file), file=file, reader=reader)

    @property
    def is_text(self) -> bool:
        return self.kind is Kind.TEXT

    def read(self, *, exact_locs: bool = True) -> Module:
        """Read the module without verifying it.

        Without `exact_locs` reading bytecode is faster, but a location may be a different one in the same scope.
        """
        # Import only what this input needs: for a small file, imports take most of the time.
        if self.text is not None:
            self._parsed = self.parsed()
            return self._parsed.module
        from ..bytecode.reader import read

        self._module = read(self.data, file=self.file, reader=self.reader, exact_locs=exact_locs, fast=self.fast)
        return self._module

    def parsed(self) -> Parsed:
        """Parse the text."""
        assert self.text is not None
        try:
            return (self.parse or _parser())(self.text, file=self.file)
        except TileError as error:
            error.settle(ErrorKind.SYNTAX)
            if self.looks_like:
                error.notes.insert(0, f"this looks like {self.looks_like}")
            raise

    @cached_property
    def looks_like(self) -> str:
        """The kind of text that this looks like if it is not Tile IR; empty if that is unknown."""
        from .kinds import looks_like

        return looks_like(self.text or "")

    @property
    def spans(self) -> Mapping[Op, tuple[int, int]]:
        """The start and end of each operation's name in the text; none of bytecode."""
        return {} if self._parsed is None else self._parsed.spans

    def forget(self) -> None:
        """Forget the module; `parsed` parses the text again."""
        self._parsed = None

    def error(
        self,
        o: Op,
        message: str,
        *,
        field: str = "",
        notes: Iterable[str] = (),
        related: Iterable[tuple[Op, str]] = (),
        kind: ErrorKind = ErrorKind.ILLEGAL,
        rule: str = "",
    ) -> TileError:
        """Make an error about an operation of the module that was read, with its position and a line of IR.

        `field` names the operand or attribute at fault. `related` are other operations that the error is about, each
        with a note.
        """
        if self._parsed is None:
            error = self._bytecode_error(o, message, field, (*notes, *(text for _, text in related)), kind)
            error.rule = rule
            return error
        spans = self.spans
        start, end = spans.get(o, (0, 0))
        more = [Note(text, spans.get(other, (None, 0))[0]) for other, text in related]
        every = (*notes, *more, *_origin(o))
        error = TileError(
            message, kind=kind, rule=rule, file=self.file, source=self.text, start=start, end=end, notes=every
        )
        error.field = field
        return error

    def _bytecode_error(self, o: Op, message: str, field: str, notes: tuple[str, ...], kind: ErrorKind) -> TileError:
        twins, printed = self._second_reading
        if o not in twins:
            return TileError(message, kind=kind, file=self.file, field=field, notes=(*notes, *_origin(o)))
        twin, offset = twins[o]
        notes = (*notes, *_origin(twin))
        error = TileError(message, kind=kind, file=self.file, offset=offset, field=field, notes=notes)
        error.excerpt = printed.excerpt(twin, field)
        return error

    @cached_property
    def _second_reading(self) -> tuple[dict[Op, tuple[Op, int]], Printed]:
        """For each operation its twin with the exact location and its offset; and the module as text."""
        from ..bytecode.reader import read_with_offsets
        from ..ir import walk
        from .printed import Printed

        assert self._module is not None
        again, offsets = read_with_offsets(self.data, reader=self.reader)
        twins = dict(zip(walk(self._module), zip(walk(again), offsets)))
        return twins, Printed(again)


def read_file(name: str) -> bytes:
    """Return the content of a file. Devices and named pipes are refused: they may never end.

    A pipe that this process was given, such as `<(command)`, is read.
    """
    mode = os.stat(name).st_mode
    given = name == "/dev/stdin" or name.startswith(("/dev/fd/", "/proc/self/fd/"))
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or given):  # `open` explains what is wrong with a directory
        what = "a named pipe" if stat.S_ISFIFO(mode) else "a device" if stat.S_ISCHR(mode) else "not a regular file"
        raise TileError(f"cannot read '{name}': it is {what}; `-` reads stdin", kind=ErrorKind.FILE, file=name)
    with open(name, "rb") as opened:
        return read_bounded(opened, name)


def read_bounded(file: BinaryIO, name: str) -> bytes:
    """Read a file to its end, which must come within `MAX_INPUT` bytes."""
    try:
        wanted = os.fstat(file.fileno()).st_size
    except OSError:  # a stream in memory
        wanted = 0
    # A read takes memory for all the bytes that it asks for, so it asks for as many as there seem to be.
    parts, size = [], 0
    while size <= MAX_INPUT:
        asked = min(max(wanted, PART), MAX_INPUT - size) + 1
        part = file.read(asked)
        parts.append(part)
        size += len(part)
        if len(part) < asked:
            break
    if size > MAX_INPUT:
        raise TileError(f"cannot read '{name}': it has more than {MAX_INPUT} bytes", kind=ErrorKind.FILE, file=name)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _parser() -> Parse:
    from ..text.parse.parser import parse_with_spans

    return parse_with_spans


def _classify(data: bytes) -> tuple[Kind, str | None]:
    """Tell text from bytecode: text is UTF-8 without zero bytes, is not blank, and does not start like bytecode."""
    if data.startswith(b"\x7f"):
        from ..bytecode.wire import MAGIC

        return (Kind.BYTECODE if data.startswith(MAGIC) else Kind.OTHER), None
    if b"\0" in data:
        return Kind.OTHER, None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return Kind.OTHER, None
    return (Kind.OTHER, None) if not data or data.isspace() else (Kind.TEXT, text)


def _origin(o: Op) -> tuple[str, ...]:
    """A note that names the line of source an operation comes from, if its location is known."""
    if o.loc is None:
        return ()
    from .lines import innermost

    place = innermost(o.loc)
    return () if place is None else (Note(f"from {place}", kind=NoteKind.ORIGIN),)
