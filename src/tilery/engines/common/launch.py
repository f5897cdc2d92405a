"""A launch as one value, made and checked once, which every engine runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...diag import TileError, shown
from ...ops import Entry
from .addresses import HoldsAddresses
from .arguments import BoundArguments, Buffers, as_tuple, bind, check_buffers, check_names
from .limits import Limits

MAX_GRID = (1 << 24) - 1
"""The largest extent of a grid."""

MAX_THREADS = 1024
NOTHING: tuple[Any, ...] = ()
NO_LIMITS = Limits()
F = TypeVar("F", bound=Callable[..., Any])


class Launch(HoldsAddresses):
    """One launch of a kernel: the entry, its grid and arguments, and the options of `Kernel.launch`.

    Making one checks the grid and the options. `bound` checks the arguments, when they are first needed: an engine that
    has seen the same arrays before does not need them.
    """

    __slots__ = (
        "_bound",
        "args",
        "batch",
        "buffers",
        "convention",
        "entry",
        "grid",
        "limits",
        "machine",
        "names",
        "observe",
        "output",
        "progress",
        "sanitize",
        "threads",
    )

    def __init__(
        self,
        entry: Entry,
        grid: int | Sequence[int],
        args: Sequence[Any] = (),
        names: Sequence[str] = (),
        convention: str | None = None,
        batch: int | None = None,
        threads: int | None = None,
        limits: Limits | None = None,
        buffers: Buffers = (),
        output: Callable[[str], None] | None = None,
        progress: Callable[[int], None] | None = None,
        sanitize: Any = None,
        observe: Any = None,
        machine: Callable[..., Any] | None = None,
    ) -> None:
        self.entry = entry
        self.grid = check_grid(grid)
        self.args = as_tuple(args)  # `progress` may change a list; what it holds is needed until the end
        self.names = names if names is NOTHING else check_names(names)
        self.convention = convention
        self.batch = None if batch is None else check_batch(batch)
        self.threads = None if threads is None else check_threads(threads)
        self.limits = NO_LIMITS if limits is None else check_limits(limits)
        self.buffers: Sequence[Any] = NOTHING if buffers is NOTHING else check_buffers(buffers)
        self.output = None if output is None else check_function("output", output)
        self.progress = None if progress is None else check_function("progress", progress)
        self.sanitize, self.observe = sanitize, observe
        self.machine = None if machine is None else check_function("machine", machine)
        self._bound: BoundArguments | None = None

    @property
    def blocks(self) -> int:
        """The number of tile blocks."""
        x, y, z = self.grid
        return x * y * z

    @property
    def is_watched(self) -> bool:
        """Whether Python looks at single operations, which only the reference engine can do."""
        return self.sanitize is not None or self.observe is not None or self.machine is not None

    @property
    def bound(self) -> BoundArguments:
        """The arguments as bytes and memory ranges, matched with the parameters of the entry."""
        if self._bound is None:
            self._bound = bind(
                self.entry, self.args, names=self.names, convention=self.convention, buffers=self.buffers
            )
        return self._bound


# ---------------------------------------------------------------- checks


def check_threads(threads: int) -> int:
    """Return a number of threads."""
    if not _is_count(threads):
        raise TileError(f"the number of threads must be an integer, got {shown(threads)}")
    if threads < 1:
        raise TileError(f"a launch needs at least one thread, got {shown(threads)}")
    if threads > MAX_THREADS:
        raise TileError(f"a launch can use at most {MAX_THREADS} threads, got {shown(threads)}")
    return threads


def check_batch(batch: int) -> int:
    """Return a number of tile blocks to run at once."""
    if not _is_count(batch):
        raise TileError(f"a batch must be an integer, got {shown(batch)}")
    if batch < 1:
        raise TileError(f"a batch needs at least one tile block, got {shown(batch)}")
    return batch


def _is_count(number: object) -> bool:
    return isinstance(number, (int, np.integer)) and not isinstance(number, bool)


def check_grid(grid: int | Sequence[int]) -> tuple[int, int, int]:
    """Return the grid as three extents."""
    if type(grid) is int and 1 <= grid <= MAX_GRID:
        return grid, 1, 1
    if isinstance(grid, np.ndarray) and grid.size <= 3:
        grid = grid.reshape(-1).tolist()
    extents = list(grid) if isinstance(grid, Sequence) else [grid]
    if not 1 <= len(extents) <= 3 or any(not isinstance(n, (int, np.integer)) for n in extents):
        raise TileError(f"a grid must be one to three integers, got {shown(grid)}")
    if any(not 1 <= n <= MAX_GRID for n in extents):
        raise TileError(f"grid extents must be between 1 and {MAX_GRID}, got {', '.join(map(shown, extents))}")
    x, y, z = [int(n) if isinstance(n, np.integer) else int.__index__(n) for n in extents] + [1] * (3 - len(extents))
    return x, y, z


def check_limits(limits: Limits) -> Limits:
    """Return limits."""
    if not isinstance(limits, Limits):
        raise TileError(f"limits must be a Limits, got {shown(limits)}")
    return limits


def check_function(option: str, function: F) -> F:
    """Return the function that is the value of an option."""
    if not callable(function):
        raise TileError(f"{option} must be a function, got {shown(function)}")
    return function
