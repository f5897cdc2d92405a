"""Constants, operations on the shape of tiles, and operations without effect: assumptions and tokens."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ....ops import (
    Assume,
    Broadcast,
    Cat,
    Constant,
    Extract,
    Insert,
    Iota,
    JoinTokens,
    MakeToken,
    Offset,
    Permute,
    Reshape,
    Select,
)
from ....types import I1, Ptr, Scalar, Tile
from ...common.tiles import CACHED, Array, carrier, dense_array, pointee_bits, spread
from ..registry import executes


def _shape(o: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = o.result.type.shape
    return shape


# ---------------------------------------------------------------- without operands


@executes(Constant)
def constant(o: Constant) -> Array:
    """The constant; read-only, the same for all tile blocks."""
    return dense_array(o.value)[np.newaxis]


@executes(Iota)
def iota(o: Iota) -> Array:
    """The integers from 0; read-only, the same for all tile blocks."""
    tile = o.result.type
    assert isinstance(tile, Tile) and isinstance(tile.element, Scalar)
    return (_integers if tile.size <= CACHED else _integers.__wrapped__)(tile.size, tile.element)


@lru_cache(maxsize=64)
def _integers(size: int, element: Scalar) -> Array:
    made: Array = np.arange(size).astype(carrier(element))[np.newaxis]
    made.flags.writeable = False
    return made


# ---------------------------------------------------------------- the same elements in another shape


@executes(Broadcast)
def broadcast(o: Broadcast, source: Array) -> Array:
    """Repeat a tile along dimensions of size one; a view."""
    return np.broadcast_to(source, (source.shape[0], *_shape(o)))


@executes(Reshape)
def reshape(o: Reshape, source: Array) -> Array:
    """The same elements in another shape; a view if the strides allow it."""
    return source.reshape((source.shape[0], *_shape(o)))


@executes(Permute)
def permute(o: Permute, source: Array) -> Array:
    """Permute the dimensions; a view."""
    return source.transpose((0, *(dim + 1 for dim in o.permutation)))


@executes(Cat)
def cat(o: Cat, lhs: Array, rhs: Array) -> Array:
    """Concatenate tiles along a dimension."""
    return np.concatenate(spread(lhs, rhs), axis=o.dim + 1)


# ---------------------------------------------------------------- parts of tiles


def _grid(tile: Array, part: tuple[int, ...]) -> Array:
    """View a tile as a grid of parts: each dimension becomes two, the part and the position in it."""
    shape = [tile.shape[0]]
    for size, inner in zip(tile.shape[1:], part):
        shape += [size // inner, inner]
    return tile.reshape(shape)


def _place(grid: Array, indices: tuple[Array, ...]) -> tuple[Any, ...]:
    """Return the key of one part in such a grid, or of one part per lane.

    With an index array per lane, NumPy puts the lanes first and the dimensions of the part after them.
    """
    # Sizes are powers of two, so the bits that remain are the index modulo the number of parts.
    wrapped = [index & (count - 1) for index, count in zip(indices, grid.shape[1::2])]
    key: list[Any] = []
    if all(index.shape[0] == 1 for index in indices):
        for index in wrapped:
            key += [int(index[0]), slice(None)]
        return (slice(None), *key)
    for index in wrapped:
        key += [index, slice(None)]
    return (np.arange(grid.shape[0]), *key)


@executes(Extract)
def extract(o: Extract, source: Array, indices: tuple[Array, ...]) -> Array:
    """The part of a tile at the indices."""
    lanes = max((source.shape[0], *(index.shape[0] for index in indices)))
    grid = _grid(source, _shape(o))
    if any(index.shape[0] > 1 for index in indices):
        grid = np.broadcast_to(grid, (lanes, *grid.shape[1:]))
    part: Array = grid[_place(grid, indices)]
    return part


@executes(Insert)
def insert(o: Insert, source: Array, destination: Array, indices: tuple[Array, ...]) -> Array:
    """A tile with the part at the indices replaced."""
    lanes = max((source.shape[0], destination.shape[0], *(index.shape[0] for index in indices)))
    result = np.empty((lanes, *_shape(o)), destination.dtype)
    result[...] = destination
    grid = _grid(result, source.shape[1:])
    grid[_place(grid, indices)] = source
    return result


# ---------------------------------------------------------------- element by element


@executes(Select, reuses=True)
def select(o: Select, cond: Array, val_if_true: Array, val_if_false: Array, out: Array | None = None) -> Array:
    """One of two elements, bit for bit."""
    if out is not None and out is val_if_false:
        np.copyto(out, val_if_true, where=cond)
        return out
    if out is not None and out is val_if_true:
        np.copyto(out, val_if_false, where=~cond)
        return out
    return np.where(cond, val_if_true, val_if_false)


@executes(Offset, reuses=True)
def offset(o: Offset, ptr: Array, offset: Array, out: Array | None = None) -> Array:
    """Addresses offset by a number of elements."""
    tile, by = o.result.type, o.offset.type
    assert isinstance(tile, Tile) and isinstance(tile.element, Ptr) and isinstance(by, Tile)
    bits = pointee_bits(tile.element.pointee)
    if by.element is I1:
        bits = -bits  # an i1 is signed here: true is -1
    # `out` may be the array of addresses, which is still needed after the multiplication.
    usable = out is not None and out.shape == offset.shape and not np.may_share_memory(out, ptr)
    if bits % 8:
        moved: Array = np.multiply(offset, bits, dtype=np.int64) >> 3
    else:
        moved = np.multiply(offset, bits // 8, out=out if usable else None, dtype=np.int64)
    return np.add(ptr, moved, out=moved if moved.shape[0] >= ptr.shape[0] else out)


# ---------------------------------------------------------------- no effect


@executes(Assume)
def assume(o: Assume, value: Any) -> Any:
    """The same value."""
    return value


@executes(MakeToken)
def make_token(o: MakeToken) -> None:
    """Return a token, which is nothing at run time."""


@executes(JoinTokens)
def join_tokens(o: JoinTokens, tokens: tuple[None, ...]) -> None:
    """Return a token, which is nothing at run time."""
