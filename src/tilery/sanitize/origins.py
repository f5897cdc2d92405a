"""Where undefined values come from, and how they came to the operation that is reported.

An element that is undefined carries the number of its origin in the upper bits of its shadow, see `uninit`. Where
several operands are undefined, the origin is that of the first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..analysis.flow import flow
from ..engines.common.tiles import Array
from ..engines.reference.access import KINDS, STORED, AccessKind
from ..engines.reference.registry import RUNS
from ..ir import Op, Value
from ..ops import (
    Broadcast,
    Cat,
    Entry,
    Extract,
    Insert,
    MmaF,
    MmaFScaled,
    MmaI,
    Permute,
    Reduce,
    Reshape,
    Scan,
    Select,
)
from .provenance import Provenance
from .reports import Occurrence
from .shadow import Shadow, Shadows

MOST = 1 << 24
"""Origins that are told apart."""
MOST_STEPS = 3
"""Operations that a report lists between the origin and itself."""
MOVES = (Broadcast, Reshape, Permute, Cat, Extract, Insert)


class Origin(NamedTuple):
    """Where undefined values come from: memory that was not written, or an operation."""

    what: str = ""
    op: Op | None = None
    is_memory: bool = False
    parent: int = 0
    """The origin of what an operation found in memory, or stored there."""


class Origins:
    """All origins so far; their numbers start at 1."""

    def __init__(self) -> None:
        self._found: list[Origin] = [Origin()]
        self._numbers: dict[Origin, int] = {}

    def __getitem__(self, number: int) -> Origin:
        return self._found[number]

    def add(self, origin: Origin) -> int:
        """Return the number of an origin; 0 if there are too many."""
        number = self._numbers.get(origin)
        if number is None:
            if len(self._found) >= MOST:
                return 0
            number = self._numbers[origin] = len(self._found)
            self._found.append(origin)
        return number

    def read(self, o: Op, shadows: Array, label: Callable[[int], str]) -> Array:
        """Return the shadows of loaded elements: what is undefined because of memory now comes from the load.

        `label` names the memory of an element.
        """
        numbers = shadows >> 8
        for number in np.unique(numbers).tolist():
            if self._found[number].is_memory:
                how = "was not written" if self._found[number].parent == 0 else "is undefined"
                what = f"which reads {label(int(np.argmax(numbers == number)))} where it {how}"
                mine = self.add(Origin(what, o, parent=number))
                shadows = np.where(numbers == number, np.uint32(mine << 8) | shadows & 0xFF, shadows)
        return shadows


def bytes_of(shadow: Shadow) -> Shadow:
    """Return which bytes of elements are undefined, without their origins."""
    return None if shadow is None else (shadow & 0xFF).astype(np.uint8)


def with_origins(made: Any, o: Op, args: dict[str, Any], shadows: Shadows) -> Any:
    """Add origins to the shadows of an operation's results; `shadows` are those of its operands, with origins."""
    if made is None:
        return None
    if isinstance(made, tuple):
        return tuple(with_origins(each, o, args, shadows) for each in made)
    return made | np.where(made != 0, _spread(o, args, _numbers(shadows), made.shape) << 8, 0).astype(np.uint32)


def _numbers(shadows: Shadows) -> dict[str, Array]:
    """Return the origins of the operands that are undefined somewhere."""
    found = {}
    for name, shadow in shadows.items():
        for at, each in enumerate(shadow if isinstance(shadow, tuple) else (shadow,)):
            if each is not None:
                found[f"{name}[{at}]" if at else name] = each >> 8
    return found


def _spread(o: Op, args: dict[str, Any], numbers: dict[str, Array], shape: tuple[int, ...]) -> Array:
    if isinstance(o, MOVES) and "indices" not in numbers and all(name in args for name in numbers):
        moved: Array = RUNS[type(o)].function(o, *(_moving(name, args, numbers) for name in args))
        return moved
    if isinstance(o, Select):
        chosen = np.where(args["cond"], numbers.get("val_if_true", 0), numbers.get("val_if_false", 0))
        return np.where(chosen == 0, _fitting(numbers["cond"], shape), chosen) if "cond" in numbers else chosen
    if isinstance(o, (MmaF, MmaFScaled, MmaI)):
        numbers = {name: _along(name, each) for name, each in numbers.items()}
    out = np.zeros((1,) * len(shape), np.uint32)
    for each in numbers.values():
        if isinstance(o, (MmaF, MmaFScaled, MmaI)):
            out = np.where(out == 0, each, out)
            continue
        if isinstance(o, (Reduce, Scan)) and each.ndim == len(shape) + isinstance(o, Reduce):
            each = each.max(axis=o.dim + 1, keepdims=isinstance(o, Scan))
        out = np.where(out == 0, _fitting(each, shape), out)
    for each in numbers.values():  # of a product, other elements than that at the same place
        out = np.where(out == 0, _of_block(each, len(shape)), out)
    return out


def _along(name: str, numbers: Array) -> Array:
    """Return the origins of the rows of a product's left side, of the columns of its right side, or of elements."""
    axis = {"lhs": -1, "lhs_scale": -1, "rhs": -2, "rhs_scale": -2}.get(name)
    return numbers if axis is None else numbers.max(axis=axis, keepdims=True)


def _moving(name: str, args: dict[str, Any], numbers: dict[str, Array]) -> Any:
    value = args[name]
    if name == "indices":
        return value
    return numbers.get(name, np.broadcast_to(np.uint32(0), (1, *value.shape[1:])))


def _fitting(numbers: Array, shape: tuple[int, ...]) -> Array:
    """Return origins for elements of a shape: those of the same elements, or else one for each tile block."""
    return numbers if numbers.shape[1:] == shape[1:] else _of_block(numbers, len(shape))


def _of_block(numbers: Array, rank: int) -> Array:
    lanes: Array = numbers.reshape(len(numbers), -1).max(axis=1)
    return lanes.reshape(-1, *(1,) * (rank - 1))


class Routes:
    """The ways that values may take through a kernel: through operations, control flow and memory."""

    def __init__(self, entry: Entry, provenance: Provenance) -> None:
        found = flow(entry)
        self._copies = {value: [source for source, _ in some] for value, some in found.copies.items()}
        self._makers = {value: o for o in found.ops for value in o.results if value not in self._copies}
        self._stores: dict[int, list[Value]] = {}
        self._owner = provenance.of_operation
        for o in found.ops:
            if type(o) in STORED:
                self._stores.setdefault(self._owner(o), []).append(getattr(o, STORED[type(o)]))

    def between(self, origin: Op, end: Op) -> list[Op]:
        """Return the operations on a shortest way from one operation to another, without these two."""
        before: dict[Op, Op] = {}
        todo, seen = deque((value, end) for value in end.operands), set(end.operands)
        while todo:
            value, user = todo.popleft()
            o = self._makers.get(value)
            if o is origin:
                way = [user]
                while way[-1] is not end:
                    way.append(before[way[-1]])
                return way[:-1]
            if o is not None and o is not end:
                before.setdefault(o, user)
            for source in self._copies.get(value, ()) if o is None else self._inputs(o):
                if source not in seen:
                    seen.add(source)
                    todo.append((source, user if o is None else o))
        return []

    def _inputs(self, o: Op) -> list[Value]:
        if type(o) in KINDS and KINDS[type(o)] is not AccessKind.WRITE:
            return [*o.operands, *self._stores.get(self._owner(o), ())]
        return list(o.operands)

    def places(self, origins: Origins, number: int, end: Op) -> tuple[list[Occurrence], list[str]]:
        """Return the operations of an origin and on the way to a report, and notes for what is no operation."""
        places, notes = [], []
        origin = origins[number]
        if origin.op is None:
            return [], []
        if origin.op is not end:
            places.append(Occurrence(origin.op, role="it comes from", reason=origin.what))
            places += [Occurrence(o, role="and came here through") for o in self.between(origin.op, end)[:MOST_STEPS]]
        else:
            notes.append(f"it comes from this operation, {origin.what}")
        memory = origins[origin.parent]
        if memory.op is not None:
            places.append(Occurrence(memory.op, role="it was stored by" if memory.parent else "the memory is that of"))
            if memory.parent:
                places += self.places(origins, memory.parent, memory.op)[0]
        return places, notes
