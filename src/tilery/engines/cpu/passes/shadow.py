"""Follow undefined values: a fault wherever one comes to matter, as the check `uninit` of the sanitizer reports it.

Undefined are the elements that a masked read without a value for them leaves out. Each value that may be undefined gets
a shadow, an i1 that says whether it is, and each buffer that may hold one gets a buffer of shadows, which a nest of its
own fills. A shadow that is known to be false costs nothing. Where an undefined value is stored to memory, decides what
is executed, is part of an address, an index or a mask, or reaches the reference engine, there is a check.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ....ir import Op
from ....ops import Assert, Select
from ....types import I1
from ..loops.builder import Builder, known
from ..loops.nodes import (
    Apply,
    Atomic,
    Buffer,
    Call,
    Check,
    Declare,
    Float,
    Guard,
    If,
    Int,
    Jump,
    Kernel,
    Kind,
    Load,
    Loop,
    Operand,
    Product,
    Read,
    Scope,
    Shuffle,
    Stmt,
    Store,
    Value,
    While,
    Write,
    blocks_of,
    buffers_read,
    index,
    operands,
    truth,
    walk,
)
from .rewrite import Copy

DEFINED = truth(False)
"""The shadow of a value that is defined."""


def shadow(kernel: Kernel) -> None:
    """Instrument a kernel as it was lowered."""
    state = _Shadows(kernel.ops, *_possibly_undefined(kernel))
    kernel.body[:] = state.block(kernel.body)


def _possibly_undefined(kernel: Kernel) -> tuple[set[Value], set[Buffer]]:
    """Return the values and buffers that may be undefined, whatever is executed."""
    values: set[Value] = set()
    buffers: set[Buffer] = set()
    before = -1
    while before != len(values) + len(buffers):
        before = len(values) + len(buffers)
        for s in walk(kernel.body):
            match s:
                case Read() if _is_source(s):
                    values.add(s.result)
                case Int() | Apply() | Float() | Shuffle() | Load() | Read():
                    if not (values.isdisjoint(operands(s)) and buffers.isdisjoint(buffers_read(s))):
                        values.add(s.result)
                case Store() if s.value in values:
                    buffers.add(s.buffer)
                case Product() if not buffers.isdisjoint(buffers_read(s)):
                    buffers.add(s.result)
    return values, buffers


def _is_source(s: Read) -> bool:
    return s.mask is not None and s.other is None and known(s.mask) != 1


@dataclass(slots=True)
class _Shadows:
    ops: list[Op]
    undefined: set[Value]
    holding: set[Buffer]
    values: dict[Operand, Operand] = field(default_factory=dict)
    """The shadows of values; a value that is not here is defined."""
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)
    fault: int = 0
    """The number of the operation of the last guard."""

    def of(self, x: Operand | None) -> Operand:
        return DEFINED if x is None else self.values.get(x, DEFINED)

    def block(self, body: list[Stmt]) -> list[Stmt]:
        b = Builder([])
        for s in body:
            self.statement(b, s)
        return b.block

    def require(self, b: Builder, undefined: Operand, mask: Operand | None = None) -> None:
        """Fault where a shadow is true, and the mask is."""
        if mask is not None:
            undefined = b.both(undefined, mask)
        b.check(b.opposite(undefined), self.fault)

    def statement(self, b: Builder, s: Stmt) -> None:
        match s:
            case Loop() if self.is_definition(s):
                self.define(b, s)
            case Loop() | If() | While():
                for x in operands(s):
                    self.require(b, self.of(x))
                if isinstance(s, If):
                    s.then, s.orelse = self.block(s.then), self.block(s.orelse)
                else:
                    s.body[:] = self.block(s.body)
                b.emit(s)
            case Declare():
                b.emit(s)
                if s.buffer in self.holding:
                    like = s.buffer
                    scope = Scope.REGISTER if like.scope is Scope.REGISTER else Scope.ARENA
                    self.buffers[like] = b.declare(I1, like.shape, scope, f"undefined_{like.name}")
            case Int() | Apply() | Float() | Shuffle():
                b.emit(s)
                if s.result in self.undefined:
                    self.values[s.result] = self.computed(b, s)
            case Store():
                b.emit(s)
                for x in s.index:
                    self.require(b, self.of(x), s.mask)
                if s.buffer in self.buffers:
                    b.emit(Store(self.buffers[s.buffer], s.index, self.of(s.value), s.mask))
            case Load():
                self.load(b, s)
            case Product():
                self.product(b, s)
            case _:
                self.memory(b, s)

    def is_definition(self, s: Loop) -> bool:
        """Tell whether a nest does nothing but fill buffers that may hold undefined values."""
        inner = list(walk(s.body))
        effects = (Write, Atomic, Call, Product, While, Jump)
        if s.kind is not Kind.PARALLEL or any(isinstance(i, effects) for i in inner):
            return False
        return any(isinstance(i, Store) and i.buffer in self.buffers for i in inner)

    def define(self, b: Builder, s: Loop) -> None:
        """Fill the shadows, and check what must be defined, in a nest before the one that fills the buffers."""
        again = Copy().statement(s)
        own = {i.buffer for i in walk(s.body) if isinstance(i, Declare)}
        s.body[:] = self.block(s.body)
        shadows = set(self.buffers.values())
        _keep(s.body, lambda i: not isinstance(i, Guard) and _stays(i, own | shadows))
        b.emit(s)
        b.emit(again)

    def computed(self, b: Builder, s: Int | Apply | Float | Shuffle) -> Operand:
        """Return the shadow of a result: a selection has that of the selected value, others that of any operand."""
        given = [self.of(x) for x in s.operands]
        if (isinstance(s, Int) and s.name == "select") or (isinstance(s, Apply) and isinstance(s.op, Select)):
            return b.either(given[0], b.select(s.operands[0], given[1], given[2]))
        found = given[0]
        for each in given[1:]:
            found = b.either(found, each)
        return found

    def load(self, b: Builder, s: Load) -> None:
        b.emit(s)
        for x in s.index:
            self.require(b, self.of(x), s.mask)
        if s.result not in self.undefined:
            return
        found: Operand = DEFINED
        if s.buffer in self.buffers:
            found = b.load(self.buffers[s.buffer], s.index)
        if s.mask is not None:
            found = b.either(self.of(s.mask), b.select(s.mask, found, self.of(s.other)))
        self.values[s.result] = found

    def memory(self, b: Builder, s: Stmt) -> None:
        match s:
            case Guard():
                self.fault = s.fault
                self.require(b, self.of(s.mask))
                for x in (s.address, *(x for dim in s.dims for x in dim)):
                    self.require(b, self.of(x), s.mask)
            case Read():
                if _is_source(s):
                    assert s.mask is not None
                    self.values[s.result] = b.opposite(s.mask)
                elif s.result in self.undefined and s.mask is not None:  # its guard requires the address
                    self.values[s.result] = b.select(s.mask, DEFINED, self.of(s.other))
            case Write():
                self.require(b, self.of(s.value), s.mask)
            case Atomic():
                for x in s.operands:
                    self.require(b, self.of(x), s.mask)
            case Check() if isinstance(self.ops[s.fault], Assert):  # others look at undefined values, too
                self.require(b, self.of(s.condition))
            case Call():
                for buffer in s.arguments:
                    if (own := self.buffers.get(buffer)) is not None:
                        with b.nest(Kind.PARALLEL, own.shape) as at:
                            self.require(b, b.load(own, at))
        b.emit(s)

    def product(self, b: Builder, s: Product) -> None:
        """An element of a product is undefined if one of its row, its column or the accumulator is."""
        b.emit(s)
        room = self.buffers.get(s.result)
        if room is None:
            return
        left = self.any_along(b, [s.lhs, *s.scales[:1]], -1)
        right = self.any_along(b, [s.rhs, *s.scales[1:]], -2)
        acc = self.buffers.get(s.acc)
        with b.nest(Kind.PARALLEL, room.shape) as at:
            *batch, i, j = at
            found: Operand = DEFINED
            for each in left:
                found = b.either(found, b.load(each, (*batch, i)))
            for each in right:
                found = b.either(found, b.load(each, (*batch, j)))
            if acc is not None:
                found = b.either(found, b.load(acc, at))
            b.store(room, at, found)

    def any_along(self, b: Builder, factors: list[Buffer], axis: int) -> list[Buffer]:
        """Return for each factor that may be undefined whether something along an axis is."""
        found = []
        for each in (self.buffers[x] for x in factors if x in self.buffers):
            axis_ = len(each.shape) + axis
            kept = [n for d, n in enumerate(each.shape) if d != axis_]
            some = b.declare(I1, kept, name="undefined_along")
            with b.nest(Kind.PARALLEL, kept) as at:
                b.store(some, at, DEFINED)
            with b.loop(Kind.SERIAL, index(each.shape[axis_]), name="k") as loop, b.nest(Kind.PARALLEL, kept) as at:
                here = (*at[:axis_], loop.index, *at[axis_:])
                b.store(some, at, b.either(b.load(some, at), b.load(each, here)))
            found.append(some)
        return found


def _keep(body: list[Stmt], wanted: Callable[[Stmt], bool]) -> None:
    """Remove other statements from a block, and from those inside."""
    body[:] = [s for s in body if wanted(s)]
    for s in body:
        for block in blocks_of(s):
            _keep(block, wanted)


def _stays(s: Stmt, buffers: set[Buffer]) -> bool:
    return not isinstance(s, Store) or s.buffer in buffers
