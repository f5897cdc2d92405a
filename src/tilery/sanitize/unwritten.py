"""`unwritten`: elements of declared outputs that no tile block of a launch wrote, and the block that should have."""

from __future__ import annotations

import numpy as np

from ..engines.common.addresses import HoldsAddresses
from ..engines.common.arrays import ArrayMemory
from ..engines.common.tiles import Array
from ..engines.reference.access import Access
from ..ir import Op
from ..ops import Entry
from .checks import Check
from .reports import Occurrence

Block = tuple[int, ...]
MOST_BLOCKS = 1 << 14
"""Tile blocks whose tiles are remembered, to find the one that should have written an element."""


class Output(HoldsAddresses):
    """An array that a launch must write, and what the launch has written of it."""

    __slots__ = ("array", "left_by", "op", "tiles", "written")

    def __init__(self, array: ArrayMemory) -> None:
        self.array = array
        self.written = np.zeros(array.high - array.low, bool)
        """By byte."""
        self.left_by = np.zeros(array.high - array.low, np.int64)
        """By byte: 1 + the number of a tile block whose store there was masked, else 0."""
        self.op: Op | None = None
        """The last operation that wrote to it, or whose mask kept it from that."""
        self.tiles: dict[Block, int] = {}
        """The lowest address that this operation stores to in each tile block."""

    def note(self, access: Access) -> None:
        """Take note of a write, and of elements that its mask leaves out."""
        flat = access.addresses.reshape(-1)
        near = (flat >= self.array.low) & (flat < self.array.high)
        if not near.any():
            return
        mask = (access.mask if access.wrote is None else access.wrote).reshape(-1)
        if self.op is not access.op and (self.op is None or (near & mask).any()):
            self.op, self.tiles = access.op, {}
        if self.op is access.op and len(self.tiles) < MOST_BLOCKS:
            lowest = access.addresses.reshape(len(access.addresses), -1).min(axis=1)
            self.tiles |= zip(map(tuple, access.blocks.tolist()), lowest.tolist())
        at = flat[near & mask] - self.array.low
        # Where an element outside a tensor would be says nothing: it may be in the next row.
        out = np.flatnonzero(near & ~mask) if hasattr(access.op, "mask") else np.empty(0, np.int64)
        ranks = np.asarray(access.ranks)[out // access.lane_size]
        for byte in range(access.bytes):
            self.written[np.minimum(at + byte, len(self.written) - 1)] = True
            self.left_by[np.minimum(flat[out] - self.array.low + byte, len(self.written) - 1)] = ranks + 1

    def missing(self) -> Array:
        """Return which elements have a byte that is not written."""
        array = self.array
        at = np.full(array.shape, array.address - array.low, np.int64)
        for axis, (size, stride) in enumerate(zip(array.shape, array.strides)):
            steps = np.arange(size, dtype=np.int64) * (stride * array.item)
            at += steps.reshape(-1, *(1,) * (len(array.shape) - axis - 1))
        missing: Array = ~self.written[at]
        for byte in range(1, array.item):
            missing |= ~self.written[at + byte]
        return missing

    def offset(self, index: tuple[int, ...]) -> int:
        """Return the place of an element in `written`."""
        strides = (i * stride * self.array.item for i, stride in zip(index, self.array.strides))
        return self.array.address - self.array.low + sum(strides)

    def block_for(self, address: int) -> Block | None:
        """Return the tile block whose tile would start at or before an address, if blocks store at equal distances."""
        if not self.tiles:
            return None
        first = min(self.tiles)
        steps = {}
        for axis in range(3):
            beside = [b for b in self.tiles if b[axis] > first[axis] and _without(b, axis) == _without(first, axis)]
            if beside and self.tiles[nearest := min(beside)] > self.tiles[first]:
                steps[axis] = max(1, (self.tiles[nearest] - self.tiles[first]) // (nearest[axis] - first[axis]))
        left, found = address - self.tiles[first], list(first)
        for axis, step in sorted(steps.items(), key=lambda each: -each[1]):
            found[axis] += left // step
            left %= step
        return tuple(found) if steps and min(found) >= 0 else None


def _without(block: Block, axis: int) -> Block:
    return block[:axis] + block[axis + 1 :]


class Unwritten(Check):
    """The outputs among the arguments of a launch."""

    name = "unwritten"

    def begin(self, entry: Entry) -> None:
        memory = self.machine.memory
        self._outputs = [Output(array) for array in self.machine.outputs if memory.at(array.low) is not None]

    def after(self, access: Access) -> None:
        if access.writes:
            for output in self._outputs:
                output.note(access)

    def finish(self) -> None:
        if self.machine.program is not None and not self.machine.failed:
            self.machine.program.taken(self.machine.memory, self.machine.kernel_name, self.machine.store_to)
        for output in [] if self.machine.failed else self._outputs:
            missing = output.missing()
            if missing.any():
                self._report(output, missing)

    def _report(self, output: Output, missing: Array) -> None:
        segment = self.machine.memory.at(output.array.low)
        label = "an output" if segment is None else segment.label
        what = f"any element of {label}" if missing.all() else f"some elements of {label}"
        place = Occurrence(output.op or self.machine.store_to(output.array.low))
        report = self.reports.add(self.name, f"no tile block wrote {what}, which is an output", [place])
        if report is None:
            return
        if not report.count:
            first = tuple(int(i) for i in np.unravel_index(int(np.argmax(missing)), missing.shape))
            number = int(np.count_nonzero(missing))
            shown = f"[{', '.join(map(str, first))}]"
            report.values = {"the first one": shown, "their number": f"{number} of {missing.size}"}
            report.notes = self._reason(output, output.offset(first), shown)
        report.count += 1

    def _reason(self, output: Output, offset: int, shown: str) -> list[str]:
        """Say which tile block should have written an element, as far as that can be told."""
        if output.op is None:
            o = self.machine.store_to(output.array.low)
            return ["no operation stores to it" if isinstance(o, Entry) else f"no tile block executes this {o.name}"]
        if rank := int(output.left_by[offset]):
            return [f"tile block {self._block(rank - 1)} stores to element {shown}, but its mask leaves it out"]
        block = output.block_for(output.array.low + offset)
        if block is None or block in output.tiles:
            return []
        grid = self.machine.grid
        if any(n >= size for n, size in zip(block, grid)):
            return [f"tile block {block} would store to element {shown}, but the grid is {grid}"]
        return [f"tile block {block} would store to element {shown}, but does not execute this operation"]

    def _block(self, rank: int) -> Block:
        gx, gy, _ = self.machine.grid
        return rank % gx, rank // gx % gy, rank // (gx * gy)
