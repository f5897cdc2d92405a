"""Errors and warnings of a document, and what the linter finds in it."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..diag import Note, TileError
from ..text.lossless.tree import operand_span
from ..verifier.partial import check_reading
from ..verifier.verify import Hints
from .document import TextDocument
from .protocol import lsp

if TYPE_CHECKING:
    from ..lint.rule import Finding

SOURCE = "tilery"
LINT = "tilery lint"
"""The source of what the linter finds; the code is the rule."""
_LEVELS = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}


def diagnostics(document: TextDocument) -> list[lsp.Diagnostic]:
    """List everything that is wrong with a document: parser, verifier, hints that the compiler ignores, and the linter.

    A document with errors is not linted.
    """
    found = check_reading(document.reading, hints=Hints.WARN, known=document.known)
    errors = [_diagnostic(document, error, lsp.DiagnosticSeverity.Error) for error in found.errors]
    warnings = [_diagnostic(document, error, lsp.DiagnosticSeverity.Warning) for error in found.warnings]
    return errors or warnings + [_lint(document, finding) for finding in findings(document)]


def findings(document: TextDocument) -> list[Finding]:
    """List what the linter finds in a document without errors. Functions that did not change are not linted again."""
    if not has_numpy():
        return []  # in a browser
    from ..lint.driver import lint_reading  # needs NumPy, which takes long to import

    return lint_reading(document.reading, known=document.linted)


@cache
def has_numpy() -> bool:
    """Tell whether NumPy is there; in a browser it may be missing."""
    try:
        return find_spec("numpy") is not None
    except ValueError:  # None is in its place
        return False


def finding_range(document: TextDocument, finding: Finding) -> lsp.Range:
    """Return where a finding is: at the name of its operation."""
    span = document.reading.span(finding.op)
    return document.lines.range(*(span or (0, 0)))


def _lint(document: TextDocument, finding: Finding) -> lsp.Diagnostic:
    related = [
        lsp.DiagnosticRelatedInformation(lsp.Location(document.uri, document.lines.range(*span)), text)
        for o, text in finding.related
        if (span := document.reading.span(o)) is not None
    ]
    message = "\n".join([finding.message, *finding.notes])
    where = finding_range(document, finding)
    return lsp.Diagnostic(
        where,
        message,
        _LEVELS[finding.severity.value],
        code=finding.rule,
        source=LINT,
        related_information=related or None,
    )


def _diagnostic(document: TextDocument, error: TileError, severity: lsp.DiagnosticSeverity) -> lsp.Diagnostic:
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


def _span(document: TextDocument, error: TileError) -> tuple[int, int]:
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
