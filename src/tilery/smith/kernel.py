"""A kernel under construction: its operations so far, the values visible at this point, and the order of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from .. import ops
from ..attrs import Dense, FloatAttr, IntAttr, Signedness
from ..declare.operation import OpDef
from ..ir import Block, Op, Value
from ..types import I32, TOKEN, Ptr, PtrAttr, Scalar, Tile, Type
from ..version import Version
from .contract import ALIGN, Argument, Buffer
from .debug import Debug
from .facts import Pointee, ReachableMemory, ValueFacts, stored_bytes
from .versions import Feature

OpT = TypeVar("OpT", bound=Op)
Maker = Callable[["Draft", OpDef], bool]
"""Adds an operation of that kind, and what it needs, to a kernel; returns False if it cannot be used here."""

MOST_PARAMS = 10


class Unwanted(Exception):
    """Raised when the caller does not want an operation; the maker that needs it is abandoned."""


@dataclass(slots=True)
class Unit:
    """The module under construction."""

    rng: Random
    version: Version
    choose: Callable[[], tuple[Maker, OpDef]]
    """Draws an operation by the weights of the mix."""
    allow: Callable[[Op], bool] = lambda o: True
    """Whether an operation is wanted."""
    symbols: set[str] = field(default_factory=set)
    globals: list[ops.Global] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class KnownTensor:
    """A tensor view, and the sizes and strides that it has at run time."""

    value: Value
    target: Pointee
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KnownView:
    """A view that loads and stores go through."""

    value: Value
    tensor: KnownTensor


@dataclass(frozen=True, slots=True)
class EnclosingLoop:
    """The innermost loop around a block: the types that `continue` and `break` pass on, besides the token."""

    op: type[ops.For] | type[ops.Loop]
    carried: tuple[Type, ...]
    results: tuple[Type, ...]
    token: bool
    counter: Value | None = None
    """The counter that `continue` in a `loop` passes first, so that it ends; without one, `continue` is not used."""
    passed: tuple[Value, Value, Signedness] | None = None
    """The counter of a `for`, a bound from outside it, and how the loop compares them."""


def create(opdef: OpDef, **fields: Any) -> Any:
    """Create an operation from its declaration."""
    cls: Any = opdef.cls
    return cls(**fields)


class Draft:
    """The state of the generator inside an entry. The lists of visible values shrink again when a block ends."""

    def __init__(self, unit: Unit, grid: tuple[int, int, int], debug: Debug | None) -> None:
        self.unit, self.grid, self.debug = unit, grid, debug
        self.rng, self.version = unit.rng, unit.version
        self.params: list[tuple[Value, Argument]] = []
        self.prelude: list[Op] = []
        self.ops: list[Op] = []
        self.count = self.goal = 0
        self.facts = ValueFacts()
        # Visible tiles, the latest last, and the set of unused tiles, which is never iterated.
        self.pool: list[Value] = []
        self.unused: set[Value] = set()
        # Pointers to the start of memory: defined in this block and those around it, and by parameters.
        self.bases: list[Value] = []
        self.param_bases: list[Value] = []
        self.tensors: list[KnownTensor] = []
        self.views: list[KnownView] = []
        # Everything before `token` is ordered; the `pending` reads after it are not ordered among themselves.
        self.token: Value | None = None
        self.pending: list[Value] = []
        # Whether memory may be written here; if not, the block passes no token on.
        self.effects = True
        self.depth = 0
        self.frames: list[EnclosingLoop] = []
        self._block: Value | None = None
        self._globals: dict[str, ReachableMemory] = {}

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def has(self, cls: type[Op], name: str) -> bool:
        """Whether the version has this field of an operation."""
        return cls.opdef.field(name).since <= self.version

    def can(self, feature: Feature) -> bool:
        """Whether the tools of the version accept this."""
        return feature.since <= self.version

    # ------------------------------------------------------------ operations and blocks

    def ask(self, o: Op) -> None:
        """Raise `Unwanted` if the caller does not want this operation."""
        if not self.unit.allow(o):
            raise Unwanted(o.name)

    def emit(self, o: OpT, visible: bool = True) -> OpT:
        """Add an operation to the current block if it is wanted; if `visible`, its tiles may be used from now on."""
        self.ask(o)
        return self.add(o, visible)

    def add(self, o: OpT, visible: bool = True) -> OpT:
        """Add an operation to the current block without asking."""
        self.count += 1
        if self.debug is not None:
            o.loc = self.debug.location()
        self.ops.append(o)
        for value in o.operands:
            self.unused.discard(value)
        self.facts.learn(o)
        if visible:
            for value in o.results:
                self.show(value)
        return o

    def show(self, value: Value) -> None:
        """Make a tile available to later operations."""
        if value.type.__class__ is Tile:
            self.pool.append(value)
            self.unused.add(value)

    @contextmanager
    def region(self, args: Sequence[Value] = (), effects: bool = True) -> Iterator[Block]:
        """Open a nested block. Its values and its memory order are forgotten at its end."""
        block = Block(list(args))
        outer = (self.ops, self.token, self.pending, self.effects)
        grown: tuple[list[Any], ...] = (self.pool, self.bases, self.tensors, self.views, self.frames)
        sizes = [(things, len(things)) for things in grown]
        self.ops, self.pending, self.effects = block.ops, list(self.pending), self.effects and effects
        self.depth += 1
        for value in args:
            self.show(value)
        try:
            yield block
        finally:
            self.depth -= 1
            self.ops, self.token, self.pending, self.effects = outer
            for things, size in sizes:
                del things[size:]

    def fill(self, size: int) -> None:
        """Add about `size` operations to the current block."""
        goal, tries = self.count + size, 3 * size
        self.goal = max(self.goal, goal)
        while self.count < goal and tries:
            make, opdef = self.unit.choose()
            with suppress(Unwanted):
                make(self, opdef)
            tries -= 1

    # ------------------------------------------------------------ parameters

    def scalar(self, element: Scalar, bits: int) -> Value:
        """Add a scalar parameter with this argument."""
        value = Value(Tile((), element))
        self.params.append((value, (IntAttr if element.is_int else FloatAttr)(element, bits)))
        if element.is_int:
            number = IntAttr(element, bits).value if element.bits > 1 else bits
            self.facts.know(value, number, number)
        self.show(value)
        return value

    def buffer(self, element: Scalar, count: int, writable: bool) -> Value:
        """Add a pointer parameter. Each tile block has its own part of a buffer that is written."""
        kind = PtrAttr.NONE if PtrAttr.NONE.since <= self.version and self.chance(0.1) else None
        blocks = self.grid[0] * self.grid[1] * self.grid[2] if writable else 1
        pointer = param = Value(Tile((), Ptr(element, kind)))
        align = ALIGN
        if blocks > 1:
            while count * stored_bytes(element) % align:
                align //= 2
            pointer = self._part(param, count)
        self.params.append((param, Buffer(element, count * blocks, writable)))
        self.facts.targets[pointer] = Pointee(ReachableMemory(element, count, writable), count, True, align)
        self.param_bases.append(pointer)
        self.show(pointer)
        return pointer

    def _part(self, pointer: Value, count: int) -> Value:
        """Compute the address of this tile block's part of a buffer, before everything else in the entry."""
        inside, self.ops = self.ops, self.prelude
        try:
            if self._block is None:
                self._block = self._block_number()
            stride = self.emit(ops.Constant(value=Dense.of(Tile((), I32), [count])), visible=False).result
            start = self.emit(ops.MulI(lhs=self._block, rhs=stride), visible=False).result
            return self.emit(ops.Offset(ptr=pointer, offset=start), visible=False).result
        finally:
            self.ops = inside

    def _block_number(self) -> Value:
        """Compute x + width * (y + height * z)."""
        here = self.emit(ops.GetTileBlockId(), visible=False)
        for value, size in zip(here.results, self.grid):
            self.facts.know(value, 0, size - 1)
        number = here.blockId_z
        for size, at in ((self.grid[1], here.blockId_y), (self.grid[0], here.blockId_x)):
            times = self.emit(ops.Constant(value=Dense.of(Tile((), I32), [size])), visible=False).result
            rows = self.emit(ops.MulI(lhs=number, rhs=times), visible=False).result
            number = self.emit(ops.AddI(lhs=at, rhs=rows), visible=False).result
        return number

    def point_to_global(self, target: ops.Global, pointer: Value) -> None:
        """Note the target of a pointer to a global. It is only written if there is one tile block, to avoid races."""
        name, value = target.sym_name, target.value
        if name not in self._globals:
            writable = not target.constant and self.grid == (1, 1, 1)
            self._globals[name] = ReachableMemory(value.element, value.type.size, writable)
        align = stored_bytes(value.element)
        self.facts.targets[pointer] = Pointee(self._globals[name], value.type.size, True, align)
        self.bases.append(pointer)

    # ------------------------------------------------------------ tokens

    def settle(self) -> Value | None:
        """Return a token after everything so far, or None if nothing happened yet."""
        tokens = ([self.token] if self.token is not None else []) + self.pending
        if len(tokens) > 1:
            self.token = self.emit(ops.JoinTokens(tokens=tuple(tokens))).result
        elif tokens:
            self.token = tokens[0]
        elif self.chance(0.3):
            self.token = self.emit(ops.MakeToken()).result
        self.pending = []  # only now: they still count if the join is not wanted
        return self.token

    def settled(self) -> Value:
        """Return a token after everything so far."""
        token = self.settle()
        if token is None:
            token = self.token = self.emit(ops.MakeToken()).result
        return token

    def wrote(self, token: Value) -> None:
        """Order everything that follows after this token."""
        self.token, self.pending = token, []

    def reading(self, memory: ReachableMemory) -> Value | None:
        """Return the token for a read, if it needs one: read-only memory does not."""
        if memory.writable or self.chance(0.3):
            return self.token
        return None

    def read(self, memory: ReachableMemory, token: Value) -> None:
        """Order the next write after this read."""
        if memory.writable or (self.effects and self.chance(0.3)):
            self.pending.append(token)

    def reachable(self, memory: ReachableMemory) -> bool:
        """Whether the memory may be accessed here: without effects, only read-only memory."""
        return self.effects or not memory.writable

    def carried_token(self, wanted: bool) -> tuple[Value, ...]:
        """Return the current token to pass on, if wanted."""
        return (self.settled(),) if wanted else ()

    def token_type(self, wanted: bool) -> tuple[Type, ...]:
        return (TOKEN,) if wanted else ()
