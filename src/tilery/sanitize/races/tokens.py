"""`order`: tokens that order nothing. A hint: fewer tokens leave a compiler more freedom."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...analysis.flow import flow
from ...attrs import AtomicRMWMode
from ...engines.common.tiles import Array
from ...ir import Op, Value, walk
from ...ops import Entry
from ...types import TOKEN
from ..reports import Occurrence
from .check import Race
from .doing import Doing
from .strength import morally_strong
from .sync import ACQUIRES, RELEASES

RULE = "its token orders nothing: no conflicting accesses of this launch need it"


class UnorderedTokens(Race):
    """Tokens on no path between accesses whose order matters.

    A path counts if it leads from one operation to another, and accesses of the two conflict in the launch; or from an
    acquire, or to a release. Strong accesses do not race, but their order decides what a load returns and which store
    is the last. It decides nothing between atomic operations that commute and whose results are not used.
    """

    name = "order"
    hint = True
    spans_launches = False

    def begin(self, entry: Entry) -> None:
        super().begin(entry)
        self._entry = entry
        self._needed: set[tuple[int, int]] = set()
        """Operations whose order matters, each pair in the order in which they were executed."""
        self._commuting: set[tuple[int, int]] = set()
        """Operations that conflict, but whose order alone does not matter."""
        self._skipped: set[int] = set()
        """Operations that were not compared with every earlier one they are morally strong with."""
        self._reach: dict[int, set[int]] = {}
        """The segments of memory that each strong operation accesses, by id."""
        used = {value for o in walk(entry) for value in o.operands}
        self._modes = [None if used.intersection(_values(o)) else _commuting_mode(o) for o in self._ops]

    def _visit(self, doing: Doing) -> None:
        super()._visit(doing)
        if doing.strength.strong and len(addresses := doing.access.elements[1]):
            reach = self._reach.setdefault(doing.operation, set())
            reach.update(id(segment) for segment, _ in self._segments(addresses))

    def _note_order(self, doing: Doing, cells: Array) -> None:
        for operation in np.unique(self._cells.operation[cells]).tolist():
            self._note_pair(operation, doing.operation)

    def _note_pair(self, a: int, b: int) -> None:
        same = self._modes[a] is not None and self._modes[a] is self._modes[b]
        commute = same and morally_strong(self._strengths[a], self._strengths[b], True)
        (self._commuting if commute else self._needed).add((a, b))

    def _note_skip(self, doing: Doing) -> None:
        self._skipped.add(doing.operation)

    def _complete(self) -> None:
        """Add the pairs that were not compared: those that were skipped, and those with an operation between them."""
        for b in self._skipped:
            for a, reach in self._reach.items():
                if not reach.isdisjoint(self._reach[b]):
                    self._note_pair(a, b)
        while more := {
            (a, b) for a, b in self._commuting if any(other in (a, b) for pair in self._needed for other in pair)
        }:
            self._needed |= more
            self._commuting -= more

    def _report(self, *args: Any, **options: Any) -> None:
        """Races are for `race` to report."""

    def finish(self) -> None:
        if self._forgot:
            return  # some of the forgotten accesses may have needed a token
        self._complete()
        sources = token_sources(self._entry)
        users: dict[Value, list[Value]] = {}
        for value, origins in sources.items():
            for origin in origins:
                users.setdefault(origin, []).append(value)
        made = [_made(o) for o in self._ops]
        below = [_reachable([value], users) for value in made]
        above = [_reachable([value], sources) for value in made]
        useful: set[tuple[Value, Value]] = set()
        orders = [o.memory_ordering_semantics for o in self._ops]  # type: ignore[attr-defined]  # all are accesses
        paths = [(below[a], above[b]) for a, b in self._needed]
        paths += [(below[i], set(sources)) for i, order in enumerate(orders) if order in ACQUIRES]
        paths += [(set(sources), above[i]) for i, order in enumerate(orders) if order in RELEASES]
        for after, before in paths:
            useful |= {(v, user) for v in after for user in users.get(v, ()) if user in before}
        for number, counts in self._counts.items():
            token = getattr(self._ops[number], "token", None)
            if token is not None and (token, made[number]) not in useful and counts.any():
                report = self.reports.add(self.name, RULE, [Occurrence(self._ops[number])], hint=True)
                if report is not None:
                    report.count += int(counts.sum())
                    report.blocks.update(self._history.block(int(rank)) for rank in np.flatnonzero(counts))


def token_sources(entry: Entry) -> dict[Value, list[Value]]:
    """Return, for each token of an entry, the tokens that it follows directly."""
    found = flow(entry)
    sources = {v: [source for source, _ in origins] for v, origins in found.copies.items() if v.type is TOKEN}
    for o in found.ops:
        if not o.blocks:
            tokens = [v for v in o.operands if v.type is TOKEN]
            sources.update((v, tokens) for v in o.results if v.type is TOKEN)
    return sources


def _values(o: Op) -> list[Value]:
    return [value for value in o.results if value.type is not TOKEN]


def _commuting_mode(o: Op) -> AtomicRMWMode | None:
    """Return the mode of an atomic operation that leaves the same memory in any order, else None."""
    mode: AtomicRMWMode | None = getattr(o, "mode", None)
    return None if mode in (AtomicRMWMode.XCHG, AtomicRMWMode.ADDF) else mode


def _made(o: Any) -> Value:
    value: Value = next(v for v in o.results if v.type is TOKEN)
    return value


def _reachable(start: Iterable[Value], edges: dict[Value, list[Value]]) -> set[Value]:
    found, todo = set(start), list(start)
    while todo:
        for value in edges.get(todo.pop(), ()):
            if value not in found:
                found.add(value)
                todo.append(value)
    return found
