"""`bounds` and `alignment`: accesses that memory cannot serve. The bad elements are reported and then left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engines.common.tiles import Array
from ..engines.reference.access import Access
from ..engines.reference.batch import Batch
from ..engines.reference.program import Advance, Instruction, Jump
from ..ir import Block, Op, walk
from ..ops import Alloca, Break, Continue, Entry, For, Loop, Yield
from .checks import Check, Step


class Alignment(Check):
    """Addresses must be multiples of the size of an element."""

    name = "alignment"

    def before(self, access: Access) -> None:
        span = access.place.span
        if access.bytes == 1 or (span is not None and not span.bits & (access.bytes - 1)):
            return
        low = access.addresses & (access.bytes - 1)
        if not low.any():
            return
        bad = (low != 0) & access.mask
        if not bad.any():
            return

        def values(where: tuple[int, ...]) -> dict[str, Any]:
            return {"the address": hex(int(access.addresses[where]))}

        rule = f"an address is not a multiple of {access.bytes}, the size of an element"
        self.reports.elements(self.name, access.op, rule, access.blocks, bad, values)
        access.drop(bad)


class Bounds(Check):
    """Every byte of an element must lie in one buffer, which must be writable for a write.

    The memory of an `alloca` must not be used after the end of the block that it is in.
    """

    name = "bounds"

    def begin(self, entry: Entry) -> None:
        self._ends = _ends(entry)
        self._addresses: dict[Op, dict[int, int]] = {}
        """For each `alloca` inside a block, its memory by tile block."""
        self._dead: dict[int, Op] = {}
        """The addresses of memory whose block has ended."""

    def release(self) -> None:
        self._addresses.clear()
        self._dead.clear()

    def watches(self, o: Op) -> bool:
        return isinstance(o, Alloca) and bool(self._ends)

    def result(self, step: Step, result: Any) -> None:
        """Remember where an `alloca` is; executing it again gives the same memory for another lifetime."""
        known = self._addresses.setdefault(step.op, {})
        known.update(zip(step.batch.ranks.tolist(), result.tolist()))
        for address in result.tolist():
            self._dead.pop(address, None)

    def decides(self, instruction: Instruction) -> bool:
        entering = isinstance(instruction, Jump) and isinstance(instruction.op, For)
        return isinstance(instruction, (Jump, Advance)) and not entering and instruction.op in self._ends

    def branch(self, instruction: Any, batch: Batch) -> None:
        for o in self._ends[instruction.op]:
            known = self._addresses.get(o, {})
            self._dead.update((known[rank], o) for rank in batch.ranks.tolist() if rank in known)

    def before(self, access: Access) -> None:
        memory = self.machine.memory
        if not self._dead and self._inside(access):
            return
        starts = np.array([s.address for s in memory.segments], np.int64)
        ends = np.array([s.end for s in memory.segments], np.int64)
        number = np.searchsorted(starts, access.addresses, "right") - 1
        outside = number < 0
        if len(starts):
            outside |= access.addresses > ends[np.maximum(number, 0)] - access.bytes
        self._refuse(access, f"{access.kind.noun} is outside every buffer", outside, self._nearest(access))

        def label(where: tuple[int, ...]) -> dict[str, Any]:
            return {"the memory": memory.segments[int(number[where])].label}

        at = np.maximum(number, 0)
        if access.writes and len(starts):
            writable = np.array([s.writable for s in memory.segments], bool)
            self._refuse(access, "a write to read-only memory", ~writable[at], label)
        if self._dead:
            dead = np.array([s.address in self._dead for s in memory.segments], bool)
            rule = f"{access.kind.noun} of the memory of an 'alloca' after the end of its block"
            self._refuse(access, rule, dead[at], label)

    def _inside(self, access: Access) -> bool:
        """Tell quickly whether all elements, even masked ones, lie in one segment that may be accessed."""
        span = access.place.span
        segment = None if span is None else self.machine.memory.at(span.low)
        if segment is None or span is None or span.high + access.bytes > segment.end:
            return False
        return segment.writable or not access.writes

    def _refuse(self, access: Access, rule: str, bad: Array, values: Any) -> None:
        bad = bad & access.mask
        if bad.any():
            self.reports.elements(self.name, access.op, rule, access.blocks, bad, values)
            access.drop(bad)

    def _nearest(self, access: Access) -> Any:
        def values(where: tuple[int, ...]) -> dict[str, Any]:
            address = int(access.addresses[where]) & (1 << 64) - 1
            return {"the address": hex(address) + self.machine.memory.nearby(address).replace(":", ",", 1)}

        return values


def _ends(entry: Entry) -> dict[Op, list[Op]]:
    """For each operation that ends a block, the `alloca` operations in what it leaves; for a `for`, in its body."""
    outer: dict[Op, tuple[Block, Op]] = {}
    inside: dict[Block, list[Op]] = {}
    for o in walk(entry):
        for block in o.blocks:
            outer.update((inner, (block, o)) for inner in block.ops)
            inside[block] = [inner for inner in block.ops if isinstance(inner, Alloca)]
    inside[entry.body] = []
    found: dict[Op, list[Op]] = {}
    for end in outer if any(inside.values()) else ():
        if isinstance(end, For):
            found[end] = inside[end.region]
        elif isinstance(end, (Break, Continue, Yield)):
            block, o = outer[end]
            found[end] = list(inside[block])
            while not isinstance(end, Yield) and not isinstance(o, (For, Loop)):
                block, o = outer[o]
                found[end] += inside[block]
    return {end: leaves for end, leaves in found.items() if leaves}
