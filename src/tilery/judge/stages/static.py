"""Checks of a module's text, without running it: does anything that is stored depend on an input, is there state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir import Block, Op, Value, walk
from ...ops import (
    AtomicCASTko,
    AtomicRedViewTko,
    AtomicRMWTko,
    Entry,
    GetGlobal,
    LoadPtrTko,
    LoadViewTko,
    Module,
    PtrToInt,
    StorePtrTko,
    StoreViewTko,
)
from ...types import Ptr, Scalar, Tile, Token
from ..results import FaultKind

LOADS = (LoadPtrTko, LoadViewTko, AtomicCASTko, AtomicRMWTko)
ATOMICS = (AtomicCASTko, AtomicRMWTko, AtomicRedViewTko)
STORES = (StorePtrTko, StoreViewTko, *ATOMICS)

Found = tuple[FaultKind, str] | None


def check_static(modules: Sequence[Module], entries: Iterable[tuple[int, str]]) -> Found:
    """Return what is wrong with the entries that a candidate launches, if anything is."""
    loads = depends = False
    stored = False
    for number, name in dict.fromkeys(entries):
        entry = modules[number].entry(name)
        ops = list(walk(entry.body))
        loads |= any(isinstance(o, LOADS) for o in ops)
        if any(map(uses_address, ops)):
            return FaultKind.ADDRESS, f"@{name} makes a number of an address, which differs between machines"
        flow = Dependences(entry)
        stores = [o for o in ops if isinstance(o, STORES)]
        stored |= bool(stores)
        if any(isinstance(o, GetGlobal) for o in flow.producers(each for o in stores for each in _pointers(o))):
            return FaultKind.STATE, f"@{name} writes a global variable, which a later launch could read"
        depends |= flow.depends_on_input(stores)
    if not stored:
        return FaultKind.UNWRITTEN, "no kernel stores anything"
    if not loads:
        return FaultKind.UNREAD, "no kernel loads anything"
    if not depends:
        return FaultKind.CONSTANT, "nothing that is stored depends on what is loaded"
    return None


def uses_address(o: Op) -> bool:
    """Tell whether an operation makes a number of an address, itself or through memory."""
    return isinstance(o, PtrToInt) or (isinstance(o, STORES) and any(_is_pointer(each) for each in _values(o)))


def has_atomics(modules: Sequence[Module]) -> bool:
    """Tell whether results may depend on the order of atomic operations."""
    return any(isinstance(o, ATOMICS) for module in modules for o in walk(module))


def _pointers(o: Op) -> list[Value]:
    """Return the operands that say where an operation stores: pointers and views, not tokens and values."""
    values = _values(o)
    return [each for each in o.operands if each not in values and not _is_number(each) and not _is_token(each)]


def _values(o: Op) -> list[Value]:
    """Return the operands that an operation stores."""
    return [each for name in ("value", "tile", "arg", "cmp", "val") if (each := getattr(o, name, None)) is not None]


def _is_pointer(value: Value) -> bool:
    return isinstance(value.type, Tile) and isinstance(value.type.element, Ptr)


def _is_number(value: Value) -> bool:
    return isinstance(value.type, Tile) and isinstance(value.type.element, Scalar)


def _is_token(value: Value) -> bool:
    return isinstance(value.type, Token)


class Dependences:
    """Which operations a value depends on, by data or by control. Loops and branches are joined conservatively."""

    def __init__(self, entry: Entry) -> None:
        self.parents: dict[Block, Op] = {}
        self.homes: dict[Op, Block] = {}
        self.entry = entry
        for o in (entry, *walk(entry.body)):
            for block in o.blocks:
                self.parents[block] = o
                for inner in block.ops:
                    self.homes[inner] = block

    def depends_on_input(self, stores: Sequence[Op]) -> bool:
        """Tell whether a stored value, or whether it is stored, depends on a load."""
        values = [each for o in stores for each in set(o.operands).difference(_pointers(o)) if not _is_token(each)]
        return any(isinstance(o, LOADS) for o in self.producers(values, controls=stores))

    def producers(self, values: Iterable[Value], controls: Iterable[Op] = ()) -> set[Op]:
        """Return every operation that values depend on; with `controls`, also what decides whether those run."""
        found: set[Op] = set()
        work: list[Op] = []
        for value in values:
            self._add(value, work)
        for o in controls:
            self._add_parents(o, work)
        while work:
            o = work.pop()
            if o in found or o is self.entry:
                continue
            found.add(o)
            for value in o.operands:
                self._add(value, work)
            for block in o.blocks:  # its results depend on what its regions yield
                work += block.ops[-1:]
                work += [each for each in block.ops if each.blocks]
            self._add_parents(o, work)
        return found

    def _add(self, value: Value, work: list[Op]) -> None:
        owner = value.owner
        if isinstance(owner, Block):
            if owner in self.parents:
                work.append(self.parents[owner])
        elif owner is not None:
            work.append(owner)

    def _add_parents(self, o: Op, work: list[Op]) -> None:
        block = self.homes.get(o)
        if block is not None and (parent := self.parents[block]) is not self.entry:
            work.append(parent)
