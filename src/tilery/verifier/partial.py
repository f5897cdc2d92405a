"""Verify a text that may be broken: what could be read of it is checked as far as that makes sense.

A function without syntax errors is verified as a whole. Of one with syntax errors each operation is checked by itself:
nothing is known of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from weakref import WeakKeyDictionary

from ..declare.fastclass import dataclass, field
from ..diag import ErrorKind, Note, TileError
from ..ir import Block, Op, UnknownOp
from ..ops import Module
from ..text.lossless.reading import PlacedChunk, Reading
from ..text.lossless.recover import ParsedChunk
from .rules import Violation
from .verify import MAX_ERRORS, REDEFINITION, Hints, LegalSignatures, problem_at_call, redefinitions, verify


@dataclass(slots=True)
class Problems:
    """Errors and warnings in the order of the text."""

    errors: list[TileError] = field(default_factory=list)
    warnings: list[TileError] = field(default_factory=list)


Known = WeakKeyDictionary[ParsedChunk, tuple[tuple[object, ...], list[Violation]]]
"""The findings in parts that were verified before, with the globals that they saw."""


def check_reading(reading: Reading, *, hints: Hints = Hints.IGNORE, known: Known | None = None) -> Problems:
    """List everything that is wrong with a text: the errors of its reading, and what the verifier finds in the rest."""
    found = Problems(list(reading.errors))
    known = Known() if known is None else known
    globals_ = [o for part in reading.parts for block in part.parsed.blocks for o in block.ops if not o.nested]
    symbols = tuple(map(id, globals_))
    for part in reading.parts:
        if part.parsed not in known or known[part.parsed][0] != (symbols, hints):
            known[part.parsed] = (symbols, hints), list(_findings(part.parsed, globals_, hints))
        for finding in known[part.parsed][1]:
            (found.warnings if finding.warning else found.errors).append(_placed(finding, part, reading))
    for finding in redefinitions(o for part in reading.parts for block in part.parsed.blocks for o in block.ops):
        part = next(p for p in reading.parts if finding.op in p.parsed.extents)
        found.errors.append(_placed(finding, part, reading))
    for problems in (found.errors, found.warnings):
        problems.sort(key=lambda error: error.start)
        del problems[MAX_ERRORS:]
    return found


def _findings(parsed: ParsedChunk, globals_: list[Op], hints: Hints) -> Iterator[Violation]:
    if parsed.errors:
        yield from _each(parsed.blocks, parsed.loose)
        return
    own = [o for block in parsed.blocks for o in block.ops]
    mine = set(own)
    shown = Module(sym_name="part", body=Block(ops=[*(o for o in globals_ if o not in mine), *own]))
    for finding in verify(shown, hints=hints):
        if finding.op in parsed.extents and finding.rule != REDEFINITION:
            yield finding


def _each(blocks: list[Block], loose: list[Block]) -> Iterator[Violation]:
    """Check each operation by itself; nothing is known of what is around `loose` blocks."""
    passed = LegalSignatures(small=False)
    todo: list[tuple[list[Op], list[Op], bool]] = [(block.ops, [], True) for block in blocks]
    todo += [(block.ops, [], False) for block in loose]
    while todo:
        level, ancestors, surroundings_known = todo.pop()
        for o in level:
            known = not isinstance(o, UnknownOp)
            if known and (surroundings_known or not (o.opdef.parents or o.check_nested is not None)):
                finding = _problem(o, ancestors, passed)
                if finding is not None:
                    yield finding
            if o.nested:
                inner = [*ancestors, o]
                todo += [(block.ops, inner, known and surroundings_known) for block in o.blocks]


def _problem(o: Op, ancestors: list[Op], passed: LegalSignatures) -> Violation | None:
    get, legal, enough, _ = passed[o.__class__]
    try:
        mine = get(o)
        if mine in enough:
            return None
    except (AttributeError, TypeError):
        mine = None  # a field is missing or has the wrong type
    finding = problem_at_call(o, ancestors)
    if finding is None and mine is not None:
        legal.add(mine)
    return finding


def _placed(finding: Violation, part: PlacedChunk, reading: Reading) -> TileError:
    """Return a finding as an error at the operation's name, with the place of the field at fault in its facts."""
    parsed = part.parsed
    index = parsed.extents[finding.op][0] if finding.op in parsed.extents else 0
    start, end = parsed.tokens.span(index)
    notes = [*finding.notes]
    for other, text in finding.related:
        place = reading.span(other)
        notes.append(Note(text, place[0]) if place is not None else text)
    error = TileError(finding.message, kind=ErrorKind.ILLEGAL, rule=finding.rule, file=reading.options.file,
                      source=reading.text, start=part.start + start,
                      end=part.start + end, field=finding.field, notes=tuple(notes))  # fmt: skip
    return error
