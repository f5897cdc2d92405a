"""Reductions of several values whose order does not matter, such as the largest element and its position.

The result of a body that only compares and selects depends on how its arguments compare, not on what they are. Both
laws are about three elements, so trying every way in which three elements can compare proves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from ...declare.relations import COMMUTATIVE
from ...enums import ComparisonOrdering, ComparisonPredicate, Signedness
from ...ir import Block, Op, Value
from ...ops import AndI, CmpF, CmpI, Constant, MaxI, MinI, OrI, Select, XOrI
from ...types import I1, Scalar, Tile

Words = npt.NDArray[np.int64]
"""Elements: integers, or the bits of an f32."""

NUMBERS = np.array([-1.0, -0.0, 0.0, 1.0], np.float32).view(np.int32).tolist()
NANS = [0x7FC00000, 0x7FC00001, 0x7FC00002]
"""Every way in which three floats compare occurs among three numbers, both zeros and three NaN."""
ONE_SIGN, BOTH_SIGNS = (0, 1, 2), (-3, -2, -1, 0, 1, 2)
"""The same for integers that are compared as signed or unsigned ones, and as both."""
MOST_CASES, MOST_OPERATIONS = 1 << 20, 64
"""Bodies with more cases or operations are not tried."""


def order_is_free(body: Block, distinct: Sequence[bool]) -> bool:
    """Tell whether a body combines elements to the same bits in any order.

    `distinct` tells for each operand whether all its elements along the reduced dimension differ. Sums and products of
    floats count as free: they are rounded in the order of the compiler.
    """
    if not 1 < len(body.ops) <= MOST_OPERATIONS:
        return False
    yielded = body.ops[-1].operands
    pairs = [body.args[2 * i : 2 * i + 2] for i in range(len(yielded))]
    chosen = [i for i, pair in enumerate(pairs) if not _is_plain(yielded[i], pair)]
    needed = {yielded[i] for i in chosen}
    steps: list[Op] = []
    for o in reversed(body.ops[:-1]):
        if needed.intersection(o.results):
            if not _only_chooses(o):
                return False
            steps.insert(0, o)
            needed.update(o.operands)
    arguments = {arg for i in chosen for arg in pairs[i]}
    if not needed <= arguments.union(*(o.results for o in steps)):
        return False
    return not chosen or _laws_hold(body, steps, chosen, [distinct[i] for i in chosen])


def _is_plain(value: Value, pair: Sequence[Value]) -> bool:
    """Tell whether a value is one commutative operation on both arguments."""
    o = value.owner
    return isinstance(o, Op) and o.opdef.has(COMMUTATIVE) and len(o.operands) == 2 and set(o.operands) == set(pair)


def _only_chooses(o: Op) -> bool:
    """Tell whether an operation compares or selects; logic and constants do so for truth values."""
    if o.__class__ in LOGIC or isinstance(o, Constant):
        return _element(o.results[0]) is I1
    return o.__class__ in EVALUATE


def _element(value: Value) -> Any:
    return value.type.element if isinstance(value.type, Tile) else None


def _laws_hold(body: Block, steps: list[Op], chosen: list[int], distinct: list[bool]) -> bool:
    """Try every way in which three elements compare."""
    signs = {o.signedness for o in steps if isinstance(o, (CmpI, MaxI, MinI)) and _element(o.operands[0]) is not I1}
    elements = list(product(*(_words(_element(body.args[2 * i]), len(signs) > 1) for i in chosen)))
    if len(elements) ** 3 > MOST_CASES:
        return False
    table = np.array(elements, np.int64)
    places = np.indices((len(table),) * 3).reshape(3, -1)
    a, b, c = ([table[at, i] for i in range(len(chosen))] for at in places)
    apart = np.ones(len(places[0]), bool)
    for i, differ in enumerate(distinct):
        if differ:
            apart &= (a[i] != b[i]) & (b[i] != c[i]) & (a[i] != c[i])
    a, b, c = ([words[apart] for words in triple] for triple in (a, b, c))

    def combine(first: list[Words], second: list[Words]) -> list[Words]:
        values: dict[Value, Words] = {}
        for k, i in enumerate(chosen):
            values[body.args[2 * i]], values[body.args[2 * i + 1]] = first[k], second[k]
        for o in steps:
            values[o.results[0]] = EVALUATE[o.__class__](o, *(values[v] for v in o.operands))
        return [values[body.ops[-1].operands[i]] for i in chosen]

    both = combine(a, b)
    kept = all(np.all((x == y) | (x == z)) for x, y, z, differ in zip(both, a, b, distinct) if differ)
    return kept and _same(both, combine(b, a)) and _same(combine(both, c), combine(a, combine(b, c)))


def _words(element: Any, both_signs: bool) -> Sequence[int]:
    if isinstance(element, Scalar) and element.is_float:
        return [*NUMBERS, *NANS]
    if element is I1:
        return (0, 1)
    return BOTH_SIGNS if both_signs else ONE_SIGN


def _same(a: list[Words], b: list[Words]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b))


# ---------------------------------------------------------------- operations

PREDICATES: dict[ComparisonPredicate, Callable[..., Any]] = {
    ComparisonPredicate.EQUAL: np.equal,
    ComparisonPredicate.NOT_EQUAL: np.not_equal,
    ComparisonPredicate.LESS_THAN: np.less,
    ComparisonPredicate.LESS_THAN_OR_EQUAL: np.less_equal,
    ComparisonPredicate.GREATER_THAN: np.greater,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: np.greater_equal,
}
LOGIC: dict[type[Op], Callable[..., Any]] = {AndI: np.bitwise_and, OrI: np.bitwise_or, XOrI: np.bitwise_xor}


def _cmpf(o: CmpF, lhs: Words, rhs: Words) -> Words:
    x, y = (words.astype(np.uint32).view(np.float32) for words in (lhs, rhs))
    unordered = np.isnan(x) | np.isnan(y)
    held = PREDICATES[o.comparison_predicate](x, y)
    found = unordered | held if o.comparison_ordering is ComparisonOrdering.UNORDERED else held & ~unordered
    return np.asarray(found, np.int64)


def _as_compared(o: Any, words: Words) -> Any:
    return words if o.signedness is Signedness.SIGNED else words.view(np.uint64)


def _cmpi(o: CmpI, lhs: Words, rhs: Words) -> Words:
    found = PREDICATES[o.comparison_predicate](_as_compared(o, lhs), _as_compared(o, rhs))
    return np.asarray(found, np.int64)


def _extreme(o: MaxI | MinI, lhs: Words, rhs: Words) -> Words:
    larger = _as_compared(o, lhs) > _as_compared(o, rhs)
    return np.where(larger == isinstance(o, MaxI), lhs, rhs)


def _select(o: Select, condition: Words, yes: Words, no: Words) -> Words:
    return np.where(condition != 0, yes, no)


def _constant(o: Constant) -> Words:
    return np.array([int(o.value.elements()[0]) & 1], np.int64)


def _logic(o: Op, lhs: Words, rhs: Words) -> Words:
    return np.asarray(LOGIC[o.__class__](lhs, rhs), np.int64)


EVALUATE: dict[type[Op], Callable[..., Words]] = {
    CmpF: _cmpf,
    CmpI: _cmpi,
    MaxI: _extreme,
    MinI: _extreme,
    Select: _select,
    Constant: _constant,
    **dict.fromkeys(LOGIC, _logic),
}
