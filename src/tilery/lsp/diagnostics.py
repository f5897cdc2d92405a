"""Errors and warnings of a document."""

from __future__ import annotations

from ..diag import Note, TileError
from ..text.lossless.tree import operand_span
from ..verifier.partial import check_reading
from ..verifier.verify import Hints
from .document import Document
from .protocol import lsp

SOURCE = "tilery"


def diagnostics(document: Document) -> list[lsp.Diagnostic]:
    """List everything that is wrong with a document: parser, verifier, and hints that the compiler ignores."""
    found = check_reading(document.reading, hints=Hints.WARN, known=document.known)
    errors = [_diagnostic(document, error, lsp.DiagnosticSeverity.Error) for error in found.errors]
    return errors + [_diagnostic(document, error, lsp.DiagnosticSeverity.Warning) for error in found.warnings]


def _diagnostic(document: Document, error: TileError, severity: lsp.DiagnosticSeverity) -> lsp.Diagnostic:
    start, end = _span(document, error)
    related = []
    notes = []
    for note in error.notes:
        if isinstance(note, Note) and note.start is not None:
            where = lsp.Location(document.uri, document.lines.range(note.start, note.start))
            related.append(lsp.DiagnosticRelatedInformation(where, str(note)))
        else:
            notes.append(note)
    message = "\n".join([error.message, *notes])
    return lsp.Diagnostic(
        document.lines.range(start, end), message, severity, code=error.rule or error.kind.value, source=SOURCE,
        related_information=related or None, data={"notes": notes},
    )  # fmt: skip


def _span(document: Document, error: TileError) -> tuple[int, int]:
    """Return where an error is: at the operand at fault if it is known."""
    if error.field:
        part = document.reading.part_at(error.start)
        index = part.parsed.tokens.at(error.start - part.start)
        span = operand_span(part.parsed, index, error.field)
        if span is not None:
            return part.start + span[0], part.start + span[1]
    # An empty range cannot be seen: show it under the character before.
    if error.end > error.start:
        return error.start, error.end
    return max(0, error.start - 1), max(1, error.start)
