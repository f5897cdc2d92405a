"""Forms: integers and addresses as a sum of multiples of symbols and known numbers.

    found = forms(entry)
    found[pointers].terms       # {%p: 1, %block: 16}: an argument plus 16 times the tile block
    found[pointers].numbers     # the known number of each element, in bytes for addresses
    found[mask].known           # every element, or None if a symbol takes part

A symbol is a value about which nothing else is known: an argument, the result of a load, the counter of a loop. Two
values with the same symbol, and two forms that are equal, are equal in the same iteration of all loops around both.
Sums with symbols do not wrap around here, so a form is a basis for advice, not for a transformation.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ...declare.relations import NO_EFFECT, PURE
from ...ir import Op, UnknownOp, Value, walk
from ...ops import Assume, Constant, GetGlobal
from .affine import Array, LinearForm, has_form, is_scalar, symbol
from .form_rules import RULES

__all__ = ["Array", "LinearForm", "LinearForms", "forms", "has_form", "is_scalar"]

MAX_TOTAL = 1 << 22
"""The most numbers that are kept for all values together; tiles that come later are symbols."""


def forms(root: Op) -> LinearForms:
    """Compute the forms of all integers and addresses inside an operation.

    >>> from tilery import parse
    >>> entry = parse("entry @k(%n: tile<i32>) { %0 = addi %n, %n : tile<i32> %1 = subi %0, %n : tile<i32> return }")
    >>> found = forms(entry.entries[0])
    >>> [sorted(found[o.results[0]].terms.values()) for o in entry.entries[0].body.ops[:2]]
    [[2], [1]]
    """
    found = LinearForms()
    with np.errstate(over="ignore"):
        for o in walk(root):
            found.enter(o)
    return found


class LinearForms:
    """The forms of values; a value that was not entered is a symbol."""

    def __init__(self) -> None:
        self._forms: dict[Value, LinearForm] = {}
        self._firsts: dict[Hashable, Op] = {}
        """The first operation of each kind on each list of operands, for values that are computed twice."""
        self._same: dict[Value, Value] = {}
        self._left = MAX_TOTAL

    def __getitem__(self, value: Value) -> LinearForm:
        found = self._forms.get(value)
        return symbol(self.first(value)) if found is None else found

    def first(self, value: Value) -> Value:
        """The first value that was computed in the same way."""
        return self._same.get(value, value)

    def key(self, value: Value) -> Hashable:
        """Equal for values that are known to be equal."""
        return self[value].key if has_form(value) else self.first(value)

    def enter(self, o: Op) -> None:
        """Compute the forms of the results of an operation."""
        rule = RULES.get(o.__class__)
        if rule is not None and has_form(o.results[0]):
            made = rule(o, self)
            if made is not None and self._affordable(made):
                self._forms[o.results[0]] = made
                return
        if not isinstance(o, (UnknownOp, Constant)) and not o.nested and {PURE, NO_EFFECT} & o.opdef.traits:
            self._unify(o)

    def _affordable(self, made: LinearForm) -> bool:
        if made.numbers.ndim:
            self._left -= made.numbers.size
        return made.numbers.ndim == 0 or self._left >= 0

    def _unify(self, o: Op) -> None:
        """Let the results be those of an earlier operation that does the same."""
        if isinstance(o, Assume):
            self._same[o.result] = self.first(o.value)
            return
        what = o.name_ if isinstance(o, GetGlobal) else tuple(getattr(o, f.attr) for f in o.opdef.attrs)
        kinds = tuple(value.type for value in o.results)
        try:
            first = self._firsts.setdefault((o.__class__, what, kinds, *map(self.key, o.operands)), o)
        except TypeError:  # an attribute that has no hash
            return
        if first is not o:
            self._same.update(zip(o.results, first.results))
