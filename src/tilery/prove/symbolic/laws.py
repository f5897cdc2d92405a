"""Laws that change bits on purpose: whether kernels are the same under one of them, where they are not bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ... import ops
from ...analysis.powers import is_two
from ...ir import Op, Value, clone, walk
from ...ops import Entry
from ...rewrite import replace_uses

ROUNDED_ONCE = "an fma does not round its product; with a rounded product and a sum instead, they are the same"
SQUARES = "a power may be another float than a product; with products instead of squares, they are the same"


def split_fma(o: Op) -> list[Op] | None:
    """Return a product and a sum instead of an fma."""
    return _split(o, ops.AddF, o.acc) if isinstance(o, ops.Fma) else None


def split_difference(o: Op) -> list[Op] | None:
    """The same, but a difference where what is added was negated: either may have become the fma."""
    if not isinstance(o, ops.Fma) or not isinstance(o.acc.owner, ops.NegF):
        return split_fma(o)
    return _split(o, ops.SubF, o.acc.owner.source)


def _split(o: ops.Fma, join: type[ops.AddF | ops.SubF], other: Value) -> list[Op]:
    mode, ftz = o.rounding_mode, o.flush_to_zero
    product = ops.MulF(lhs=o.lhs, rhs=o.rhs, rounding_mode=mode, flush_to_zero=ftz)
    return [product, join(lhs=product.result, rhs=other, rounding_mode=mode, flush_to_zero=ftz)]


def multiply_square(o: Op) -> list[Op] | None:
    """Return a product instead of a square."""
    square = isinstance(o, (ops.FPowF, ops.FPowI)) and is_two(o.exponent)
    return [ops.MulF(lhs=o.source, rhs=o.source)] if square else None  # type: ignore[attr-defined]  # both have one


LAWS: list[tuple[str, Callable[[Op], list[Op] | None]]] = [
    (ROUNDED_ONCE, split_difference),
    (ROUNDED_ONCE, split_fma),
    (SQUARES, multiply_square),
]
"""Permitted replacements, each after the sentence about kernels that are the same afterwards."""


def under_laws(a: Entry, b: Entry) -> Iterator[tuple[str, Entry, Entry]]:
    """Yield each law that one of the kernels has a use for, and both kernels under it."""
    for said, law in LAWS:
        made = [_replaced(entry, law) for entry in (a, b)]
        if any(count for _, count in made):
            yield said, made[0][0], made[1][0]


def _replaced(entry: Entry, law: Callable[[Op], list[Op] | None]) -> tuple[Entry, int]:
    copy: Entry = clone(entry)
    instead: dict[Value, Value] = {}
    for block in [b for o in walk(copy) for b in o.blocks]:
        made: list[Op] = []
        for o in block.ops:
            new = law(o)
            if new is None:
                made.append(o)
                continue
            made += new
            instead[o.results[0]] = new[-1].results[0]
        block.ops[:] = made
    replace_uses(copy, instead)
    return copy, len(instead)
