"""Reductions and scans, with any body.

The IR leaves the order of combination open. Here it is the order of NVIDIA's compiler for a tile that was loaded
through pointers on an H200, so that results have the same bits. A tile is distributed over 128 threads: 4 warps of 32
lanes. The order depends only on the shape, the dimension and the number of operations in the body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Protocol

import numpy as np

from ....attrs import RoundingMode, Signedness
from ....declare.relations import ELEMENTWISE
from ....ir import Block, Op, Refused, walk
from ....ops import AddF, AddI, AndI, Constant, MaxF, MaxI, MinF, MinI, MulF, MulI, OrI, Reduce, Scan, XOrI
from ....types import F32, Tile
from ...common.numerics.rounding import fix_nans
from ...common.threads import group_size, spread_over_threads
from ...common.tiles import Array, element_of, spread, unsigned
from ...common.watch import check
from ..registry import RUNS, executes


class Caller(Protocol):
    """The part of a batch that is needed here: executing a body on flat arrays of elements."""

    lanes: int

    def call(self, block: Block, args: Sequence[Array], each: int) -> tuple[Array, ...]: ...


# ---------------------------------------------------------------- the body


class Combine:
    """The body as a function of arrays, one per operand, with the same shape except for the lanes."""

    def __init__(self, o: Reduce | Scan, batch: Caller) -> None:
        self.o, self.batch = o, batch
        self.plain = _plain_sum(o)
        self.calls = _calls(o.body)
        # The body may return something different for each tile block, whatever its arguments.
        own = any(i.__class__ in RUNS and RUNS[i.__class__].batch for i in walk(o.body))
        self.lanes = batch.lanes if own else 1

    def __call__(self, earlier: Sequence[Array], later: Sequence[Array], spare: bool = False) -> list[Array]:
        """Combine elements; with `spare`, `earlier` may be overwritten."""
        check()
        if self.plain is not None:
            out = earlier[0] if spare and len(earlier[0]) >= len(later[0]) else None
            return [self.plain(earlier[0], later[0], out=out)]
        if self.calls is not None:
            return self._directly(earlier, later)
        shape = earlier[0].shape[1:]
        if len(earlier[0]) < self.lanes:
            earlier = [np.broadcast_to(a, (self.lanes, *shape)) for a in earlier]
        args = [side.reshape(-1) for pair in zip(earlier, later) for side in pair]
        return [self._shaped(a, shape) for a in self.batch.call(self.o.body, args, prod(shape))]

    def finished(self, values: list[Array]) -> list[Array]:
        """Return the results, with the NaNs of hardware: plain sums leave those of the CPU."""
        return values if self.plain is None else [fix_nans(np.array(values[0]))]

    def _shaped(self, flat: Array, shape: tuple[int, ...]) -> Array:
        if flat.size != len(flat):
            raise Refused(self.o, f"{self.o.name}: the body must yield tiles of one element")
        return np.broadcast_to(flat[0], (1, *shape)) if flat.size == 1 else flat.reshape(-1, *shape)

    def _directly(self, earlier: Sequence[Array], later: Sequence[Array]) -> list[Array]:
        assert self.calls is not None
        shape = earlier[0].shape[1:]
        values = [side for pair in zip(earlier, later) for side in pair]
        for o, function, args in self.calls[0]:
            made = function(o, *(values[i] for i in args))
            values.append(made.reshape((1,) * earlier[0].ndim) if made.ndim == 1 else made)
        yielded = (values[i] for i in self.calls[1])
        return [a if a.shape[1:] == shape else np.broadcast_to(a, (1, *shape)) for a in yielded]


Call = tuple[Op, Callable[..., Array], list[int]]
"""An operation, the function that executes it, and the numbers of its operands."""


def _calls(body: Block) -> tuple[list[Call], list[int]] | None:
    """Return the operations of an element-wise body that captures nothing, and the numbers of the yielded values.

    Such operations take arrays of any shape, without the machine and without copies: seven times as fast for the sum of
    a row. Values are numbered, the arguments first. Return None for other bodies.
    """
    known = {v: i for i, v in enumerate(body.args)}
    calls: list[Call] = []
    for o in body.ops[:-1]:
        if not (o.opdef.has(ELEMENTWISE) or isinstance(o, Constant)) or o.__class__ not in RUNS:
            return None
        (result,) = o.results
        if not known.keys() >= set(o.operands) or not isinstance(result.type, Tile) or result.type.rank:
            return None
        calls.append((o, RUNS[o.__class__].function, [known[v] for v in o.operands]))
        known[result] = len(known)
    yielded = body.ops[-1].operands
    return (calls, [known[v] for v in yielded]) if known.keys() >= set(yielded) else None


def _only_operation(body: Block) -> Op | None:
    """Return the operation of a body that has only one, on both its arguments."""
    if len(body.ops) != 2 or len(body.args) != 2 or body.ops[1].operands != body.ops[0].results:
        return None
    return body.ops[0] if set(body.ops[0].operands) == set(body.args) else None


def _plain_sum(o: Reduce | Scan) -> np.ufunc | None:
    """Return NumPy's function for sums and products of f32, whose NaNs can be fixed at the end. Twice as fast."""
    match _only_operation(o.body):
        case AddF(rounding_mode=RoundingMode.NEAREST_EVEN, flush_to_zero=False) as only:
            return np.add if element_of(only.result.type) is F32 else None
        case MulF(rounding_mode=RoundingMode.NEAREST_EVEN, flush_to_zero=False) as only:
            return np.multiply if element_of(only.result.type) is F32 else None
    return None


def _in_any_order(o: Reduce | Scan, x: Array) -> tuple[np.ufunc, Array] | None:
    """Return NumPy's function for a body whose order does not matter, and its operand. Ten times as fast."""
    only = _only_operation(o.body)
    match only:
        case AndI() | OrI() | XOrI():
            return LOGIC[only.__class__], x
        case AddI() | MulI() if x.dtype != bool:
            return (np.add if isinstance(only, AddI) else np.multiply), x
        case MaxI() | MinI() if x.dtype != bool:
            ufunc = np.maximum if isinstance(only, MaxI) else np.minimum
            return ufunc, x if only.signedness is Signedness.SIGNED else unsigned(x)
        case MaxF() | MinF() if not only.flush_to_zero and x.dtype.kind == "f":
            return (np.maximum if isinstance(only, MaxF) else np.minimum), x
    return None


LOGIC = {AndI: np.bitwise_and, OrI: np.bitwise_or, XOrI: np.bitwise_xor}


def _at_once(o: Reduce | Scan, x: Array) -> Array | None:
    """Return the result of one NumPy call if that has the same bits, else None."""
    found = _in_any_order(o, x)
    if found is None:
        return None
    ufunc, elements = found
    if isinstance(o, Reduce):
        made: Array = ufunc.reduce(elements, axis=o.dim + 1, dtype=elements.dtype)
    elif o.reverse:
        made = np.flip(ufunc.accumulate(np.flip(elements, o.dim + 1), axis=o.dim + 1, dtype=elements.dtype), o.dim + 1)
    else:
        made = ufunc.accumulate(elements, axis=o.dim + 1, dtype=elements.dtype)
    # Floats have rules of their own for NaN and for zeros of both signs.
    if x.dtype.kind == "f" and (np.isnan(made) | (made == 0)).any():
        return None
    return made.view(x.dtype)


def _dims(o: Reduce | Scan) -> tuple[tuple[int, ...], int]:
    tile = o.operands_[0].type
    assert isinstance(tile, Tile)
    return tile.shape, o.dim


# ---------------------------------------------------------------- reduce


@executes(Reduce, batch=True)
def reduce(o: Reduce, batch: Caller, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """Combine all elements along a dimension."""
    shape, dim = _dims(o)
    if (made := _at_once(o, operands[0])) is not None:
        return (made,)
    outer, inner = prod(shape[:dim]), prod(shape[dim + 1 :])
    kept, warps, lanes = spread_over_threads(shape, dim)
    combine = Combine(o, batch)
    values = [a.reshape(a.shape[0], outer, kept, warps, lanes * inner) for a in operands]
    values = _fold(combine, values) if len(o.body.ops) <= 2 else _pairs(combine, values)
    while lanes > 1:
        lanes //= 2
        values = _halves(combine, values, 3, lanes * inner)
    while warps > 1:
        warps //= 2
        values = _halves(combine, values, 2, warps)
    result = (*shape[:dim], *shape[dim + 1 :])
    values = combine.finished(values) if shape[dim] > 1 else values
    return tuple(a.reshape(a.shape[0], *result) for a in values)


def _fold(combine: Combine, values: list[Array]) -> list[Array]:
    """Combine the elements of a thread from first to last."""
    total = [a[:, :, 0] for a in values]
    for k in range(1, values[0].shape[2]):
        total = combine(total, [a[:, :, k] for a in values], spare=k > 1)
    return total


def _pairs(combine: Combine, values: list[Array]) -> list[Array]:
    """Combine the elements of a thread in a balanced tree."""
    while values[0].shape[2] > 1:
        values = combine([a[:, :, 0::2] for a in values], [a[:, :, 1::2] for a in values])
    return [a[:, :, 0] for a in values]


def _halves(combine: Combine, values: list[Array], axis: int, half: int) -> list[Array]:
    """Combine the first half along an axis with the second."""
    first = (slice(None),) * axis
    lower, upper = (*first, slice(half)), (*first, slice(half, None))
    return combine([a[lower] for a in values], [a[upper] for a in values])


# ---------------------------------------------------------------- scan


@executes(Scan, batch=True)
def scan(o: Scan, batch: Caller, operands: tuple[Array, ...]) -> tuple[Array, ...]:
    """Combine each element with all before it along a dimension, or all after it in reverse."""
    shape, dim = _dims(o)
    if (made := _at_once(o, operands[0])) is not None:
        return (made,)
    outer, size, inner = prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])
    group = group_size(shape, dim)
    combine = Combine(o, batch)
    values = [a.reshape(a.shape[0], outer, size, inner) for a in operands]
    if o.reverse:
        values = [a[:, :, ::-1] for a in values]
    values = [a.reshape(a.shape[0], outer, size // group, group, inner) for a in values]
    values = _scan_groups(combine, values)
    if size > group:
        totals = _scan_totals(combine, [a[:, :, :, -1] for a in values])
        later = [a[:, :, 1:] for a in values]
        earlier = [np.broadcast_to(a[:, :, :-1, np.newaxis], (a.shape[0], *b.shape[1:])) for a, b in zip(totals, later)]
        values = [_joined(a[:, :, :1], b, 2) for a, b in zip(values, combine(earlier, later))]
    values = [a.reshape(a.shape[0], outer, size, inner) for a in values]
    if combine.plain is not None:
        # The first elements are not combined with anything, and keep their bits.
        values = [_joined(a[:, :, :1], b[:, :, 1:], 2) for a, b in zip(values, combine.finished(values))]
    if o.reverse:
        values = [a[:, :, ::-1] for a in values]
    return tuple(a.reshape(a.shape[0], *shape) for a in values)


def _scan_groups(combine: Combine, values: list[Array]) -> list[Array]:
    """Scan each group: elements combine with those 1, 2, 4, ... before."""
    distance = 1
    while distance < values[0].shape[3]:
        after = combine([a[:, :, :, :-distance] for a in values], [a[:, :, :, distance:] for a in values])
        values = [_joined(a[:, :, :, :distance], b, 3) for a, b in zip(values, after)]
        distance *= 2
    return values


def _scan_totals(combine: Combine, totals: list[Array]) -> list[Array]:
    """Scan the last elements of the groups, one after the other."""
    running = [[a[:, :, 0] for a in totals]]
    for k in range(1, totals[0].shape[2]):
        running.append(combine(running[-1], [a[:, :, k] for a in totals]))
    return [np.stack(spread(*column), axis=2) for column in zip(*running)]


def _joined(first: Array, rest: Array, axis: int) -> Array:
    return np.concatenate(spread(first, rest), axis=axis)
