"""Positions in the text that a module was parsed from: of run-time errors, and as locations of operations."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from ..attrs import DICompileUnit, DIFile, DISubprogram, place_in_scope
from ..checking import TYPE_CHECKING
from ..diag import LineIndex, Note, NoteKind, TileError, has_kind
from ..ir import Op, Refused, difference, walk
from .input import Input

if TYPE_CHECKING:
    from ..ops import Module

MAX_KEPT = 4 << 20
"""The most characters of text that a module keeps for the positions of its errors."""


def keep_source(module: Module, source: Input) -> None:
    """Let a module remember the text it was parsed from; the parser's own data is not kept."""
    if source.text is not None and len(source.text) <= MAX_KEPT:
        module.source = source
    source.forget()


def attach_place(error: Refused, where: Module | Input | None) -> TileError:
    """Return an error about an operation with its place, as precisely as `where` allows.

    A module that is as it was parsed knows file, line and column of its operations. So does the input that a module was
    read from; for bytecode, that is an offset. Without either, it is the line that debug information names.
    """
    if where is None:
        from .lines import excerpt

        if lines := excerpt(error.op.loc):
            error.excerpt = lines
            error.notes = [note for note in error.notes if not has_kind(note, NoteKind.ORIGIN)]
        return error
    if isinstance(where, Input):
        shown = where.error(error.op, error.message, notes=error.notes[:1], kind=error.kind)
        shown.facts = error.facts
        shown.notes += [note for note in error.notes[1:] if has_kind(note, NoteKind.EARLIER)]
        return shown
    if where.source is not None and error.source is None and not error.excerpt:
        _attach_span(error, where, where.source)
    return error


def _attach_span(error: Refused, module: Module, source: Input) -> None:
    spans = _spans(module, source)
    if error.op not in spans:
        return
    error.file, error.source = error.file or source.file, source.text
    error.start, error.end = spans[error.op]
    starts = {text: spans[o][0] for o, text in error.related if o in spans}
    error.notes = [Note(note, starts[note]) if note in starts else note for note in error.notes]


@contextmanager
def places_from(where: Module | Input | None) -> Iterator[None]:
    """Attach places to the errors that leave the block."""
    try:
        yield
    except Refused as error:
        if (shown := attach_place(error, where)) is error:
            raise
        raise shown from None


def _spans(module: Module, source: Input) -> dict[Op, tuple[int, int]]:
    """Parse the text again, and return the spans of the module's operations; none if the module was changed since."""
    again = source.parsed()
    if difference(module, again.module) is not None:
        return {}
    found = zip(walk(module), walk(again.module))
    return {o: again.spans[twin] for o, twin in found if twin in again.spans}


def op_places(module: Module) -> dict[Op, list[tuple[str, int]]]:
    """Return the files and lines of each operation: in the text of the module, and those that its location names."""
    from .lines import places

    found = {o: [(place.file, place.line) for place in places(o.loc)] for o in walk(module)}
    if (source := module.source) is not None:
        index = LineIndex(source.text or "")
        for o, (start, _) in _spans(module, source).items():
            found[o].append((source.file, index.place(start)[0]))
    return found


def locate_in_text(module: Module, source: Input) -> None:
    """Make the lines of text the locations of operations in kernels that have none. Bytecode changes nothing."""
    spans = source.spans
    if not spans:
        return
    index = LineIndex(source.text or "")
    folder, name = os.path.split(os.path.abspath(source.file)) if source.file[:1] != "<" else ("", source.file)
    file = DIFile(name, folder)
    for entry in module.entries:
        line = index.place(spans[entry][0])[0]
        scope = DISubprogram(file, line, entry.sym_name, entry.sym_name, DICompileUnit(file), line)
        for o in walk(entry):
            if o.loc is None and o in spans:
                o.loc = place_in_scope(scope, name, *index.place(spans[o][0]))
