"""Verification of an input as a whole: every violation as an error with its position and a line of IR."""

from __future__ import annotations

from collections.abc import Callable

from ..declare.fastclass import dataclass, field
from ..diag import ErrorKind, Note, TileError
from ..ops import Module
from ..source.input import Input
from ..version import SUPPORTED, Version
from .rules import Violation
from .verify import MAX_ERRORS, Hints, verify


@dataclass()
class CheckResult:
    """The result of checking one input. `module` is None if the input could not be read."""

    file: str
    module: Module | None = None
    errors: list[TileError] = field(default_factory=list)
    warnings: list[TileError] = field(default_factory=list)

    @property
    def legal(self) -> bool:
        return not self.errors


def check_input(
    source: Input,
    *,
    version: Version | None = None,
    max_errors: int = MAX_ERRORS,
    hints: Hints = Hints.IGNORE,
    exact_locs: bool = True,
    verifier: Callable[..., list[Violation]] = verify,
) -> CheckResult:
    """Read and verify an input; with `version`, also check that this version can express it.

    Without `exact_locs` a location of the module may be a different one in the same scope; errors name the right one.
    """
    report = CheckResult(source.file)
    try:
        report.module = source.read(exact_locs=exact_locs)
    except TileError as e:
        e.with_traceback(None)  # it keeps the tokens of the whole text alive
        report.errors += [e, *_more_errors(source, e)][:max_errors]
        return report
    for finding in verifier(
        report.module,
        max_errors=max_errors,
        hints=hints,
        dominance=source.is_text,
        fast=source.fast,
        reader=source.reader,
    ):
        (report.warnings if finding.warning else report.errors).append(explain(finding, source))
    if version is not None and report.legal:
        report.errors += version_problem(report.module, version, source.file)
    return report


def _more_errors(source: Input, first: TileError) -> list[TileError]:
    """List the other errors of a text that cannot be parsed."""
    if source.text is None or source.parse is not None or source.looks_like:
        return []
    from ..text.lossless.reading import read
    from ..text.lossless.recover import OPEN_REGION
    from .partial import check_reading

    found = check_reading(read(source.text, file=source.file)).errors
    named = {note.start for note in first.notes if isinstance(note, Note)}  # a region that the first error says is open
    return [
        error
        for error in found
        if (error.line, error.message) != (first.line, first.message)
        and not (error.rule == OPEN_REGION and error.start in named)
    ]


def read_legal(source: Input) -> Module:
    """Read a module from an input; raise its first violation if it is illegal."""
    module = source.read()
    require_legal(module, source=source)
    return module


def require_legal(module: Module, why: str = "", *, source: Input | None = None, after: str = "") -> None:
    """Raise the first violation of a module as a TileError.

    With `source`, the input the module was just read from, the error has a position. Without it, the message names the
    operation, and `why`, a note, says who needs a legal module. `after` names the passes that may have broken it.
    """
    reader = None if source is None else source.reader
    for finding in verify(module, max_errors=1, dominance=source is None or source.is_text, reader=reader):
        if source is not None:
            raise explain(finding, source)
        where = f"after {after}: " if after else ""
        raise TileError(
            f"{where}{finding.op.name}: {finding.message}", kind=ErrorKind.ILLEGAL, notes=(why,) if why else ()
        )


def explain(finding: Violation, source: Input) -> TileError:
    """Turn a violation in a module into an error with its position in the input it was read from."""
    return source.error(
        finding.op,
        finding.message,
        field=finding.field,
        notes=finding.notes,
        related=finding.related,
        rule=finding.rule,
    )


def version_problem(module: Module, version: Version, file: str = "") -> list[TileError]:
    """Say why a version cannot express a legal module, and which version is the first that can."""
    from ..bytecode.writer import write

    first: TileError | None = None
    for candidate in (v for v in SUPPORTED if v >= version):
        try:
            write(module, candidate, fast=None)
        except TileError as e:
            first = first or e
            continue
        if first is None:
            return []
        first.message = f"legal in {candidate}, not in {version}: {first.message}"
        break
    assert first is not None
    first.file = first.file or file
    first.settle(ErrorKind.VERSION)
    return [first]
