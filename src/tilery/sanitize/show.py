"""Reports for people, as errors with source lines, and for tools, as SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Iterable

from ..diag import NoteKind, TileError, has_kind
from ..source.input import Input
from ..source.lines import excerpt, innermost
from .reports import Occurrence, Report
from .sanitizer import CHECKS

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_error(report: Report, source: Input | None = None) -> TileError:
    """Return a report as an error at its operation, in the file that it was read from if that is given."""
    message = f"{report.check}: {report.message}"
    notes = report.details
    if source is not None:
        related = [(place.op, place.note) for place in report.places[1:]]
        first = [note for note in notes if not has_kind(note, NoteKind.OTHER)]
        error = source.error(report.op, message, notes=first, related=related, kind=report.kind)
    else:
        error = TileError(message, kind=report.kind, notes=tuple(notes))
        error.excerpt = excerpt(report.op.loc)
    error.facts = report.as_dict(source)
    return error


def sarif(reports: Iterable[Report], source: Input | None = None) -> dict[str, object]:
    """Return reports as the data of a SARIF file; hints have the level `note`."""
    found = list(reports)
    rules = [{"id": row.name, "shortDescription": {"text": row.summary}} for row in CHECKS.values()]
    driver = {"name": "tilery", "rules": rules}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(report, source) for report in found]}],
    }


def _result(report: Report, source: Input | None) -> dict[str, object]:
    first, *others = report.places
    lines = [report.message, *report.details]
    return {
        "ruleId": report.check,
        "level": "note" if report.hint else "error",
        "message": {"text": "\n".join(lines)},
        "locations": [_location(first, source)],
        "relatedLocations": [{**_location(place, source), "message": {"text": place.note}} for place in others],
        "occurrenceCount": max(1, report.count),
        "properties": report.as_dict(source),
    }


def _location(place: Occurrence, source: Input | None) -> dict[str, object]:
    """The source line that an operation comes from, or its place in the file of Tile IR."""
    logical = [{"fullyQualifiedName": place.op.name}]
    if (found := innermost(place.op.loc)) is not None:
        region = {"startLine": max(1, found.line), "startColumn": max(1, found.column)}
        return _physical(found.file, region, logical)
    if source is None:
        return {"logicalLocations": logical}
    error = source.error(place.op, "")
    if error.line is None:
        return _physical(source.file, {"byteOffset": error.offset or 0}, logical)
    return _physical(source.file, {"startLine": error.line, "startColumn": error.column or 1}, logical)


def _physical(file: str, region: dict[str, int], logical: list[dict[str, str]]) -> dict[str, object]:
    physical = {"artifactLocation": {"uri": file or "stdin"}, "region": region}
    return {"physicalLocation": physical, "logicalLocations": logical}
