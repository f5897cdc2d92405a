"""Constants: what rules ask about them, and how rules create them."""

from __future__ import annotations

from collections.abc import Callable

from ..attrs import Dense
from ..declare.constraints import NumberTile
from ..ir import Value
from ..ops import Constant, XOrI
from ..rewrite import Place
from ..types import I1, Scalar, Tile

FOLD_LIMIT = 1 << 20
"""The most elements of a constant that folding creates, unless all are equal."""


def constant(value: Value) -> Dense | None:
    """The elements of a value that is a constant."""
    return value.owner.value if isinstance(value.owner, Constant) else None


def splat(value: Value) -> int | None:
    """The bits that all elements of a constant have."""
    dense = constant(value)
    return None if dense is None else dense.splat


def boolean(value: Value) -> bool | None:
    """The truth value of a constant of i1, if all its elements have the same."""
    dense = constant(value)
    if dense is None or dense.element is not I1 or dense.splat is None:
        return None
    return bool(dense.splat)


def is_integer(value: Value, wanted: int) -> bool:
    """Whether a value is a constant and all its elements are this integer."""
    dense = constant(value)
    return dense is not None and dense.element.is_int and dense.splat == wanted


def filled(type: Tile, bits: int) -> Constant:
    """A constant whose elements all have the same bits."""
    return Constant(value=Dense.of(type, [bits]))


def negated(value: Value) -> tuple[Constant, XOrI]:
    """Build the operations that compute `not value`."""
    assert isinstance(value.type, Tile)
    ones = filled(Tile(value.type.shape, I1), 1)
    return ones, XOrI(lhs=value, rhs=ones.result)


def inverse_of(value: Value) -> Value | None:
    """Return x if a value is `xori x, true`, else None."""
    owner = value.owner
    return owner.lhs if isinstance(owner, XOrI) and boolean(owner.rhs) is True else None


def without_not(value: Value, at: Place) -> tuple[Value, bool]:
    """Strip all negations; return the value below them, and whether their number is odd.

    The answer is remembered for the rest of the sweep, so that long chains of negations take linear time.
    """
    passed: list[Value] = []
    while value not in at.memo and (inner := inverse_of(value)) is not None:
        passed.append(value)
        value = inner
    base, odd = at.memo.get(value, (value, False))
    for value in reversed(passed):
        odd = not odd
        at.memo[value] = base, odd
    return at.resolve(base), odd


def element_of(value: Value) -> Scalar | None:
    """The element type of a tile of numbers."""
    t = value.type
    return t.element if isinstance(t, Tile) and isinstance(t.element, Scalar) else None


def fold_elements(result: Value, compute: Callable[..., int | None], *operands: Value) -> Constant | None:
    """Fold an operation element by element: `compute` maps the bits of the operands to those of the result.

    Return None if an operand is not a constant, or if an element has no defined result.
    """
    if not NumberTile.ok(result.type):
        return None  # there are no constants of i4
    columns: list[list[int]] = []
    for value in operands:
        if (dense := constant(value)) is None:
            return None
        columns.append(dense.stored() if dense.splat is None else [dense.splat])
    count = max(map(len, columns))
    if count > FOLD_LIMIT:
        return None
    known: dict[tuple[int, ...], int | None] = {}
    out: list[int] = []
    for row in zip(*(column * count if len(column) == 1 else column for column in columns)):
        if row not in known:
            known[row] = compute(*row)
        if (bits := known[row]) is None:
            return None
        out.append(bits)
    assert isinstance(result.type, Tile)
    return Constant(value=Dense.of(result.type, out))
