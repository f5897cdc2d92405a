"""Traces: what a launch executed, in order, as text, as JSON lines, or for Perfetto and Chrome."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..engines.reference.access import Access
from ..engines.reference.observe import Event, Observe
from ..ir import Value
from ..types import TOKEN, Tile
from .arrays import ArrayArgument
from .names import Source
from .numbers import lane_of, numbers, show, statistics

FORMATS = ("text", "json", "chrome")
MOST = 100_000
"""Events that a trace records; the rest are counted."""
MOST_SLICES = 1_000_000
"""Slices of a Chrome trace: an event has one for each tile block."""
FIRST = 8
"""Elements of a tile that JSON shows."""


@dataclass(slots=True)
class Trace:
    """The events of a launch, as lines that `write` receives, or as slices of a Chrome trace.

    >>> import tilery
    >>> module = tilery.parse('''entry @k(%n: tile<i32>) { %twice = addi %n, %n : tile<i32> return }''')
    >>> trace = Trace(Source(module), "text", print)
    >>> stats = tilery.compile(module).launch(2, [20], observe=trace.observer(ops=["addi"]))
    [0] block 0,0,0 and 1 more  <text>:1  %twice = addi  40
    """

    source: Source
    format: str
    write: Callable[[str], None]
    arrays: list[ArrayArgument] = field(default_factory=list)
    most: int = MOST
    count: int = 0
    dropped: int = 0
    slices: list[dict[str, Any]] = field(default_factory=list)
    _made: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For each token the event and the tile block that made it."""

    def observer(self, **filters: Any) -> Observe:
        """Return the observer of a launch; the filters are those of `Observe`."""
        return Observe(self.add, tokens=self.format == "chrome", **filters)

    def add(self, event: Event) -> None:
        """Record an event."""
        if self.count >= self.most or len(self.slices) >= MOST_SLICES:
            self.dropped += 1
            return
        if self.format == "text":
            self.write(self.line(event))
        elif self.format == "json":
            self.write(json.dumps(self.data(event), allow_nan=False))
        else:
            self.slices += self._slices(event)
        self.count += 1

    # ------------------------------------------------------------ text

    def line(self, event: Event) -> str:
        """Return an event on one line, with the values of its first tile block."""
        o, others = event.op, len(event.ranks) - 1
        block = f"block {_block(event.blocks[0])}" + (f" and {others} more" if others else "")
        made = [(value, tile) for value, tile in results_of(event, 0) if value.type is not TOKEN]
        names = ", ".join(self.source.name(value) for value, _ in made)
        shown = ", ".join(show(value.type, tile) for value, tile in made)
        if not made:
            shown = ", ".join(f"{name} {_word(tile)}" for name, tile in event.before.items() if _is_small(tile))
        what = f"{names} = {o.name}" if names else o.name
        access = "" if event.access is None else describe_access(event.access, 0, self.arrays)
        parts = (f"[{self.count}] {block}", self.source.line(o), what, shown, access)
        return "  ".join(part for part in parts if part)

    # ------------------------------------------------------------ data

    def data(self, event: Event) -> dict[str, object]:
        """Return an event as JSON can hold it: a summary of each tile block's results."""
        place = self.source.place(event.op)
        values = [value for value, _ in results_of(event, 0) if value.type is not TOKEN]
        found: dict[str, object] = {
            "step": self.count,
            "operation": event.op.name,
            "file": None if place is None else place.file,
            "line": None if place is None else place.line,
            "blocks": event.blocks.tolist(),
            "results": {self.source.name(value): self._values(value, event) for value in values},
        }
        if event.access is not None:
            lanes = range(len(event.ranks))
            found["access"] = {
                "kind": event.access.kind.value,
                "elements": [describe_access(event.access, lane, self.arrays) for lane in lanes],
            }
        return found

    def _values(self, value: Value, event: Event) -> dict[str, object]:
        lanes = [tile for lane in range(len(event.ranks)) for v, tile in results_of(event, lane) if v is value]
        if not isinstance(value.type, Tile) or any(tile is None for tile in lanes):
            return {"type": str(value.type)}
        tiles = [numbers(value.type, tile) for tile in lanes]
        return {
            "type": str(value.type),
            "first": [[_plain(n) for n in tile.reshape(-1)[:FIRST]] for tile in tiles],
            "statistics": [statistics(tile).as_dict() for tile in tiles],
        }

    # ------------------------------------------------------------ Chrome

    def _slices(self, event: Event) -> Iterator[dict[str, Any]]:
        """Yield a slice for each tile block, and an arrow from the maker of each token to its use."""
        o = event.op
        for lane, rank in enumerate(event.ranks.tolist()):
            made = [(v, tile) for v, tile in results_of(event, lane) if v.type is not TOKEN]
            values = ", ".join(f"{self.source.name(v)} = {show(v.type, tile)}" for v, tile in made)
            args = {"line": self.source.line(o), "values": values}
            if event.access is not None:
                args["access"] = describe_access(event.access, lane, self.arrays)
            place = {"pid": 1, "tid": rank, "ts": self.count}
            yield {"name": o.name, "cat": o.opdef.group, "ph": "X", "dur": 1, **place, "args": args}
            for token in _tokens(event.before, lane):
                if token in self._made:
                    step, maker = self._made[token]
                    flow = {"name": "token", "cat": "token", "id": f"{token}.{self.count}", "pid": 1}
                    yield {**flow, "ph": "s", "ts": step + 0.5, "tid": maker}
                    yield {**flow, "ph": "f", "bp": "e", "ts": self.count + 0.5, "tid": rank}
            for token in _tokens(event.after, lane):
                self._made[token] = (self.count, rank)

    def finish(self, kernel: str, blocks: dict[int, str]) -> None:
        """Write a Chrome trace as a whole; for other formats, say what was left out."""
        if self.format == "chrome":
            names = [{"name": "process_name", "ph": "M", "pid": 1, "args": {"name": f"@{kernel}"}}]
            used = {each["tid"] for each in self.slices}
            names += [
                {"name": "thread_name", "ph": "M", "pid": 1, "tid": rank, "args": {"name": blocks[rank]}}
                for rank in sorted(used)
            ]
            facts = {"unit": "one microsecond is one operation", "left out": self.dropped}
            self.write(json.dumps({"traceEvents": names + self.slices, "otherData": facts}))
        elif self.dropped and self.format == "text":
            self.write(f"and {self.dropped} more operations, which the trace does not show")
        elif self.dropped:
            self.write(json.dumps({"left out": self.dropped}))


def results_of(event: Event, lane: int) -> Iterator[tuple[Value, Any]]:
    """Yield the results of an event with what a tile block has."""
    for field_ in event.op.opdef.outs:
        if field_.attr not in event.after:
            continue
        values, made = getattr(event.op, field_.attr), event.after[field_.attr]
        pairs = zip(values, made) if isinstance(values, tuple) else [(values, made)]
        for value, array in pairs:
            yield value, lane_of(array, lane)


def describe_access(access: Access, lane: int, arrays: Iterable[ArrayArgument]) -> str:
    """Return the elements that a tile block accesses: `reads a[0, 0] ... a[3, 7], 32 elements`."""
    chosen = access.mask[lane].reshape(-1)
    addresses = access.addresses[lane].reshape(-1)[chosen]
    verb = {"read": "reads", "write": "writes", "update": "updates"}[access.kind.value]
    if not len(addresses):
        return f"{verb} nothing"
    half = np.zeros_like(addresses) if access.half is None else access.half[lane].reshape(-1)[chosen]
    first, last = (element_at(int(addresses[n]), arrays, int(half[n])) for n in (0, -1))
    return f"{verb} {first}" if len(addresses) == 1 else f"{verb} {first} ... {last}, {len(addresses)} elements"


def element_at(address: int, arrays: Iterable[ArrayArgument], half: int = 0) -> str:
    """Return the element of an argument at an address, or the address. `half` chooses between two of four bits."""
    for array in arrays:
        index = array.index(address, half)
        if index is not None:
            return f"{array.name}[{', '.join(map(str, index))}]"
    return hex(address)


def _tokens(values: dict[str, Any], lane: int) -> Iterator[int]:
    for value in values.values():
        for each in value if type(value) is tuple else (value,):
            if isinstance(each, np.ndarray) and each.dtype == np.uint64:
                yield int(each[0 if len(each) == 1 else lane])


def _block(block: Any) -> str:
    return ",".join(str(int(i)) for i in block)


def _is_small(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype != np.uint64


def _word(value: Any) -> str:
    return str(value[0])


def _plain(number: Any) -> object:
    if isinstance(number, (np.bool_, np.integer)):
        return number.item()
    return float(number) if np.isfinite(number) else str(number)
