"""Which memory a pointer belongs to: an argument, a global or an `alloca`, through whatever moves and selects pointers.

Most pointers belong to the same memory whenever they are computed, which the text tells. The others are followed while
the kernel runs, by a number per element that is kept beside the value. A pointer that was an integer, or that was
loaded from memory, belongs to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from ..analysis.effects import memory_ordering
from ..analysis.flow import flow
from ..engines.common.addresses import MemoryRange
from ..engines.common.arguments import BoundArguments
from ..engines.common.layout import alloca_bytes
from ..engines.common.memory import Memory
from ..engines.common.tiles import Array
from ..engines.reference.access import POINTERS
from ..engines.reference.batch import Batch
from ..engines.reference.program import Slots
from ..engines.reference.registry import RUNS
from ..ir import Op, Value, walk
from ..ops import Alloca, Broadcast, Cat, Entry, Extract, GetGlobal, Insert, IntToPtr, Permute, Reshape, Select
from ..types import Ptr, TensorView, Tile, TileView
from .checks import Step

if TYPE_CHECKING:
    from ..engines.reference.launch import ReferenceKernel

BESIDE = 1 << 40
"""The owners of the pointers in slot n are in slot n + BESIDE of the same batch."""
NUMBER = np.int32
MOVES = (Broadcast, Reshape, Permute, Cat, Extract, Insert)
NOTHING = 0
"""The number of the owner of pointers that belong to nothing."""


class Owner(NamedTuple):
    """Memory that pointers belong to."""

    label: str
    start: int = 0
    end: int = 0
    alloca: Alloca | None = None
    """If it is that of an `alloca`, each tile block has its own."""


Owners = dict[Value, Owner]
Possible = dict[Value, frozenset[int]]
"""The numbers of the owners that each pointer or view may have."""


class Provenance:
    """The owners of all pointers and views of a launch."""

    def __init__(self, kernel: ReferenceKernel, owners: Owners) -> None:
        slots = kernel.program.slots
        self.owners: list[Owner | None] = [None, *owners.values()]
        """By number."""
        found = _possible_once(kernel, tuple(owners))
        self.fixed: dict[Value, int] = {value: next(iter(some)) for value, some in found.items() if len(some) == 1}
        """The owner of values that have the same one whenever they are computed."""
        self.varying = {value for value, some in found.items() if len(some) > 1}
        self._shapes = {slots[v]: _shape(v) for v in self.varying if v in slots}
        self._numbers = {slots[v]: number for v, number in self.fixed.items() if v in slots}
        self._slots = slots

    def of_access(self, step: Step) -> Array | None:
        """Return the owners of the pointers of an access; None if they are fixed, or not known."""
        assert step.instruction is not None
        for name, slot in zip(step.args, step.instruction.args):
            if name in (*POINTERS, "view") and isinstance(slot, int):
                return self._kept(step.batch, slot)
        return None

    def of_operation(self, o: Op) -> int:
        """Return the owner of the memory that an operation accesses; NOTHING if it varies, or is not known."""
        return self.fixed.get(pointer_of(o), NOTHING)

    def compute(self, step: Step) -> None:
        """Keep the owners of an operation's result beside it."""
        o, instruction = step.op, step.instruction
        assert instruction is not None
        if step.batch.program.slots is not self._slots:
            return  # the body of a reduction, which has its own slots
        given = {
            name: self._operand(step.batch, getattr(o, name), slot)
            for name, slot in zip(step.args, instruction.args)
            if isinstance(slot, int) and is_pointer(getattr(o, name))
        }
        made = _spread(o, step.args, given)
        for slot in instruction.outs:
            if isinstance(slot, int) and slot in self._shapes:
                step.batch.env[slot + BESIDE] = np.broadcast_to(made, (len(made), *self._shapes[slot]))

    def moves(self, moves: tuple[Slots, Slots]) -> bool:
        """Tell whether control flow moves a value whose owners vary."""
        return any(slot in self._shapes for slot in moves[1])

    def move(self, batch: Batch, moves: tuple[Slots, Slots]) -> None:
        """Move owners with the values that control flow moves."""
        if batch.program.slots is not self._slots:
            return
        targets = [(source, slot) for source, slot in zip(*moves) if slot in self._shapes]
        found = [self._number(batch, source, self._shapes[slot]) for source, slot in targets]
        batch.env.update((slot + BESIDE, owners) for (_, slot), owners in zip(targets, found))

    def _operand(self, batch: Batch, value: Value, slot: int) -> Array:
        return self._number(batch, slot, _shape(value))

    def _number(self, batch: Batch, slot: int, shape: tuple[int, ...]) -> Array:
        kept = self._kept(batch, slot)
        return _filled(self._numbers.get(slot, NOTHING), shape) if kept is None else kept

    def _kept(self, batch: Batch, slot: int) -> Array | None:
        if batch.program.slots is not self._slots:
            return None
        kept: Array | None = batch.env.get(slot + BESIDE)
        return kept


def find_owners(entry: Entry, bound: BoundArguments | None, memory: Memory, globals: dict[str, int]) -> Owners:
    """Return the owner of each value that starts a chain of pointers: parameters, globals and `alloca`."""
    found: Owners = {}
    for index, value in enumerate(entry.body.args if bound is not None else ()):
        if bound is not None and is_pointer(value) and (owner := _argument(bound, index)) is not None:
            found[value] = owner
    for o in walk(entry):
        if isinstance(o, Alloca):
            found[o.result] = Owner("an 'alloca'", 0, alloca_bytes(o), o)
        elif isinstance(o, GetGlobal) and (segment := memory.at(globals[o.name_])) is not None:
            found[o.result] = Owner(segment.label, segment.address, segment.end)
    return found


def _argument(bound: BoundArguments, index: int) -> Owner | None:
    """Return the memory of an argument: the array, and a buffer around it; None for an address of nothing known.

    An argument that is an address belongs to the largest range that starts there, or else to the largest around it.
    """
    own = bound.reach[index]
    if own is not None:
        others = [r for r in bound.ranges if not any(r is each for each in bound.reach) and _contains(r, own.address)]
        end = max(r.address + r.size for r in (own, *others))
        return Owner(own.label, min(r.address for r in (own, *others)), end)
    address = int.from_bytes(bound.slots[index], "little")
    around = [r for r in bound.ranges if _contains(r, address)]
    known = [r for r in around if r.address == address] or around
    best = max(known, key=lambda r: r.size, default=None)
    return None if best is None else Owner(best.label, best.address, best.address + best.size)


def _contains(range: MemoryRange, address: int) -> bool:
    return range.address <= address < range.address + range.size


def is_pointer(value: Any) -> bool:
    """Tell whether a value is a tile of pointers, or a view."""
    type = getattr(value, "type", None)
    return isinstance(type, (TensorView, TileView)) or (isinstance(type, Tile) and isinstance(type.element, Ptr))


def pointer_of(o: Any) -> Value:
    """Return the operand of an access that says where it is."""
    value: Value = next(getattr(o, name) for name in ("view", *POINTERS) if hasattr(o, name))
    return value


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, Tile) else ()


def _filled(number: int, shape: tuple[int, ...]) -> Array:
    return np.broadcast_to(NUMBER(number), (1, *shape))


_KNOWN: WeakKeyDictionary[ReferenceKernel, dict[tuple[Value, ...], Possible]] = WeakKeyDictionary()


def _possible_once(kernel: ReferenceKernel, owned: tuple[Value, ...]) -> Possible:
    """Return the owners that each pointer may have, by number; `owned` are the values that owners 1, 2, ... belong to.

    The text of a kernel tells, so it is found once for all launches: it takes four hundredths of a small one.
    """
    known = _KNOWN.setdefault(kernel, {})
    if owned not in known:
        known[owned] = _possible(kernel.entry, {value: number for number, value in enumerate(owned, 1)})
    return known[owned]


def _possible(entry: Entry, numbers: dict[Value, int]) -> Possible:
    """Return the owners that each pointer or view may have."""
    found = flow(entry)
    sources: dict[Value, list[Value]] = {v: [s for s, _ in some] for v, some in found.copies.items() if is_pointer(v)}
    fixed = {value: frozenset([number]) for value, number in numbers.items()}
    for o in found.ops:
        for value in o.results:
            if not is_pointer(value) or value in sources or value in fixed:
                continue
            sources[value] = [v for v in o.operands if is_pointer(v)]
            if isinstance(o, IntToPtr) or memory_ordering(o) is not None or o.blocks or not sources[value]:
                fixed[value] = frozenset([NOTHING])
    users: dict[Value, list[Value]] = {}
    for value, some in sources.items():
        for source in some:
            users.setdefault(source, []).append(value)
            if source not in sources:
                fixed.setdefault(source, frozenset([NOTHING]))
    known = dict(fixed)
    todo = list(known)
    while todo:
        value = todo.pop()
        for user in users.get(value, ()):
            more = known.get(user, frozenset()) | known[value]
            if user not in fixed and more != known.get(user):
                known[user] = more
                todo.append(user)
    return known


def _spread(o: Op, args: dict[str, Any], given: dict[str, Array]) -> Array:
    """Return the owners of an operation's result from those of its operands."""
    made: Array
    if isinstance(o, Select):
        made = np.where(args["cond"], given["val_if_true"], given["val_if_false"])
    elif isinstance(o, MOVES):
        made = RUNS[type(o)].function(o, *(given.get(name, value) for name, value in args.items()))
    else:
        (made,) = given.values()
    return made
