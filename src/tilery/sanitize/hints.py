"""Hints, which are no faults.

`nan` finds where NaN and infinities come from, `outside` tiles that are wholly outside their tensor, `order-sensitive`
results that depend on the order of elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..analysis.effects import memory_ordering
from ..engines.common.numerics.convert import to_f64
from ..engines.common.tiles import Array
from ..engines.reference.access import Access
from ..ir import Op
from ..ops import (
    AtomicRedViewTko,
    Broadcast,
    Cat,
    Extract,
    Insert,
    LoadViewTko,
    MmaF,
    MmaFScaled,
    Permute,
    Reduce,
    Reshape,
    Scan,
    Select,
    StoreViewTko,
)
from ..types import TF32, Scalar, Tile, Type
from .body import fold
from .checks import Check, Rule, Step

FINITE_MAKE_NAN, INFINITIES_MAKE_NAN = "finite numbers make NaN", "infinities make NaN"


MOVES = (Broadcast, Cat, Extract, Insert, Permute, Reshape, Select)
"""Operations whose results are elements of their operands, at other places."""


def _float(type: Type) -> Scalar | None:
    """The element type of a tile of floats."""
    if not isinstance(type, Tile) or not isinstance(type.element, Scalar) or not type.element.is_float:
        return None
    return type.element


def numbers_of(value: Array, element: Scalar) -> Array:
    """Return floats as NumPy knows them."""
    return value if value.dtype.kind == "f" else to_f64(value, element)


class Nan(Check):
    """The operations that make a NaN from numbers, or an infinity from finite ones, even if no output depends on it."""

    name = "nan"
    hint = True

    def watches(self, o: Op) -> bool:
        # A NaN in the result of a load or of what moves elements was there before.
        return memory_ordering(o) is None and not isinstance(o, MOVES) and any(_float(v.type) for v in o.results)

    def result(self, step: Step, result: Any) -> None:
        o = step.op
        results = result if isinstance(result, tuple) else (result,)
        flat = [each for value in results for each in (value if isinstance(value, tuple) else (value,))]
        for value, array in zip(o.results, flat):
            element = _float(value.type)
            if element is not None:
                made = numbers_of(array, element)
                if not np.isfinite(made).all():
                    self._made(step, made)

    def _made(self, step: Step, made: Array) -> None:
        """Report the elements whose operands are better; an operand of another shape counts as a whole."""
        operands = {name: numbers_of(a, kind) for name, a, kind in _float_operands(step)}
        if not operands:
            return
        finite = np.ones(made.shape, bool)
        number = np.ones(made.shape, bool)
        for name, given in operands.items():
            finite = finite & _alike(step.op, name, np.isfinite(given), made)
            number = number & _alike(step.op, name, ~np.isnan(given), made)

        def values(where: tuple[int, ...]) -> dict[str, Any]:
            alike = {name: a for name, a in operands.items() if a.shape[1:] == made.shape[1:]}
            shown = {f"'{name}'": np.broadcast_to(a, finite.shape)[where] for name, a in alike.items()}
            return {**shown, "the result": np.broadcast_to(made, finite.shape)[where]}

        nan, infinite = np.isnan(made), np.isinf(made)
        for bad, rule in (
            (nan & finite, FINITE_MAKE_NAN),
            (nan & number & ~finite, INFINITIES_MAKE_NAN),
            (infinite & finite, "finite numbers make an infinity"),
        ):
            self._found(step, rule, np.broadcast_to(bad, finite.shape), values)

    def _found(self, step: Step, rule: str, bad: Array, values: Callable[[tuple[int, ...]], dict[str, Any]]) -> None:
        self.reports.elements(self.name, step.op, rule, step.blocks, bad, values, hint=True)


def _float_operands(step: Step) -> Iterator[tuple[str, Array, Scalar]]:
    """The operands that are tiles of floats, by name."""
    for field in step.op.opdef.operands:
        values, arrays = getattr(step.op, field.attr), step.args[field.attr]
        pairs = zip(values, arrays) if isinstance(values, tuple) else [(values, arrays)]
        for number, (value, array) in enumerate(pairs):
            kind = None if value is None else _float(value.type)
            if kind is not None:
                yield f"{field.attr}[{number}]" if number else field.attr, array, kind


def _alike(o: Op, operand: str, good: Array, made: Array) -> Array:
    """Whether elements of a result depend on good elements of an operand only.

    Those are the ones at the same place, for a scan all up to there, for a product a row or a column, and where shapes
    differ all of a tile block.
    """
    if isinstance(o, (MmaF, MmaFScaled)) and operand != "acc":
        row: Array = np.asarray(good.all(axis=-1 if operand.startswith("lhs") else -2, keepdims=True))
        return row
    if isinstance(o, Scan):
        axis = o.dim + 1
        so_far = np.logical_and.accumulate(np.flip(good, axis) if o.reverse else good, axis=axis)
        return np.flip(so_far, axis) if o.reverse else so_far
    if good.shape[1:] == made.shape[1:]:
        return good
    lanes: Array = good.reshape(len(good), -1).all(axis=1).reshape(-1, *(1,) * (made.ndim - 1))
    return lanes


class Outside(Check):
    """Tiles of a view with no element inside its tensor: 13.3 and cuTile leave undefined what accessing them does."""

    name = "outside"
    hint = True

    def before(self, access: Access) -> None:
        if not isinstance(access.op, (LoadViewTko, StoreViewTko, AtomicRedViewTko)):
            return
        span = access.place.span
        if span is not None and span.whole:
            return
        inside = access.mask if access.refused is None else access.mask | access.refused
        outside = np.logical_not(inside.reshape(len(inside), -1).any(axis=1))
        rule = f"{access.kind.noun} of a tile that is wholly outside its tensor"
        note = "indices count tiles, not elements: correct the index, or launch fewer tile blocks"
        self.reports.elements(self.name, access.op, rule, access.blocks, outside, hint=True, note=note)


class OrderSensitive(Check):
    """Reductions and scans whose result depends on the order, or whose identity is not neutral.

    The order is not specified, so a GPU may give any of the results. The elements are combined again from first to
    last, those of a reduction also from last to first, and the identity is combined with each element.
    """

    name = "order-sensitive"
    hint = True

    def rules(self, cls: type[Op]) -> Rule | None:
        return _identity if cls in (Reduce, Scan) else None

    def watches(self, o: Op) -> bool:
        return isinstance(o, (Reduce, Scan))

    def result(self, step: Step, result: Any) -> None:
        o = step.op
        operands, axis = step.args["operands_"], o.dim + 1
        made = _results(result)
        if isinstance(o, Scan):  # the last element of a scan is a reduction
            made = tuple(np.take(a, 0 if o.reverse else -1, axis=axis) for a in made)
        if isinstance(o, Scan) and o.reverse:
            operands = tuple(np.flip(a, axis) for a in operands)
        orders = [operands] if isinstance(o, Scan) else [operands, tuple(np.flip(a, axis) for a in operands)]
        for given in orders:
            with self.machine.quiet():
                other = fold(o, step.batch, given, direct=True)
            for mine, theirs in zip(made, other):
                bad = _differ(mine, theirs)
                shown = {"result": mine, "result in another order": theirs}
                self.report(step, "the result depends on the order of the elements", bad, **shown)


def _results(result: Any) -> tuple[Array, ...]:
    while isinstance(result, tuple) and len(result) == 1 and isinstance(result[0], tuple):
        result = result[0]
    return result if isinstance(result, tuple) else (result,)


def _differ(a: Array, b: Array) -> Array:
    """Whether values differ; all NaNs count as one."""
    different: Array = a != b
    return different & ~(np.isnan(a) & np.isnan(b)) if a.dtype.kind == "f" else different


def _identity(check: OrderSensitive, step: Step) -> None:
    """Combine the identity with every element: the element must remain."""
    o = step.op
    operands = step.args["operands_"]
    size = operands[0][0].size
    identities = [identity_array(attr, a) for attr, a in zip(o.identities, operands)]
    args = [side for one, a in zip(identities, operands) for side in (one, a.reshape(-1))]
    with check.machine.quiet():
        made = step.batch.call(o.body, args, size)
    for value, a, one in zip(made, operands, identities):
        bad = _differ(np.broadcast_to(value, a.size).reshape(a.shape), a)
        shown = np.broadcast_to(one, a.size).reshape(a.shape)
        check.report(step, "the identity is not neutral", bad, identity=shown, element=a)


def identity_array(attr: Any, like: Array) -> Array:
    """The identity of an operand, once for each of its elements."""
    bits = attr.bits << (attr.type.row.memory_bits - attr.type.bits if attr.type is TF32 else 0)
    raw = np.array([bits], np.uint64).astype(f"u{like.dtype.itemsize}")
    one = raw.astype(bool) if like.dtype == np.bool_ else raw.view(like.dtype)
    return np.broadcast_to(one, like.size)
