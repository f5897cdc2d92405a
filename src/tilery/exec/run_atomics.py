"""Atomic operations: one element after the other, tile block by tile block and row by row.

Where no address occurs twice all elements are independent. Otherwise they are sorted by address, and what came before an
element at its address is found with a scan; sums of floats, which depend on the order, are made in just that order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..attrs import AtomicRMWMode
from ..ops import AtomicCASTko, AtomicRedViewTko, AtomicRMWTko
from ..types import BF16, F16, F32, F64, Scalar, TileView
from .boxes import element_offsets
from .memory import Fault, Memory
from .places import TensorRef, alike, among, place
from .registry import executes
from .run_memory import chosen, pointee, stored
from .tiles import Array, element_of, unsigned

MASKED = "What a masked element gives is not defined: it is 0."
ORDER = "The order of the elements is not defined: it is that of the tile blocks, and row by row within a tile."

Combine = Callable[[Array, Array], Array]


def _as_unsigned(function: np.ufunc) -> Combine:
    return lambda a, b: function(unsigned(a), unsigned(b)).view(a.dtype)


INTEGER: dict[AtomicRMWMode, Combine] = {
    AtomicRMWMode.AND: np.bitwise_and,
    AtomicRMWMode.OR: np.bitwise_or,
    AtomicRMWMode.XOR: np.bitwise_xor,
    AtomicRMWMode.ADD: np.add,
    AtomicRMWMode.MAX: np.maximum,
    AtomicRMWMode.MIN: np.minimum,
    AtomicRMWMode.UMAX: _as_unsigned(np.maximum),
    AtomicRMWMode.UMIN: _as_unsigned(np.minimum),
    AtomicRMWMode.XCHG: lambda old, new: new,
}


# ---------------------------------------------------------------- sums of floats

CANONICAL = {F16: 0x7FFF, BF16: 0x7FFF, F32: 0x7FFFFFFF, F64: (1 << 63) - (1 << 51) - 0}


def add_floats(a: Array, b: Array, element: Scalar) -> Array:
    """The sums, rounded to nearest even. f32 takes and gives no subnormal numbers: they are zeros of the same sign."""
    if element is BF16:
        wide = _wide(a) + _wide(b)
        bits = wide.view(np.uint32)
        rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(wide), np.uint16(CANONICAL[BF16]), rounded)
    if element is F32:
        a, b = _flushed(a), _flushed(b)
    total = a + b
    if element is F32:
        total = _flushed(total)
    bad = np.isnan(total)
    if bad.any():
        unsigned(total)[bad] = CANONICAL[element]
    return total


def _wide(bits: Array) -> Array:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def _flushed(numbers: Array) -> Array:
    tiny = np.abs(numbers) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), numbers), numbers) if tiny.any() else numbers


# ---------------------------------------------------------------- one after the other


class _Turns:
    """Elements sorted by address, those of one address in their order."""

    def __init__(self, addresses: Array) -> None:
        self.order = np.argsort(addresses, kind="stable")
        ordered = addresses[self.order]
        self.first = np.ones(len(ordered), bool)
        """Where an address is seen for the first time."""
        self.first[1:] = ordered[1:] != ordered[:-1]
        self.starts = np.flatnonzero(self.first)
        self.counts = np.diff(np.append(self.starts, len(ordered)))
        self.addresses = ordered[self.starts]

    def unsorted(self, values: Array) -> Array:
        out = np.empty_like(values)
        out[self.order] = values
        return out


def _scan(turns: _Turns, memory: Array, args: Array, combine: Combine) -> tuple[Array, Array]:
    """What each element finds, and what stays at each address, for a function that is associative."""
    position = np.arange(len(args)) - np.repeat(turns.starts, turns.counts)
    total = args.copy()
    reach = 1
    while reach < turns.counts.max():
        later = np.flatnonzero(position >= reach)
        total[later] = combine(total[later - reach], total[later])
        reach *= 2
    old = np.repeat(memory, turns.counts)
    later = np.flatnonzero(position)
    old[later] = combine(old[later], total[later - 1])
    return old, combine(memory, total[turns.starts + turns.counts - 1])


def _steps(turns: _Turns, memory: Array, args: Array, combine: Combine) -> tuple[Array, Array]:
    """The same for any function: the first elements at all addresses, then the second ones, and so on."""
    old = np.empty_like(args)
    current = memory.copy()
    active = np.argsort(-turns.counts, kind="stable")
    counts = turns.counts[active]
    for turn in range(int(counts[0])):
        here = active[: np.searchsorted(-counts, -turn)]
        at = turns.starts[here] + turn
        old[at] = current[here]
        current[here] = combine(current[here], args[at])
    return old, current


def _replace(turns: _Turns, memory: Array, args: Array, wanted: Array) -> tuple[Array, Array]:
    """The same for compare and swap, element by element."""
    old, new, values, expected = [], [], args.tolist(), wanted.tolist()
    contents, starts, ends = memory.tolist(), turns.starts.tolist(), (turns.starts + turns.counts).tolist()
    for current, start, end in zip(contents, starts, ends):
        for i in range(start, end):
            old.append(current)
            if current == expected[i]:
                current = values[i]
        new.append(current)
    return np.array(old, args.dtype), np.array(new, args.dtype)


def _update(memory: Memory, addresses: Array, before: Array, after: Array) -> None:
    """Write what has changed: the scheduler takes a write for a sign of progress."""
    changed = unsigned(before) != unsigned(after)
    if changed.any():
        memory.store(addresses[changed], after[changed])


def read_modify_write(
    memory: Memory, mode: AtomicRMWMode, element: Scalar, addresses: Array, args: Array
) -> Array:
    """Combine flat arrays with memory in their order; what was there before. Raises Fault."""
    before = memory.load(addresses, stored(element))
    turns = _Turns(addresses)
    exact = mode is not AtomicRMWMode.ADDF
    combine = INTEGER[mode] if exact else lambda a, b: add_floats(a, b, element)
    if len(turns.starts) == len(addresses):
        _require_writable(memory, addresses)
        _update(memory, addresses, before, combine(before, args))
        return before
    _require_writable(memory, addresses)
    content = before[turns.order[turns.starts]]
    old, new = (_scan if exact else _steps)(turns, content, args[turns.order], combine)
    _update(memory, turns.addresses, content, new)
    return turns.unsorted(old)


def compare_and_swap(memory: Memory, element: Scalar, addresses: Array, wanted: Array, args: Array) -> Array:
    """Replace, in order, what has the wanted bits; what was there before. Raises Fault."""
    before = unsigned(memory.load(addresses, stored(element)))
    wanted, args = unsigned(wanted), unsigned(args)
    _require_writable(memory, addresses)
    turns = _Turns(addresses)
    if len(turns.starts) == len(addresses):
        _update(memory, addresses, before, np.where(before == wanted, args, before))
        return before.view(stored(element))
    content = before[turns.order[turns.starts]]
    old, new = _replace(turns, content, args[turns.order], wanted[turns.order])
    _update(memory, turns.addresses, content, new)
    return turns.unsorted(old).view(stored(element))


def _require_writable(memory: Memory, addresses: Array) -> None:
    """An atomic operation may not touch read-only memory, even if it would write what is there."""
    memory.check_writable(addresses)
