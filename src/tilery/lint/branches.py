"""Branches of which a tile block takes one at most, or that the first tile block does not take."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ..analysis.memory.forms import LinearForm
from ..attrs import ComparisonPredicate as Predicate
from ..attrs import Signedness
from ..ir import Op, Value
from ..ops import AndI, CmpI, For, GetTileBlockId, If, Loop, OrI
from .facts import Facts

SIGNS = {
    Predicate.EQUAL: (0,),
    Predicate.NOT_EQUAL: (-1, 1),
    Predicate.LESS_THAN: (-1,),
    Predicate.LESS_THAN_OR_EQUAL: (-1, 0),
    Predicate.GREATER_THAN: (1,),
    Predicate.GREATER_THAN_OR_EQUAL: (0, 1),
}
"""The signs of the difference of two numbers for which a comparison holds."""
EQUALITY = (Predicate.EQUAL, Predicate.NOT_EQUAL)
MOST = 16
"""Conditions of an operation that are looked at, from the innermost outwards, so that deep nests take linear time."""
DEPTH = 4
"""How many `andi` and `ori` a condition may be composed of, one after the other."""


def are_exclusive(a: Op, b: Op, facts: Facts) -> bool:
    """Whether no tile block executes both operations, in whatever iterations of the loops around both.

    It knows the two branches of one `if`, and comparisons of the same numbers, such as the position with 0 and with 1.
    """
    ours, theirs = list(islice(_taken(a, facts), MOST)), list(islice(_taken(b, facts), MOST))
    if not ours or not theirs:
        return False
    shared = [loop for loop in facts.around(a) if isinstance(loop, (For, Loop)) and facts.is_inside(b, loop)]
    return any(
        _exclude(first, is_true, other, is_other_true, facts)
        for first, is_true in ours
        if not any(facts.varies(first, loop) for loop in shared)
        for other, is_other_true in theirs
    )


def is_skipped_by_first(o: Op, facts: Facts) -> bool:
    """Whether the first tile block never executes an operation, because of its position."""
    taken = islice(_taken(o, facts), MOST)
    return any(_in_first(condition, facts, DEPTH) is (not is_true) for condition, is_true in taken)


def _in_first(condition: Value, facts: Facts, depth: int) -> bool | None:
    """What a condition is in the tile block whose coordinates are 0, if that follows from them."""
    match condition.owner:
        case CmpI() as o:
            lhs, rhs = (_number_in_first(value, facts) for value in (o.lhs, o.rhs))
            if lhs is None or rhs is None or (o.signedness is not Signedness.SIGNED and min(lhs, rhs) < 0):
                return None
            return _sign(lhs - rhs) in SIGNS[o.comparison_predicate]
        case AndI() | OrI() as o if depth:
            decides = isinstance(o, OrI)
            sides = [_in_first(value, facts, depth - 1) for value in (o.lhs, o.rhs)]
            return decides if decides in sides else None if None in sides else not decides
    return None


def _number_in_first(value: Value, facts: Facts) -> int | None:
    form = facts.form(value)
    is_known = all(isinstance(symbol.owner, GetTileBlockId) for symbol in form.terms)
    return int(form.numbers) if is_known and not form.numbers.ndim else None


def _taken(o: Op, facts: Facts) -> Iterator[tuple[Value, bool]]:
    """The conditions on which an operation is executed, and whether they are then true."""
    while (outer := facts.parent[home := facts.home[o]]) is not facts.entry:
        if isinstance(outer, If):
            yield outer.condition, home is outer.thenRegion
        o = outer


def _exclude(a: Value, is_a: bool, b: Value, is_b: bool, facts: Facts) -> bool:
    """Whether two conditions never are these two booleans."""
    if facts.forms.key(a) == facts.forms.key(b):
        return is_a != is_b
    first, second = a.owner, b.owner
    if not isinstance(first, CmpI) or not isinstance(second, CmpI):
        return False
    is_signed = {o.signedness for o in (first, second) if o.comparison_predicate not in EQUALITY}
    ours, theirs = _difference(first, facts), _difference(second, facts)
    apart = None if ours is None or theirs is None else theirs.plus(ours, -1)
    if len(is_signed) > 1 or apart is None or apart.constant is None:
        return False
    by, allowed = apart.constant, (_signs(first, is_a), _signs(second, is_b))
    near = {at + step for at in (0, -by) for step in (-1, 0, 1)}
    return not any(_sign(n) in allowed[0] and _sign(n + by) in allowed[1] for n in near)


def _difference(o: CmpI, facts: Facts) -> LinearForm | None:
    return facts.form(o.lhs).plus(facts.form(o.rhs), -1)


def _signs(o: CmpI, is_true: bool) -> tuple[int, ...]:
    signs = SIGNS[o.comparison_predicate]
    return signs if is_true else tuple(sign for sign in (-1, 0, 1) if sign not in signs)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
