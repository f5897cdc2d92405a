"""The first operation in which two engines differ, although they show only what a kernel leaves in memory.

Both engines run a copy of the kernel that stores its values (`instrument`). The stores change what a compiler sees, so
a fault may disappear with them: then fewer values are stored, half as many each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ..diag import TileError
from ..engines.common.launch import check_grid
from ..engines.common.tiles import Array, carrier, unpacked
from ..engines.registry import DEFAULT, load_engine
from ..ir import Op
from ..ops import Module
from ..types import Scalar
from .arrays import ArrayArgument, array_arguments
from .difference import MOST_BYTES, FirstDifference, shown_number
from .instrument import Instrumented, Probe, ValueSlot, count_trips, find_probes, instrument, split
from .names import Source
from .numbers import decode
from .watch import WatchedWrite, watch_element

MOST_RUNS = 24
"""How many smaller groups of values are tried if storing all of them hides the difference."""

Load = Callable[[Module], Any]
"""Loads a module on an engine."""
Differ = Callable[[Scalar, Array, Array], Array]
"""Tells which elements differ."""


@dataclass(slots=True)
class EngineLaunch:
    """A launch to run on two engines. Arrays among the arguments are copied."""

    module: Module
    grid: Any
    args: Sequence[Any]
    entry: str | None = None
    names: Sequence[str] = ()
    convention: str | None = None
    source: Source | None = None

    def options(self, more: Sequence[Any] = ()) -> dict[str, Any]:
        """Return the options of `Kernel.launch`, with copies of the arrays and further arguments."""
        args = [a.copy() if hasattr(a, "ndim") else a for a in self.args]
        made: dict[str, Any] = {"grid": self.grid, "args": [*args, *more], "names": self.names}
        return made | {"convention": self.convention, "output": lambda text: None}


@dataclass(slots=True)
class EngineResult:
    """The first difference between two engines, and what is known besides."""

    first: FirstDifference | None = None
    complete: bool = True
    """Whether all executions of the stored values were compared."""
    hidden: bool = False
    """Whether the results differ, but not if all values are stored."""
    stored: int = 0
    """How many values were stored in the launch that shows the first difference."""
    runs: int = 0
    """How many pairs of launches it took."""
    notes: list[str] = field(default_factory=list)
    equal: bool = False
    """Whether neither a value nor an array differs."""


def bits_differ(element: Scalar, left: Array, right: Array) -> Array:
    """Tell which elements have different bits; all NaNs are the same.

    >>> from tilery.types import F32
    >>> bits_differ(F32, np.array([0.0, np.nan, 1.0], np.float32), np.array([-0.0, -np.nan, 1.0], np.float32)).tolist()
    [True, False, False]
    """
    a, b = (np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}") for x in (left, right))
    different: Array = a != b
    if element.is_float and element.bits >= 8 and different.any():
        with np.errstate(all="ignore"):
            different &= ~(np.isnan(decode(element, left)) & np.isnan(decode(element, right)))
    return different


def first_engine_difference(
    launch: EngineLaunch, left: Load, right: Load, differ: Differ = bits_differ
) -> EngineResult:
    """Find the first operation, tile block and element in which two engines differ.

    The order is that of one tile block; of several blocks in which the same execution differs, it is the first. The
    reference engine counts the iterations of loops. Pointers, tokens and undefined elements are not compared.
    """
    return _Search(launch, (left, right), differ).run()


class _Search:
    def __init__(self, launch: EngineLaunch, loads: tuple[Load, Load], differ: Differ) -> None:
        self.launch, self.loads, self.differ = launch, loads, differ
        self.reference = load_engine(DEFAULT).load(launch.module).kernel(launch.entry)
        self.entry = self.reference.entry
        self.source = launch.source or Source(launch.module)
        self.grid = check_grid(launch.grid)
        self.blocks = prod(self.grid)
        self.result = EngineResult()
        self.key: tuple[int, ...] | None = None

    def run(self) -> EngineResult:
        result = self.result
        plain = self._left_in_arrays(launch_both(self.launch, self.loads, self.launch.module, self.entry.sym_name))
        self.trips = count_trips(self.reference, self.launch.options(), load_engine(DEFAULT).load)
        groups = list(split(find_probes(self.entry), self.trips, self.blocks, MOST_BYTES))
        visible = [self._try(group) for group in groups if self._may_be_first(group)]
        result.equal = result.first is None and plain is None
        if result.first is not None or plain is None:
            return result
        if groups and not all(visible):
            result.hidden = True
            self._try_fewer(groups)
        if result.first is None:
            result.first = self._written(*plain)
        return result

    def _may_be_first(self, group: Sequence[Probe]) -> bool:
        return self.key is None or any(probe.key() < self.key for probe in group)

    def _try(self, group: Sequence[Probe]) -> bool:
        """Run both engines with these values stored, keep the first difference; tell whether the arrays differ."""
        made = instrument(
            self.launch.module, self.entry, group, self.trips, self.blocks,
            most=MOST_BYTES, convention=self.launch.convention,
        )  # fmt: skip
        stored = made.buffers(), made.buffers()
        self.result.runs += 1
        args = launch_both(
            self.launch, self.loads, made.module, self.entry.sym_name, [list(buffers.values()) for buffers in stored]
        )
        for slot in made.slots:
            self.result.complete &= slot.complete
            self._compare(made, slot, *(made.read(slot, buffers) for buffers in stored))
        return self._left_in_arrays(args) is not None

    def _try_fewer(self, groups: list[list[Probe]]) -> None:
        """Store fewer and fewer values until the difference is visible."""
        todo = list(groups)
        while todo and self.result.first is None and self.result.runs < MOST_RUNS:
            group = todo.pop(0)
            middle = len(group) // 2
            for part in (group[:middle], group[middle:]):
                if part and len(part) < len(group) and self.result.first is None:
                    self._try(part)
                    todo.append(part)

    def _compare(self, made: Instrumented, slot: ValueSlot, left: Array, right: Array) -> None:
        probe = slot.probe
        different = self.differ(probe.element, left, right)
        rows = np.flatnonzero(different.any(axis=1))
        if not rows.size:
            return
        row = int(rows[0])
        execution, rank = divmod(row, self.blocks)
        iterations = probe.iterations(execution, self.trips)
        key = probe.key(iterations)
        if self.key is not None and self.key <= key:
            return
        self.key, self.result.stored = key, len(made.slots)
        where = int(np.flatnonzero(different[row])[0])
        values = [shown_number(decode(probe.element, x[row]), (where,)) for x in (left, right)]
        line = self.source.line(probe.op)
        self.result.first = FirstDifference(
            ops=(probe.op, probe.op), lines=(line, line), block=self._position(rank),
            name=self.source.name(probe.value), time=0,
            element=tuple(int(i) for i in np.unravel_index(where, probe.type.shape)),
            values=(values[0], values[1]), count=int(different[row].sum()), size=probe.type.size, iterations=iterations,
        )  # fmt: skip

    def _position(self, rank: int) -> tuple[int, ...]:
        x, y, _ = self.grid
        return rank % x, rank // x % y, rank // (x * y)

    def _left_in_arrays(self, both: Sequence[Sequence[Any]]) -> tuple[int, tuple[int, ...], tuple[str, str]] | None:
        """Return the first element of an array argument that differs: the array, the index and both values."""
        arrays = [[a for a in args if hasattr(a, "ndim")] for args in both]
        for number, (kind, left, right) in enumerate(zip(self._arguments(self.launch.args), *arrays)):
            a, b = (_elements(np.ascontiguousarray(x), kind) for x in (left, right))
            different = self.differ(kind.element, a, b)
            if different.any():
                index = tuple(int(i) for i in np.argwhere(different)[0])
                values = [shown_number(decode(kind.element, x), index) for x in (a, b)]
                return number, index, (values[0], values[1])
        return None

    def _arguments(self, args: Sequence[Any]) -> list[ArrayArgument]:
        return array_arguments(self.reference.params, args, self.launch.names, self.launch.convention)

    def _written(self, number: int, index: tuple[int, ...], values: tuple[str, str]) -> FirstDifference | None:
        """Return the difference in an array, by the operation that writes the element last on the reference engine."""
        options = self.launch.options()
        array = self._arguments(options["args"])[number]
        name = f"memory from {array.name}[{', '.join(map(str, index))}]"
        writes: list[WatchedWrite] = []
        self.reference.launch(**options, observe=watch_element(array, index, writes.append))
        if not writes:
            self.result.notes.append(f"{name} is {values[0]} and {values[1]}; the reference engine does not write it")
            return None
        last: Op = writes[-1].op
        line = self.source.line(last)
        return FirstDifference((last, last), (line, line), writes[-1].block, name, 0, (), values, 1, 1)


def _elements(array: Array, kind: ArrayArgument) -> Array:
    """Return the elements of an array argument as the engine holds them."""
    raw = unpacked(array).reshape(kind.shape) if kind.bits == 4 else array
    return raw.view(carrier(kind.element))


def launch_both(
    launch: EngineLaunch, loads: tuple[Load, Load], module: Module, entry: str, more: Sequence[Sequence[Any]] = ((), ())
) -> list[list[Any]]:
    """Run a kernel on both engines; return what each leaves in the arguments of the launch."""
    return list(_launch_each(launch, loads, module, entry, more))


def _launch_each(
    launch: EngineLaunch, loads: tuple[Load, Load], module: Module, entry: str, more: Sequence[Sequence[Any]]
) -> Iterator[list[Any]]:
    for load, buffers in zip(loads, more):
        options = launch.options(buffers)
        try:
            load(module).kernel(entry).launch(**options)
        except TileError as error:
            if buffers:
                error.notes = [*error.notes, "this is the kernel with stores of its values"]
            raise
        yield options["args"][: len(launch.args)]
