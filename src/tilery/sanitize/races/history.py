"""The memory of the check of races: one launch, or several that may overlap."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...engines.common.tiles import Array
from ...ir import Op
from .cells import Cells, Shadows
from .reasons import Signals
from .recent import Recent
from .strength import Strength
from .sync import Synchronization

if TYPE_CHECKING:
    from ..flight import LaunchInFlight

Grid = tuple[int, int, int]


class History:
    """Accesses of launches. Operations and tile blocks of each launch have numbers of their own."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.strengths: dict[int, Strength] = {}
        self.kinds: dict[Strength, int] = {}
        self.cells = Cells()
        self.recent = Recent()
        self.signals = Signals()
        self.shadows = Shadows()
        self.sync: Synchronization | None = None
        self.launches: list[LaunchInFlight | None] = []
        self._first_operations: list[int] = []
        self._first_ranks = [0]
        self._grids: list[Grid] = []

    def begin(self, operations: Sequence[Op], grid: Grid, launch: LaunchInFlight | None) -> tuple[int, int]:
        """Add a launch. Return the numbers of its first operation and of its first tile block."""
        first, rank = len(self.ops), self._first_ranks[-1]
        self.ops += operations
        self.launches.append(launch)
        self._first_operations.append(first)
        self._first_ranks.append(rank + grid[0] * grid[1] * grid[2])
        self._grids.append(grid)
        return first, rank

    def launch_of(self, operation: int) -> LaunchInFlight | None:
        """Return the launch of an operation."""
        return self.launches[bisect_right(self._first_operations, operation) - 1]

    def ended(self, before: int) -> Array:
        """Return for each operation whether its launch is in a set."""
        out = np.zeros(len(self.ops), bool)
        for first, launch in zip(self._first_operations, self.launches):
            out[first:] = launch is not None and bool(before >> launch.number & 1)
        return out

    def block(self, rank: int) -> tuple[int, int, int]:
        """Return the position of a tile block in the grid of its launch."""
        at = bisect_right(self._first_ranks, rank) - 1
        gx, gy, _ = self._grids[at]
        rank -= self._first_ranks[at]
        return rank % gx, rank // gx % gy, rank // (gx * gy)
