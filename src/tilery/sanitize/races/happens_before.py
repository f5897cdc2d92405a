"""Happens-before: what has happened before an access, by the tokens of its tile block and by release and acquire.

Program order orders nothing, so one counter per tile block is not enough. An *event* is one execution of an operation
by one tile block: the operation's number and how often that block has executed it so far. A `Clock` is the set of a
block's own events that a token follows. In loops these are runs of executions, so a clock is a few intervals per
operation, and tile blocks that execute the same operations share one object.

Each release makes a `Release`: what a token knows of other tile blocks. An acquire that sees it refers to it.
Releases only refer to each other until a question needs an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Key = int | tuple[int, int]
"""The number of an operation, for all elements of its executions, or with an element, for that element alone."""
Span = tuple[int, ...]
DEPTH = 32
"""How many single events a clock may add to one that is written out."""


class Clock:
    """A set of events of one tile block. It never changes.

    Most clocks are another one and a single event, and are held as that. Every now and then one is written out, so that
    questions stay cheap.
    """

    __slots__ = ("_depth", "_key", "_number", "_older", "_parent", "_spans")

    def __init__(self, spans: dict[Key, Span] | None = None, older: Clock | None = None) -> None:
        self._spans = spans
        self._older = older
        """For a clock that is written out: one that it contains, also written out."""
        self._parent: Clock | None = None
        self._key: Key = 0
        self._number = self._depth = 0

    @property
    def _base(self) -> Clock:
        clock = self
        while clock._parent is not None:
            clock = clock._parent
        return clock

    def add(self, key: Key, number: int) -> Clock:
        """Return the clock with one more event."""
        if self._depth < DEPTH:
            clock = Clock()
            clock._parent, clock._key, clock._number, clock._depth = self, key, number, self._depth + 1
            return clock
        spans = self.spans()
        _insert(spans, key, number)
        return Clock(spans, self._base)

    def spans(self) -> dict[Key, Span]:
        """Return, for each operation, sorted intervals of execution numbers: first, last, first, last, ..."""
        added = []
        clock = self
        while clock._parent is not None:
            added.append((clock._key, clock._number))
            clock = clock._parent
        assert clock._spans is not None
        spans = dict(clock._spans)
        for key, number in reversed(added):
            _insert(spans, key, number)
        return spans

    def join(self, other: Clock) -> Clock:
        """Return the events of both clocks."""
        if self._contains(other._base):
            return self._with_events_of(other)
        if other._contains(self._base):
            return other._with_events_of(self)
        spans, more = self.spans(), other.spans()
        for key, span in more.items():
            old = spans.get(key)
            if old != span:
                spans[key] = span if old is None else _union(old, span)
        return Clock(spans, self._base)

    def _contains(self, base: Clock) -> bool:
        """Tell whether this clock is known to contain one that is written out."""
        if not base._spans:
            return True
        mine: Clock | None = self._base
        for _ in range(DEPTH):
            if mine is base:
                return True
            if mine is None:
                return False
            mine = mine._older
        return False

    def _with_events_of(self, other: Clock) -> Clock:
        """Return this clock with the events that another one adds to a clock that this one contains."""
        missing = []
        clock = other
        while clock._parent is not None:
            if clock is self:
                break
            if not _inside(self.find(clock._key), clock._number):
                missing.append((clock._key, clock._number))
            clock = clock._parent
        if clock is self:
            return other
        joined = self
        for key, number in reversed(missing):
            joined = joined.add(key, number)
        return joined

    def find(self, key: Key) -> Span:
        """Return the intervals of one operation."""
        added = []
        clock = self
        while clock._parent is not None:
            if clock._key == key:
                added.append(clock._number)
            clock = clock._parent
        assert clock._spans is not None
        span = clock._spans.get(key, ())
        for number in reversed(added):
            span = _with(span, number)
        return span

    def has(self, operation: int, number: int, element: int) -> bool:
        """Tell whether an element of an event is in the set; element -1 is all of them."""
        if _inside(self.find(operation), number):
            return True
        return element >= 0 and _inside(self.find((operation, element)), number)


def _insert(spans: dict[Key, Span], key: Key, number: int) -> None:
    spans[key] = _with(spans.get(key, ()), number)


def _with(span: Span, number: int) -> Span:
    if span and span[-1] == number - 1:
        return (*span[:-1], number)
    if not span or span[-1] < number:
        return (*span, number, number)
    return _union(span, (number, number))


def _inside(span: Span, number: int) -> bool:
    for i in range(len(span) - 2, -2, -2):
        if number >= span[i]:
            return number <= span[i + 1]
    return False


def _union(a: Span, b: Span) -> Span:
    pieces = sorted([a[i : i + 2] for i in range(0, len(a), 2)] + [b[i : i + 2] for i in range(0, len(b), 2)])
    out: list[int] = []
    for low, high in pieces:
        if out and low <= out[-1] + 1:
            out[-1] = max(out[-1], high)
        else:
            out += [low, high]
    return tuple(out)


class Release:
    """The events that one or more releases publish: those of one tile block, and all that other nodes know."""

    __slots__ = ("_known", "clock", "ended", "parents", "rank")

    def __init__(
        self, parents: Iterable[Release | None], rank: int = -1, clock: Clock | None = None, ended: int = 0
    ) -> None:
        self.parents = tuple(dict.fromkeys(node for node in parents if node is not None))
        self.rank, self.clock = rank, clock
        self.ended = ended
        """The launches that have ended, a bit for each; those that its parents know are in it once `known` was asked
        for."""
        self._known: dict[int, Clock] | None = None

    @property
    def known(self) -> dict[int, Clock]:
        """The events that it knows, by tile block. Asked for the first time, it visits the nodes it is made from."""
        if self._known is None:
            known: dict[int, Clock] = {}
            todo, visited = [self], {self}
            while todo:
                node = todo.pop()
                self.ended |= node.ended
                if node._known is not None:
                    for rank, clock in node._known.items():
                        _include(known, rank, clock)
                    continue
                if node.clock is not None:
                    _include(known, node.rank, node.clock)
                for parent in node.parents:
                    if parent not in visited:
                        visited.add(parent)
                        todo.append(parent)
            self._known, self.parents = known, ()
        return self._known


def _include(known: dict[int, Clock], rank: int, clock: Clock) -> None:
    old = known.get(rank)
    known[rank] = clock if old is None else old.join(clock)


class Past:
    """All that a token follows: events of its own tile block by tokens alone, and what acquires have seen."""

    __slots__ = ("clock", "node")

    def __init__(self, clock: Clock, node: Release | None = None) -> None:
        self.clock, self.node = clock, node

    def join(self, other: Past) -> Past:
        """Return all that two tokens follow."""
        if self is other:
            return self
        clock = self.clock.join(other.clock)
        if self.node is None or other.node is None or self.node is other.node:
            node = other.node if self.node is None else self.node
        else:
            node = Release((self.node, other.node))
        for one in (self, other):
            if clock is one.clock and node is one.node:
                return one
        return Past(clock, node)


NOTHING = Past(Clock({}))
"""The events before an access without a token, if its launch is alone."""
FIRST = 1024


class TokenHistory:
    """The events before each token that may still be used, by its id."""

    def __init__(self, start: Past) -> None:
        self._start = start
        """The events before tokens whose maker was not watched."""
        self._base = self._end = 0
        """The ids that it holds: from, and to, exclusive."""
        self._pasts = np.empty(FIRST, object)

    def put(self, ids: Any, pasts: list[Past]) -> None:
        """Remember new tokens; their ids are consecutive."""
        start = int(ids[0]) - self._base
        end = start + len(ids)
        if end > len(self._pasts):
            grown = np.empty(max(end, 2 * len(self._pasts)), object)
            grown[: len(self._pasts)] = self._pasts
            self._pasts = grown
        self._pasts[start:end] = pasts
        self._end = self._base + end

    def get(self, ids: Any) -> list[Past]:
        """Return what tokens follow."""
        found: list[Past] = self._pasts[ids.astype(np.int64) - self._base].tolist()
        return [self._start if past is None else past for past in found]

    def forget(self) -> None:
        """Forget all tokens: no tile block is running."""
        self._base, self._pasts = self._end, np.empty(FIRST, object)
