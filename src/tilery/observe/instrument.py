"""Stores of the values that a kernel computes, for engines that do not show their operations.

An instrumented kernel has one more array per element type. After an operation it stores the results, for each tile
block and iteration. Iterations are numbered by the counters of `for`; a `loop` carries one more value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from .. import ops
from ..attrs import ComparisonPredicate, Dense, Signedness
from ..attrs import MemoryOrderingSemantics as Ordering
from ..engines.common.tiles import Array, carrier
from ..engines.reference.observe import Event, Observe
from ..ir import Block, Op, Value, clone, walk
from ..ops import Entry, Module
from ..types import I1, I32, I64, Function, Ptr, Scalar, Tile

AFTER = 1 << 62
"""The results of an operation come after everything that its regions compute."""


@dataclass(slots=True, eq=False)
class Probe:
    """A value that can be stored, and where it is computed."""

    value: Value
    op: Op
    path: tuple[int | None, ...]
    """Positions from the entry inwards; None is the iteration of the next loop."""
    loops: tuple[Op, ...]
    """The loops around it, outermost first."""

    @property
    def type(self) -> Tile:
        assert isinstance(self.value.type, Tile)
        return self.value.type

    @property
    def element(self) -> Scalar:
        assert isinstance(self.type.element, Scalar)
        return self.type.element

    def key(self, iterations: Sequence[int] = ()) -> tuple[int, ...]:
        """Return when a tile block computes it: keys compare in the order of execution."""
        left = iter(iterations)
        return tuple(next(left, 0) if part is None else part for part in self.path)

    def executions(self, trips: Mapping[Op, int]) -> int:
        """Return how many iterations there are of the loops around it."""
        return prod(trips[loop] for loop in self.loops)

    def iterations(self, number: int, trips: Mapping[Op, int]) -> tuple[int, ...]:
        """Return the iteration of each loop of an execution."""
        found = []
        for loop in reversed(self.loops):
            number, at = divmod(number, trips[loop])
            found.append(at)
        return tuple(reversed(found))


def find_probes(entry: Entry) -> list[Probe]:
    """Return the values of a kernel that can be stored, in the order of the text.

    Pointers, tokens, views and elements of four bits are left out, and so are undefined elements: what a masked load
    without padding returns.

    >>> import tilery
    >>> module = tilery.parse('''entry @k(%n: tile<i32>) { %twice = addi %n, %n : tile<i32> return }''')
    >>> [probe.op.name for probe in find_probes(module.entries[0])]
    ['addi']
    """
    found: list[Probe] = []
    todo: list[tuple[Block, tuple[int | None, ...], tuple[Op, ...]]] = [(entry.body, (), ())]
    while todo:
        block, path, loops = todo.pop()
        for position, o in enumerate(block.ops):
            here = (*path, position)
            stored = filter(_can_be_stored, o.results if _is_defined(o) else ())
            found += [Probe(value, o, (*here, AFTER), loops) for value in stored]
            if isinstance(o, (ops.For, ops.Loop)):
                todo.append((o.region, (*here, None), (*loops, o)))
            elif isinstance(o, ops.If):
                todo += [(body, (*here, branch), loops) for branch, body in enumerate(o.blocks)]
    return sorted(found, key=Probe.key)


def _can_be_stored(value: Value) -> bool:
    element = value.type.element if isinstance(value.type, Tile) else None
    return isinstance(element, Scalar) and (element is I1 or element.bits >= 8)


def _is_defined(o: Op) -> bool:
    """Tell whether every engine must compute the same: addresses and masked elements may differ."""
    if isinstance(o, ops.LoadPtrTko):
        return o.mask is None or o.paddingValue is not None
    masked = isinstance(o, (ops.AtomicCASTko, ops.AtomicRMWTko)) and o.mask is not None
    return not masked and not isinstance(o, ops.PtrToInt)


# ---------------------------------------------------------------- iterations


def count_trips(kernel: Any, launch: Mapping[str, Any], load: Any) -> dict[Op, int]:
    """Return the largest number of iterations of each loop of a kernel, in a launch on the reference engine.

    `launch` are the options of `Kernel.launch`; its arrays are written.
    """
    entry = kernel.entry
    loops = [o for o in walk(entry) if isinstance(o, (ops.For, ops.Loop))]
    if not loops:
        return {}
    copy: Module = clone(kernel.loaded.module)
    twin = copy.entry(entry.sym_name)
    marked: dict[Op, tuple[Op, list[Op]]] = {}
    for loop, again in zip(loops, (o for o in walk(twin) if isinstance(o, (ops.For, ops.Loop)))):
        marker = ops.GetTileBlockId()
        again.region.ops.insert(0, marker)
        marked[marker] = loop, [o for o in walk(loop) if o is not loop and o in loops]
    trips: dict[Op, int] = dict.fromkeys(loops, 0)
    current: dict[Op, dict[int, int]] = {loop: {} for loop in loops}

    def see(event: Event) -> None:
        if event.op not in marked:
            return
        loop, inner = marked[event.op]
        for rank in event.ranks.tolist():
            count = current[loop].get(rank, 0) + 1
            current[loop][rank] = count
            trips[loop] = max(trips[loop], count)
            for other in inner:
                current[other].pop(rank, None)

    values = [marker.results[0] for marker in marked]
    load(copy).kernel(entry.sym_name).launch(**launch, observe=Observe(see, ops=["get_tile_block_id"], values=values))
    return trips


# ---------------------------------------------------------------- stores


@dataclass(slots=True)
class ValueSlot:
    """Where the executions of a value are in the array of its element type."""

    probe: Probe
    start: int
    rows: int
    """How many executions are kept: all tile blocks of the first iteration come first."""
    complete: bool


@dataclass(slots=True)
class Instrumented:
    """A module that stores values of one kernel, and how to read them."""

    module: Module
    slots: list[ValueSlot]
    sizes: dict[Scalar, int] = field(default_factory=dict)

    def buffers(self) -> dict[Scalar, Array]:
        """Return arrays for one launch, to append to the arguments."""
        return {element: np.zeros(size, f"u{carrier(element).itemsize}") for element, size in self.sizes.items()}

    def read(self, slot: ValueSlot, buffers: Mapping[Scalar, Array]) -> Array:
        """Return what a launch stored of a value, one row per execution."""
        size = slot.probe.type.size
        raw = buffers[slot.probe.element][slot.start : slot.start + slot.rows * size]
        return raw.view(carrier(slot.probe.element)).reshape(slot.rows, size)


def split(probes: Iterable[Probe], trips: Mapping[Op, int], blocks: int, most: int) -> Iterator[list[Probe]]:
    """Yield groups of values that fit into that many bytes; values that are never computed are left out."""
    group: list[Probe] = []
    room = most
    for probe in probes:
        size = probe.executions(trips) * blocks * probe.type.size * carrier(probe.element).itemsize
        if not size:
            continue
        if size > room and group:
            yield group
            group, room = [], most
        group.append(probe)
        room -= size
    if group:
        yield group


def instrument(
    module: Module,
    entry: Entry,
    probes: Sequence[Probe],
    trips: Mapping[Op, int],
    blocks: int,
    *,
    most: int,
    convention: str | None = None,
) -> Instrumented:
    """Return a copy of a module whose kernel stores these values; `most` bytes are kept of one value."""
    copies: dict[Value, Value] = {}
    copy: Module = clone(module, copies)
    twins = dict(zip(walk(module), walk(copy)))
    made = Instrumented(copy, [])
    for probe in probes:
        rows = probe.executions(trips) * blocks
        kept = min(rows, most // (probe.type.size * carrier(probe.element).itemsize))
        start = made.sizes.get(probe.element, 0)
        made.sizes[probe.element] = start + kept * probe.type.size
        made.slots.append(ValueSlot(probe, start, kept, kept == rows))
    twin = twins[entry]
    assert isinstance(twin, Entry)
    bases = _add_parameters(twin, made.sizes, convention)
    writer = _Writer(twins, trips, blocks, bases)
    writer.number_iterations(twin, probes)
    for slot in reversed(made.slots):  # the results of one operation are stored in order
        writer.store(slot, copies[slot.probe.value])
    return made


def _add_parameters(entry: Entry, sizes: Iterable[Scalar], convention: str | None) -> dict[Scalar, Value]:
    """Append an array per element type; cuTile passes its length and stride, too."""
    bases = {}
    for element in sizes:
        base = bases[element] = Value(Tile((), Ptr(element)), entry.body)
        more = [Value(Tile((), I32), entry.body) for _ in range(2)] if convention == "cutile" else []
        entry.body.args += [base, *more]
    entry.function_type = Function([v.type for v in entry.body.args])
    return bases


@dataclass(slots=True)
class _Where:
    """The number of an execution in a region, over tile blocks and iterations, and whether it is expected."""

    row: Value
    execution: Value
    expected: Value | None


class _Writer:
    """Adds operations to a kernel."""

    def __init__(
        self, twins: Mapping[Op, Op], trips: Mapping[Op, int], blocks: int, bases: Mapping[Scalar, Value]
    ) -> None:
        self.twins, self.trips, self.blocks, self.bases = twins, trips, blocks, bases
        self.homes = {o: block for parent in twins.values() for block in parent.blocks for o in block.ops}
        self.where: dict[tuple[Op, ...], _Where] = {}

    def number_iterations(self, entry: Entry, probes: Iterable[Probe]) -> None:
        """Compute the number of an execution at the start of the entry, and of each loop around a value."""
        front: list[Op] = []
        block = _linear_index(front)
        zero = _number(front, 0)
        self.where[()] = _Where(block, zero, None)
        entry.body.ops[:0] = front
        nests = {probe.loops[:depth] for probe in probes for depth in range(1, len(probe.loops) + 1)}
        for nest in sorted(nests, key=len):
            self._enter(nest, block, zero)

    def _enter(self, nest: tuple[Op, ...], block: Value, zero: Value) -> None:
        outer, loop, trip = self.where[nest[:-1]], self.twins[nest[-1]], self.trips[nest[-1]]
        front: list[Op] = []
        if isinstance(loop, ops.For):
            iteration = _from_counter(front, loop)
        else:
            assert isinstance(loop, ops.Loop)
            iteration = _carried(front, loop, zero)
        most = _number(front, trip)
        below = ComparisonPredicate.LESS_THAN
        unsigned = Signedness.UNSIGNED
        expected = _add(front, ops.CmpI(comparison_predicate=below, lhs=iteration, rhs=most, signedness=unsigned))
        if outer.expected is not None:
            expected = _add(front, ops.AndI(lhs=outer.expected, rhs=expected))
        before = _add(front, ops.MulI(lhs=outer.execution, rhs=most))
        execution = _add(front, ops.AddI(lhs=before, rhs=iteration))
        row = _add(front, ops.MulI(lhs=execution, rhs=_number(front, self.blocks)))
        self.where[nest] = _Where(_add(front, ops.AddI(lhs=row, rhs=block)), execution, expected)
        loop.region.ops[:0] = front

    def store(self, slot: ValueSlot, value: Value) -> None:
        """Store a value after the operation that computes it."""
        probe, made = slot.probe, list[Op]()
        where, t = self.where[probe.loops], probe.type
        expected = where.expected
        if not slot.complete:
            below, kept = ComparisonPredicate.LESS_THAN, _number(made, slot.rows)
            room = _add(
                made, ops.CmpI(comparison_predicate=below, lhs=where.row, rhs=kept, signedness=Signedness.SIGNED)
            )
            expected = room if expected is None else _add(made, ops.AndI(lhs=expected, rhs=room))
        at = _add(made, ops.MulI(lhs=where.row, rhs=_number(made, t.size)))
        at = _add(made, ops.AddI(lhs=at, rhs=_number(made, slot.start)))
        base = _add(made, ops.Offset(ptr=self.bases[probe.element], offset=at))
        pointers = _add(made, ops.Offset(ptr=_spread(made, base, t.size), offset=_iota(made, t.size)))
        flat = _add(made, ops.Reshape(source=value, result=Value(Tile((t.size,), t.element))))
        mask = None if expected is None else _spread(made, expected, t.size)
        made.append(
            ops.StorePtrTko(memory_ordering_semantics=Ordering.WEAK, destination=pointers, value=flat, mask=mask)
        )
        o = self.twins[probe.op]
        block = self.homes[o]
        position = block.ops.index(o) + 1
        block.ops[position:position] = made


def _add(made: list[Op], o: Any) -> Value:
    made.append(o)
    result: Value = o.results[0]
    return result


def _number(made: list[Op], number: int) -> Value:
    return _add(made, ops.Constant(value=Dense.of(Tile((), I64), [number])))


def _iota(made: list[Op], size: int) -> Value:
    return _add(made, ops.Iota(result=Value(Tile((size,), I32))))


def _spread(made: list[Op], value: Value, size: int) -> Value:
    """Repeat a scalar."""
    assert isinstance(value.type, Tile)
    one = _add(made, ops.Reshape(source=value, result=Value(Tile((1,), value.type.element))))
    return _add(made, ops.Broadcast(source=one, result=Value(Tile((size,), value.type.element))))


def _wide(made: list[Op], value: Value) -> Value:
    """Convert an integer, taken as unsigned, to 64 bits."""
    if value.type is Tile((), I64):
        return value
    return _add(made, ops.ExtI(from_=value, signedness=Signedness.UNSIGNED, to=Value(Tile((), I64))))


def _linear_index(made: list[Op]) -> Value:
    """Compute the number of the tile block, x varying fastest."""
    here, size = ops.GetTileBlockId(), ops.GetNumTileBlocks()
    made += [here, size]
    x, y, z = (_wide(made, v) for v in here.results)
    width, height = (_wide(made, v) for v in size.results[:2])
    row = _add(made, ops.AddI(lhs=_add(made, ops.MulI(lhs=z, rhs=height)), rhs=y))
    return _add(made, ops.AddI(lhs=_add(made, ops.MulI(lhs=row, rhs=width)), rhs=x))


def _from_counter(made: list[Op], loop: ops.For) -> Value:
    """Compute the number of an iteration; the distance from the first counter is unsigned even where it wraps."""
    distance = _add(made, ops.SubI(lhs=loop.region.args[0], rhs=loop.lowerBound))
    return _wide(made, _add(made, ops.DivI(lhs=distance, rhs=loop.step, signedness=Signedness.UNSIGNED)))


def _carried(made: list[Op], loop: ops.Loop, zero: Value) -> Value:
    """Carry the number of the iteration through a loop."""
    count = Value(Tile((), I64), loop.region)
    following = _add(made, ops.AddI(lhs=count, rhs=_number(made, 1)))
    loop.initValues = (*loop.initValues, zero)
    loop.region.args.append(count)
    todo = [loop.region]
    while todo:
        for o in todo.pop().ops:
            if isinstance(o, ops.Continue):
                o.operands_ = (*o.operands_, following)
            elif isinstance(o, ops.If):
                todo += o.blocks
    return count
