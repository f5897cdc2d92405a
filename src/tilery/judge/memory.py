"""The memory of a launch: arrays between guard regions, poisoned where nothing is defined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..diag import ErrorKind, TileError
from ..engines.common.addresses import runs_of
from ..engines.common.cutile_abi import ArrayExtent
from .problem import Argument
from .program import Scratch
from .values import Array, storage

GUARD = 512
"""Bytes of a guard region, before and after each array."""
ALIGNMENT = 256
OFFSET = 1
"""How many elements an array of layout `offset` starts after an aligned address."""


def strides_of(extents: Sequence[int], layout: str) -> tuple[int, ...]:
    """Return the strides of an array in elements.

    >>> strides_of((4, 6), "dense"), strides_of((4, 6), "padded"), strides_of((4, 6), "transposed")
    ((6, 1), (13, 1), (1, 4))
    """
    order = list(range(len(extents)))
    if layout == "transposed":
        order.reverse()
    strides = [0] * len(extents)
    step = 1
    for axis in reversed(order):
        strides[axis] = step
        step *= extents[axis]
        if layout == "padded" and axis == order[-1] and len(extents) > 1:
            step += 7
    return tuple(strides)


def span_of(extents: Sequence[int], strides: Sequence[int]) -> int:
    """Return the number of elements from the first to the last, with gaps."""
    return 1 + sum((n - 1) * stride for n, stride in zip(extents, strides))


@dataclass(slots=True)
class GuardedMemory:
    """Memory with guards: the bytes of all of it, and where the content is."""

    name: str
    raw: Array
    start: int
    size: int
    writable: bool
    view: Array | None = None
    """The array; None for scratch memory."""
    before: Array | None = None
    """A copy of all bytes as they were before the launch."""
    mine: Array | None = None
    """Which bytes the array holds: the others are guards and gaps. None for all of `start` to `start + size`."""

    @property
    def address(self) -> int:
        return int(self.raw.ctypes.data) + self.start

    def extent(self) -> ArrayExtent:
        """Describe the memory for an engine."""
        runs = None
        if not self.writable and self.view is not None:
            runs = runs_of(self.view.shape, self.view.strides, self.view.itemsize)
        return ArrayExtent(self.name, self.address, self.size, writable=self.writable, runs=runs)

    def changed_outside(self) -> int:
        """Count the bytes of guards and gaps that changed."""
        assert self.before is not None
        changed = self.raw != self.before
        if self.mine is not None:
            changed &= ~self.mine
        else:
            changed[self.start : self.start + self.size] = False
        return int(np.count_nonzero(changed))

    def changed(self) -> int:
        """Count the bytes that changed anywhere."""
        return int(np.count_nonzero(self.raw != self.before))


@dataclass(slots=True)
class Poison:
    """Random bytes for memory that nothing is known of, or the complement of the same bytes.

    A correct kernel leaves the same outputs over both; an element that it does not write differs.
    """

    seed: int
    inverted: bool = False

    def bytes(self, name: str, size: int) -> Array:
        rng = np.random.default_rng([self.seed, *name.encode()])
        made = np.frombuffer(rng.bytes(size), np.uint8)
        return ~made if self.inverted else made.copy()


def _allocate(name: str, size: int, poison: Poison) -> tuple[Array, int]:
    """Return poisoned memory with guards, and where its content starts."""
    raw = np.zeros(size + 2 * GUARD + ALIGNMENT, np.uint8)
    start = GUARD + -(int(raw.ctypes.data) + GUARD) % ALIGNMENT
    known = poison.bytes(name, size + 2 * GUARD)  # at the same distance from the content in each run
    raw[start - GUARD : start + size + GUARD] = known
    return raw, start


def array_buffer(
    argument: Argument, extents: Sequence[int], layout: str, content: Array | None, poison: Poison
) -> GuardedMemory:
    """Make the memory of an argument; without a content, it is poisoned."""
    dtype = storage(argument)
    strides = strides_of(extents, layout)
    shift = OFFSET * dtype.itemsize if layout == "offset" else 0
    size = span_of(extents, strides) * dtype.itemsize
    raw, start = _allocate(argument.name, size + shift, poison)
    start += shift
    steps = tuple(n * dtype.itemsize for n in strides)
    view: Array = np.ndarray(tuple(extents), dtype, raw.data, start, steps)
    if content is not None:
        view[...] = content
    elif argument.element.name == "i1":
        view &= 1  # other bytes are no booleans
    mine = np.zeros(len(raw), bool)
    own: Array = np.ndarray((*extents, dtype.itemsize), bool, mine.data, start, (*steps, 1))
    own[...] = True
    return GuardedMemory(argument.name, raw, start, size, argument.is_written, view, raw.copy(), mine)


def scratch_buffer(name: str, scratch: Scratch, poison: Poison) -> GuardedMemory:
    """Make scratch memory: poisoned, or with the content that the candidate gave it."""
    raw, start = _allocate(name, scratch.size, poison)
    if scratch.content is not None:
        known = np.frombuffer(scratch.content, np.uint8)
        if not len(known) or (scratch.size % len(known) and len(known) != 1):
            raise TileError(f"the content of scratch memory '{name}' does not fit it", kind=ErrorKind.COMPILER)
        raw[start : start + scratch.size] = np.tile(known, scratch.size // len(known))
    return GuardedMemory(name, raw, start, scratch.size, True, None, raw.copy())


class BufferAddress(Protocol):
    """Where a buffer is."""

    @property
    def address(self) -> int: ...

    @property
    def size(self) -> int: ...


def slot_value(slot: Any, buffers: Mapping[str, BufferAddress], is_pointer: bool) -> Any:
    """Return the argument of a parameter: an address for a pointer, which must be in a buffer."""
    if slot.buffer:
        buffer = buffers[slot.buffer]
        if not is_pointer or slot.offset > buffer.size:
            raise TileError("an address was passed for a number, or is outside its array", kind=ErrorKind.ARGUMENT)
        return buffer.address + slot.offset
    if is_pointer:
        raise TileError("a number was passed for a pointer", kind=ErrorKind.ARGUMENT)
    return slot.value
