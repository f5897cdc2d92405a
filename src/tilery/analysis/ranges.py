"""Ranges: the least and greatest value that the elements of an integer tile can have.

    known = ranges(entry)
    known[value]              # Range(lo=0, hi=127)
    known.constant(value)     # the integer that all elements are, or None

Ranges follow from constants, `iota`, the grid, arithmetic and control flow, and from the promises of a program
(`assume` and `overflow`). A tool that checks promises asks for `ranges(entry, trust=False)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..attrs import IntAttr, Signedness
from ..ir import Op, Value
from ..ops import For, Reduce, Scan
from .dataflow import solve, yielded
from .intervals import Range, element, is_integer, read, whole, wrap
from .range_rules import RULES

__all__ = ["Range", "Ranges", "is_integer", "ranges"]


def ranges(root: Op, trust: bool = True) -> Ranges:
    """Compute the ranges of all integer values inside an operation.

    With `trust=False`, `assume` and `overflow` are not believed.

    >>> from tilery import parse
    >>> entry = parse("entry @k() { %0 = iota : tile<8xi32> %1 = addi %0, %0 : tile<8xi32> return }").entries[0]
    >>> ranges(entry)[entry.body.ops[1].results[0]]
    Range(lo=0, hi=14)
    """
    found = Ranges(trust)
    solve(root, found)
    return found


class Ranges:
    """The ranges of integer values. A value about which nothing is known has the range of its type."""

    def __init__(self, trust: bool = True) -> None:
        self.facts: dict[Value, Range] = {}
        self.trust = trust
        """Whether promises are believed."""

    def __getitem__(self, value: Value) -> Range:
        found = self.facts.get(value)
        return self.top(value) if found is None else found

    def constant(self, value: Value) -> int | None:
        """The integer that all elements of a value are, read as signed (an i1 as 0 or 1); None if that is unknown."""
        return self[value].constant if is_integer(value) else None

    # ------------------------------------------------------------ for the solver

    def tracks(self, value: Value) -> bool:
        return is_integer(value)

    def top(self, value: Value) -> Range:
        return whole(element(value))

    def join(self, value: Value, a: Range, b: Range) -> Range:
        return a.join(b)

    def widen(self, value: Value, old: Range, new: Range) -> Range:
        """Let the side that has moved go to the limit at once."""
        top = self.top(value)
        return Range(new.lo if new.lo == old.lo else top.lo, new.hi if new.hi == old.hi else top.hi)

    def transfer(self, o: Op) -> Sequence[Range | None]:
        rule = RULES.get(o.__class__)
        found = None if rule is None else rule(o, self)
        return found if isinstance(found, list) else [found] * len(o.results)

    def counter(self, loop: For) -> Range:
        """From the least lower bound to just below the greatest upper bound, in the order that the loop compares by."""
        kind, sign = element(loop.step), Signedness.UNSIGNED if loop.unsignedCmp else Signedness.SIGNED
        lower, upper = (read(self[v], kind, sign) for v in (loop.lowerBound, loop.upperBound))
        return wrap(Range(lower.lo, max(lower.lo, upper.hi - 1)), kind)

    def combined(self, o: Reduce | Scan, index: int, value: Value) -> Range:
        found = self[o.operands_[index]]
        identity = o.identities[index]
        if isinstance(identity, IntAttr):
            number = Range(identity.bits, identity.bits)
            found = found.join(wrap(number, identity.type))
        for result in yielded(o, index):
            if result in self.facts:
                found = found.join(self.facts[result])
        return found
