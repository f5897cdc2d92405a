"""Findings for tools, as SARIF 2.1.0."""

from __future__ import annotations

from collections.abc import Iterable

from ..diag import TileError
from .rule import Severity
from .rules import RULES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(errors: Iterable[TileError]) -> dict[str, object]:
    """Return findings as the data of a SARIF file."""
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.summary},
            "defaultConfiguration": {"level": rule.severity.value},
        }
        for rule in RULES.values()
    ]
    driver = {"name": "tilery lint", "rules": rules}
    runs = [{"tool": {"driver": driver}, "results": [_result(error) for error in errors]}]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _result(error: TileError) -> dict[str, object]:
    severity = error.facts.get("severity", Severity.ERROR.value)
    text = "\n".join([error.message, *error.notes])
    return {"ruleId": error.rule, "level": severity, "message": {"text": text}, "locations": [_location(error)]}


def _location(error: TileError) -> dict[str, object]:
    """The source line that an operation comes from, or its place in the file of Tile IR."""
    match error.facts.get("origin"):
        case {"file": str(file), "line": int(line), "column": int(column)}:
            region = {"startLine": max(1, line), "startColumn": max(1, column)}
        case _ if error.line is not None:
            file, region = error.file, {"startLine": error.line, "startColumn": error.column or 1}
        case _:
            file, region = error.file, {"byteOffset": error.offset or 0}
    return {"physicalLocation": {"artifactLocation": {"uri": file or "stdin"}, "region": region}}
