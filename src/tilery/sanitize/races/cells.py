"""Shadow memory: the accesses to each byte that a later one may race with.

Each granule of memory has two lists of *cells*, one of writes and one of reads. A granule is as large as all accesses
to the array allow; when one needs smaller ones, they are split. A cell is one execution of an operation by a tile
block, or by a group of them, and refers to the next older one. Bytes that are accessed together share cells, so that a
list is a number per granule. A cell is dropped when a newer access happens after it and races with everything that it
would race with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...engines.common.memory import Segment
from ...engines.common.tiles import Array
from ...engines.reference.access import Boxes

WRITES, READS = 0, 1
COLUMNS = 7
LARGEST = 1 << 20
"""The bytes of a granule at first."""


class Execution(NamedTuple):
    """An execution of an operation by a tile block; `element` is -1 where the elements need not be told apart."""

    rank: int
    number: int
    element: int


class Cells:
    """All cells, by number; 0 is the end of every list."""

    def __init__(self) -> None:
        self.count = 1
        self._columns = np.zeros((COLUMNS, 1024), np.int64)
        self.groups: list[list[Execution]] = []
        """The events of cells that stand for several; such a cell has the rank -1 - group."""
        self._group_numbers: dict[tuple[Execution, ...], int] = {}
        self._grouped = 0

    @property
    def bytes(self) -> int:
        """Memory in use, roughly."""
        return self._columns.nbytes + 200 * self._grouped

    parent = property(lambda self: self._columns[0])
    operation = property(lambda self: self._columns[1])
    rank = property(lambda self: self._columns[2])
    number = property(lambda self: self._columns[3])
    element = property(lambda self: self._columns[4])
    kind = property(lambda self: self._columns[5])
    """The number of the strength of an access, or 0 for a weak one."""
    skip = property(lambda self: self._columns[6])
    """The next older cell that the access might race with if it were repeated: see `alike`."""

    def alike(self, cells: Array, kind: int, wide: bool, ranks: Array) -> Array:
        """Tell of cells whether they are as strong as accesses of a kind by tile blocks, and cannot race with them."""
        same: Array = (self.kind[cells] == kind) & (kind > 0) & (cells != 0)
        return same if wide else same & (self.rank[cells] == ranks) & (ranks >= 0)

    def add(
        self, parents: Array, operation: int, ranks: Array, numbers: Array, elements: Array, kind: int, wide: bool
    ) -> Array:
        """Make cells of an operation, whose strength has the number `kind`, and return their numbers."""
        first = self.count
        self.count += len(parents)
        if self.count > self._columns.shape[1]:
            grown = np.zeros((COLUMNS, max(self.count, 2 * self._columns.shape[1])), np.int64)
            grown[:, :first] = self._columns[:, :first]
            self._columns = grown
        columns = self._columns[:, first : self.count]
        skipped = np.where(self.alike(parents, kind, wide, ranks), self.skip[parents], parents)
        columns[0], columns[1], columns[2], columns[3] = parents, operation, ranks, numbers
        columns[4], columns[5], columns[6] = elements, kind, skipped
        return np.arange(first, self.count)

    def group(self, events: list[Execution]) -> int:
        """Return the rank of cells that stand for these events."""
        key = tuple(events)
        number = self._group_numbers.get(key)
        if number is None:
            number = self._group_numbers[key] = len(self.groups)
            self.groups.append(events)
            self._grouped += len(events)
        return -1 - number

    def collect(self, shadows: Iterable[Shadow]) -> None:
        """Forget the cells that are in no list, and number the others anew."""
        shadows = list(shadows)
        live = np.zeros(self.count, bool)
        for shadow in shadows:
            live[shadow.heads] = True
        todo = np.flatnonzero(live)
        while len(todo := np.unique(self.parent[todo])):
            todo = todo[~live[todo]]
            live[todo] = True
        live[0] = True
        kept = np.flatnonzero(live)
        numbers = np.cumsum(live) - 1
        columns = self._columns[:, kept]
        columns[0], columns[6] = numbers[columns[0]], numbers[columns[6]]
        used, groups = np.unique(columns[2][columns[2] < 0], return_inverse=True)
        columns[2][columns[2] < 0] = -1 - groups
        self.groups = [self.groups[-1 - rank] for rank in used.tolist()]
        self._group_numbers = {tuple(events): number for number, events in enumerate(self.groups)}
        self._grouped = sum(map(len, self.groups))
        self.count, self._columns = len(kept), columns
        for shadow in shadows:
            shadow.heads[...] = numbers[shadow.heads]

    def events(self, cell: int) -> list[Execution]:
        """Return the executions that a cell stands for."""
        rank, number, element = self._columns[2:5, cell].tolist()
        return self.groups[-1 - rank] if rank < 0 else [Execution(rank, number, element)]


@dataclass(slots=True, eq=False)
class Shadow:
    """The lists of a piece of memory: for each granule, the number of the newest cell of both lists."""

    start: int
    end: int
    granule: int
    heads: Array
    """Shape (2, granules): writes and reads."""

    @classmethod
    def of(cls, start: int, end: int, granule: int) -> Shadow:
        count = (end - 1 - _base(start)) // granule + 1
        return cls(start, end, granule, np.zeros((2, count), np.int32))

    @property
    def base(self) -> int:
        """The address of the first granule. Elements that are aligned in memory are also aligned from there on."""
        return _base(self.start)

    def granules(self, addresses: Array, size: int) -> Array:
        """Return the granules of elements, one row for each; they become smaller if the elements are."""
        if size < self.granule:
            self.refine(size)
        return self.cover(addresses, size)

    def boxes(self, boxes: Boxes, size: int) -> Array | None:
        """Return the granules of boxes, a row for each, without looking at elements of `size` bytes.

        None if the boxes are not made of whole granules, however small.
        """
        starts = boxes.starts - self.base
        run, bits = size, int(np.bitwise_or.reduce(starts))
        outer: list[tuple[int, int]] = []
        for count, stride in sorted(boxes.dims, key=lambda dim: dim[1]):
            if stride == run and not outer:
                run *= count
            else:
                outer.append((count, stride))
                bits |= stride
        whole = (bits | run) & -(bits | run)
        if whole < size:
            return None
        if whole < self.granule:
            self.refine(whole)
        offsets = np.arange(run // self.granule)
        for count, stride in outer:
            offsets = (np.arange(count).reshape(-1, 1) * (stride // self.granule) + offsets).reshape(-1)
        return (starts // self.granule).reshape(-1, 1) + offsets

    def cover(self, addresses: Array, size: int) -> Array:
        """Return the granules that elements touch, one row for each."""
        first = (addresses - self.base) // self.granule
        return first.reshape(-1, 1) + np.arange(max(1, size // self.granule))

    def refine(self, granule: int) -> None:
        """Make the granules smaller."""
        fresh = Shadow.of(self.start, self.end, granule)
        fresh.heads[...] = np.repeat(self.heads, self.granule // granule, axis=1)[:, : fresh.heads.shape[1]]
        self.granule, self.heads = granule, fresh.heads

    def address(self, granule: int) -> int:
        """Return the address of a granule's first byte in the segment."""
        return max(self.base + granule * self.granule, self.start)

    def clear(self, address: int, size: int) -> None:
        """Memory is new, and was never accessed."""
        first, last = ((at - self.base) // self.granule for at in (address, address + size - 1))
        self.heads[:, first : last + 1] = 0

    def include(self, other: Shadow) -> None:
        """Take over the lists of a shadow of some of its memory."""
        other.refine(self.granule)
        first = (other.base - self.base) // self.granule
        mine = self.heads[:, first : first + other.heads.shape[1]]
        np.maximum(mine, other.heads, out=mine)


def _base(start: int) -> int:
    return start & ~15


class Shadows:
    """The shadows of memory, none of which overlap."""

    def __init__(self) -> None:
        self._shadows: list[Shadow] = []
        self._known: dict[int, tuple[Segment, Shadow]] = {}
        """Those of segments, by id."""

    def __iter__(self) -> Iterator[Shadow]:
        return iter(self._shadows)

    def of(self, segment: Segment, granule: int) -> Shadow:
        """Return the shadow that contains a segment; `granule` is for a new one."""
        known = self._known.get(id(segment))
        if known is not None and known[0] is segment:
            return known[1]
        found = [each for each in self._shadows if each.start < segment.end and segment.address < each.end]
        if len(found) == 1 and found[0].start <= segment.address and segment.end <= found[0].end:
            shadow = found[0]
        else:
            shadow = _joined(segment, granule, found)
            self._known = {key: row for key, row in self._known.items() if row[1] not in found}
            self._shadows = [*(each for each in self._shadows if each not in found), shadow]
        self._known[id(segment)] = segment, shadow
        return shadow

    def clear(self, address: int, size: int) -> None:
        """Memory is new, and was never accessed."""
        for shadow in self._shadows:
            if shadow.start <= address and address + size <= shadow.end:
                shadow.clear(address, size)

    def keep(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Forget the memory that no range overlaps; ranges are a first and a last address, exclusive."""
        kept = list(ranges)
        self._shadows = [s for s in self._shadows if any(s.start < end and start < s.end for start, end in kept)]
        self._known = {key: row for key, row in self._known.items() if row[1] in self._shadows}


def _joined(segment: Segment, granule: int, parts: list[Shadow]) -> Shadow:
    """Return a shadow of a segment and of all that it overlaps. No granule belongs to two of them."""
    start, end = min([segment.address, *(p.start for p in parts)]), max([segment.end, *(p.end for p in parts)])
    for part in parts:
        granule = min(granule, part.granule)
        for at in (part.start, part.end, segment.address, segment.end):
            granule = min(granule, (at - _base(start)) & -(at - _base(start)) or granule)
    shadow = Shadow.of(start, end, granule)
    for part in parts:
        shadow.include(part)
    return shadow


def distinct(keys: Array) -> tuple[Array, Array]:
    """Return the position of one occurrence of each key, and for each key which of these it is.

    Neighbours are mostly equal, so that only the first of each run is sorted.
    """
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    _, first, inverse = np.unique(keys[starts], return_index=True, return_inverse=True)
    lengths = np.diff(np.append(starts, len(keys)))
    return starts[first], np.repeat(inverse, lengths)


def has_twins(granules: Array) -> bool:
    """Tell whether a granule occurs more than once."""
    if len(granules) < 2 or bool((granules[1:] > granules[:-1]).all()):
        return False
    ordered = np.sort(granules)
    return bool((ordered[1:] == ordered[:-1]).any())


def gather(granules: Array, members: Array, count: int, salt: Array) -> tuple[Array, Array, dict[int, list[int]]]:
    """Find out which members access each granule: return the granules, and one member, or a group, for each.

    Groups have numbers from `count` on; the dictionary has their members.
    """
    if len(granules) < 2 or bool((granules[1:] > granules[:-1]).all()):
        return granules, members, {}
    order = np.lexsort((members, granules))
    granules, members = granules[order], members[order]
    new = np.concatenate(([True], granules[1:] != granules[:-1]))
    fresh = new | np.concatenate(([True], members[1:] != members[:-1]))
    granules, members, new = granules[fresh], members[fresh], new[fresh]
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(granules)))
    if (sizes == 1).all():
        return granules, members, {}
    # Random numbers tell sets apart; a collision of 64 bits is not to be expected, and cannot be prepared.
    sums = np.add.reduceat(salt[members], starts)
    chosen = members[starts].astype(np.int64)
    groups: dict[int, list[int]] = {}
    several = np.flatnonzero(sizes > 1)
    first, which = distinct(sums[several])
    for number, position in enumerate(first.tolist()):
        start = int(starts[several[position]])
        groups[count + number] = members[start : start + int(sizes[several[position]])].tolist()
    chosen[several] = count + which
    return granules[starts], chosen, groups
