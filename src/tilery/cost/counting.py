"""The exact cost of a launch, counted by a check of the sanitizer on the reference engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..analysis.flops import flops
from ..engines.common.kernel import find_entry
from ..engines.common.tiles import Array
from ..engines.registry import compile_kernel
from ..ir import Op, walk
from ..ops import Module
from ..sanitize import Access, AccessKind, Check, Sanitizer, Step
from .model import KernelCost, OpCost
from .static import ceiling, tiles

READ, WRITTEN = 1, 2


class Tally:
    """A record of a launch: executions and bytes by operation, and which bytes of memory were touched."""

    def __init__(self) -> None:
        self.times: Counter[Op] = Counter()
        self.read: Counter[Op] = Counter()
        self.written: Counter[Op] = Counter()
        self.touched: dict[int, Array] = {}

    def count(self, access: Access, segments: Any) -> None:
        """Count the elements of an access that its mask selects."""
        amount = int(np.count_nonzero(access.mask)) * access.element.bits // 8
        if access.kind is not AccessKind.WRITE:
            self.read[access.op] += amount
        if access.kind is not AccessKind.READ:
            self.written[access.op] += amount
        addresses = access.addresses[access.mask]
        flag = {AccessKind.READ: READ, AccessKind.WRITE: WRITTEN, AccessKind.UPDATE: READ | WRITTEN}[access.kind]
        number = np.searchsorted([segment.address for segment in segments], addresses, "right") - 1
        for index in np.unique(number).tolist():
            start, end = segments[index].address, segments[index].end
            known = self.touched.setdefault(start, np.zeros(end - start, np.uint8))
            first = addresses[number == index] - start
            for byte in range(access.bytes):
                known[first + byte] |= flag

    def distinct(self, flag: int) -> int:
        return sum(int(np.count_nonzero(known & flag)) for known in self.touched.values())


class CostCounter(Check):
    """Counts into `tally`; it reports nothing."""

    name = "cost"
    tally: Tally

    def result(self, step: Step, result: Any) -> None:
        self.tally.times[step.op] += step.batch.lanes

    def after(self, access: Access) -> None:
        self.tally.count(access, self.machine.memory.segments)


def measure(
    module: Module, grid: int | Sequence[int], args: Sequence[Any], entry: str | None = None, **options: Any
) -> KernelCost:
    """Launch a kernel of a legal module on the reference engine, and return exactly what it did.

    The bytes are those of elements that are really accessed: not masked, and inside the view. `options` are those of
    `launch`. A bad access raises an error.
    """
    found = find_entry(module, entry)
    tally = Tally()
    bound = type("CostCounter", (CostCounter,), {"tally": tally})
    watcher = Sanitizer("bounds,alignment", raises=True, more=[bound])
    kernel = compile_kernel(module, found.sym_name)
    stats = kernel.launch(grid, args, sanitize=watcher, **options)
    ops = [
        OpCost(o, times, flops(o) * times, tally.read[o], tally.written[o], ceiling(o))
        for o in walk(found.body)
        if (times := tally.times[o]) and (flops(o) or tally.read[o] or tally.written[o])
    ]
    distinct = tally.distinct(READ), tally.distinct(WRITTEN)
    return KernelCost(found.sym_name, ops, tiles(found), stats.blocks, True, *distinct)
