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
from tilery.ir import Op
from tilery.sanitize import Access, Check, Link

Node = tuple[str, int]


class Recorder(Check):
    """Keeps all accesses and links of a launch."""

    name = "recorder"
    events: list[Access | Link]

    def begin(self, entry: Any) -> None:
        type(self).events = []

    def after(self, access: Access) -> None:
        self.events.append(access)

    def link(self, link: Link) -> None:
        self.events.append(link)


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
    """The elements of a run in the order in which they happened, and the token edges."""

    elements: list[Element] = field(default_factory=list)
    edges: dict[Node, set[Node]] = field(default_factory=dict)

    def edge(self, a: Node, b: Node) -> None:
        self.edges.setdefault(a, set()).add(b)

    def reachable(self, start: Node) -> set[Node]:
        found, todo = {start}, [start]
        while todo:
            for node in self.edges.get(todo.pop(), ()):
                if node not in found:
                    found.add(node)
                    todo.append(node)
        return found


def graph(events: Sequence[Access | Link]) -> Graph:
    """Make the graph of tokens: an execution starts, its elements happen, and its token is made."""
    made = Graph()
    execution = 0
    for event in events:
        for lane, rank in enumerate(event.ranks.tolist()):
            execution += 1
            token = int(event.result_token[lane])
            start: Node = ("start", execution)
            made.edge(start, ("token", token))
            if isinstance(event, Link):
                for tokens in event.tokens:
                    made.edge(("token", int(tokens[lane])), start)
                continue
            if event.tokens is not None:
                made.edge(("token", int(event.tokens[lane])), start)
            for where in zip(*event.mask[lane : lane + 1].nonzero()):
                at = (lane, *where[1:])
                address = int(event.addresses[at])
                wrote = event.writes and (event.wrote is None or bool(event.wrote[at]))
                number = len(made.elements)
                half = None if event.half is None else int(event.half[at])
                span = range(address, address + event.bytes)
                made.elements.append(
                    Element(
                        number, execution, event.op, rank, span, half, event.reads, wrote, event.ordering, event.scope
                    )
                )
                made.edge(start, ("element", number))
                made.edge(("element", number), ("token", token))
    return made


def morally_strong(a: Element, b: Element) -> bool:
    wide = (MemoryScope.DEVICE, MemoryScope.SYS)
    covers = a.block == b.block or (a.scope in wide and b.scope in wide)
    return a.strong and b.strong and covers and a.bytes == b.bytes


def observations(made: Graph) -> set[tuple[int, int]]:
    """Writes and the reads that observe them: directly, or through atomic operations."""
    last: dict[int, Element] = {}
    pairs: set[tuple[int, int]] = set()
    for e in made.elements:
        if e.reads:
            sources = {last.get(byte) for byte in e.bytes}
            source = sources.pop()
            if not sources and source is not None and morally_strong(source, e):
                pairs.add((source.number, e.number))
        if e.writes:
            last.update(dict.fromkeys(e.bytes, e))
    while True:
        atomic = {e.number for e in made.elements if e.reads and e.writes}
        more = {(w, r) for w, z in pairs if z in atomic for z2, r in pairs if z2 == z}
        if more <= pairs:
            return pairs
        pairs |= more


def synchronize(made: Graph) -> list[tuple[Element, Element]]:
    """Releases and the acquires that they synchronize with."""
    elements = made.elements
    after = [made.reachable(("element", e.number)) for e in elements]

    def then(a: Element, b: Element) -> bool:
        same = a.block == b.block and a.bytes == b.bytes
        return same and a.execution != b.execution and ("element", b.number) in after[a.number]

    releases = [
        (a, w) for a in elements if a.releases for w in elements if w is a or (w.strong and w.writes and then(a, w))
    ]
    acquires = [
        (r, b) for b in elements if b.acquires for r in elements if r is b or (r.strong and r.reads and then(r, b))
    ]
    seen = observations(made)
    return [
        (a, b) for a, w in releases for r, b in acquires if (w.number, r.number) in seen and morally_strong(a, b)
    ]  # fmt: skip


def conflict(a: Element, b: Element) -> set[int]:
    """The bytes at which two elements conflict."""
    if not (a.writes or b.writes):
        return set()
    if a.execution == b.execution and a.half != b.half:
        return set()
    return set(a.bytes) & set(b.bytes)


def races(events: Sequence[Access | Link]) -> dict[int, set[frozenset[Op]]]:
    """For each byte at which something races: the pairs of operations that do."""
    made = graph(events)
    for a, b in synchronize(made):
        made.edge(("element", a.number), ("element", b.number))
    after = [made.reachable(("element", e.number)) for e in made.elements]
    found: dict[int, set[frozenset[Op]]] = {}
    for b in made.elements:
        for a in made.elements[: b.number]:
            shared = conflict(a, b)
            ordered = ("element", b.number) in after[a.number] or ("element", a.number) in after[b.number]
            if shared and not ordered and not morally_strong(a, b):
                for byte in shared:
                    found.setdefault(byte, set()).add(frozenset((a.op, b.op)))
    return found
