"""Watches: every value that a name gets, and every write to an element of an array, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engines.common.tiles import Array
from ..engines.reference.access import Access, AccessKind
from ..engines.reference.observe import Event, Observe
from ..engines.reference.ops.memory import stored
from ..ir import Op, Value
from ..ops import AtomicCASTko
from .arrays import ArrayArgument
from .names import Source
from .numbers import decode, element_text, show
from .trace import results_of

WRITES = ("store_ptr_tko", "store_view_tko", "atomic_rmw_tko", "atomic_cas_tko", "atomic_red_view_tko")


@dataclass(slots=True)
class WatchedWrite:
    """A write to an element: the operation, the tile block, which element of its tile, and the value."""

    op: Op
    block: tuple[int, ...]
    element: tuple[int, ...]
    value: str
    kind: str
    """`store`, or the name of an atomic operation, whose value is its operand."""


def watch_element(array: ArrayArgument, index: tuple[int, ...], found: Callable[[WatchedWrite], None]) -> Observe:
    """Return an observer that calls a function for each write to an element, in the order of memory."""

    def see(event: Event) -> None:
        if event.access is not None:
            for write in writes(event, event.access, array, index):
                found(write)

    return Observe(see, ops=WRITES)


def writes(event: Event, access: Access, array: ArrayArgument, index: tuple[int, ...]) -> Iterator[WatchedWrite]:
    """Yield the writes of an operation to an element; tile blocks, and the elements of a tile, go in order."""
    address = array.at(index)
    span = access.place.span
    if span is not None and not span.low - array.bytes < address < span.high + access.bytes:
        return
    first, last = address - access.bytes + 1, address + array.bytes - 1
    hit = access.mask & (access.addresses >= first) & (access.addresses <= last)
    if access.half is not None:
        hit &= access.half == array.half(index)
    for where in np.argwhere(hit):
        lane, element = int(where[0]), tuple(int(i) for i in where[1:])
        if isinstance(event.op, AtomicCASTko) and not _replaced(event, lane, element):
            continue
        kind = "store" if access.kind is AccessKind.WRITE else event.op.name
        value = None if access.value is None else _at(access.value, lane, element)
        raw = None if value is None else np.asarray(value, stored(array.element))
        text = "?" if raw is None else element_text(decode(array.element, raw)[()])
        yield WatchedWrite(event.op, tuple(int(i) for i in event.blocks[lane]), element, text, kind)


def _replaced(event: Event, lane: int, element: tuple[int, ...]) -> bool:
    old, wanted = event.after["result"], event.before["cmp"]
    return bool(_at(old, lane, element).tobytes() == _at(wanted, lane, element).tobytes())


def _at(array: Array, lane: int, element: tuple[int, ...]) -> Any:
    return array[(0 if len(array) == 1 else lane, *element)]


def watch_value(value: Value, found: Callable[[Event, int, Any], None]) -> Observe:
    """Return an observer that calls a function for each tile block in which an operation defines a value."""

    def see(event: Event) -> None:
        if value.owner is event.op:
            for lane in range(len(event.ranks)):
                for each, tile in results_of(event, lane):
                    if each is value:
                        found(event, lane, tile)

    return Observe(see, values=[value])


def write_line(write: WatchedWrite, name: str, source: Source) -> str:
    """Return a write as a line: who, where, what."""
    where = source.line(write.op)
    inside = f", element [{', '.join(map(str, write.element))}]" if write.element else ""
    block = f"block {','.join(map(str, write.block))}{inside}"
    verb = "=" if write.kind == "store" else f"{write.kind} with"
    return f"{name} {verb} {write.value}  {where}{'  ' if where else ''}{write.op.name}  {block}"


def value_line(event: Event, lane: int, name: str, value: Value, tile: Any, source: Source) -> str:
    """Return a value as a line: its name, what it is, where."""
    block = ",".join(str(int(i)) for i in event.blocks[lane])
    where = source.line(event.op)
    return f"{name} = {show(value.type, tile)}  {where}{'  ' if where else ''}block {block}"
