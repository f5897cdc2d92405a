"""Findings of checks: one report per operation and rule, with counts and the first occurrence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..diag import ErrorKind, Note, NoteKind
from ..engines.common.tiles import Array
from ..ir import Op, Refused
from ..source.input import Input
from ..source.lines import excerpt, innermost

MOST = 1000
"""Reports that are kept; more are only counted."""


@dataclass(slots=True, eq=False)
class Occurrence:
    """Where something happened first: operation, tile block, and element of the tile."""

    op: Op
    block: tuple[int, ...] = ()
    element: tuple[int, ...] = ()
    role: str = "the other access is"
    """The operation's part in the report, if another operation is reported."""
    reason: str = ""

    def __str__(self) -> str:
        where = f" in tile block ({', '.join(map(str, self.block))})" if self.block else ""
        if self.element:
            where += f", element [{', '.join(map(str, self.element))}]"
        return f"{self.op.name}{where}"

    @property
    def note(self) -> str:
        """The line of a report for an operation that takes part."""
        return f"{self.role} {self}" + (f", {self.reason}" if self.reason else "")


@dataclass(slots=True, eq=False, repr=False)
class Report:
    """A fault, or a hint: everywhere that one operation broke one rule."""

    check: str
    rule: str
    """The fault, in words that are the same for every occurrence."""
    places: list[Occurrence]
    """The first occurrence: where it is reported, then other operations that take part, if any."""
    values: dict[str, Any] = field(default_factory=dict)
    """The values of the first occurrence, by name."""
    count: int = 0
    """How often it occurred: elements, over all tile blocks."""
    blocks: set[tuple[int, ...]] = field(default_factory=set)
    """The tile blocks in which it occurred."""
    hint: bool = False
    notes: list[str] = field(default_factory=list)
    kernel: str = ""
    launched: str = ""
    """The line of the program that launched the kernel, if it is known."""
    is_suppressed: bool = False
    """Whether the user has asked to leave it out."""

    def __repr__(self) -> str:
        return f"<{self.check}{' hint' * self.hint}: {self.message}>"

    def _repr_html_(self) -> str:
        from .. import markup

        lines = "\n".join([*excerpt(self.op.loc), *self.details])
        return markup.line(f"{self.check}: {self.message}", strong=True) + markup.pre(lines)

    @property
    def op(self) -> Op:
        return self.places[0].op

    @property
    def message(self) -> str:
        """The rule and the values of the first occurrence."""
        values = ", ".join(f"{name} is {value}" for name, value in self.values.items())
        return f"{self.op.name}: {self.rule}" + (f" ({values})" if values else "")

    @property
    def details(self) -> list[str]:
        """The lines after the message: where it was first, how often, and the other operation."""
        first, *others = self.places
        lines = [str(first)[len(first.op.name) + 1 :]] if first.block else []
        if self.count > 1 and self.blocks:
            times = f"{self.count} elements" if first.element else f"{self.count} times"
            lines.append(f"{times} in {len(self.blocks)} tile block{'s' * (len(self.blocks) != 1)}")
        for other in others:
            line = other.note
            if (place := innermost(other.op.loc)) is not None:
                line += f", from {place}"
            lines.append(Note(line, kind=NoteKind.OTHER))
        lines += self.notes
        return [*lines, f"launched at {self.launched}"] if self.launched else lines

    @property
    def kind(self) -> ErrorKind:
        """The kind of error that the check finds."""
        return KINDS.get(self.check, ErrorKind.HINT)

    def as_dict(self, source: Input | None = None) -> dict[str, object]:
        """Return the report as plain data, with places in `source`, the input that the module was read from."""
        return {
            "check": self.check,
            "hint": self.hint,
            "rule": self.rule,
            "kernel": self.kernel,
            "launched": self.launched,
            "message": self.message,
            "count": self.count,
            "blocks": len(self.blocks),
            "values": {name: str(value) for name, value in self.values.items()},
            "places": [
                _place(self.places[0], source),
                *({**_place(place, source), "note": place.note} for place in self.places[1:]),
            ],
            "notes": list(self.notes),
        }


def _place(place: Occurrence, source: Input | None) -> dict[str, object]:
    return {"operation": place.op.name, "block": place.block, "element": place.element, **_position(place.op, source)}


def _position(o: Op, source: Input | None) -> dict[str, object]:
    """Return the source line that debug information names, or else the position in the input of Tile IR."""
    if (found := innermost(o.loc)) is not None:
        return {"file": found.file, "line": found.line, "column": found.column}
    if source is None:
        return {}
    error = source.error(o, "")
    if error.line is None:
        return {"file": source.file, "offset": error.offset or 0}
    return {"file": source.file, "line": error.line, "column": error.column or 1}


class Reports:
    """The reports of a launch, or of several, in the order of their first occurrence."""

    def __init__(self, found: Iterable[Report] = ()) -> None:
        self._found: dict[tuple[object, ...], Report] = {(id(report),): report for report in found}
        self.dropped = 0
        """Reports that were not kept, because there were too many."""

    def __iter__(self) -> Iterator[Report]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"<reports: {len(self.faults)} faults, {len(self.hints)} hints>"

    def _repr_html_(self) -> str:
        from .. import markup

        if not self:
            return markup.line("no reports")
        rows = []
        for report in self:
            place = innermost(report.op.loc)
            where = report.op.name if place is None else f"{place.file}:{place.line}"
            rows.append((report.check, report.message, where, f"{report.count:,}", len(report.blocks)))
        return markup.table(["check", "what is wrong", "where", "times", "tile blocks"], rows, numbers=[3, 4])

    @property
    def faults(self) -> list[Report]:
        """The reports that are not hints, nor suppressed."""
        return [report for report in self if not report.hint and not report.is_suppressed]

    @property
    def hints(self) -> list[Report]:
        return [report for report in self if report.hint and not report.is_suppressed]

    @property
    def shown(self) -> list[Report]:
        """The reports that are not suppressed."""
        return [report for report in self if not report.is_suppressed]

    def add(
        self, check: str, rule: str, places: list[Occurrence], *, hint: bool = False, key: object = None
    ) -> Report | None:
        """Return the report for a rule and operations, made if it is new; None if there are too many already.

        The caller adds to its count, and fills in the rest if the count is still 0. `key` keeps reports apart that have
        the same rule and operations.
        """
        wanted = (check, rule, *(place.op for place in places), key)
        found = self._found.get(wanted)
        if found is None:
            if len(self._found) >= MOST:
                self.dropped += 1
                return None
            found = self._found[wanted] = Report(check, rule, places, hint=hint)
        return found

    def elements(
        self,
        check: str,
        o: Op,
        rule: str,
        blocks: Array,
        bad: Array,
        values: Callable[[tuple[int, ...]], dict[str, Any]] | None = None,
        *,
        hint: bool = False,
        note: str = "",
    ) -> Report | None:
        """Report the elements for which `bad`, an array with its lanes first, is true; do nothing if there are none.

        `values` returns what to show for the element with an index, lane first. Return the report if it is new.
        """
        if not bad.any():
            return None
        lanes = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        shared = len(blocks) // len(bad)  # one lane of a value may stand for all tile blocks
        report = self.add(check, rule, [Occurrence(o, _block(blocks[first[0]]), first[1:])], hint=hint)
        if report is None:
            return None
        if is_new := not report.count:
            report.values = values(first) if values is not None else {}
            report.notes = [note] if note else []
        report.count += int(np.count_nonzero(bad)) * shared
        report.blocks.update(_block(blocks[lane]) for lane in (range(len(blocks)) if shared > 1 else lanes))
        return report if is_new else None


def _block(block: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in block)


KINDS = {
    "alignment": ErrorKind.ALIGNMENT,
    "bounds": ErrorKind.BOUNDS,
    "uninit": ErrorKind.UNINITIALIZED,
    "unwritten": ErrorKind.UNINITIALIZED,
    "undefined": ErrorKind.UNDEFINED,
    "promise": ErrorKind.PROMISE,
    "race": ErrorKind.RACE,
}
"""The kinds of errors that checks find; the others only give hints."""


class Faults(Refused):
    """A launch had faults. The error shows the first one; `reports` has them all."""

    def __init__(self, reports: Reports) -> None:
        first, *others = reports.faults
        super().__init__(first.op, f"{first.check}: {first.message}", kind=first.kind)
        self.reports = reports
        self.notes = first.details
        self.excerpt = excerpt(first.op.loc)
        self.notes += [f"also {other.check}: {other.message}" for other in others[:10]]
        if len(others) > 10:
            self.notes.append(f"and {len(others) - 10} more")
        self.facts = {"reports": [report.as_dict() for report in reports]}
