"""Memory of which some bytes are undefined."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

import numpy as np

from ..engines.common.addresses import HoldsAddresses
from ..engines.common.tiles import Array

Saved = tuple[Array, Array | None]


class TrackedMemory(HoldsAddresses):
    """Memory with a flag for each byte that was not written, and the origin of what is undefined there."""

    __slots__ = ("_origins", "bytes", "end", "origin", "private", "start")

    def __init__(self, start: int, size: int, private: bool, origin: int = 0) -> None:
        self.start, self.end, self.private = start, start + size, private
        self.bytes = np.ones(size, np.uint8)
        self.origin = origin
        """The origin of bytes that were not written."""
        self._origins: Array | None = None
        """By byte, if undefined values were stored; 0 is `origin`."""

    def load(self, at: Array, size: int) -> Array:
        """Return the shadows of elements, which start at these bytes."""
        out = np.zeros(len(at), np.uint32)
        for byte in range(size):
            where = np.minimum(at + byte, len(self.bytes) - 1)
            flags = self.bytes[where].astype(np.uint32)
            origins = np.uint32(self.origin) if self._origins is None else self._origins[where]
            origins = np.where(origins == 0, np.uint32(self.origin), origins)
            out |= flags << byte
            out = np.where((out >> 8 == 0) & (flags != 0), out | origins << 8, out)
        return out

    def store(self, at: Array, size: int, shadows: Array | None) -> None:
        """Store elements with shadows; None is defined."""
        origins = None if shadows is None else shadows >> 8
        if origins is not None and self._origins is None and origins.any():
            self._origins = np.zeros(len(self.bytes), np.uint32)
        for byte in range(size):
            where = np.minimum(at + byte, len(self.bytes) - 1)
            self.bytes[where] = 0 if shadows is None else shadows >> byte & 1
            if self._origins is not None and origins is not None:
                self._origins[where] = origins

    def fill(self, at: int, size: int) -> None:
        """Make bytes undefined again."""
        self.bytes[at : at + size] = 1
        if self._origins is not None:
            self._origins[at : at + size] = 0

    def save(self) -> Saved:
        """Return a copy of the state, for `restore`."""
        return self.bytes.copy(), None if self._origins is None else self._origins.copy()

    def restore(self, saved: Saved) -> None:
        self.bytes[...] = saved[0]
        self._origins = None if saved[1] is None else saved[1].copy()


class MemoryShadow:
    """The regions, in order of address. Everything else is defined."""

    def __init__(self, regions: Iterable[TrackedMemory]) -> None:
        self.regions = sorted(regions, key=lambda region: region.start)

    def add(self, region: TrackedMemory) -> None:
        at = bisect_right([r.start for r in self.regions], region.start)
        self.regions.insert(at, region)

    def parts(self, addresses: Array) -> list[tuple[TrackedMemory, Array]]:
        """Return the regions that hold some of the addresses, and which ones."""
        if not self.regions or not addresses.size:
            return []
        low, high = int(addresses.min()), int(addresses.max())
        near = [r for r in self.regions if r.start <= high and low < r.end]
        found = [(r, np.flatnonzero((addresses >= r.start) & (addresses < r.end))) for r in near]
        return [(region, chosen) for region, chosen in found if len(chosen)]

    def load(self, addresses: Array, size: int) -> Array:
        """Return the shadow of each element."""
        out = np.zeros(len(addresses), np.uint32)
        for region, chosen in self.parts(addresses):
            more = region.load(addresses[chosen] - region.start, size)
            out[chosen] = np.where(out[chosen] == 0, more, out[chosen] | more & 0xFF)  # regions may overlap
        return out

    def store(self, addresses: Array, size: int, shadows: Array) -> Array:
        """Set the bytes of elements in private regions, and clear them elsewhere. Return which elements are private."""
        private = np.zeros(len(addresses), bool)
        for region, chosen in self.parts(addresses):
            region.store(addresses[chosen] - region.start, size, shadows[chosen] if region.private else None)
            private[chosen] = region.private
        return private

    def fill(self, starts: Array, size: int) -> None:
        """Make memory undefined again."""
        for region, chosen in self.parts(starts):
            for at in (starts[chosen] - region.start).tolist():
                region.fill(at, size)
