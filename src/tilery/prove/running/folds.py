"""Reductions and scans by executing their bodies; the identities take part, so that one that is not neutral shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...engines.common.tiles import Array
from ...engines.reference.batch import Batch
from ...engines.reference.ops.reduce import Combine
from ...ir import Block, Op
from ...types import F64, Tile
from ..arithmetic.numbers import U

if TYPE_CHECKING:
    from .machine import NumberMachine


def only_operation(body: Block) -> Op | None:
    """Return the operation of a body that has only one, on both its arguments."""
    if len(body.ops) != 2 or len(body.args) != 2 or body.ops[1].operands != body.ops[0].results:
        return None
    return body.ops[0] if set(body.ops[0].operands) == set(body.args) else None


def _identities(m: NumberMachine, o: Any, operands: tuple[Array, ...]) -> list[Array]:
    """Return the identities, with a lane and one element along the dimension."""
    made: list[Array] = []
    for value, a, v in zip(m.program.identities[o], operands, o.operands_):
        assert isinstance(v.type, Tile)
        if v.type.element is F64:
            one = m.numbers.literal(np.full(1, float(value))).view(np.float64)
        else:
            one = np.array([value]).astype(a.dtype)
        shape = (1, *(1 if d == o.dim else n for d, n in enumerate(v.type.shape)))
        made.append(np.broadcast_to(one, shape))
    return made


def _combine(o: Any, batch: Batch) -> Combine:
    combine = Combine(o, batch)
    combine.plain = combine.calls = None  # shortcuts that compute with floats
    return combine


def reduce_tiles(m: NumberMachine, o: Any, batch: Batch, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """Combine all elements along a dimension, in halves, and then with the identity."""
    axis, only = o.dim + 1, only_operation(o.body)
    starts = _identities(m, o, operands)
    if len(operands) == 1 and isinstance(only, (ops.AddF, ops.MaxF, ops.MinF)):
        return (_at_once(m, o, only, operands[0], starts[0]),)
    combine = _combine(o, batch)
    values = list(operands)
    while (size := values[0].shape[axis]) > 1:
        half = size // 2
        earlier, later = ([a.take(r, axis) for a in values] for r in (range(half), range(half, size)))
        values = combine(earlier, later)
    plain = values
    values = combine([np.broadcast_to(s, (len(a), *s.shape[1:])) for s, a in zip(starts, values)], values)
    for before, after in zip(plain, values):
        _check_identity(m, o, before, after)
    return tuple(np.take(a, 0, axis) for a in values)


def _check_identity(m: NumberMachine, o: Any, before: Array, after: Array) -> None:
    """Note it if a result depends on whether the identity takes part: the IR leaves that open."""
    if before.dtype == np.float64:
        differ = m.numbers.differ(np.ascontiguousarray(before).view(U), np.ascontiguousarray(after).view(U))
    else:
        differ = bool((before != after).any())
    if differ:
        m.numbers.remarks.add(f"{o.name}: the identity is not neutral, and the result depends on whether it takes part")


def _at_once(m: NumberMachine, o: Any, only: Op, operand: Array, start: Array) -> Array:
    n, axis = m.numbers, o.dim + 1
    a, first = np.ascontiguousarray(operand).view(U), np.take(np.ascontiguousarray(start).view(U), 0, axis)
    steps = a.shape[axis]
    if isinstance(only, ops.AddF):
        plain = n.sum_along(a, axis)
        made = n.add(plain, first)
    else:
        assert isinstance(only, (ops.MaxF, ops.MinF))
        keep, flip = bool(only.propagate_nan), isinstance(only, ops.MinF)
        plain = n.max_along(n.neg(a) if flip else a, axis, keep)
        made = n.max(plain, n.neg(first) if flip else first, keep)
        plain, made = (n.neg(plain), n.neg(made)) if flip else (plain, made)
        steps = 0
    _check_identity(m, o, plain.view(np.float64), made.view(np.float64))
    return m.finish(only, made, steps)


def scan_tiles(m: NumberMachine, o: Any, batch: Batch, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """Combine each element with all before it, starting with the identity."""
    axis, combine = o.dim + 1, _combine(o, batch)
    total = _identities(m, o, operands)
    size = operands[0].shape[axis]
    rows: list[list[Array]] = []
    for k in reversed(range(size)) if o.reverse else range(size):
        here = [a.take([k], axis) for a in operands]
        total = combine([np.broadcast_to(t, (max(len(t), len(h)), *h.shape[1:])) for t, h in zip(total, here)], here)
        rows.append(total)
    if o.reverse:
        rows.reverse()
    made = []
    for column in zip(*rows):
        lanes = max(len(a) for a in column)
        made.append(np.concatenate([np.broadcast_to(a, (lanes, *a.shape[1:])) for a in column], axis))
    return tuple(made)
