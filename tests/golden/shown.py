"""The results of a path as text: errors with everything that they say, modules, and readings of broken texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tilery.diag import Note, TileError
from tilery.ops import Module
from tilery.text.print.printer import show
from tilery.verifier.rules import Violation


def error(e: TileError) -> str:
    """Describe an error: kind, place, message, notes and their places."""
    notes = [f"{note.kind.value} {note.start} {note}" if isinstance(note, Note) else note for note in e.notes]
    place = f"{e.offset} {e.start}-{e.end} {e.field} {e.rule}"
    return "\n  ".join([f"error {e.kind.value} {place}: {e.message}", *notes, *e.excerpt, *map(str, e.facts.items())])


def outcome(run: Callable[[], object]) -> str:
    """Describe a result, or the error that is raised."""
    try:
        found = run()
    except TileError as e:
        return error(e)
    return module(found) if isinstance(found, Module) else str(found)


def module(m: Module) -> str:
    """Describe a module with its locations, its layout and the names that text does not show."""
    text = outcome(lambda: show(m, "generic", True, quick=False))
    return f"{m.sym_name} {m.producer!r} {m.version} {m.layout!r}\n{text}"


def findings(found: Iterable[Violation], index: Any) -> str:
    """Describe violations; `index` numbers operations."""
    lines = []
    for each in found:
        related = [(index.get(o), note) for o, note in each.related]
        lines.append(
            f"{index.get(each.op)} {each.warning} {each.field} {each.rule}: {each.message} {each.notes} {related}"
        )
    return "\n".join(lines)
