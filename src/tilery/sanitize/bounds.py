"""`bounds` and `alignment`: accesses that memory cannot serve. The bad elements are reported and then left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engines.common.tiles import Array
from ..engines.reference.access import KINDS, Access
from ..engines.reference.batch import Batch
from ..engines.reference.program import Advance, CopyAndJump, Instruction, Leave
from ..ir import Block, Op, walk
from ..ops import Alloca, Break, Continue, Entry, For, Loop, Yield
from .checks import Check, Rule, Step
from .provenance import NOTHING, Owner, pointer_of


class AlignmentCheck(Check):
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


class BoundsCheck(Check):
    """Every byte of an element must be in the memory that its pointer belongs to, which must be writable for a write.

    A pointer that belongs to nothing, since it was an integer, may point to any buffer. The memory of an `alloca` must
    not be used after the end of the block that it is in, nor by another tile block.
    """

    name = "bounds"

    def begin(self, entry: Entry) -> None:
        self._ends = _ends(entry)
        self._addresses: dict[Op, dict[int, int]] = {}
        """For each `alloca` inside a block, its memory by tile block."""
        self._dead: dict[int, Op] = {}
        """The addresses of memory whose block has ended."""
        self._private: dict[int, int] = {}
        """The tile block that the memory of an `alloca` belongs to, by address."""
        self._provenance = self.machine.provenance
        self._numbers: Array | None = None
        """The owners of the elements of the access that is executed, if they vary."""

    def release(self) -> None:
        self._addresses.clear()
        self._dead.clear()
        self._private.clear()

    def watches(self, o: Op) -> bool:
        return isinstance(o, Alloca) or not self._provenance.varying.isdisjoint(o.results)

    def result(self, step: Step, result: Any) -> None:
        """Remember where an `alloca` is; executing it again gives the same memory for another lifetime."""
        if not isinstance(step.op, Alloca):
            self._provenance.compute(step)
            return
        known = self._addresses.setdefault(step.op, {})
        known.update(zip(step.batch.ranks.tolist(), result.tolist()))
        self._private.update(zip(result.tolist(), step.batch.ranks.tolist()))
        for address in result.tolist():
            self._dead.pop(address, None)

    def rules(self, cls: type[Op]) -> Rule | None:
        return BoundsCheck._find_owners if self._provenance.varying and cls in KINDS else None

    def _find_owners(self, step: Step) -> None:
        self._numbers = self._provenance.of_access(step)

    def decides(self, instruction: Instruction) -> bool:
        moves = isinstance(instruction, (CopyAndJump, Advance, Leave)) and self._provenance.moves(instruction.moves)
        return moves or self._is_end(instruction)

    def _is_end(self, instruction: Instruction) -> bool:
        entering = isinstance(instruction, CopyAndJump) and isinstance(instruction.op, For)
        return isinstance(instruction, (CopyAndJump, Advance)) and not entering and instruction.op in self._ends

    def branch(self, instruction: Any, batch: Batch) -> None:
        self._provenance.move(batch, instruction.moves)
        for o in self._ends[instruction.op] if self._is_end(instruction) else ():
            known = self._addresses.get(o, {})
            self._dead.update((known[rank], o) for rank in batch.ranks.tolist() if rank in known)

    def before(self, access: Access) -> None:
        memory = self.machine.memory
        if self._check_owners(access) and not self._dead:
            return
        starts = np.array([s.address for s in memory.segments], np.int64)
        ends = np.array([s.end for s in memory.segments], np.int64)
        number = np.searchsorted(starts, access.addresses, "right") - 1
        outside = number < 0
        if len(starts):
            outside |= access.addresses > ends[np.maximum(number, 0)] - access.bytes
        self._outside(access, outside)

        def label(where: tuple[int, ...]) -> dict[str, Any]:
            return {"the memory": memory.segments[int(number[where])].label}

        at = np.maximum(number, 0)
        if access.writes and len(starts):
            writable = np.array([s.writable for s in memory.segments], bool)
            self._refuse(access, "a write to read-only memory", ~writable[at], label)
        if self._dead:
            dead = np.array([s.address in self._dead for s in memory.segments], bool)
            rule = f"{access.kind.noun} of the memory of an 'alloca' after the end of its block"
            self._refuse(access, rule, dead[at], label, "move the 'alloca' out of the branch or loop that it is in")
        if self._private:
            owners = np.array([self._private.get(s.address, -1) for s in memory.segments], np.int64)[at]
            ranks = np.asarray(access.ranks).reshape(-1, *(1,) * (owners.ndim - 1))
            rule = f"{access.kind.noun} of the memory of an 'alloca' of another tile block"
            why = "declare the 'alloca' global, or let tile blocks share an argument"
            self._refuse(access, rule, (owners >= 0) & (owners != ranks), label, why)

    def _check_owners(self, access: Access) -> bool:
        """Refuse elements outside of the memory that their pointers belong to; tell whether no more can be wrong."""
        value, owners = pointer_of(access.op), self._provenance.owners
        if value not in self._provenance.varying:
            owner = owners[self._provenance.fixed.get(value, NOTHING)]
            if self._inside(access, owner):
                return True
            self._stay(access, owner, np.broadcast_to(True, access.mask.shape))
        elif self._numbers is not None:
            for number in np.unique(self._numbers).tolist():
                self._stay(access, owners[number], _spread_over(self._numbers == number, access))
        return False

    def _stay(self, access: Access, owner: Owner | None, chosen: Array) -> None:
        """Refuse those of the chosen elements that are outside of the memory that their pointer belongs to."""
        if owner is None:
            return
        start, end = np.array(owner.start), np.array(owner.end)
        if owner.alloca is not None:
            known = self._addresses[owner.alloca]
            lanes = np.array([known[rank] for rank in access.ranks.tolist()], np.int64)
            start = lanes.reshape(-1, *(1,) * (access.mask.ndim - 1))
            end = start + owner.end
        outside: Array = (access.addresses < start) | (access.addresses > end - access.bytes)
        if outside.any():
            rule = f"{access.kind.noun} through a pointer to {owner.label} is outside of it"
            self._refuse(access, rule, outside & chosen, self._nearest(access))

    def _outside(self, access: Access, bad: Array) -> None:
        """Refuse elements that are in no memory at all."""
        self._refuse(access, f"{access.kind.noun} is outside every buffer", bad, self._nearest(access))

    def _inside(self, access: Access, owner: Owner | None) -> bool:
        """Tell quickly whether all elements, even masked ones, are in memory that may be accessed by their pointers."""
        span = access.place.span
        segment = None if span is None else self.machine.memory.at(span.low)
        if segment is None or span is None or span.high + access.bytes > segment.end:
            return False
        if owner is None and segment.address in self._private:
            return False
        if owner is not None:
            low = segment.address if owner.alloca is not None else owner.start
            high = low + owner.end if owner.alloca is not None else owner.end
            if span.low < low or span.high + access.bytes > high:
                return False
        return segment.writable or not access.writes

    def _refuse(self, access: Access, rule: str, bad: Array, values: Any, note: str = "") -> None:
        bad = bad & access.mask
        if bad.any():
            self.reports.elements(self.name, access.op, rule, access.blocks, bad, values, note=note)
            access.drop(bad)

    def _nearest(self, access: Access) -> Any:
        def values(where: tuple[int, ...]) -> dict[str, Any]:
            address = int(access.addresses[where]) & (1 << 64) - 1
            segment = self.machine.memory.at(address)
            if segment is not None:
                return {"the address": f"{address:#x}, byte {address - segment.address} of {segment.label}"}
            return {"the address": hex(address) + self.machine.memory.nearby(address).replace(":", ",", 1)}

        return values


def _spread_over(lanes: Array, access: Access) -> Array:
    """Spread what is known of the elements of a tile, or of a view as a whole, over the elements of an access."""
    return np.broadcast_to(lanes.reshape(*lanes.shape, *(1,) * (access.mask.ndim - lanes.ndim)), access.mask.shape)


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
