"""Dataflow: a sparse forward solver. Each value has one fact, which only grows weaker until nothing changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from ..ir import Op, Value
from ..ops import For, Reduce, Scan, Yield
from .flow import Flow, flow

FactT = TypeVar("FactT")

PATIENCE = 4
"""How often the fact of a value may change before it is widened."""


class Analysis(Protocol[FactT]):
    """The functions of a data-flow problem. Facts are compared with `==`; `facts` holds those found so far."""

    facts: dict[Value, FactT]

    def tracks(self, value: Value) -> bool:
        """Whether there are facts about a value of this type."""

    def top(self, value: Value) -> FactT:
        """The fact that holds for every value of this type."""

    def join(self, value: Value, a: FactT, b: FactT) -> FactT:
        """The strongest fact about `value` that follows from either of two."""

    def widen(self, value: Value, old: FactT, new: FactT) -> FactT:
        """A fact weaker than `new`, such that a value is widened a few times only."""

    def transfer(self, o: Op) -> Sequence[FactT | None]:
        """The facts about each result of an operation; None where nothing is known."""

    def counter(self, loop: For) -> FactT:
        """The fact about the counter of a loop."""

    def combined(self, o: Reduce | Scan, index: int, value: Value) -> FactT:
        """The fact about an argument or a result of a reduction, given the facts about its operands and yields."""


def solve(root: Op, analysis: Analysis[FactT]) -> None:
    """Compute the facts about all values inside `root`.

    A value without a fact in the end is never computed, for example the result of a loop without `break`.
    """
    _Solver(flow(root), analysis).run()


class _Solver(Generic[FactT]):
    def __init__(self, found: Flow, analysis: Analysis[FactT]) -> None:
        self.flow, self.analysis, self.facts = found, analysis, analysis.facts
        self.changes: dict[Value, int] = {}
        self.readers: dict[Value, list[Op | Value]] = {}
        """A dependent of a fact, to compute again when it changes: an operation, or a value of control flow."""
        self.todo: deque[Op | Value] = deque()
        self.waiting: set[Op | Value] = set()

    def run(self) -> None:
        self._connect()
        while self.todo:
            target = self.todo.popleft()
            self.waiting.remove(target)
            if isinstance(target, Value):
                self._compute_value(target)
            else:
                self._compute_results(target)

    def _connect(self) -> None:
        """Find the readers of each value, and put everything on the list in textual order."""
        for value, sources in self.flow.copies.items():
            self._reads(value, [source for source, _ in sources])
        for value, loop in self.flow.counters.items():
            self._reads(value, (loop.lowerBound, loop.upperBound, loop.step))
        for value, (reduction, index) in self.flow.combined.items():
            self._reads(value, (reduction.operands_[index], *yielded(reduction, index)))
        for value in self.flow.outside:
            self._schedule(value)
        for o in self.flow.ops:
            if o.blocks:
                for value in (*o.results, *(arg for block in o.blocks for arg in block.args)):
                    self._schedule(value)
            elif any(map(self.analysis.tracks, o.results)):
                self._reads(o, o.operands)
                self._schedule(o)

    def _reads(self, reader: Op | Value, values: Sequence[Value]) -> None:
        for value in dict.fromkeys(values):
            if self.analysis.tracks(value):
                self.readers.setdefault(value, []).append(reader)

    def _schedule(self, target: Op | Value) -> None:
        if target not in self.waiting:
            self.waiting.add(target)
            self.todo.append(target)

    def _compute_results(self, o: Op) -> None:
        if any(v not in self.facts for v in o.operands if self.analysis.tracks(v)):
            return
        for value, fact in zip(o.results, self.analysis.transfer(o), strict=True):
            if self.analysis.tracks(value):
                self._update(value, self.analysis.top(value) if fact is None else fact)

    def _compute_value(self, value: Value) -> None:
        if not self.analysis.tracks(value):
            return
        if (sources := self.flow.copies.get(value)) is not None:
            for source, _ in sources:
                if source in self.facts:
                    self._update(value, self.facts[source])
        elif (loop := self.flow.counters.get(value)) is not None:
            if all(v in self.facts for v in (loop.lowerBound, loop.upperBound, loop.step)):
                self._update(value, self.analysis.counter(loop))
        elif (place := self.flow.combined.get(value)) is not None:
            o, index = place
            if o.operands_[index] in self.facts:
                self._update(value, self.analysis.combined(o, index, value))
        else:
            self._update(value, self.analysis.top(value))

    def _update(self, value: Value, fact: FactT) -> None:
        """Weaken the fact of a value so that it covers this one."""
        old = self.facts.get(value)
        if old is not None:
            fact = self.analysis.join(value, old, fact)
            if fact == old:
                return
            self.changes[value] = changes = self.changes.get(value, 0) + 1
            if changes > PATIENCE:
                fact = self.analysis.widen(value, old, fact)
        self.facts[value] = fact
        for reader in self.readers.get(value, ()):
            self._schedule(reader)


def yielded(o: Reduce | Scan, index: int) -> list[Value]:
    """The value that the body of a reduction yields for an operand."""
    last = o.body.ops[-1] if o.body.ops else None
    return [last.operands_[index]] if isinstance(last, Yield) else []
