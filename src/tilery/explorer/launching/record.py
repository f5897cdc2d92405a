"""Records of a launch, made by an observer: accesses, the values of a tile block, and tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ...engines.common.tiles import Array
from ...engines.reference.access import Access
from ...engines.reference.observe import TOKEN_DTYPE, Event, Observe
from ...ir import Op, Value
from ...observe.arrays import ArrayArgument
from ...observe.trace import results_of
from ...types import Tile

MAX_RUNS = 60_000
"""The most runs of elements in an access map."""
MAX_EVENTS = 4000
"""The most events of a timeline."""
TIMELINE_BLOCKS = 16
"""The timeline has the tile blocks with the lowest numbers."""
VALUE_BYTES = 64 << 20
"""The most memory for the values of a tile block."""
OCCURRENCES = 256
"""The most executions of one operation whose values are kept."""


@dataclass
class LaunchRecording:
    """The choice of what to record, and the record."""

    ids: dict[Op, int]
    arrays: list[ArrayArgument]
    block: int = 0
    """The number of the tile block whose values are kept."""
    runs: dict[tuple[int, int, str], list[tuple[int, int, int, int]]] = field(default_factory=dict)
    """By operation, array and kind: tile block, first element, elements, and how often each is accessed."""
    run_count: int = 0
    truncated: bool = False
    outside: int = 0
    """Accessed elements that are in no array."""
    events: list[dict[str, Any]] = field(default_factory=list)
    event_count: int = 0
    values: dict[int, list[list[tuple[Value, Array]]]] = field(default_factory=dict)
    """The tiles that each execution of an operation made."""
    times: dict[int, int] = field(default_factory=dict)
    """How often the tile block executed each operation."""
    held: int = 0

    def observer(self) -> Observe:
        """Return what to pass as `launch(observe=...)`."""
        return Observe(self.add, tokens=True)

    def add(self, event: Event) -> None:
        """Record an execution of an operation."""
        if event.access is not None:
            self._access(event.access)
        made = list(_tokens(event.after))
        if made:
            self._event(event, made[0])
        self._result(event)

    # ------------------------------------------------------------ accesses

    def _access(self, access: Access) -> None:
        if self.run_count >= MAX_RUNS:
            self.truncated = True
            return
        chosen, addresses = access.elements
        if not len(chosen):
            return
        ranks = access.ranks[chosen // access.lane_size].astype(np.int64)
        half = None if access.half is None else access.half.reshape(-1)[chosen]
        found = 0
        for number, array in enumerate(self.arrays):
            size = -(-prod(array.shape) * array.bits // 8)
            inside = (addresses >= array.address) & (addresses < array.address + size)
            if not inside.any():
                continue
            found += int(np.count_nonzero(inside))
            offset = addresses[inside] - array.address
            element = offset // array.bytes if half is None else 2 * offset + half[inside]
            self._add_runs((self.ids.get(access.op, -1), number, access.kind.value), ranks[inside], element)
        self.outside += len(chosen) - found

    def _add_runs(self, key: tuple[int, int, str], ranks: Array, elements: Array) -> None:
        """Add accesses as runs of consecutive elements of one tile block."""
        width = int(elements.max()) + 2
        keys, times = np.unique(ranks * width + elements, return_counts=True)
        breaks = np.flatnonzero((np.diff(keys) != 1) | (np.diff(times) != 0)) + 1
        starts, ends = np.concatenate([[0], breaks]), np.concatenate([breaks, [len(keys)]])
        room = MAX_RUNS - self.run_count
        self.truncated |= len(starts) > room
        kept = self.runs.setdefault(key, [])
        for a, b in zip(starts[:room].tolist(), ends[:room].tolist()):
            rank, first = divmod(int(keys[a]), width)
            kept.append((rank, first, b - a, int(times[a])))
        self.run_count += min(room, len(starts))

    # ------------------------------------------------------------ tokens

    def _event(self, event: Event, made: Array) -> None:
        """Add an operation that makes a token to the timeline."""
        lanes = np.flatnonzero(event.ranks < TIMELINE_BLOCKS)
        if not len(lanes):
            return
        self.event_count += 1
        access, count = event.access, len(event.ranks)
        sizes = None if access is None else access.mask.reshape(count, -1).sum(axis=1)
        for lane in lanes.tolist():
            if len(self.events) >= MAX_EVENTS:
                return
            waits = [int(np.broadcast_to(token, count)[lane]) for token in _tokens(event.before)]
            entry: dict[str, Any] = {
                "at": self.event_count, "op": self.ids.get(event.op, -1), "block": int(event.ranks[lane]),
                "kind": "join" if access is None else access.kind.value, "waits": [token for token in waits if token],
                "makes": int(np.broadcast_to(made, count)[lane]),
            }  # fmt: skip
            if access is not None and sizes is not None:
                entry |= {"elements": int(sizes[lane]), "ordering": access.ordering.text}
            self.events.append(entry)

    # ------------------------------------------------------------ values

    def _result(self, event: Event) -> None:
        lanes = np.flatnonzero(event.ranks == self.block)
        number = self.ids.get(event.op, -1)
        if not len(lanes) or number < 0 or not event.after:
            return
        self.times[number] = self.times.get(number, 0) + 1
        kept = self.values.setdefault(number, [])
        made = [(v, np.array(tile)) for v, tile in results_of(event, int(lanes[0])) if isinstance(v.type, Tile)]
        size = sum(tile.nbytes for _, tile in made)
        if made and self.held + size <= VALUE_BYTES and len(kept) < OCCURRENCES:
            self.held += size
            kept.append(made)


def _tokens(values: dict[str, Any]) -> Iterator[Array]:
    """Yield the tokens among operands or results; they are ids, one per tile block."""
    for value in values.values():
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, np.ndarray) and each.dtype == TOKEN_DTYPE:
                yield each
