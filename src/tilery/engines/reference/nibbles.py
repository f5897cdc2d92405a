"""Four-bit elements in memory: two share a byte, the first in its lower half."""

from __future__ import annotations

import numpy as np

from ..common.memory import Fault, Memory
from ..common.tiles import Array
from .boxes import box_addresses
from .rows import fault_unmasked

UINT8 = np.dtype(np.uint8)


def load_boxes_of_nibbles(memory: Memory, starts: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Load boxes; addresses and strides count half bytes."""
    halves = box_addresses(starts, shape, strides)
    return memory.load(halves >> 1, UINT8) >> ((halves & 1) << 2).astype(np.uint8) & 15


def store_boxes_of_nibbles(
    memory: Memory, starts: Array, shape: tuple[int, ...], strides: tuple[int, ...], values: Array
) -> None:
    """Store boxes; addresses and strides count half bytes."""
    halves = box_addresses(starts, shape, strides)
    memory.load(halves >> 1, UINT8)  # raise Fault before anything is written
    for half in (0, 1):
        chosen = (halves & 1) == half
        if chosen.any():
            _put(memory, halves[chosen] >> 1, values[chosen], half)


def _put(memory: Memory, addresses: Array, values: Array, half: int) -> None:
    """Write one half of each byte."""
    kept = memory.load(addresses, UINT8) & (0xF0 >> 4 * half)
    memory.store(addresses, kept | (values & 15) << 4 * half)


# ---------------------------------------------------------------- by tiles of addresses


def paired_axis(addresses: Array) -> int | None:
    """Return the dimension along which elements 0 and 1, 2 and 3, ... have the same address, as halves of a byte."""
    for axis in reversed(range(1, addresses.ndim)):
        first, second = _halves(addresses, axis)
        if addresses.shape[axis] > 1 and (first == second).all():
            return axis
    return None


def _halves(tile: Array, axis: int) -> tuple[Array, Array]:
    """Return the elements at even and at odd positions along a dimension, whose size is a power of two."""
    inner = (slice(None),) * axis
    return tile[(*inner, slice(0, None, 2))], tile[(*inner, slice(1, None, 2))]


def load_nibbles(memory: Memory, addresses: Array, mask: Array | None, axis: int, out: Array) -> None:
    """Load the elements that a mask selects into `out`."""
    chosen = np.ones(addresses.shape, bool) if mask is None else mask
    raw = np.zeros(addresses.shape, np.uint8)
    try:
        raw[chosen] = memory.load(addresses[chosen], UINT8)
    except Fault as fault:
        raise fault_unmasked(fault, chosen) from None
    _halves(raw, axis)[1][...] >>= 4
    np.copyto(out, raw & 15, where=chosen)


def store_nibbles(memory: Memory, addresses: Array, values: Array, mask: Array | None, axis: int) -> None:
    """Store the values that a mask selects."""
    chosen = np.ones(addresses.shape, bool) if mask is None else mask
    try:
        memory.load(addresses[chosen], UINT8)
    except Fault as fault:
        raise fault_unmasked(fault, chosen) from None
    for half in (0, 1):
        some = _halves(chosen, axis)[half]
        if some.any():
            _put(memory, _halves(addresses, axis)[half][some], _halves(values, axis)[half][some], half)
