"""Reading and verifying an input as one step: every violation with its place, and the line of IR it is about."""

from __future__ import annotations

from ..attrs import Attr, CallSite, DILoc, FileLineCol
from ..declare.fastclass import dataclass, field
from ..diag import Note, TileError
from ..ir import Op, Value, walk
from ..ops import Module
from ..version import SUPPORTED, Version
from .verify import MAX_ERRORS, Finding, Hints, verify


@dataclass()
class Report:
    """What was found in one input. `module` is None where it could not even be read."""

    file: str
    module: Module | None = None
    errors: list[TileError] = field(default_factory=list)
    warnings: list[TileError] = field(default_factory=list)

    @property
    def legal(self) -> bool:
        return not self.errors


def check_source(
    data: bytes,
    *,
    file: str = "",
    reader: str | None = None,
    version: Version | None = None,
    max_errors: int = MAX_ERRORS,
    hints: Hints = Hints.IGNORE,
    places: bool = True,
) -> Report:
    """Read and verify bytecode or text; with `version`, also whether that version can express it.

    Without `places`, the locations of a legal module may be others in the same scope.
    """
    from ..api import is_text, read_any

    report = Report(file)
    try:
        report.module = read_any(data, file=file, reader=reader, places=places)
    except TileError as e:
        report.errors.append(e)
        return report
    findings = verify(report.module, max_errors=max_errors, hints=hints, dominance=is_text(data))
    if findings and not places:
        return check_source(data, file=file, reader=reader, version=version, max_errors=max_errors, hints=hints)
    for finding, error in zip(findings, explain(report.module, findings, data, file)):
        (report.warnings if finding.warning else report.errors).append(error)
    if version is not None and report.legal:
        report.errors += version_problem(report.module, version, file)
    return report


def version_problem(module: Module, version: Version, file: str = "") -> list[TileError]:
    """Why a version cannot express a legal module, and which is the first that can."""
    from ..bytecode.writer import write

    first: TileError | None = None
    for candidate in (v for v in SUPPORTED if v >= version):
        try:
            write(module, candidate)
        except TileError as e:
            first = first or e
            continue
        if first is None:
            return []
        first.message = f"legal in {candidate}, not in {version}: {first.message}"
        break
    assert first is not None
    first.file = first.file or file
    return [first]


def explain(module: Module, findings: list[Finding], data: bytes, file: str = "") -> list[TileError]:
    """Findings as errors with places. The IR keeps none, so the input is read once more with recording on."""
    if not findings:
        return []
    order = {id(o): index for index, o in enumerate(walk(module))}
    wanted = [order.get(id(f.op)) for f in findings]
    if data.startswith(b"\x7f"):
        return _in_bytecode(module, findings, wanted, data, file)
    return _in_text(findings, order, data, file)


def _in_text(findings: list[Finding], order: dict[int, int], data: bytes, file: str) -> list[TileError]:
    from ..text.parse.parser import parse_with_places

    again = parse_with_places(data.decode("utf-8"), file=file)
    ops = list(walk(again.module))
    out: list[TileError] = []
    for finding in findings:
        related = [Note(text, again.places.get(ops[order[id(o)]], (None, None))[0]) for o, text in finding.related]
        notes = (*finding.notes, *related, *_source_note(finding))
        error = again.error(ops[order[id(finding.op)]], finding.message, *notes)
        error.field = finding.field
        out.append(error)
    return out


def _in_bytecode(
    module: Module, findings: list[Finding], wanted: list[int | None], data: bytes, file: str
) -> list[TileError]:
    from ..bytecode.reader import op_offsets

    offsets = op_offsets(data)
    lines = _Lines(module)
    out: list[TileError] = []
    for finding, index in zip(findings, wanted):
        offset = offsets.get(index) if index is not None else None
        notes = (*finding.notes, *(text for _, text in finding.related), *_source_note(finding))
        error = TileError(finding.message, file=file, offset=offset, field=finding.field, notes=notes)
        error.excerpt = lines.excerpt(finding)
        out.append(error)
    return out


def _source_note(finding: Finding) -> tuple[str, ...]:
    place = source_place(finding.op.loc)
    return () if place is None else (f"from {place}",)


def source_place(loc: Attr | None) -> FileLineCol | None:
    """The line of the source that a location stands for."""
    while isinstance(loc, CallSite):
        loc = loc.callee
    if isinstance(loc, DILoc):
        loc = loc.source
    return loc if isinstance(loc, FileLineCol) else None


class _Lines:
    """The module as it is printed, to show an operation with the field that is wrong underlined."""

    def __init__(self, module: Module) -> None:
        from ..text.print.names import Names
        from ..text.print.printer import show_with_places

        try:
            self.text, self.starts, self.names = show_with_places(module)
        except TileError:  # too long to print
            self.text, self.starts, self.names = "", {}, Names(0)

    def excerpt(self, finding: Finding) -> tuple[str, ...]:
        start = self.starts.get(finding.op)
        if start is None:
            return ()
        end = self.text.find("\n", start)
        line = self.text[start : end if end >= 0 else None].strip()
        column, width = self._mark(finding, line)
        return (f"    {line}", "    " + " " * column + "^" * width)

    def _mark(self, finding: Finding, line: str) -> tuple[int, int]:
        """Where the field stands in the line: an operand by its name, anything else by the operation's name."""
        o = finding.op
        for wanted in (*self._field_texts(o, finding.field), o.name):
            at = line.find(wanted)
            if at >= 0:
                return at, len(wanted)
        return 0, max(1, len(line))

    def _field_texts(self, o: Op, name: str) -> list[str]:
        found = [f for f in o.opdef.fields if f.name == name] if name and not _unknown(o) else []
        texts: list[str] = []
        for f in found:
            value = getattr(o, f.attr)
            if isinstance(value, Value) and value in self.names:
                texts.append(self.names[value])
            elif hasattr(value, "text"):
                texts.append(value.text)
            texts.append(name)
        return texts


def _unknown(o: Op) -> bool:
    return not hasattr(type(o), "opdef")
