"""Token order: which accesses of a tile block are ordered by tokens, and which are not.

Within a tile block, operations on memory happen in program order only as far as tokens say so. An access comes after
everything that its token follows: through chains of accesses, `join_tokens`, and tokens that pass through branches and
loops.

    order = TokenOrder(entry)
    order.ordered(load)      # accesses that always happen before it
    order.unordered(load)    # accesses that may precede it in the program, but that it does not wait for
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from ..declare.relations import PURE
from ..ir import Block, Op, UnknownOp, Value
from ..ops import For, JoinTokens, Loop
from ..types import Token
from .flow import flow


def is_token_ordered(o: Op) -> bool:
    """Whether an operation has an effect that tokens order: it returns a token, and not only for others."""
    if isinstance(o, UnknownOp) or PURE in o.opdef.traits or o.nested:
        return False
    return any(isinstance(v.type, Token) for v in o.results)


@dataclass(frozen=True, slots=True)
class _Point:
    """A position in a function, just before an operation. `number` counts the accesses before it in the text."""

    block: Block
    number: int


class TokenOrder:
    """The order that tokens impose on the accesses of a function, for all executions of it by one tile block.

    An access in a loop is executed several times; it is ordered before another one only if all its executions so far
    are. Sets of accesses are held as integers, one bit for each.
    """

    def __init__(self, function: Op) -> None:
        self.accesses: list[Op] = []
        """The operations whose effects are ordered by tokens, in textual order."""
        self._points: dict[Op, _Point] = {}
        self._ends: dict[Value, _Point] = {}
        """Where values are defined."""
        self._parents: dict[Block, Op] = {}
        self._spans: dict[Block, tuple[int, int]] = {}
        """The numbers of the accesses inside each block, from and to."""
        self._lay_out(function)
        self._numbers = {o: n for n, o in enumerate(self.accesses)}
        self._missed: dict[Value, int] = {}
        """For each token, the accesses that may have been executed before it is made and that it does not follow."""
        self._solve(function)

    # ------------------------------------------------------------ answers

    def ordered(self, o: Op) -> list[Op]:
        """The accesses that may precede an access in the program, and that always happen before it."""
        return self._listed(self._before(self._points[o]) & ~self._unordered(o))

    def unordered(self, o: Op) -> list[Op]:
        """The accesses that may precede an access in the program, and that need not have happened before it."""
        return self._listed(self._unordered(o))

    def is_ordered(self, earlier: Op, later: Op) -> bool:
        """Whether all executions of `earlier` that precede one of `later` in the program happen before it."""
        return not self._unordered(later) >> self._numbers[earlier] & 1

    def _unordered(self, o: Op) -> int:
        tokens = [v for v in o.operands if isinstance(v.type, Token)]
        return self._missed_at(tokens[0], self._points[o]) if tokens else self._before(self._points[o])

    def _listed(self, bits: int) -> list[Op]:
        return [o for n, o in enumerate(self.accesses) if bits >> n & 1]

    # ------------------------------------------------------------ what may be executed between two points

    def _lay_out(self, function: Op) -> None:
        """Number the accesses, and find out where everything is."""
        stack: list[tuple[Block, Iterator[Op], int]] = []

        def enter(o: Op) -> None:
            for block in reversed(o.blocks):
                self._parents[block] = o
                stack.append((block, iter(block.ops), -1))

        enter(function)
        while stack:
            block, ops, start = stack[-1]
            if start < 0:
                start = len(self.accesses)
                stack[-1] = block, ops, start
                self._ends.update(dict.fromkeys(block.args, _Point(block, start)))
            for o in ops:
                self._points[o] = _Point(block, len(self.accesses))
                if is_token_ordered(o):
                    self.accesses.append(o)
                if o.blocks:
                    enter(o)
                    break
                self._ends.update(dict.fromkeys(o.results, _Point(block, len(self.accesses))))
            else:
                stack.pop()
                self._spans[block] = start, len(self.accesses)
                parent = self._parents[block]
                if parent is not function and block is parent.blocks[-1]:
                    outer = _Point(self._points[parent].block, len(self.accesses))
                    self._ends.update(dict.fromkeys(parent.results, outer))

    def _before(self, point: _Point) -> int:
        """The accesses that may have been executed when a point is reached."""
        return self._since(None, point)

    def _since(self, start: _Point | None, point: _Point) -> int:
        """The accesses that may be executed between a point and a later one; `start` is in a block around it, or None
        for the start of the function."""
        bits = 0
        block, number = point.block, point.number
        while start is None or block is not start.block:
            parent = self._parents[block]
            low, high = self._spans[block]
            bits |= _span(low, high if isinstance(parent, (For, Loop)) else number)
            if parent not in self._points:
                return bits
            block, number = self._points[parent].block, self._points[parent].number
        return bits | _span(start.number, number)

    # ------------------------------------------------------------ what tokens follow

    def _missed_at(self, token: Value, point: _Point) -> int:
        """The accesses that may have been executed when a point is reached, and that a token does not follow."""
        start = self._ends.get(token)
        return self._before(point) if start is None else self._missed.get(token, 0) | self._since(start, point)

    def _solve(self, function: Op) -> None:
        """Start with tokens that follow everything and take back what is not so, until nothing changes."""
        found = flow(function)
        copies = {value: sources for value, sources in found.copies.items() if isinstance(value.type, Token)}
        readers: dict[Value, list[Op | Value]] = {}
        todo: deque[Op | Value] = deque(copies)
        for value, sources in copies.items():
            for source, _ in sources:
                readers.setdefault(source, []).append(value)
        for o in found.ops:
            if not o.blocks and any(isinstance(v.type, Token) for v in o.results):
                todo.append(o)
                for value in o.operands:
                    readers.setdefault(value, []).append(o)
        waiting = set(todo)
        while todo:
            target = todo.popleft()
            waiting.discard(target)
            if isinstance(target, Value):
                made, missed = [target], 0
                for source, at in copies[target]:
                    missed |= self._missed_at(source, self._points[at])
            else:
                made, missed = target.results, self._missed_by(target)
            for value in made:
                if isinstance(value.type, Token) and missed | self._missed.get(value, 0) != self._missed.get(value, 0):
                    self._missed[value] = missed | self._missed.get(value, 0)
                    for reader in readers.get(value, ()):
                        if reader not in waiting:
                            waiting.add(reader)
                            todo.append(reader)

    def _missed_by(self, o: Op) -> int:
        """The accesses before an operation that the token it makes does not follow."""
        point = self._points[o]
        if is_token_ordered(o):
            return self._unordered(o)
        missed = self._before(point)
        if isinstance(o, JoinTokens):
            for token in o.tokens:
                missed &= self._missed_at(token, point)
        return missed


def _span(low: int, high: int) -> int:
    """The bits from `low` up to `high`, exclusive."""
    return (1 << high) - (1 << low)
