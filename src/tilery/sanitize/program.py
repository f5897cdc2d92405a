"""Memory of a program around its launches: what it allocated and did not write, and what it reads of undefined values.

Memory that a program allocates without a value, by `torch.empty` for example, is filled with a *mark*, a word that is
drawn for each program. Words that still hold it at a launch have not been written, whoever might have done so.

A program may read only a part of what a kernel stored. So where its reads are seen, an undefined value that is stored
is a hint, and becomes a fault when the program reads it.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..engines.common.addresses import HoldsAddresses
from ..engines.common.memory import Memory
from ..engines.common.tiles import Array
from ..ir import Op
from .origins import Origin
from .regions import MemoryShadow, TrackedMemory
from .reports import Occurrence, Report

if TYPE_CHECKING:
    from .sanitizer import Sanitizer

WORD = 8
READ = "an undefined value is stored to memory and read by the program"
NOT_READ = "an undefined value is stored to memory, and has not been read so far"


class Strided(NamedTuple):
    """An array of a program; strides are in bytes."""

    address: int
    item: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def addresses(self) -> Array:
        """The addresses of all elements, flat."""
        at = np.full((1,) * len(self.shape), self.address, np.int64)
        for axis, (size, stride) in enumerate(zip(self.shape, self.strides)):
            at = at + (np.arange(size, dtype=np.int64) * stride).reshape(-1, *(1,) * (len(self.shape) - axis - 1))
        return at.reshape(-1)

    @property
    def bounds(self) -> tuple[int, int]:
        """The addresses of its first byte, and of the byte after its last."""
        reach = [(size - 1) * stride for size, stride in zip(self.shape, self.strides)]
        low = self.address + sum(min(0, each) for each in reach)
        return low, self.address + sum(max(0, each) for each in reach) + self.item


class ProgramMemory(HoldsAddresses):
    """A sanitizer's knowledge of the memory of a program."""

    def __init__(self, owner: Sanitizer) -> None:
        self._owner = owner
        # NaN as a float of 16, 32 or 64 bits, and not a number that programs use.
        self.mark = np.frombuffer(bytes(b for _ in range(4) for b in (random.randrange(0x81, 0xFF), 0xFF)), np.uint64)
        self._count = 0
        self._fresh: dict[int, TrackedMemory] = {}
        """Memory that was allocated without a value, by address."""
        self._kept: dict[int, TrackedMemory] = {}
        """Memory that holds undefined values which kernels stored, by address."""
        self._stores: dict[int, tuple[Op, str, str]] = {}
        """For fresh memory that launches took as an argument, by its origin: the operation that stores to it, or the
        kernel; the name of the kernel; and the line that launched it."""
        self._hints: dict[Op, Report] = {}
        self._pending: dict[int, Report] = {}
        """Hints about undefined values that were stored, by the number of their origin."""
        self.find: Callable[[int], tuple[int, int] | None] = lambda address: None
        """Returns the start and the size of the allocation at an address, if reads of it are seen."""

    # ------------------------------------------------------------ what the program does

    def allocate(self, address: int, size: int) -> None:
        """Memory was allocated without a value: mark it."""
        self.free(address)
        words = _words(address, size)
        words[:] = self.mark[0]
        if len(words):
            self._count += 1
            origin = self._owner.origins.add(Origin(f"allocation {self._count}", is_memory=True))
            self._fresh[address] = TrackedMemory(address, len(words) * WORD, False, origin)

    def free(self, address: int) -> None:
        """The allocation at an address has ended."""
        self._fresh.pop(address, None)
        self._kept.pop(address, None)

    def forget(self) -> None:
        """A launch was not watched: what it has written is not known."""
        self._fresh.clear()
        self._kept.clear()

    def write(self, array: Strided) -> None:
        """The program has written an array."""
        if regions := _near(self._kept.values(), array):
            addresses = array.addresses
            for region, chosen in MemoryShadow(regions).parts(addresses):
                region.store(addresses[chosen] - region.start, array.item, None)

    def copy(self, source: Strided, target: Strided, allocation: Callable[[], tuple[int, int]]) -> None:
        """The program has copied an array, element by element; their types may differ.

        `allocation` returns the start and the size of the memory that holds the target.
        """
        self.write(target)
        shadows = self._shadows(source)
        if shadows.any() and source.shape == target.shape:
            region = self._keep(*allocation())
            region.store(target.addresses - region.start, target.item, np.where(shadows != 0, shadows | 0xFF, 0))

    def read(self, array: Strided, where: str) -> list[Report]:
        """The program reads an array, at a place of its source. Return what is a fault because of that."""
        shadows = self._shadows(array)
        found: list[Report] = []
        for number in np.unique(shadows >> 8).tolist() if shadows.any() else ():
            report = self._pending.pop(number, None)
            if report is not None and report.hint:
                report.hint, report.rule = False, READ
                report.notes.append(f"the program reads it at {where}")
                found += [] if report.is_suppressed else [report]
            elif number in self._stores:
                more = self._unwritten(self._stores[number], shadows >> 8 == number, array.shape, where)
                found += [] if more is None else [more]
        return found

    def _shadows(self, array: Strided) -> Array:
        """Return the shadows of an array, flat: of undefined values that kernels stored, and of what they did not."""
        out = np.zeros(1, np.uint32)
        kept = _near(self._kept.values(), array)
        taken = [region for region in _near(self._fresh.values(), array) if region.origin in self._stores]
        if kept or taken:
            addresses = array.addresses
            out = MemoryShadow(kept).load(addresses, array.item)
            for region, chosen in MemoryShadow(taken).parts(addresses):
                words = _words(region.start, region.end - region.start)
                is_marked = words[(addresses[chosen] - region.start) // WORD] == self.mark[0]
                # A kernel that copies the mark has written an undefined value.
                is_marked &= out[chosen] == 0
                out[chosen] = np.where(is_marked, np.uint32(region.origin << 8 | 0xFF), out[chosen])
        return out

    def _unwritten(
        self, store: tuple[Op, str, str], missing: Array, shape: tuple[int, ...], where: str
    ) -> Report | None:
        """Report that the program reads what no launch wrote; return the report if it is new."""
        o, kernel, launched = store
        if "unwritten" not in self._owner.names:
            return None
        rule = "the program reads elements of an array that no tile block wrote"
        report = self._owner.reports.add("unwritten", rule, [Occurrence(o)])
        if report is None or report.count:
            return None
        report.count = 1
        first = np.unravel_index(int(np.argmax(missing)), shape)
        report.values = {
            "the first one": f"[{', '.join(str(int(i)) for i in first)}]",
            "their number": f"{int(np.count_nonzero(missing))} of {missing.size}",
        }
        report.notes = [f"the program reads it at {where}"]
        self._owner.complete(report, kernel, launched)
        return None if report.is_suppressed else report

    # ------------------------------------------------------------ what a launch asks for

    def regions(self, memory: Memory) -> list[TrackedMemory]:
        """Return the memory of a launch that is undefined, as it is now."""
        found = [region for region in self._kept.values() if _is_in(region, memory)]
        for region in self._fresh.values():
            if _is_in(region, memory):
                is_marked = _words(region.start, region.end - region.start) == self.mark[0]
                region.bytes[:] = np.repeat(is_marked, WORD)
                if is_marked.any():
                    found.append(region)
        return found

    def taken(self, memory: Memory, kernel: str, store_to: Callable[[int], Op]) -> None:
        """A launch has ended; `store_to` returns the operation that would store to the memory at an address."""
        for region in self._fresh.values():
            if _is_in(region, memory):
                self._stores[region.origin] = store_to(region.start), kernel, self._owner.launched

    def keep(self, memory: MemoryShadow, o: Op, addresses: Array, size: int, shadows: Array) -> Array:
        """Take note that undefined values are stored. Return which of them the program may leave unread."""
        kept, origins = np.zeros(len(addresses), bool), self._owner.origins
        while len(todo := np.flatnonzero((shadows != 0) & ~kept)):
            found = self.find(int(addresses[todo[0]]))
            if found is None:
                break
            region = self._keep(*found)
            if region not in memory.regions:
                memory.add(region)
            inside = np.flatnonzero((addresses >= region.start) & (addresses < region.end))
            stored = shadows[inside]
            for number in np.unique(stored[stored != 0] >> 8).tolist():
                mine = origins.add(Origin(op=o, is_memory=True, parent=number))
                stored = np.where(stored >> 8 == number, np.uint32(mine << 8) | stored & 0xFF, stored)
            region.store(addresses[inside] - region.start, size, stored)
            kept[inside] = True
        undefined: Array = kept & (shadows != 0)
        return undefined

    def pend(self, o: Op, numbers: Iterable[int], report: Report | None) -> None:
        """Remember a hint, for when the program reads what was stored; None is the operation's last one."""
        if report is not None:
            self._hints[o] = report
        for number in numbers if o in self._hints else ():
            self._pending[self._owner.origins.add(Origin(op=o, is_memory=True, parent=number))] = self._hints[o]

    def _keep(self, start: int, size: int) -> TrackedMemory:
        if start not in self._kept:
            region = self._kept[start] = TrackedMemory(start, size, False)
            region.bytes[:] = 0
        return self._kept[start]


def _words(address: int, size: int) -> Array:
    raw = (ctypes.c_uint64 * (size // WORD)).from_address(address)
    return np.frombuffer(memoryview(raw).cast("B"), np.uint64)


def _near(regions: Iterable[TrackedMemory], array: Strided) -> list[TrackedMemory]:
    if 0 in array.shape:
        return []
    low, high = array.bounds
    return [region for region in regions if region.start < high and low < region.end]


def _is_in(region: TrackedMemory, memory: Memory) -> bool:
    return any(segment.address < region.end and region.start < segment.end for segment in memory.segments)
