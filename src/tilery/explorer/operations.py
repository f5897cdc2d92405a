"""The table of operations: for each id its name, its span in the text, its parent and its source lines; and errors."""

from __future__ import annotations

from typing import Any

from ..diag import Note, TileError
from ..lsp.protocol import lsp
from ..ops import Entry, Global
from ..source.lines import places
from ..source.symbols import function_name
from .documents import Opened

MAX_CALLS = 8
"""The most places of one operation: its own, and the calls around it."""


def analyse(opened: Opened) -> dict[str, Any]:
    """Return everything that ties operations to the text and to source lines, and what is wrong with the text."""
    return {
        "legal": not opened.problems.errors,
        "diagnostics": diagnostics(opened),
        "functions": functions(opened),
        **operations(opened),
    }


def operations(opened: Opened) -> dict[str, Any]:
    """Return the columns of the table. An operation that the text does not spell, such as the module, starts at -1."""
    out, spans, ids = opened.units.out, opened.spans, opened.ids
    names: dict[str, int] = {}
    parents = [-1] * len(opened.ops)
    start, end, name = [], [], []
    for number, o in enumerate(opened.ops):
        for block in o.blocks:
            for inner in block.ops:
                parents[ids[inner]] = number
        span = spans.get(o)
        start.append(-1 if span is None else out(span[0]))
        end.append(-1 if span is None else out(span[1]))
        name.append(names.setdefault(o.name, len(names)))
    files, table, place = source_places(opened)
    ops = {"names": list(names), "name": name, "start": start, "end": end, "parent": parents, "place": place}
    return {"ops": ops, "files": files, "places": table}


def source_places(opened: Opened) -> tuple[list[str], list[list[list[int]]], list[int]]:
    """Return the files, the distinct chains of places (file, line, column), and the chain of each id."""
    files: dict[str, int] = {}
    table: list[list[list[int]]] = []
    known: dict[int, int] = {}
    column = []
    for loc in opened.locations:
        at = known.get(id(loc), -2)
        if at == -2:
            chain = [[files.setdefault(p.file, len(files)), p.line, p.column] for p in places(loc)[:MAX_CALLS]]
            at = known[id(loc)] = len(table) if chain else -1
            if chain:
                table.append(chain)
        column.append(at)
    return list(files), table, column


def functions(opened: Opened) -> list[dict[str, Any]]:
    """List kernels and globals."""
    found = []
    for o in opened.module.body.ops:
        if isinstance(o, (Entry, Global)):
            shown = function_name(o.sym_name)
            found.append({"id": opened.ids[o], "kind": o.name, "name": o.sym_name, "shown": shown})
    return found


_LEVELS: dict[lsp.DiagnosticSeverity | None, str] = {
    lsp.DiagnosticSeverity.Error: "error",
    lsp.DiagnosticSeverity.Warning: "warning",
}


def diagnostics(opened: Opened) -> list[dict[str, Any]]:
    """List errors, warnings and notes, as the language server does; `rule` names the rule of the linter."""
    from ..lsp.diagnostics import LINT
    from ..lsp.diagnostics import diagnostics as find

    lines, out = opened.document.lines, opened.units.out
    # A front end passes the sizes and strides of an array, needed or not. The locations tell, which the text lacks.
    from_source = opened.origin is not None and any(opened.locations)
    found = []
    for each in find(opened.document):
        rule = str(each.code) if each.source == LINT else ""
        if from_source and rule == "unused-argument":
            continue
        related = [
            {"at": out(lines.offset(r.location.range.start)), "message": r.message}
            for r in each.related_information or ()
        ]
        start, end = lines.offset(each.range.start), lines.offset(each.range.end)
        made: dict[str, Any] = {"start": out(start), "end": out(end), "message": each.message, "related": related}
        found.append({**made, "severity": _LEVELS.get(each.severity, "info"), "rule": rule})
    return found


def error_data(error: TileError) -> dict[str, Any]:
    """Return an error as plain data; `start` and `end` count UTF-16 units if it has a place in a text."""
    made: dict[str, Any] = {"message": error.message, "kind": error.kind.value}
    made["notes"] = [str(note) for note in error.notes]
    if error.source is not None:
        from .units import Units

        out = Units(error.source).out
        made |= {"start": out(error.start), "end": out(error.end), "line": error.line}
        made["related"] = [
            {"at": out(note.start), "message": str(note)}
            for note in error.notes
            if isinstance(note, Note) and note.start is not None
        ]
    if error.offset is not None:
        made["offset"] = error.offset
    return made
