"""Memory between pages that nothing may touch, for the arguments of a launch."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence

import numpy as np

from .case import Part
from .elements import Array

PAGE = mmap.PAGESIZE
PAGES = 64
"""The largest region, in pages."""
CANARY = 0xA5
NONE, BOTH = 0, 3
LIBRARY = ctypes.CDLL(None, use_errno=True)


def protect(address: int, size: int, access: int) -> None:
    if LIBRARY.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), access):
        raise OSError(ctypes.get_errno(), "mprotect")


class Slot:
    """Room for one region: only the pages that it needs can be accessed."""

    def __init__(self) -> None:
        size = (PAGES + 2) * PAGE
        self._memory = mmap.mmap(-1, size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self.bytes = np.frombuffer(self._memory, np.uint8)
        self.open = slice(0, 0)
        protect(self.address, size, NONE)

    def place(self, data: Array, before: bool) -> int:
        """Copy data so that it begins after a forbidden page, or ends at one; return where it is."""
        protect(self.address, (PAGES + 2) * PAGE, NONE)
        pages = max(1, -(-data.nbytes // PAGE))
        if pages > PAGES:
            raise ValueError(f"a region has {data.nbytes} bytes, at most {PAGES * PAGE} fit")
        protect(self.address + PAGE, pages * PAGE, BOTH)
        self.open = slice(PAGE, PAGE + pages * PAGE)
        start = PAGE if before else self.open.stop - data.nbytes
        self.bytes[self.open] = CANARY
        self.bytes[start : start + data.nbytes] = data.view(np.uint8)
        return start


class Slots:
    """Room for the regions of a case."""

    def __init__(self) -> None:
        self._slots: list[Slot] = []
        self._used: list[tuple[Slot, int]] = []

    def place(self, regions: Sequence[Array], before: bool) -> None:
        while len(self._slots) < len(regions):
            self._slots.append(Slot())
        self._used = [(slot, slot.place(data, before)) for slot, data in zip(self._slots, regions)]

    def arguments(self, args: Sequence[Part | int]) -> list[Array | int]:
        """Return arrays for the arguments that are parts of regions."""
        return [self._array(arg) if isinstance(arg, Part) else arg for arg in args]

    def _array(self, part: Part) -> Array:
        slot, start = self._used[part.region]
        low = start + part.start * part.item
        return slot.bytes[low : low + part.length * part.item].view(f"u{part.item}")

    def content(self) -> list[bytes]:
        """Return all bytes that can be accessed: regions, and what surrounds them."""
        return [slot.bytes[slot.open].tobytes() for slot, _ in self._used]

    def starts(self) -> list[int]:
        """Return where each region begins in its content."""
        return [start - PAGE for _, start in self._used]
