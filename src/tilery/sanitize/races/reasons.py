"""Why two accesses race: the token, the release, the acquire or the scope that is missing between them."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from ...attrs import MemoryOrderingSemantics, MemoryScope
from ...engines.common.cutile_abi import function_name
from ...engines.common.tiles import Array
from ...engines.reference.access import Access, AccessKind
from ...ir import Op
from ..flight import DEFAULT, LaunchInFlight
from ..provenance import Provenance
from ..reports import Occurrence, Report
from .cells import Execution
from .happens_before import Release
from .strength import Strength
from .sync import ACQUIRES, RELEASES

MOST_ELEMENTS = 4096
"""Larger accesses are not flags: what reads them is not looked for."""
MOST_ACQUIRES = 64
"""Acquires of a tile block that are remembered."""


class Signal(NamedTuple):
    """A strong write of a location, and a strong read that returned it in another tile block."""

    writer: Op
    reader: Op


class RacingAccess(NamedTuple):
    """One of two accesses that race."""

    op: Op
    number: int
    """Of the operation, in the order of the text."""
    strength: Strength
    block: tuple[int, int, int]


class Signals:
    """Strong accesses by which tile blocks observed each other, whether or not they establish an order."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[int, Op]] = {}
        """The last strong write to each location: its tile block and operation."""
        self._signals: dict[int, dict[int, Signal]] = {}
        """By the tile block that wrote, and the one that read."""
        self._acquires: dict[int, dict[Op, Release]] = {}
        """The last acquires of each tile block, and what they saw."""
        self._releases: dict[int, Op] = {}

    def note(self, access: Access, tile_blocks: Array, acquired: dict[int, list[Release]]) -> None:
        """Take note of strong accesses."""
        chosen, addresses = access.elements
        if len(chosen) > MOST_ELEMENTS:
            return
        size, ranks = access.lane_size, tile_blocks.tolist()
        for flat, address in zip(chosen.tolist(), addresses.tolist()):
            rank = ranks[flat // size]
            writer = self._last.get(address)
            if writer is not None and writer[0] != rank and access.kind is not AccessKind.WRITE:
                self._signals.setdefault(writer[0], {})[rank] = Signal(writer[1], access.op)
            if access.writes:
                self._last[address] = rank, access.op
                if access.ordering in RELEASES:
                    self._releases[rank] = access.op
        for flat, nodes in acquired.items():
            known = self._acquires.setdefault(ranks[flat // size], {})
            if len(known) < MOST_ACQUIRES:
                known[access.op] = Release((known.get(access.op), *nodes))

    def explain(self, report: Report, sides: tuple[RacingAccess, RacingAccess], earlier: Execution, rank: int) -> None:
        """Add to a report why nothing orders two accesses, the first of which is an event."""
        a, b = sides
        if earlier.rank == rank:
            report.notes.append(_missing_token(a, b))
        elif a.strength.strong and b.strength.strong:
            report.notes.append(_too_weak(a, b))
        elif a.strength.strong != b.strength.strong:
            weak = b if a.strength.strong else a
            report.notes.append(f"{weak.op.name} is weak; it would not race if it were strong and of the same size")
        else:
            report.places += (more := self._between(a.number, earlier, rank))
            if not more:
                report.notes.append(
                    f"tile blocks {a.block} and {b.block} do not synchronize: give each its own elements, or let the "
                    "first release and the second acquire"
                )

    def explain_launches(
        self,
        report: Report,
        sides: tuple[RacingAccess, RacingAccess],
        launches: tuple[LaunchInFlight, LaunchInFlight],
        earlier: Execution,
        rank: int,
    ) -> None:
        """Add to a report which two launches overlap, and why nothing orders them."""
        a, b = sides
        first, second = launches
        report.notes.append(f"the other access is in another launch: {_describe(first)}")
        if a.strength.strong and b.strength.strong:
            report.notes.append(_too_weak(a, b))
        elif more := self._between(a.number, earlier, rank):
            report.places += more
        else:
            report.notes.append(_missing_edge(first, second))

    def _between(self, operation: int, earlier: Execution, rank: int) -> list[Occurrence]:
        """Return the operations that should have put an event before accesses of another tile block, and why not."""
        for o, node in self._acquires.get(rank, {}).items():
            clock = node.known.get(earlier.rank)
            if clock is None:
                continue
            if clock.has(operation, earlier.number, earlier.element):
                return [Occurrence(o, role="it is acquired by", reason="but no token leads from there to this access")]
            if (release := self._releases.get(earlier.rank)) is not None:
                why = "but no token leads to that from the other access"
                return [Occurrence(release, role="it is released by", reason=why)]
        signal = self._chain(earlier.rank, rank)
        if signal is None:
            return []
        return [
            Occurrence(
                signal.writer, role="the signal between them is", reason=_lacks(signal.writer, RELEASES, "release")
            ),
            Occurrence(signal.reader, role="which is read by", reason=_lacks(signal.reader, ACQUIRES, "acquire")),
        ]

    def _chain(self, start: int, end: int) -> Signal | None:
        """Return the first write and the last read of a chain of signals from one tile block to another."""
        todo: deque[tuple[int, Op | None]] = deque([(start, None)])
        seen = {start}
        while todo:
            rank, first = todo.popleft()
            for reader, signal in self._signals.get(rank, {}).items():
                if reader == end:
                    return Signal(first or signal.writer, signal.reader)
                if reader not in seen:
                    seen.add(reader)
                    todo.append((reader, first or signal.writer))
        return None


def _stream(name: object) -> str:
    """Name a stream; programs know theirs by addresses."""
    return "the default stream" if name == DEFAULT else f"stream {hex(name) if isinstance(name, int) else name}"


def _describe(launch: LaunchInFlight) -> str:
    """Name a launch by its kernel, its stream, and its line."""
    where = f", launched at {launch.launched}" if launch.launched else ""
    return f"{function_name(launch.kernel)} in {_stream(launch.stream)}{where}"


def _missing_edge(first: LaunchInFlight, second: LaunchInFlight) -> str:
    """Say what would order two launches."""
    if second.is_dependent and second.awaited >> first.number & 1:
        wait = "gdc_wait_tko (ct.grid_dependency_control_wait() in cuTile, tl.extra.cuda.gdc_wait() in Triton)"
        if second.has_waited:
            return f"this launch may start before the other one has ended: no token leads from {wait} to this access"
        return f"this launch may start before the other one has ended: execute {wait} before this access"
    if first.stream != second.stream:
        return (
            f"{_stream(second.stream)} does not wait for {_stream(first.stream)}: record an event after the other "
            "launch and let this stream wait for it, or synchronize between them"
        )
    return (
        "the launch between them started early and did not wait for the other one, so that it does not help to wait "
        "for that launch: let it wait too"
    )


def overlap(provenance: Provenance, sides: tuple[RacingAccess, RacingAccess]) -> list[str]:
    """Say that accesses through different arguments are to the same bytes."""
    a, b = (provenance.owners[provenance.of_operation(side.op)] for side in sides)
    return [] if a is None or b is None or a == b else [f"{a.label} and {b.label} overlap"]


def _missing_token(a: RacingAccess, b: RacingAccess) -> str:
    """Say between which operations of a tile block a token is missing."""
    if a.number >= b.number:
        return f"no token leads from {a.op.name} to {b.op.name} of a later iteration: carry it in the loop"
    return f"no token leads from {a.op.name} to {b.op.name}: pass the token of the first to the second"


def _too_weak(a: RacingAccess, b: RacingAccess) -> str:
    """Say why accesses of different tile blocks are not morally strong, though both are strong."""
    if a.strength.bytes != b.strength.bytes:
        return f"both are strong, but not of the same size: {a.strength.bytes} and {b.strength.bytes} bytes"
    narrow, other = (b, a) if a.strength.wide else (a, b)
    return f"both are strong, but the scope tl_blk of {narrow.op.name} does not reach tile block {other.block}"


def _lacks(o: Op, wanted: tuple[MemoryOrderingSemantics, ...], verb: str) -> str:
    """Say what an access that is to release or acquire lacks."""
    ordering: MemoryOrderingSemantics = getattr(o, "memory_ordering_semantics", wanted[0])
    if ordering not in wanted:
        return f"which is {ordering.name.lower()} and must {verb}"
    if getattr(o, "memory_scope", None) is MemoryScope.TL_BLK:
        return f"whose scope tl_blk does not reach the other tile block, so that it does not {verb} there"
    return ""
