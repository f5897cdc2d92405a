"""Races by brute force: the definitions of docs/memory-model.md, written down as they are, for a handful of accesses.

This shares nothing with the detector but the events. It makes a graph with a node for each element of each access,
finds every path in it, and compares every pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tilery.attrs import MemoryOrderingSemantics as Ordering
from tilery.attrs import MemoryScope
from tilery.engines.common.layout import alloca_bytes
from tilery.ir import Op
from tilery.ops import Alloca
from tilery.sanitize import Access, Check, Link, Step

Node = tuple[str, int]


@dataclass(slots=True)
class Fresh:
    """Tile blocks allocated memory, which may have the addresses of older memory."""

    addresses: list[int]
    size: int


Event = Access | Link | Fresh


class Recorder(Check):
    """Keeps all accesses, links and allocations of a launch."""

    name = "recorder"
    events: list[Event]

    def begin(self, entry: Any) -> None:
        type(self).events = []

    def after(self, access: Access) -> None:
        self.events.append(access)

    def link(self, link: Link) -> None:
        self.events.append(link)

    def result(self, step: Step, result: Any) -> None:
        if isinstance(step.op, Alloca):
            self.events.append(Fresh(result.tolist(), alloca_bytes(step.op)))


@dataclass(slots=True, eq=False)
class Element:
    """One element of one execution of an access by one tile block."""

    number: int
    execution: int
    op: Op
    block: int
    bytes: range
    half: int | None
    reads: bool
    writes: bool
    order: Ordering
    scope: MemoryScope | None
    era: int
    """How often the memory had been allocated before."""

    @property
    def strong(self) -> bool:
        return self.order is not Ordering.WEAK

    @property
    def acquires(self) -> bool:
        return self.reads and self.order in (Ordering.ACQUIRE, Ordering.ACQ_REL)

    @property
    def releases(self) -> bool:
        return self.writes and self.order in (Ordering.RELEASE, Ordering.ACQ_REL)


@dataclass(slots=True)
class Graph:
    """Elements in the order in which they happened, and the edges between them, tokens and the starts of executions."""

    elements: list[Element] = field(default_factory=list)
    sources: dict[Node, list[Node]] = field(default_factory=dict)
    """Each node, in an order in which all edges point forward, and the nodes with an edge to it."""
    eras: dict[int, int] = field(default_factory=dict)

    def before(self) -> list[int]:
        """For each element, those from which a path leads to it, as bits."""
        reached: dict[Node, int] = {}
        found = []
        for node, sources in self.sources.items():
            bits = 0
            for source in sources:
                bits |= reached[source]
            if node[0] == "element":
                found.append(bits)
                bits |= 1 << node[1]
            reached[node] = bits
        return found


def graph(events: Sequence[Event]) -> Graph:
    """Make the graph of tokens: an execution starts, its elements happen, and its token is made."""
    made = Graph()
    execution = 0
    for event in events:
        if isinstance(event, Fresh):
            for byte in (b for address in event.addresses for b in range(address, address + event.size)):
                made.eras[byte] = made.eras.get(byte, 0) + 1
            continue
        tokens = event.tokens if isinstance(event, Link) else () if event.tokens is None else (event.tokens,)
        own: list[list[Node]] = []
        for lane in range(len(event.ranks)):
            execution += 1
            own.append([("start", execution)])
            made.sources["start", execution] = [("token", int(ids[lane])) for ids in tokens]
            if isinstance(event, Access):
                own[-1] += _elements(made, event, lane, execution)
        for lane, nodes in enumerate(own):
            made.sources["token", int(event.result_token[lane])] = nodes
    return made


def _elements(made: Graph, event: Access, lane: int, execution: int) -> list[Node]:
    nodes: list[Node] = []
    for where in zip(*event.mask[lane].nonzero()) if event.mask.ndim > 1 else [()] if event.mask[lane] else []:
        at = (lane, *where)
        address, number = int(event.addresses[at]), len(made.elements)
        wrote = event.writes and (event.wrote is None or bool(event.wrote[at]))
        half = None if event.half is None else int(event.half[at])
        span = range(address, address + event.bytes)
        rank, era = int(event.ranks[lane]), made.eras.get(address, 0)
        made.elements.append(
            Element(number, execution, event.op, rank, span, half, event.reads, wrote, event.ordering, event.scope, era)
        )
        made.sources["element", number] = [("start", execution)]
        nodes.append(("element", number))
    return nodes


def morally_strong(a: Element, b: Element) -> bool:
    wide = (MemoryScope.DEVICE, MemoryScope.SYS)
    covers = a.block == b.block or (a.scope in wide and b.scope in wide)
    return a.strong and b.strong and covers and a.bytes == b.bytes


def observations(made: Graph) -> set[tuple[int, int]]:
    """Writes and the reads that observe them: directly, or through atomic operations."""
    last: dict[tuple[int, int], Element] = {}
    pairs: set[tuple[int, int]] = set()
    for e in made.elements:
        if e.reads:
            sources = {last.get((byte, e.era)) for byte in e.bytes}
            source = sources.pop()
            if not sources and source is not None and morally_strong(source, e):
                pairs.add((source.number, e.number))
        if e.writes:
            last.update(((byte, e.era), e) for byte in e.bytes)
    while True:
        atomic = {e.number for e in made.elements if e.reads and e.writes}
        more = {(w, r) for w, z in pairs if z in atomic for z2, r in pairs if z2 == z}
        if more <= pairs:
            return pairs
        pairs |= more


def synchronize(made: Graph) -> list[tuple[Element, Element]]:
    """Releases and the acquires that they synchronize with."""
    strong = [e for e in made.elements if e.strong]
    before = made.before()

    def then(a: Element, b: Element) -> bool:
        return a.block == b.block and a.bytes == b.bytes and bool(before[b.number] >> a.number & 1)

    releases = [(a, w) for a in strong if a.releases for w in strong if w is a or (w.writes and then(a, w))]
    acquires = [(r, b) for b in strong if b.acquires for r in strong if r is b or (r.reads and then(r, b))]
    seen = observations(made)
    return [
        (a, b) for a, w in releases for r, b in acquires if (w.number, r.number) in seen and morally_strong(a, b)
    ]  # fmt: skip


def conflict(a: Element, b: Element) -> bool:
    """Whether two elements that share a byte conflict."""
    return (a.writes or b.writes) and a.era == b.era and not (a.execution == b.execution and a.half != b.half)


def races(events: Sequence[Event]) -> dict[int, set[frozenset[Op]]]:
    """For each byte at which something races: the pairs of operations that do."""
    made = graph(events)
    for a, b in synchronize(made):
        made.sources["element", b.number].append(("element", a.number))
    before = made.before()
    by_byte: dict[int, list[Element]] = {}
    for e in made.elements:
        for byte in e.bytes:
            by_byte.setdefault(byte, []).append(e)
    found: dict[int, set[frozenset[Op]]] = {}
    for byte, elements in by_byte.items():
        for i, b in enumerate(elements):
            for a in elements[:i]:
                # Edges point forward, so a later element is never before an earlier one.
                if conflict(a, b) and not before[b.number] >> a.number & 1 and not morally_strong(a, b):
                    found.setdefault(byte, set()).add(frozenset((a.op, b.op)))
    return found
