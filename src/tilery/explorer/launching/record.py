"""What happens in a launch, recorded by a check of the sanitizer: accesses, the values of a tile block, and tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...engines.reference.tiles import Array
from ...ir import Op
from ...sanitize import Access, Check, Link, Step
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
class Extent:
    """An array among the arguments: elements of four bits have a width of 0."""

    name: str
    address: int
    size: int
    width: int


@dataclass
class Record:
    """What to record, and what was recorded."""

    ids: dict[Op, int]
    arrays: list[Extent]
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
    values: dict[int, list[tuple[Array, ...]]] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)
    """How often the tile block executed each operation."""
    held: int = 0

    # ------------------------------------------------------------ accesses

    def access(self, access: Access) -> None:
        self._event(access, access.kind.value, () if access.tokens is None else (access.tokens,))
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
            inside = (addresses >= array.address) & (addresses < array.address + array.size)
            if not inside.any():
                continue
            found += int(np.count_nonzero(inside))
            offset = addresses[inside] - array.address
            element = offset // array.width if array.width else 2 * offset + (0 if half is None else half[inside])
            key = (self.ids.get(access.op, -1), number, access.kind.value)
            self._add_runs(key, ranks[inside], element)
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

    def link(self, link: Link) -> None:
        self._event(link, "join", link.tokens)

    def _event(self, made: Access | Link, kind: str, waits: tuple[Array, ...]) -> None:
        lanes = np.flatnonzero(made.ranks < TIMELINE_BLOCKS)
        if not len(lanes):
            return
        self.event_count += 1
        count = made.mask.reshape(len(made.ranks), -1).sum(axis=1) if isinstance(made, Access) else None
        for lane in lanes.tolist():
            if len(self.events) >= MAX_EVENTS:
                return
            tokens = [int(np.broadcast_to(t, len(made.ranks))[lane]) for t in waits if t is not None]
            event: dict[str, Any] = {
                "at": self.event_count, "op": self.ids.get(made.op, -1), "block": int(made.ranks[lane]), "kind": kind,
                "waits": [t for t in tokens if t], "makes": int(made.result_token[lane]),
            }  # fmt: skip
            if isinstance(made, Access) and count is not None:
                event |= {"elements": int(count[lane]), "ordering": made.ordering.text}
            self.events.append(event)

    # ------------------------------------------------------------ values

    def result(self, step: Step, result: Any) -> None:
        lanes = np.flatnonzero(step.batch.ranks == self.block)
        number = self.ids.get(step.op, -1)
        if not len(lanes) or number < 0:
            return
        self.times[number] = self.times.get(number, 0) + 1
        kept = self.values.setdefault(number, [])
        flat = [v for value in (result if isinstance(result, tuple) else (result,)) for v in _each(value)]
        arrays = tuple(_lane(v, int(lanes[0])) for v in flat)
        size = sum(a.nbytes for a in arrays)
        if self.held + size > VALUE_BYTES or len(kept) >= OCCURRENCES:
            return
        self.held += size
        kept.append(arrays)


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _lane(value: Any, lane: int) -> Array:
    """Return the value of one lane; nothing for what is not an array, such as a view."""
    if not isinstance(value, np.ndarray) or not value.ndim:
        return np.empty(0)
    return np.array(value[lane if len(value) > 1 else 0])


def shown_results(o: Op) -> list[int]:
    """Return the positions of the results that have values to show: tiles, not tokens or views."""
    return [position for position, value in enumerate(o.results) if isinstance(value.type, Tile)]


def recorder(record: Record) -> type[Check]:
    """Return a check that records a launch."""

    class Recorder(Check):
        """Reports nothing: it only watches."""

        name = "record"
        hint = True

        def after(self, access: Access) -> None:
            record.access(access)

        def link(self, link: Link) -> None:
            record.link(link)

        def result(self, step: Step, result: Any) -> None:
            record.result(step, result)

    return Recorder
