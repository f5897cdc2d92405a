"""Roles: which memory a kernel reads and which it writes, by the parameters that point to it."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir import Op, Value, walk
from ..ops import Entry
from ..types import Ptr, TensorView, Tile, TileView, Type
from .effects import accesses


@dataclass(frozen=True, slots=True)
class Roles:
    """The parameters through which a kernel may read and write memory."""

    read: frozenset[int]
    written: frozenset[int]


def parameter_roles(entry: Entry) -> Roles:
    """Find out which pointers among the parameters are read and written.

    A pointer that comes from elsewhere (from memory, or from an integer) may be any of them.
    """
    every = frozenset(i for i, p in enumerate(entry.body.args) if _points(p.type))
    origins: dict[Value, frozenset[int]] = {p: frozenset({i}) for i, p in enumerate(entry.body.args) if _points(p.type)}
    ops = list(walk(entry.body))
    changed = True
    while changed:
        changed = False
        for o in ops:
            found = _incoming(o, origins)
            inner = [v for block in o.blocks for v in block.args]
            for value in (*o.results, *inner):
                if not _points(value.type):
                    continue
                known = found if any(_points(v.type) for v in o.operands) or o.blocks else every
                if not known <= origins.get(value, frozenset()):
                    origins[value] = origins.get(value, frozenset()) | known
                    changed = True
    read: set[int] = set()
    written: set[int] = set()
    for o in accesses(entry):
        reached = _incoming(o, origins)
        if not o.name.startswith("store_"):
            read |= reached
        if not o.name.startswith("load_"):
            written |= reached
    return Roles(frozenset(read), frozenset(written))


def _incoming(o: Op, origins: dict[Value, frozenset[int]]) -> frozenset[int]:
    """The parameters that the operands of an operation point to, and those of the ends of its regions."""
    found: frozenset[int] = frozenset()
    ends = [block.ops[-1] for block in o.blocks if block.ops]
    for value in (v for each in (o, *ends) for v in each.operands):
        found |= origins.get(value, frozenset())
    return found


def _points(type: Type) -> bool:
    return isinstance(type, (TensorView, TileView)) or (isinstance(type, Tile) and isinstance(type.element, Ptr))
