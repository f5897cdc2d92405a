"""Synchronisation: which releases an acquire sees.

A strong write to a location carries *heads*: the releases with which an acquire that reads it synchronizes. These are
the write itself if it is a release; what an atomic read-modify-write has read (a release sequence); and releases of
the same location by the same tile block that a token puts before the write. An acquire also counts what earlier strong
reads of the location by its tile block saw, if a token puts them before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...attrs import MemoryOrderingSemantics, MemoryScope
from ...engines.common.tiles import Array
from ...engines.reference.access import Access, AccessKind
from .happens_before import Past, Release

ACQUIRES = (MemoryOrderingSemantics.ACQUIRE, MemoryOrderingSemantics.ACQ_REL)
RELEASES = (MemoryOrderingSemantics.RELEASE, MemoryOrderingSemantics.ACQ_REL)


class Head(NamedTuple):
    """A release that a write carries: its tile block, whether its scope is wider than that, and what it publishes."""

    rank: int
    wide: bool
    node: Release


class StrongWrite(NamedTuple):
    """The last strong write to a location."""

    address: int
    bytes: int
    rank: int
    wide: bool
    heads: tuple[Head, ...]


@dataclass(slots=True)
class _History:
    """The synchronisation of a tile block at a location: releases, strong reads that saw releases, and their events."""

    releases: list[tuple[int, int, Head]] = field(default_factory=list)
    reads: list[tuple[int, int, tuple[Head, ...]]] = field(default_factory=list)


class Synchronization:
    """The strong accesses to memory so far, as far as acquires can see them."""

    def __init__(self, merges: bool) -> None:
        self._merges = merges
        """Whether the heads of a write may become one: no scope is narrower than the device."""
        self._last: dict[int, StrongWrite] = {}
        """The last write to each byte, while it is a strong one."""
        self._histories: dict[tuple[int, int, int], _History] = {}
        self._bytes: Array | None = None
        """The sorted keys of `_last`, made when they are needed."""

    def overwrite(self, access: Access) -> None:
        """A weak store happened: earlier strong writes to its bytes can no longer be read."""
        if not self._last:
            return
        if self._bytes is None:
            self._bytes = np.sort(np.fromiter(self._last, np.int64, len(self._last)))
        addresses = access.elements[1]
        low, high = self._bytes[0] - access.bytes, self._bytes[-1]
        addresses = addresses[(addresses > low) & (addresses <= high)]
        at = np.searchsorted(self._bytes, addresses)
        hit = at < len(self._bytes)
        hit[hit] = self._bytes[at[hit]] < addresses[hit] + access.bytes
        for address in addresses[hit].tolist():
            for byte in range(address, address + access.bytes):
                self._last.pop(byte, None)
        if hit.any():
            self._bytes = None

    def access(
        self, access: Access, operation: int, ranks: Array, numbers: list[int], pasts: list[Past]
    ) -> dict[int, list[Release]]:
        """Strong elements access memory one after the other. Return what each acquiring one has seen."""
        size, wide = access.lane_size, access.scope is not MemoryScope.TL_BLK
        acquires, releases = access.ordering in ACQUIRES, access.ordering in RELEASES
        wrote = None if access.wrote is None else access.wrote.reshape(-1)
        acquired: dict[int, list[Release]] = {}
        chosen, addresses = access.elements
        for flat, address in zip(chosen.tolist(), addresses.tolist()):
            lane, element = divmod(flat, size)
            rank, past, number = int(ranks[lane]), pasts[lane], numbers[lane]
            place = (address, access.bytes, rank)
            nodes: list[Release] = []
            seen: tuple[Head, ...] = ()
            if access.kind is not AccessKind.WRITE:
                seen = self._seen(address, access.bytes, rank, wide)
                if acquires:
                    nodes = self._acquire(place, past, wide, seen)
                    if nodes:
                        acquired[flat] = nodes
                if seen and not (acquires and all(_sees(head, rank, wide) for head in seen)):
                    # What an acquire has seen, its token knows.
                    self._history(place).reads.append((operation, number, seen))
            if access.kind is AccessKind.READ or (wrote is not None and not wrote[flat]):
                continue
            heads = [head for head in seen if not (acquires and releases and _sees(head, rank, wide))]
            if releases:
                clock = past.clock.add(operation if size == 1 else (operation, element), number)
                heads.append(Head(rank, wide, Release((past.node, *nodes), rank, clock)))
                self._history(place).releases.append((operation, number, heads[-1]))
            elif place in self._histories:
                earlier = self._histories[place].releases
                heads += [head for o, n, head in earlier if past.clock.has(o, n, -1)]
            if self._merges and len(heads) > 1:
                heads = [Head(-1, True, Release(head.node for head in heads))]
            write = StrongWrite(address, access.bytes, rank, wide, tuple(heads))
            self._write(write)
        return acquired

    def _write(self, write: StrongWrite) -> None:
        for byte in range(write.address, write.address + write.bytes):
            if byte not in self._last:
                self._bytes = None
            self._last[byte] = write

    def forget(self, address: int, size: int) -> None:
        """Memory is new, and was never written."""
        for byte in range(address, address + size) if size < len(self._last) else list(self._last):
            if address <= byte < address + size and self._last.pop(byte, None) is not None:
                self._bytes = None

    def _seen(self, address: int, size: int, rank: int, wide: bool) -> tuple[Head, ...]:
        """Return the heads that a strong read sees, if all it reads is one write that is morally strong with it."""
        write = self._last.get(address)
        if write is None or (write.address, write.bytes) != (address, size):
            return ()
        if any(self._last.get(byte) is not write for byte in range(address + 1, address + size)):
            return ()
        return write.heads if write.rank == rank or (write.wide and wide) else ()

    def _acquire(self, place: tuple[int, int, int], past: Past, wide: bool, seen: tuple[Head, ...]) -> list[Release]:
        heads = list(seen)
        if place in self._histories:
            for operation, number, earlier in self._histories[place].reads:
                if past.clock.has(operation, number, -1):
                    heads += earlier
        return list(dict.fromkeys(head.node for head in heads if _sees(head, place[2], wide)))

    def _history(self, place: tuple[int, int, int]) -> _History:
        return self._histories.setdefault(place, _History())


def _sees(head: Head, rank: int, wide: bool) -> bool:
    """Tell whether a release and an acquire of a tile block have scopes that include each other's tile block."""
    return head.rank == rank or (head.wide and wide)
