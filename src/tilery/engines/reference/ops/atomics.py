"""Atomic operations: one element after the other, tile block by tile block and row by row.

If no address occurs twice, all elements are independent. Otherwise they are sorted by address, and a scan computes what
each element finds at its address. Sums of floats, which depend on the order, are computed in exactly that order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....attrs import AtomicRMWMode
from ....ops import AtomicCASTko, AtomicRedViewTko, AtomicRMWTko
from ....types import Scalar, TileView
from ...common.memory import Fault, Memory
from ...common.numerics.sums import add_floats, running_sums
from ...common.tiles import Array, element_of, unsigned
from ...common.watch import check
from ..batch import Batch
from ..boxes import element_offsets
from ..registry import executes
from ..rows import fault_unmasked
from ..view_access import TensorRef, fault_among, locate_tiles, split_by_strides
from .memory import pointee, stored

Combine = Callable[[Array, Array], Array]
SOME = 1 << 14
"""The number of elements at one address that are swapped before the launch can stop."""


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


# ---------------------------------------------------------------- one after the other


class _Turns:
    """Elements sorted by address; those at one address keep their order."""

    def __init__(self, addresses: Array) -> None:
        self.order = np.argsort(addresses, kind="stable")
        ordered = addresses[self.order]
        self.first = np.ones(len(ordered), bool)
        """A mask of the elements that are the first at their address."""
        self.first[1:] = ordered[1:] != ordered[:-1]
        self.starts = np.flatnonzero(self.first)
        self.counts = np.diff(np.append(self.starts, len(ordered)))
        self.addresses = ordered[self.starts]

    def unsorted(self, values: Array) -> Array:
        out = np.empty_like(values)
        out[self.order] = values
        return out


def _turns(addresses: Array) -> _Turns | None:
    """Sort elements by address; return None if no address occurs twice."""
    if (addresses[1:] > addresses[:-1]).all():
        return None  # fast path: most tiles of addresses are ascending
    turns = _Turns(addresses)
    return None if len(turns.starts) == len(addresses) else turns


def _scan(turns: _Turns, memory: Array, args: Array, combine: Combine) -> tuple[Array, Array]:
    """Return what each element finds and what each address holds afterwards, for an associative function."""
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
    """Do the same for any function of what is there and the positions of elements in `args`.

    The first elements at all addresses have their turn, then the second ones, and so on.
    """
    old = np.empty_like(args)
    current = memory.copy()
    active = np.argsort(-turns.counts, kind="stable")
    counts = turns.counts[active]
    for turn in range(int(counts[0])):
        check()
        here = active[: np.searchsorted(-counts, -turn)]
        at = turns.starts[here] + turn
        old[at] = current[here]
        current[here] = combine(current[here], at)
    return old, current


def _sums(turns: _Turns, memory: Array, args: Array) -> tuple[Array, Array]:
    """Do the same for sums of floats: long sums at few addresses go address by address, many times as fast."""
    longest = int(turns.counts.max())
    if longest < 64 or len(turns.starts) > longest:
        return _steps(turns, memory, args, lambda current, at: add_floats(current, args[at]))
    old, new = np.empty_like(args), memory.copy()
    for n, (start, count) in enumerate(zip(turns.starts.tolist(), turns.counts.tolist())):
        check()
        totals = running_sums(np.concatenate([memory[n : n + 1], args[start : start + count]]))
        old[start : start + count], new[n] = totals[:-1], totals[-1]
    return old, new


def _replace(turns: _Turns, memory: Array, args: Array, wanted: Array) -> tuple[Array, Array]:
    """Do the same for compare and swap, element by element."""
    longest = int(turns.counts.max())
    if longest < 64 or len(turns.starts) > longest:
        return _steps(turns, memory, args, lambda current, at: np.where(current == wanted[at], args[at], current))
    old, new = np.empty_like(args), memory.copy()
    for n, (start, count) in enumerate(zip(turns.starts.tolist(), turns.counts.tolist())):
        current = new[n].item()
        for at in range(start, start + count, SOME):
            check()
            some = slice(at, min(at + SOME, start + count))
            found = []
            for expected, value in zip(wanted[some].tolist(), args[some].tolist()):
                found.append(current)
                if current == expected:
                    current = value
            old[some] = found
        new[n] = current
    return old, new


def _update(memory: Memory, addresses: Array, before: Array, after: Array) -> None:
    """Write only what has changed: the scheduler takes every write for progress."""
    changed = unsigned(before) != unsigned(after)
    if changed.any():
        memory.store(addresses[changed], after[changed])


def _count(memory: Memory, args: Array) -> None:
    memory.bytes_read += args.nbytes
    memory.bytes_written += args.nbytes


def read_modify_write(memory: Memory, mode: AtomicRMWMode, element: Scalar, addresses: Array, args: Array) -> Array:
    """Combine flat arrays with memory, in order, and return the old elements. Raises Fault."""
    _count(memory, args)
    before = memory.load(addresses, stored(element))
    memory.check_writable(addresses, before.dtype.itemsize)
    turns = _turns(addresses)
    combine = INTEGER.get(mode, add_floats)
    if turns is None:
        _update(memory, addresses, before, combine(before, args))
        return before
    content, ordered = before[turns.order[turns.starts]], args[turns.order]
    if mode is AtomicRMWMode.ADDF:
        old, new = _sums(turns, content, ordered)
    else:
        old, new = _scan(turns, content, ordered, combine)
    _update(memory, turns.addresses, content, new)
    return turns.unsorted(old)


def compare_and_swap(memory: Memory, element: Scalar, addresses: Array, wanted: Array, args: Array) -> Array:
    """Replace elements that have the wanted bits, in order, and return the old elements. Raises Fault."""
    _count(memory, args)
    before = unsigned(memory.load(addresses, stored(element)))
    memory.check_writable(addresses, before.dtype.itemsize)
    wanted, args = unsigned(wanted), unsigned(args)
    turns = _turns(addresses)
    if turns is None:
        _update(memory, addresses, before, np.where(before == wanted, args, before))
        return before.view(stored(element))
    content = before[turns.order[turns.starts]]
    old, new = _replace(turns, content, args[turns.order], wanted[turns.order])
    _update(memory, turns.addresses, content, new)
    return turns.unsorted(old).view(stored(element))


# ---------------------------------------------------------------- operations


def _each(lanes: int, *arrays: Array) -> list[Array]:
    """Broadcast arrays to all tile blocks: each of them takes part, even if all do the same."""
    return [np.broadcast_to(a, (lanes, *a.shape[1:])) for a in arrays]


def _apply(
    batch: Batch, pointers: Array, mask: Array | None, args: tuple[Array, ...], run: Callable[..., Array], masked: Array
) -> Array:
    """Apply a function to the flat elements that a mask selects; return a tile, with `masked` elsewhere."""
    pointers, *args_ = _each(batch.lanes, pointers, *args)
    if mask is None:
        try:
            return run(pointers.reshape(-1), *(a.reshape(-1) for a in args_)).reshape(pointers.shape)
        except Fault as fault:
            where = np.unravel_index(fault.where[0], pointers.shape)
            raise Fault(fault.reason, tuple(map(int, where)), fault.address) from None
    (mask,) = _each(batch.lanes, mask)
    out = np.broadcast_to(masked, pointers.shape).copy()
    if mask.any():
        try:
            out[mask] = run(pointers[mask], *(a[mask] for a in args_))
        except Fault as fault:
            raise fault_unmasked(fault, mask) from None
    return out


@executes(AtomicRMWTko, batch=True)
def atomic_rmw_tko(
    o: AtomicRMWTko, batch: Batch, pointers: Array, arg: Array, mask: Array | None, token: None
) -> tuple[Array, None]:
    """Combine elements with memory and return the old elements."""
    element, memory = pointee(o.pointers.type), batch.memory

    def run(addresses: Array, args: Array) -> Array:
        return read_modify_write(memory, o.mode, element, addresses, args)

    return _apply(batch, pointers, mask, (arg,), run, np.zeros_like(arg)), None


@executes(AtomicCASTko, batch=True)
def atomic_cas_tko(
    o: AtomicCASTko, batch: Batch, pointers: Array, cmp: Array, val: Array, mask: Array | None, token: None
) -> tuple[Array, None]:
    """Replace elements in memory that have the bits of `cmp` and return the old elements."""
    element, memory = pointee(o.pointers.type), batch.memory

    def run(addresses: Array, wanted: Array, args: Array) -> Array:
        return compare_and_swap(memory, element, addresses, wanted, args)

    return _apply(batch, pointers, mask, (cmp, val), run, cmp), None


@executes(AtomicRedViewTko, batch=True)
def atomic_red_view_tko(
    o: AtomicRedViewTko, batch: Batch, view: TensorRef, index: tuple[Array, ...], value: Array, token: None
) -> None:
    """Combine a tile of a view with memory."""
    type = o.view.type
    assert isinstance(type, TileView)
    element = element_of(o.value.type)
    (values,) = _each(batch.lanes, value)
    for lanes, tensor, some in split_by_strides(view, index, ordered=True):
        part = values if lanes is None else values[lanes]
        where = locate_tiles(type, tensor, some, (False,) * len(some))
        starts = np.broadcast_to(where.starts, len(part)).reshape(-1, *(1,) * len(where.shape))
        addresses = starts + element_offsets(where.shape, where.strides)
        inside = np.ones((1,) * addresses.ndim, bool)
        for axis, (size, extent) in enumerate(zip(where.shape, where.extents)):
            numbers = np.arange(size).reshape(-1, *(1,) * (len(where.shape) - axis - 1))
            inside = inside & (numbers < np.reshape(extent, (-1, *(1,) * len(where.shape))))
        inside = np.broadcast_to(inside, addresses.shape)
        if inside.any():
            try:
                read_modify_write(batch.memory, o.mode, element, addresses[inside], part[inside])
            except Fault as fault:
                raise fault_among(lanes, fault_unmasked(fault, inside)) from None
