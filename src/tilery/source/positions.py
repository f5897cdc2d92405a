"""Positions in the text that a module was parsed from: of run-time errors, and as locations of operations."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps

from ..attrs import DICompileUnit, DIFile, DISubprogram, place_in_scope
from ..checking import TYPE_CHECKING
from ..diag import LineIndex, Note
from ..ir import Op, Refused, difference, walk

if TYPE_CHECKING:
    from typing import Any, Concatenate, ParamSpec, TypeVar

    from ..ops import Module
    from .input import Input

    P = ParamSpec("P")
    R = TypeVar("R")

MAX_KEPT = 4 << 20
"""The most characters of text that a module keeps for the positions of its errors."""


def keep_source(module: Module, source: Input) -> None:
    """Let a module remember the text it was parsed from; the parser's own data is not kept."""
    if source.text is not None and len(source.text) <= MAX_KEPT:
        module.source = source
    source.forget()


def add_position(error: Refused, module: Module) -> None:
    """Give an error about an operation of a module its file, line and caret, if the module is as it was parsed."""
    source = module.source
    if source is None or error.source is not None or error.excerpt:
        return
    spans = _spans(module, source)
    if error.op not in spans:
        return
    error.file, error.source = error.file or source.file, source.text
    error.start, error.end = spans[error.op]
    starts = {text: spans[o][0] for o, text in error.related if o in spans}
    error.notes = [Note(note, starts[note]) if note in starts else note for note in error.notes]


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


def located(launch: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Add positions to the errors of a method `launch`."""

    @wraps(launch)
    def launch_located(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        try:
            return launch(self, *args, **options)
        except Refused as error:
            add_position(error, self.loaded.module)
            raise

    return launch_located


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
