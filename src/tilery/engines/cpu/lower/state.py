"""The state of the lowering to loop IR, and the table of functions that lower operations.

A tile is held as an operand if all its elements are the same, else as a buffer: the operation that makes it declares
the buffer and fills it in one nest of parallel loops, whose last statement stores `buffer[i, j] = ...`. Nothing is
fused or avoided here; passes do that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from ....analysis.alignment import Alignment, axis_info
from ....declare.relations import ELEMENTWISE
from ....ir import Op, Value, walk
from ....ops import Broadcast, Constant, Entry, Iota, Module, Permute, Reduce, Scan, StorePtrTko, StoreViewTko
from ....types import Ptr, Tile
from ..abi import NotLowered
from ..loops.builder import Builder, element_of
from ..loops.nodes import Buffer, Home, Kernel, Kind, Operand, index
from ..loops.nodes import Value as Result


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor in memory, or a view of it: the address, and sizes and strides in elements, all i64."""

    base: Operand
    shape: tuple[Operand, ...]
    strides: tuple[Operand, ...]
    home: Home | None


@dataclass(frozen=True, slots=True)
class Turned:
    """A tile in a buffer whose dimensions are in another order: neighbours there are probably neighbours in memory."""

    buffer: Buffer
    order: tuple[int, ...]
    """The dimensions of the tile, in the order of the buffer."""

    def place(self, at: Sequence[Operand]) -> tuple[Operand, ...]:
        """Return the index in the buffer of an element of the tile."""
        return tuple(at[d] for d in self.order)


SPREADS = (Broadcast, Constant, Iota)
"""Operations whose results can be computed in any order of their elements."""
TAKES_ELEMENTS = (Broadcast, Permute, Reduce, Scan, StorePtrTko, StoreViewTko)
"""Operations, besides element-wise ones, that take their operands element by element."""
MAX_LOWERED = 50_000
"""Operations to lower at most, counting those of a body as often as it is used."""
Held = Operand | Buffer | Turned | Tensor | None
"""The value of Tile IR in the loop IR; None for a token."""
Lower = Callable[["Lowering", Any], None]
LOWERS: dict[type[Op], Lower] = {}
BEFORE: dict[str, dict[type[Op], Lower]] = {"undefined": {}, "promise": {}, "nan": {}}
"""For checks of the sanitizer, what to append before an operation; see `checks`."""
F = TypeVar("F", bound=Callable[..., None])


def lowers(*classes: type[Op]) -> Callable[[F], F]:
    """Register the decorated function as the one that lowers these operations."""

    def register(function: F) -> F:
        for cls in classes:
            assert cls not in LOWERS, f"{cls.__name__} is lowered twice"
            LOWERS[cls] = function
        return function

    return register


@dataclass
class Lowering:
    """The lowering of one entry."""

    module: Module
    entry: Entry
    kernel: Kernel
    b: Builder
    numbers: dict[Op, int]
    """The numbers of operations in faults."""
    rank: Result
    """The number of the tile block."""
    called: Callable[[Op], bool]
    """Whether the reference engine computes an element-wise operation."""
    checks: frozenset[str] = frozenset()
    """The checks of the sanitizer to instrument the kernel with."""
    harmless: set[Op] = field(default_factory=set)
    """Promises that are not checked."""
    pending: list[Op] = field(default_factory=list)
    """Element-wise operations on tiles that are still to be checked."""
    wanted: list[Operand] | None = None
    """Conditions that are collected, to be checked together."""
    held: dict[Value, Held] = field(default_factory=dict)
    homes: dict[Value, Home] = field(default_factory=dict)
    """The memory that pointers come from, where that is known."""
    allocas: dict[Op, Buffer] = field(default_factory=dict)
    anyhow: set[Value] = field(default_factory=set)
    """Tiles of constants, positions and rows, which can be computed in any order of their elements."""
    _users: dict[Value, list[Op]] = field(default_factory=dict)
    frames: list[Any] = field(default_factory=list)
    """The enclosing regions, outermost first; see `control`."""
    count: int = 0
    """The operations that were lowered."""

    def lower(self, o: Op) -> None:
        """Append the statements of an operation."""
        self.count += 1
        if self.count > MAX_LOWERED:
            raise NotLowered("the kernel is very large")
        function = LOWERS.get(type(o))
        if function is None:
            raise NotLowered(o.name)
        for name, rules in BEFORE.items():
            if name in self.checks and type(o) in rules:
                rules[type(o)](self, o)
        function(self, o)
        self.inherit_home(o)
        if isinstance(o, SPREADS) or (o.opdef.has(ELEMENTWISE) and all(v in self.anyhow for v in o.operands)):
            self.anyhow.update(o.results)

    @cached_property
    def alignment(self) -> Alignment:
        """Facts about integers and pointers. Promises are not believed."""
        return axis_info(self.entry, trust=False)

    # ------------------------------------------------------------ values

    def operand(self, v: Value) -> Operand:
        """Return a tile of one element."""
        held = self.held[v]
        assert not isinstance(held, (Buffer, Turned, Tensor)) and held is not None
        return held

    def is_spread(self, v: Value) -> bool:
        """Tell whether the elements of a tile may differ."""
        return isinstance(self.held[v], (Buffer, Turned))

    def at(self, v: Value, index: Sequence[Operand]) -> Operand:
        """Return an element of a tile."""
        held = self.held[v]
        if isinstance(held, Buffer):
            return self.b.load(held, index)
        if isinstance(held, Turned):
            return self.b.load(held.buffer, held.place(index))
        assert held is not None and not isinstance(held, Tensor)
        return held

    def buffer(self, v: Value) -> Buffer:
        """Return the buffer of a tile; one that is held otherwise is put in one."""
        held = self.held[v]
        if isinstance(held, Buffer):
            return held
        made = self.b.declare(element_of(v.type), shape(v))
        self.fill(made, v)
        return made

    def fill(self, buffer: Buffer, v: Value) -> None:
        """Copy a tile to a buffer."""
        with self.b.nest(Kind.PARALLEL, shape(v)) as at:
            self.b.store(buffer, at if buffer.shape else (), self.at(v, at))

    @contextmanager
    def defining(
        self, v: Value, order: tuple[int, ...] | None = None
    ) -> Iterator[tuple[tuple[Operand, ...], list[Operand]]]:
        """Open the nest that defines a tile: yields the indices of an element, and a list to put the element in.

        The nest may go through the dimensions in another order, which is then that of the buffer.
        """
        made: list[Operand] = []
        if is_scalar(v):
            yield (index(0),) * len(shape(v)), made
            self.held[v] = made[0]
            return
        sizes = shape(v)
        order = order or tuple(range(len(sizes)))
        buffer = self.b.declare(element_of(v.type), [sizes[d] for d in order], name=name_of(v))
        with self.b.nest(Kind.PARALLEL, sizes, order) as at:
            yield at, made
            self.b.store(buffer, [at[d] for d in order], made[0])
        self.hold(v, buffer, order)

    def hold(self, v: Value, buffer: Buffer, order: tuple[int, ...]) -> None:
        """Note that a buffer has a tile, its dimensions in some order."""
        self.held[v] = buffer if order == tuple(range(len(order))) else Turned(buffer, order)

    def order_of(self, operands: Sequence[Value], result: Value) -> tuple[int, ...] | None:
        """Return the order in which to go through a tile that is computed from others of its shape; None for its own.

        Tiles that come from memory count, while masks and positions can be computed in any order.
        """
        orders = [self.held[v].order for v in operands if isinstance(self.held[v], Turned)]  # type: ignore[union-attr]
        plain = [v for v in operands if isinstance(self.held[v], Buffer) and self.comes_from_memory(v)]
        if not orders or len(plain) >= len(orders) or not self.may_turn(result):
            return None
        return max(orders, key=orders.count)

    def comes_from_memory(self, v: Value) -> bool:
        """Tell whether a tile is computed from a whole one that was loaded, or may be."""
        return v not in self.anyhow

    def may_turn(self, v: Value) -> bool:
        """Tell whether all that use a tile take single elements, and none the buffer."""
        if not self._users:
            for o in walk(self.entry):
                for x in o.operands:
                    self._users.setdefault(x, []).append(o)
        return all(
            isinstance(o, TAKES_ELEMENTS) or (o.opdef.has(ELEMENTWISE) and not self.called(o))
            for o in self._users.get(v, ())
        )

    # ------------------------------------------------------------ pointers

    def inherit_home(self, o: Op) -> None:
        """Pointers that an operation computes from one pointer are probably in the same memory."""
        results = [v for v in o.results if has_pointers(v)]
        if not results or results[0] in self.homes:
            return
        sources = {self.homes.get(v) for v in o.operands if has_pointers(v)}
        if len(sources) == 1 and (home := sources.pop()) is not None:
            self.homes.update(dict.fromkeys(results, home))


def shape(v: Value) -> tuple[int, ...]:
    """Return the shape of a tile."""
    assert isinstance(v.type, Tile)
    return v.type.shape


def name_of(v: Value) -> str:
    """Return a name for the buffer of a tile: that of the operation that makes it."""
    return v.owner.name.removesuffix("_tko") if isinstance(v.owner, Op) else "tile"


def is_scalar(v: Value) -> bool:
    """Tell whether a value is a tile of one element."""
    return isinstance(v.type, Tile) and v.type.size == 1


def has_pointers(v: Value) -> bool:
    return isinstance(v.type, Tile) and isinstance(v.type.element, Ptr)
