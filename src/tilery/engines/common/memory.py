"""The memory of a launch: segments at their real addresses. An access outside them is a fault and has no effect."""

from __future__ import annotations

import ctypes
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...diag import ErrorKind
from .addresses import GUARD, HoldsAddresses, Runs, allocate
from .protection import ProtectedArray, forbidden, is_uniform
from .tiles import Array
from .watch import check

PIECE = 1 << 14
"""Bytes of text to search for its end at a time."""


class AssertFailed(Exception):
    """An assertion failed. `where` has the indices of the first few false elements, lane first."""

    def __init__(self, message: str, where: list[tuple[int, ...]]) -> None:
        super().__init__(message)
        self.message, self.where = message, where


class Fault(Exception):
    """An illegal access. `where` is the index of the first bad element, lane first."""

    def __init__(self, reason: str, where: tuple[int, ...], address: int, kind: ErrorKind = ErrorKind.BOUNDS) -> None:
        super().__init__(reason)
        self.reason, self.where, self.address, self.kind = reason, where, address, kind


class FirstFault:
    """Collects the faults of an access made in parts, in any order, and raises that of the first element."""

    def __init__(self) -> None:
        self.fault: Fault | None = None

    def add(self, fault: Fault) -> None:
        if self.fault is None or fault.where < self.fault.where:
            self.fault = fault

    def check(self) -> None:
        if self.fault is not None:
            raise self.fault


@dataclass(slots=True)
class Segment(HoldsAddresses):
    """A contiguous piece of memory that a kernel may access. Segments do not overlap."""

    address: int
    size: int
    label: str
    writable: bool
    owner: object
    """Keeps the memory alive."""
    parent: Segment | None = None
    """The segment that this is a part of, if any: accesses to all its parts are made together."""
    place: int | None = None
    """The address of the bytes, if they are a copy of those at `start`."""
    parts: tuple[ProtectedArray, ...] = ()
    """The arrays in it, if only some of its bytes are writable."""
    arrays: tuple[ProtectedArray, ...] = ()
    """The arrays in it, if it was merged or an array has gaps."""
    _typed: dict[np.dtype[Any], tuple[int, Array]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.address + self.size

    def typed(self, dtype: np.dtype[Any]) -> tuple[int, Array]:
        """Return the first address aligned for a type, and the elements from there on."""
        found = self._typed.get(dtype)
        if found is None:
            item = dtype.itemsize
            skip = -self.address % item
            count = max(0, self.size - skip) // item
            place = self.address if self.place is None else self.place
            raw = (ctypes.c_uint8 * (count * item)).from_address(place + skip)
            found = self._typed[dtype] = (self.address + skip, np.frombuffer(memoryview(raw).cast("B"), dtype, count))
        return found


def _whole(segment: Segment) -> ProtectedArray:
    return ProtectedArray(segment.address, segment.size, segment.label, segment.writable, None)


def _read_only(segment: Segment) -> str:
    return f"is in {segment.label}, which is read-only"


class Memory(HoldsAddresses):
    """Segments in order of address."""

    def __init__(self, base: Memory | None = None) -> None:
        """Start with the segments of `base`, if given."""
        self.segments: list[Segment] = list(base.segments) if base else []
        self._starts: list[int] = [b.address for b in self.segments]
        self.changes = 0
        """Number of writes so far: batches that wait for memory compare it."""
        self.bytes_read = 0
        """Bytes that tile blocks asked for, even where one read serves all of them."""
        self.bytes_written = 0

    # ------------------------------------------------------------ segments

    def add(
        self,
        address: int,
        size: int,
        label: str,
        *,
        writable: bool = True,
        owner: object = None,
        runs: Runs | None = None,
    ) -> None:
        """Register memory. Overlapping segments are merged: arguments may alias."""
        if size <= 0:
            return
        new = Segment(address, size, label, writable, [owner])
        parts: tuple[ProtectedArray, ...] = (ProtectedArray(address, size, label, writable, runs),)
        first = bisect_right(self._starts, address)
        first -= first > 0 and self.segments[first - 1].end > address
        last = bisect_left(self._starts, new.end)
        if joined := self.segments[first:last]:
            members = [*joined, new]
            start, end = min(b.address for b in members), max(b.end for b in members)
            labels = dict.fromkeys(b.label for b in members)
            can_write = any(b.writable for b in members)
            new = Segment(start, end - start, ", ".join(labels), can_write, [b.owner for b in members])
            parts += tuple(part for b in joined for part in b.arrays or (_whole(b),))
        if joined or runs is not None:
            new.arrays = parts
        if not is_uniform(parts):
            new.parts = parts
        self.segments[first:last] = [new]
        self._starts[first:last] = [new.address]

    def copy(self) -> Memory:
        """Return memory with the same addresses, whose bytes are copies."""
        made = Memory()
        for each in self.segments:
            raw = np.empty(each.size + 16, np.uint8)
            place = raw.ctypes.data + (each.address - raw.ctypes.data) % 16
            ctypes.memmove(place, each.address, each.size)
            made.segments.append(replace(each, owner=raw, place=place, _typed={}))
        made._starts = list(self._starts)
        return made

    def allocate(self, size: int, alignment: int, label: str, *, writable: bool = True) -> int:
        """Allocate zeroed memory and return its address."""
        address, raw = allocate(size, alignment)
        self.add(address, size, label, writable=writable, owner=raw)
        return address

    def allocate_each(self, size: int, alignment: int, labels: list[str]) -> list[int]:
        """Allocate zeroed memory of this size for each label and return the addresses."""
        alignment = max(alignment, 16)
        step = size + GUARD + -(size + GUARD) % alignment
        raw = np.zeros(step * len(labels) + alignment, np.uint8)
        start = raw.ctypes.data + (-raw.ctypes.data) % alignment
        whole = Segment(start, step * len(labels), "", True, raw)
        addresses = list(range(start, start + whole.size, step))
        at = bisect_right(self._starts, start)
        self.segments[at:at] = [Segment(a, size, label, True, raw, whole) for a, label in zip(addresses, labels)]
        self._starts[at:at] = addresses
        return addresses

    def free(self, addresses: set[int]) -> None:
        """Free memory that was allocated."""
        self.segments = [b for b in self.segments if b.address not in addresses]
        self._starts = [b.address for b in self.segments]

    def at(self, address: int) -> Segment | None:
        """Return the segment that contains an address."""
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self.segments[index].end:
            return None
        return self.segments[index]

    # ------------------------------------------------------------ access by address

    def load(self, addresses: Array, dtype: np.dtype[Any]) -> Array:
        """Load elements into an array of the same shape as the addresses. Raises Fault."""
        found = self.find_segment(addresses, dtype)
        if found is not None:
            segment, index = found
            return segment.typed(dtype)[1].take(index)
        out = np.empty(addresses.size, dtype)
        for segment, chosen, index in self._parts(addresses, dtype):
            out[chosen] = segment.typed(dtype)[1][index]
        return out.reshape(addresses.shape)

    def store(self, addresses: Array, values: Array) -> None:
        """Store elements; if an address occurs several times, the last one wins. Raises Fault."""
        self.changes += 1
        found = self.find_segment(addresses, values.dtype)
        if found is not None:
            segment, index = found
            self.require_writable(segment, addresses, values.dtype.itemsize)
            # Flat, because NumPy visits other arrays in the order of their memory.
            segment.typed(values.dtype)[1][index.ravel()] = values.ravel()
            return
        parts = self._parts(addresses, values.dtype)
        self.check_writable(addresses, values.dtype.itemsize)
        flat = values.ravel()
        for segment, chosen, index in parts:
            segment.typed(values.dtype)[1][index] = flat[chosen]

    def text(self, address: int, most: int) -> bytes:
        """Return the bytes from an address up to the first zero. Raises Fault, or MemoryError for more than `most`."""
        segment = self.at(address)
        if segment is None:
            raise Fault("is outside every buffer" + self.nearby(address), (), address)
        start, content = segment.typed(np.dtype(np.uint8))
        begin = address - start
        for at in range(begin, len(content), PIECE):
            check()
            end = content[at : at + PIECE].tobytes().find(b"\0")
            stop = at + end if end >= 0 else min(at + PIECE, len(content))
            if stop - begin > most:
                raise MemoryError
            if end >= 0:
                return content[begin:stop].tobytes()
        return content[begin:].tobytes()

    def find_segment(self, addresses: Array, dtype: np.dtype[Any]) -> tuple[Segment, Array] | None:
        """Return the segment that contains all the elements, and their indices in it; None if there is none."""
        if not addresses.size:
            return None
        item = dtype.itemsize
        low, high = int(addresses.min()), int(addresses.max())
        segment = self.at(low)
        if segment is None or high + item > segment.end:
            return None
        if item > 1 and int(np.bitwise_or.reduce(addresses, axis=None)) & (item - 1):
            return None
        start = segment.typed(dtype)[0]
        index = addresses - start
        if item > 1:
            index >>= item.bit_length() - 1
        return segment, index

    def _parts(self, addresses: Array, dtype: np.dtype[Any]) -> list[tuple[Segment, Array, Array]]:
        """Return for each segment the flat positions of the elements in it, in order, and their indices there."""
        item = dtype.itemsize
        odd = (addresses & (item - 1)) != 0
        if odd.any():
            raise self._fault(f"is not a multiple of {item}, the size of an element", odd, addresses)
        starts = np.array(self._starts, np.int64)
        ends = np.array([b.end for b in self.segments], np.int64)
        number = np.searchsorted(starts, addresses, "right") - 1
        outside = number < 0
        if len(starts):
            outside |= addresses > ends[np.maximum(number, 0)] - item
        if outside.any():
            raise self._fault("is outside every buffer", outside, addresses)
        wholes = [b.parent or b for b in self.segments]
        firsts = {id(b): n for n, b in reversed(list(enumerate(wholes)))}
        number = np.array([firsts[id(b)] for b in wholes], np.intp)[number.ravel()]
        flat = addresses.ravel()
        order = np.argsort(number, kind="stable")
        parts = []
        for chosen in np.split(order, np.flatnonzero(np.diff(number[order])) + 1) if len(order) else ():
            segment = wholes[number[chosen[0]]]
            parts.append((segment, chosen, (flat[chosen] - segment.typed(dtype)[0]) // item))
        return parts

    def require_writable(self, segment: Segment, addresses: Array, item: int) -> None:
        """Raise Fault unless elements of `item` bytes in a segment are writable."""
        if segment.parts:
            bad, reason = forbidden(segment.parts, addresses, item)
            if reason:
                raise self._fault(reason, bad, addresses)
        elif not segment.writable:
            first = int(addresses.reshape(-1)[0])
            raise Fault(_read_only(segment), (0,) * addresses.ndim, first)

    def check_writable(self, addresses: Array, item: int) -> None:
        """Raise Fault if some of the elements, all of which lie in segments, are read-only."""
        if all(b.writable and not b.parts for b in self.segments):
            return
        number = np.searchsorted(np.array(self._starts, np.int64), addresses, "right") - 1
        bad, reasons = np.zeros(addresses.shape, bool), {}
        for at in np.unique(number).tolist():
            segment, here = self.segments[at], number == at
            if segment.parts:
                wrong, reasons[at] = forbidden(segment.parts, addresses, item)
                bad |= wrong & here
            elif not segment.writable:
                bad |= here
                reasons[at] = _read_only(segment)
        if bad.any():
            raise self._fault(reasons[int(number[tuple(np.argwhere(bad)[0])])], bad, addresses)

    def _fault(self, reason: str, bad: Array, addresses: Array) -> Fault:
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        address = int(addresses[where]) & (1 << 64) - 1
        if reason.startswith("is outside"):
            reason += self.nearby(address)
        return Fault(reason, where, address)

    def nearby(self, address: int) -> str:
        """Describe the segment nearest to an address."""
        ranked = sorted(self.segments, key=lambda b: max(b.address - address, address - b.end + 1))
        if not ranked:
            return ": there are none"
        b = ranked[0]
        if address >= b.end:
            return f": {address - b.end} bytes after the end of {b.label} ({b.size} bytes)"
        return f": {b.address - address} bytes before {b.label} ({b.size} bytes)"
