"""A batch: tile blocks at the same position of a program, and their values. Batches split and merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ...ir import Block, Op
from ...types import TileView
from ..common.memory import Memory
from ..common.tiles import Array
from .program import RegionCode

Seen = tuple[int, tuple[Any, ...]]
"""A state of memory, and the values that a loop carried."""
BODY_BYTES = 1 << 26
"""The most bytes that the values of a body may take, over all elements that it is executed on at once."""
SMALL = 64
"""Merging compares values of up to this many elements, to keep uniform values in one lane."""


class LaunchHost(Protocol):
    """The state that the tile blocks of a launch share; it executes the bodies of operations."""

    @property
    def memory(self) -> Memory: ...

    @property
    def grid(self) -> tuple[int, int, int]: ...

    @property
    def globals(self) -> dict[str, int]: ...

    def room_for_text(self) -> int: ...

    def write(self, rank: int, text: bytes) -> None: ...

    def arena(self, o: Op, ranks: Array, size: int, alignment: int) -> Array: ...

    def evaluate(self, batch: Batch) -> tuple[Array, ...]: ...

    def padding(self, view: TileView) -> Any: ...


class Batch:
    """Tile blocks, in the order of `ranks`, and the value of each live slot: an array, a tuple of values, or None."""

    __slots__ = ("blocks", "env", "lanes", "machine", "pc", "program", "ranks", "seen", "stuck", "turn", "waits")

    def __init__(
        self, machine: LaunchHost, program: RegionCode, ranks: Array, blocks: Array, env: dict[int, Any]
    ) -> None:
        self.machine, self.program = machine, program
        self.ranks, self.blocks, self.env = ranks, blocks, env
        self.lanes = len(ranks)
        self.pc = 0
        self.turn = self.waits = 0
        """The number of times that the batch has yielded to others, and its back edges since."""
        self.stuck = -1
        """The state of memory in which the batch was found spinning: it waits for another state."""
        self.seen: dict[int, Seen] = {}
        """For each enclosing loop, by the position of its head, the state at the last back edge."""

    # ------------------------------------------------------------ services for operations

    @property
    def memory(self) -> Memory:
        return self.machine.memory

    @property
    def grid(self) -> tuple[int, int, int]:
        return self.machine.grid

    @property
    def globals(self) -> dict[str, int]:
        """The addresses of the module's globals, by name."""
        return self.machine.globals

    def require_room(self, size: int) -> None:
        """Raise MemoryError if this much more text exceeds the limit."""
        if size > self.machine.room_for_text():
            raise MemoryError

    def write(self, lane: int, text: bytes) -> None:
        """Print text for a tile block."""
        self.require_room(len(text))
        self.machine.write(int(self.ranks[lane]), text)

    def arena(self, o: Op, size: int, alignment: int) -> Array:
        """Return the address of each tile block's private memory, the same each time it executes this operation."""
        return self.machine.arena(o, self.ranks, size, alignment)

    def call(self, block: Block, args: Sequence[Array], each: int) -> tuple[Array, ...]:
        """Execute a body on `each` elements per tile block at once. Arguments and results are flat arrays."""
        program = self.program.bodies[block]
        outer = [self.env[there] for there, _ in program.captured]
        count = each * max([len(a) // each for a in args] + [_lanes(v) for v in outer])
        copied = sum(map(_lane_bytes, outer))
        # Large captured values are not copied for each element: tile blocks are then executed one by one.
        alone = copied * each > BODY_BYTES
        step = max(1, BODY_BYTES // max(1, program.peak + (0 if alone else copied)))
        cuts = {*range(step, count, step), *range(each, count if alone else 0, each)}
        numbers = np.split(np.arange(count), sorted(cuts))
        parts = [self._call(program, args, outer, each, some) for some in numbers]
        return parts[0] if len(parts) == 1 else tuple(join(list(column), numbers) for column in zip(*parts))

    def _call(
        self, program: RegionCode, args: Sequence[Array], outer: list[Any], each: int, numbers: Array
    ) -> tuple[Array, ...]:
        """Execute a body on the elements with these consecutive numbers."""
        lanes, count = numbers // each, len(numbers)
        there = lanes[:1] if lanes[0] == lanes[-1] else lanes
        env: dict[int, Any] = {}
        for slot, value in zip(program.params, args):
            if len(value) == each > 1:
                value = value[numbers % each]
            elif len(value) > count:
                value = value[numbers[0] : numbers[0] + count]
            env[slot] = value
        for (_, here), value in zip(program.captured, outer):
            env[here] = take(value, there)
        return self.machine.evaluate(Batch(self.machine, program, np.arange(count), self.blocks[lanes], env))

    # ------------------------------------------------------------ splitting and merging

    def split(self, condition: Array) -> tuple[Batch, Batch]:
        """Split into the tile blocks for which the condition holds, and the others."""
        return self._part(np.flatnonzero(condition)), self._part(np.flatnonzero(~condition))

    def _part(self, lanes: Array) -> Batch:
        env = {slot: take(value, lanes) for slot, value in self.env.items()}
        part = Batch(self.machine, self.program, self.ranks[lanes], self.blocks[lanes], env)
        part.pc, part.turn, part.waits = self.pc, self.turn, self.waits
        part.seen = {head: (changes, take(values, lanes)) for head, (changes, values) in self.seen.items()}
        return part


def merge(batches: list[Batch]) -> Batch:
    """One batch from several at the same position, in the order of their tile blocks."""
    first = batches[0]
    if len(batches) == 1:
        return first
    ranks = np.concatenate([b.ranks for b in batches])
    place = np.empty(len(ranks), np.intp)
    order = np.argsort(ranks)
    place[order] = np.arange(len(ranks))
    places = np.split(place, np.cumsum([b.lanes for b in batches])[:-1])
    # A value that only some have is no longer needed.
    slots = [slot for slot in first.env if all(slot in b.env for b in batches)]
    env = {slot: join([b.env[slot] for b in batches], places) for slot in slots}
    blocks = np.concatenate([b.blocks for b in batches])[order]
    whole = Batch(first.machine, first.program, ranks[order], blocks, env)
    whole.pc, whole.turn, whole.waits = first.pc, min(b.turn for b in batches), max(b.waits for b in batches)
    heads = [head for head in first.seen if all(head in b.seen for b in batches)]
    whole.seen = {head: _join_seen([b.seen[head] for b in batches], places) for head in heads}
    return whole


def _join_seen(seen: list[Seen], places: list[Array]) -> Seen:
    """Merge the states of one loop, so that tile blocks that diverge in each iteration can still wait."""
    changes = {at for at, _ in seen}
    return changes.pop() if len(changes) == 1 else -1, join([values for _, values in seen], places)


def join(values: list[Any], places: list[Array]) -> Any:
    """Join values into one; `places` are the lanes that each one gets."""
    first = values[0]
    if first is None or isinstance(first, int):
        return first
    if isinstance(first, tuple):
        parts = (join(list(items), places) for items in zip(*values))
        return type(first)(*parts) if hasattr(first, "_fields") else tuple(parts)
    if all(len(v) == 1 for v in values) and all(v is first or same(v, first) for v in values[1:]):
        return first
    out = np.empty((sum(map(len, places)), *first.shape[1:]), first.dtype)
    for value, place in zip(values, places):
        out[place] = value
    return out


def same(a: Array, b: Array) -> bool:
    """Tell whether two small arrays hold the same bits; large ones are not compared."""
    return a.size <= SMALL and a.shape == b.shape and a.tobytes() == b.tobytes()


def take(value: Any, lanes: Array) -> Any:
    """Return some lanes of a value; one with a single lane is the same in all of them."""
    return _map(value, lambda a: a if len(a) == 1 else a[lanes])


def _map(value: Any, change: Any) -> Any:
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, tuple):
        parts = (_map(item, change) for item in value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return change(value)


def _lane_bytes(value: Any) -> int:
    """Return the bytes of one lane; a value with a single lane is shared and counts as 0."""
    if isinstance(value, tuple):
        return sum(map(_lane_bytes, value))
    return 0 if value is None or isinstance(value, int) or len(value) == 1 else value[0].nbytes


def _lanes(value: Any) -> int:
    if isinstance(value, tuple):
        return max(map(_lanes, value), default=1)
    return 1 if value is None or isinstance(value, int) else len(value)
