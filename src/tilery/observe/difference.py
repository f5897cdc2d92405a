"""The first operation in which two launches differ: of a kernel on two inputs, or before and after an edit or a pass.

Each launch is observed on the reference engine. Values are matched by name where both kernels have it, in the order in
which each tile block computes them. So an operation that only one kernel has is passed by.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engines.common.tiles import Array
from ..engines.reference.observe import Event, Observe
from ..ir import Op, Value
from ..types import TOKEN, Ptr, Scalar, Tile
from .arrays import array_arguments
from .names import Source
from .numbers import decode, element_text, numbers
from .trace import element_at, results_of

MOST_BYTES = 1 << 28
"""The limit on memory that the first launch keeps for the comparison, in bytes."""
WRITES = ("store_ptr_tko", "store_view_tko", "atomic_rmw_tko", "atomic_cas_tko", "atomic_red_view_tko")

Key = tuple[int, str, int]
"""A tile block, the name of a value (or the element that is written), and how often it has been computed before."""


@dataclass(slots=True)
class FirstDifference:
    """Where two launches first differ: the operation in each of them, the tile block, the element and its values."""

    ops: tuple[Op, Op]
    lines: tuple[str, str]
    block: tuple[int, ...]
    name: str
    time: int
    """How often the operation has been executed before: the iteration of a loop."""
    element: tuple[int, ...]
    values: tuple[str, str]
    count: int
    """How many elements of the tile differ."""
    size: int
    iterations: tuple[int, ...] = ()
    """The iteration of each loop around the operation, outermost first, if values are found by iteration."""

    def as_dict(self) -> dict[str, object]:
        more = {"iterations": list(self.iterations)} if self.iterations else {}
        return more | {
            "operation": [o.name for o in self.ops],
            "line": list(self.lines),
            "block": list(self.block),
            "value": self.name,
            "time": self.time,
            "element": list(self.element),
            "values": list(self.values),
            "differing": self.count,
            "elements": self.size,
        }

    def __str__(self) -> str:
        where = [f"{o.name}{f' at {line}' if line else ''}" for o, line in zip(self.ops, self.lines)]
        both = where[0] if where[0] == where[1] else f"{where[0]} and {where[1]}"
        element = f"[{', '.join(map(str, self.element))}]" if self.element else ""
        times = f", time {self.time + 1}" if self.time else ""
        if self.iterations:
            times = f", iteration {','.join(str(i + 1) for i in self.iterations)}"
        lines = [f"first difference: {self.name} by {both}, block {','.join(map(str, self.block))}{times}"]
        lines.append(f"  {self.name}{element} is {self.values[0]} and {self.values[1]}")
        if self.size > 1:
            lines.append(f"  {self.count:,} of {self.size:,} elements differ")
        return "\n".join(lines)


@dataclass(slots=True)
class Run:
    """A launch to compare: a kernel of the reference engine and its arguments."""

    kernel: Any
    args: Sequence[Any]
    names: Sequence[str] = ()
    convention: str | None = None
    source: Source | None = None
    """The names of values and lines of operations, if the module has been changed since it was read."""


class _Log:
    """The results of a launch, by name."""

    def __init__(self, run: Run) -> None:
        self.run, self.source = run, run.source or Source(run.kernel.loaded.module)
        self.arrays = array_arguments(run.kernel.params, run.args, run.names, run.convention)
        self.times: dict[tuple[int, str], int] = {}

    def entries(self, event: Event) -> Iterator[tuple[Key, Op, Value | None, Array]]:
        """Yield the results of an event, and what it writes to memory, for each tile block."""
        for lane, rank in enumerate(event.ranks.tolist()):
            for value, tile in results_of(event, lane):
                if value.type is TOKEN or not isinstance(value.type, Tile) or isinstance(value.type.element, Ptr):
                    continue
                yield self._key(rank, self.source.name(value)), event.op, value, tile
            access = event.access
            if access is not None and access.writes and access.value is not None:
                chosen = access.mask[lane]
                addresses = access.addresses[lane][chosen]
                if addresses.size:
                    written = np.broadcast_to(access.value, access.mask.shape)[lane][chosen]
                    name = f"memory from {element_at(int(addresses.reshape(-1)[0]), self.arrays)}"
                    yield self._key(rank, name), event.op, None, written

    def _key(self, rank: int, name: str) -> Key:
        time = self.times.get((rank, name), 0)
        self.times[rank, name] = time + 1
        return rank, name, time


class _Found(Exception):
    """The first difference, which ends the second launch."""

    def __init__(self, found: FirstDifference) -> None:
        super().__init__()
        self.found = found


def first_difference(grid: Any, left: Run, right: Run) -> tuple[FirstDifference | None, bool]:
    """Run two launches; return the first difference, and whether everything could be kept for the comparison.

    The arrays among the arguments are written; pass copies if they are needed afterwards. "First" is in the order of
    the second launch. Pointers and tokens are not compared.
    """
    first, second = _Log(left), _Log(right)
    kept: dict[Key, tuple[Op, Array]] = {}
    size, complete = 0, True

    def keep(event: Event) -> None:
        nonlocal size, complete
        for key, o, _, tile in first.entries(event):
            if size + tile.nbytes > MOST_BYTES:
                complete = False
                return
            size += tile.nbytes + 200
            kept[key] = o, tile

    def compare(event: Event) -> None:
        for key, o, value, tile in second.entries(event):
            if key in kept:
                before, theirs = kept.pop(key)
                found = _compare(key, (before, o), value, theirs, tile, (first, second), event)
                if found is not None:
                    raise _Found(found)

    options = [{"names": run.names, "convention": run.convention} for run in (left, right)]
    silent = {"output": lambda text: None}
    left.kernel.launch(grid, left.args, observe=Observe(keep), **options[0], **silent)
    try:
        right.kernel.launch(grid, right.args, observe=Observe(compare), **options[1], **silent)
    except _Found as found:
        return found.found, complete
    return None, complete


def _compare(
    key: Key, ops: tuple[Op, Op], value: Value | None, left: Array, right: Array, logs: tuple[_Log, _Log], event: Event
) -> FirstDifference | None:
    a, b = np.asarray(left), np.asarray(right)
    if a.shape == b.shape and a.dtype == b.dtype:
        if a.tobytes() == b.tobytes():
            return None
        bits = [np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").reshape(x.shape) for x in (a, b)]
        different = bits[0] != bits[1]
    else:
        different = np.ones(b.shape, bool)
    where = tuple(int(i) for i in np.argwhere(different)[0]) if different.ndim else ()
    lane = int(np.flatnonzero(event.ranks == key[0])[0])
    shown = []
    for x in (a, b):
        at = where if x.ndim == len(where) and a.shape == b.shape else (0,) * x.ndim
        tile = numbers(value.type, x) if value is not None else _memory_numbers(ops[1], x)
        shown.append(shown_number(tile, at))
    lines = logs[0].source.line(ops[0]), logs[1].source.line(ops[1])
    block = tuple(int(i) for i in event.blocks[lane])
    values = (shown[0], shown[1])
    return FirstDifference(ops, lines, block, key[1], key[2], where, values, int(different.sum()), int(different.size))


def shown_number(tile: Array, at: tuple[int, ...]) -> str:
    """Return an element as text; a float with all its digits."""
    number = tile[at]
    return repr(float(number)) if isinstance(number, np.floating) else element_text(number)


def _memory_numbers(o: Op, raw: Array) -> Array:
    """Return what an operation writes as numbers, by the type of its operand."""
    for value in o.operands:
        element = value.type.element if isinstance(value.type, Tile) else None
        if isinstance(element, Scalar) and element.is_float:
            return decode(element, raw)
    return raw
