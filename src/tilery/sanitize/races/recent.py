"""The accesses that were made last, to name the element of the earlier one of two that race."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from ...engines.common.tiles import Array
from ...engines.reference.access import Access, Elements
from .cells import Execution

MOST_BYTES = 1 << 25
"""Older accesses are forgotten when the addresses of all take more than this."""


class RecentAccess(NamedTuple):
    """The part of an access that is kept."""

    operation: int
    numbers: Array
    ranks: Array
    place: Elements
    bytes: int


class Recent:
    """A queue of accesses, bounded in memory."""

    def __init__(self) -> None:
        self._queue: deque[RecentAccess] = deque()
        self._bytes = 0

    def add(self, operation: int, ranks: Array, numbers: Array, access: Access) -> None:
        """Remember an execution of an operation; `numbers` tells the executions of each tile block apart."""
        made = RecentAccess(operation, numbers, ranks, access.place, access.bytes)
        self._queue.append(made)
        self._bytes += _size(made)
        while self._bytes > MOST_BYTES:
            self._bytes -= _size(self._queue.popleft())

    def element(self, operation: int, event: Execution, address: int) -> tuple[int, ...]:
        """Return the element of the tile at an address; nothing if the event was too long ago."""
        for made in reversed(self._queue):
            if made.operation != operation:
                continue
            for lane in np.flatnonzero((made.ranks == event.rank) & (made.numbers == event.number)).tolist():
                addresses, mask, _ = made.place.made
                first = addresses[lane]
                there = mask[lane] & (first <= address) & (address < first + made.bytes)
                if there.any():
                    return tuple(int(i) for i in np.unravel_index(int(np.argmax(there)), first.shape))
        return ()


def _size(made: RecentAccess) -> int:
    """The bytes of the addresses, made or not."""
    return 8 * made.place.lane_size * len(made.ranks)
