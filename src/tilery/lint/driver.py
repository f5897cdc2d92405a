"""Run rules on a module, and place what they find in the input that it was read from."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

from ..diag import ErrorKind, LineIndex, TileError, did_you_mean
from ..ir import Block, Op
from ..ops import Module
from ..source.input import Input
from ..source.lines import excerpt, innermost, shown_places
from ..text.lossless.reading import PlacedChunk, Reading, read
from ..text.lossless.recover import ParsedChunk
from ..verifier.explain import read_legal
from ..verifier.partial import check_reading
from .edits import apply, edit_for
from .facts import Facts
from .rule import Finding, Rule
from .rules import RULES
from .suppress import is_suppressed

MAX_FINDINGS = 1000
"""The most findings of one rule in one kernel."""
ROUNDS = 20
"""How often fixes are looked for again: removing an operation may leave others without a use."""


def chosen(only: Iterable[str] = (), ignore: Iterable[str] = ()) -> list[Rule]:
    """Return the rules with these names, or all of them, without those to ignore. An unknown name is an error."""
    for name in (*only, *ignore):
        if name not in RULES:
            hint = did_you_mean(name, RULES)
            raise TileError(f"there is no rule '{name}'{hint or '; `tilery lint --list` lists all'}")
    wanted = set(only) or set(RULES)
    return [rule for rule in RULES.values() if rule.id in wanted - set(ignore)]


def lint(module: Module, *, rules: Iterable[str] = (), ignore: Iterable[str] = (), trial: bool = True) -> list[Finding]:
    """Return what rules find in a legal module, in the order of the text.

    `rules` are the names of those to run, by default all. With `trial`, kernels are also launched on made-up arguments.
    Comments in a text suppress nothing here: see `lint_input`.

    >>> import tilery
    >>> module = tilery.parse("entry @k(%n: tile<i32>) { return }")
    >>> [(found.rule, found.severity.value) for found in lint(module)], lint(module, ignore=["unused-argument"])
    ([('unused-argument', 'note')], [])
    """
    found: list[Finding] = []
    selected = chosen(tuple(rules), tuple(ignore))
    names = {rule.id for rule in selected}
    launches = None
    if trial:
        from .trial import TrialRules  # the engine takes long to import

        launches = TrialRules(module)
    for entry in module.entries:
        facts = Facts(module, entry)
        mine = [finding for rule in (selected if launches is None else RULES.values()) for finding in _run(rule, facts)]
        if launches is not None:
            mine += launches.findings(facts, mine)
            mine = [finding for finding in mine if finding.rule in names]
        found += sorted(mine, key=lambda finding: facts.number.get(finding.op, -1))
    return found


def _run(rule: Rule, facts: Facts) -> list[Finding]:
    made: list[Finding] = []
    for r in rule.run(facts):
        made.append(Finding(rule.id, r.severity or rule.severity, r.op, r.message, r.notes, r.related, r.fix))
        if len(made) == MAX_FINDINGS:
            break
    return made


# ---------------------------------------------------------------- places


def lint_input(
    source: Input, *, rules: Iterable[str] = (), ignore: Iterable[str] = (), trial: bool = True
) -> list[TileError]:
    """Read, verify and lint an input; return each finding that no comment suppresses as an error with its place.

    An input that cannot be read, or that is illegal, raises its first error.

    >>> text = "entry @k(%n: tile<i32>, %m: tile<i32>) {  // lint: ignore[unused-argument]\\n  return\\n}\\n"
    >>> lint_input(Input(text=text))
    []
    """
    module = read_legal(source)
    return place(lint(module, rules=rules, ignore=ignore, trial=trial), source)


def place(findings: Iterable[Finding], source: Input | None = None) -> list[TileError]:
    """Return findings that no comment suppresses as errors, in the input that the module was read from.

    Without an input, the place is the line of source that debug information names. `facts` of each error has the rule,
    its severity, that line, and the title of a fix.
    """
    text = _Text(source.text) if source is not None and source.text is not None else None
    shown: list[TileError] = []
    for finding in findings:
        error = _as_error(finding, source)
        here = text is not None and text.suppresses(finding.rule, error.start)
        if not here and not _is_suppressed_in_source(finding):
            shown.append(error)
    return shown


class _Text:
    """A text by its lines."""

    def __init__(self, text: str) -> None:
        self.lines, self.index = text.split("\n"), LineIndex(text)

    def suppresses(self, rule: str, offset: int) -> bool:
        """Return whether a comment suppresses a rule on the line of an offset."""
        return is_suppressed(rule, self.index.place(offset)[0], lambda line: self.lines[line - 1])


def _as_error(finding: Finding, source: Input | None) -> TileError:
    message, rule, kind = f"{finding.message} [{finding.rule}]", finding.rule, ErrorKind.HINT
    if source is not None and source.is_text:
        error = source.error(finding.op, message, notes=finding.notes, related=finding.related, kind=kind, rule=rule)
    else:
        related = [f"{text}{_origin(o)}" for o, text in finding.related]
        if source is not None:
            error = source.error(finding.op, message, notes=(*finding.notes, *related), kind=kind, rule=rule)
        else:
            error = TileError(message, kind=kind, rule=rule, notes=(*finding.notes, *related))
            error.excerpt = excerpt(finding.op.loc)
    origin = innermost(finding.op.loc)
    error.facts = {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "origin": None if origin is None else {"file": origin.file, "line": origin.line, "column": origin.column},
        "fix": None if finding.fix is None else finding.fix.title,
    }
    return error


def _origin(o: Op) -> str:
    """Where in the source an operation comes from, as the end of a note."""
    found = next(iter(shown_places(o.loc)), None)
    return "" if found is None else f": {o.name} at {found}"


def _is_suppressed_in_source(finding: Finding) -> bool:
    """Whether a comment suppresses a finding on the line of source that debug information names."""
    found = next(iter(shown_places(finding.op.loc)), None)
    return found is not None and is_suppressed(finding.rule, found.line, lambda line: found._replace(line=line).text)


# ---------------------------------------------------------------- texts that are edited

Known = WeakKeyDictionary[ParsedChunk, tuple[tuple[int, ...], list[Finding]]]
"""The findings in parts that were linted before, with the globals that they saw."""


def lint_reading(reading: Reading, *, known: Known | None = None) -> list[Finding]:
    """Return what all rules find in a text without errors, without launching it; comments are taken into account.

    Parts that `known` has are not linted again.
    """
    known = Known() if known is None else known
    globals_ = [o for part in reading.parts for block in part.parsed.blocks for o in block.ops if not o.nested]
    symbols = tuple(map(id, globals_))
    text = _Text(reading.text)
    found: list[Finding] = []
    for part in reading.parts:
        if part.parsed not in known or known[part.parsed][0] != symbols:
            own = [o for block in part.parsed.blocks for o in block.ops if o.nested]
            known[part.parsed] = symbols, lint(Module(sym_name="part", body=Block(ops=[*globals_, *own])), trial=False)
        found += [f for f in known[part.parsed][1] if not text.suppresses(f.rule, _start_of(f.op, part))]
    return found


def _start_of(o: Op, part: PlacedChunk) -> int:
    """The start of an operation's name in the text."""
    return part.start + (part.parsed.tokens.span(part.parsed.extents[o][0])[0] if o in part.parsed.extents else 0)


def fixed(text: str, *, file: str = "", rules: Iterable[str] = (), ignore: Iterable[str] = ()) -> tuple[str, int]:
    """Make all safe fixes in a text; return the new text and how many fixes it has.

    A text with errors is returned as it is.

    >>> fixed("entry @k() {\\n  %0 = iota : tile<8xi32>\\n  return\\n}\\n")
    ('entry @k() {\\n  return\\n}\\n', 1)
    """
    names = {rule.id for rule in chosen(tuple(rules), tuple(ignore))}
    count = 0
    for _ in range(ROUNDS):
        reading = read(text, file=file)
        if reading.errors or check_reading(reading).errors:
            break
        edits = []
        for finding in lint_reading(reading):
            safe = finding.rule in names and finding.fix is not None and finding.fix.is_safe
            if safe and (edit := edit_for(finding, reading)) is not None:
                edits.append(edit)
        if not edits or (new := apply(text, edits)) == text:
            break
        text, count = new, count + len(edits)
    return text, count
