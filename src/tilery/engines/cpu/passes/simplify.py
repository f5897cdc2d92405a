"""Simplify a kernel: fold constants, compute equal things once, hoist what a loop does not change, drop dead code.

Laws: a pure statement may move to any block where its operands are defined, except that divisions stay where they are,
because only there is the divisor known not to be 0. A load may be replaced by an equal one if nothing stored to its
buffer in between, and may leave a loop that runs at least once and does not store to the buffer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..loops.builder import folded
from ..loops.nodes import (
    Apply,
    Atomic,
    Buffer,
    Call,
    Check,
    Const,
    Declare,
    Dot,
    Float,
    If,
    Int,
    Jump,
    Kernel,
    Kind,
    Load,
    Locate,
    Loop,
    Operand,
    Product,
    Read,
    Scope,
    Shuffle,
    Stmt,
    Store,
    TileStore,
    Value,
    While,
    Write,
    blocks_of,
    buffers_read,
    buffers_written,
    defined,
    operands,
    walk,
    with_operands,
    with_result,
)
from .rewrite import natural_lanes, trip_count

DIVISIONS = {"sdiv", "srem", "udiv", "urem"}
COMMUTES = {"add", "mul", "and", "or", "xor", "eq", "ne", "smin", "smax", "umin", "umax"}


@dataclass(slots=True)
class _Block:
    """A block that is being rebuilt."""

    out: list[Stmt]
    hoists: bool
    """Whether statements may move from here to the block outside."""
    runs: bool = True
    """Whether it is known to run at least once when the block outside runs."""
    changes: frozenset[Buffer] = frozenset()
    """The buffers that a loop stores to."""
    known: list[Any] = field(default_factory=list)
    """Keys of `_Simplifier.known` that are computed in this block."""


def simplify(kernel: Kernel) -> None:
    """Simplify a kernel."""
    _Simplifier(kernel).run()
    remove_dead(kernel)


class _Simplifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.blocks: list[_Block] = []
        self.known: dict[Any, Operand] = {}
        """Values computed in the blocks that are open."""
        self.values: dict[Value, Operand] = {}
        self.level: dict[Value, int] = {}
        """The depth of the block that defines a value; 0 for those of the kernel."""
        self.home: dict[Buffer, int] = {}
        self.version: dict[Buffer, int] = {}
        self.memory = 0
        self.clock = 0
        self.loops: dict[Loop | While, Loop | While] = {}
        self.indices: set[Operand] = set()
        self.jumps = {s.loop for s in walk(kernel.body) if isinstance(s, Jump)}
        self.effects: dict[int, tuple[frozenset[Buffer], bool]] = {}
        """The buffers that a statement with blocks writes, and whether it writes memory, by its identity."""
        self._find_effects(kernel.body)

    def _find_effects(self, body: list[Stmt]) -> tuple[set[Buffer], bool]:
        found: set[Buffer] = set()
        memory = False
        for s in body:
            if isinstance(s, (Loop, While, If)):
                inside: set[Buffer] = set()
                some = False
                for block in blocks_of(s):
                    changes, more = self._find_effects(block)
                    inside |= changes
                    some |= more
                self.effects[id(s)] = frozenset(inside), some
                found |= inside
                memory |= some
            else:
                found.update(buffers_written(s))
                memory |= isinstance(s, (Write, Atomic, Call))
        return found, memory

    def run(self) -> None:
        self.kernel.body = self.block(self.kernel.body, hoists=False)

    # ------------------------------------------------------------ blocks

    def block(
        self, body: list[Stmt], *, hoists: bool, runs: bool = True, loop: Loop | While | None = None
    ) -> list[Stmt]:
        changes = self.effects[id(loop)][0] if loop is not None else frozenset()
        self.blocks.append(_Block([], hoists, runs, changes))
        self.statements(body)
        done = self.blocks.pop()
        for key in done.known:
            del self.known[key]
        return done.out

    def remember(self, level: int, key: Any, x: Operand) -> None:
        """Note what a block computes; it is known until the block ends."""
        self.known[key] = x
        self.blocks[level - 1].known.append(key)

    def statements(self, body: list[Stmt]) -> None:
        for s in body:
            self.statement(s)
            out = self.blocks[-1].out
            if out and isinstance(out[-1], Jump):  # the rest of the block is not reached
                return

    def emit(self, s: Stmt) -> None:
        self.blocks[-1].out.append(s)
        if (v := defined(s)) is not None:
            self.level[v] = len(self.blocks)

    def get(self, x: Operand) -> Operand:
        while type(x) is Value and (found := self.values.get(x)) is not None:
            x = found
        return x

    def change(self, buffers: frozenset[Buffer] | tuple[Buffer, ...], memory: bool) -> None:
        self.clock += 1
        for b in buffers:
            self.version[b] = self.clock
        if memory:
            self.memory = self.clock

    # ------------------------------------------------------------ statements

    def statement(self, s: Stmt) -> None:
        match s:
            case Int():
                self.integer(s)
            case Apply() | Float() | Shuffle() | Dot():
                made = with_operands(s, self.get)
                what = getattr(s, "op", None) or getattr(s, "name", None), getattr(s, "order", None)
                self.pure(made, (type(s), what, s.result.element, s.result.lanes, made.operands), True)
            case Load():
                self.load(s)
            case Read():
                made = with_operands(s, self.get)
                if isinstance(made.mask, Const) and not made.mask.bits:
                    self.values[s.result] = made.other or Const(s.result.element, 0)
                    return
                if isinstance(made.mask, Const) and (made.mask.lanes == s.result.lanes or made.address.lanes > 1):
                    made = replace(made, mask=None, other=None)
                key = (Read, s.result.element, s.result.lanes, made.address, made.mask, made.other, self.memory)
                self.pure(made, key, False)
            case Locate():
                self.pure(s, (Locate, s.buffer), False)
            case Loop():
                self.loop(s)
            case While():
                again = While([])
                self.changed_by(s)
                self.loops[s] = again
                again.body = self.block(s.body, hoists=True, loop=s)
                self.changed_by(s)
                self.emit(again)
            case If():
                self.conditional(s)
            case _:
                self.effect(s)

    def effect(self, s: Stmt) -> None:
        made = with_operands(s, self.get)
        if isinstance(made, Check) and isinstance(made.condition, Const) and made.condition.bits:
            return
        if isinstance(made, (Store, Write)) and isinstance(made.mask, Const):
            if not made.mask.bits:
                return
            if isinstance(made, Store):
                made = Store(made.buffer, made.index, made.value)
            else:
                made = replace(made, mask=None)
        if isinstance(s, Jump) and s.loop is not None:
            made = Jump(s.kind, self.loops.get(s.loop, s.loop))
        if isinstance(s, Declare):
            self.home[s.buffer] = len(self.blocks)
        self.emit(made)
        self.change(buffers_written(s), isinstance(s, (Write, Atomic, Call)))
        if isinstance(made, Store) and made.mask is None:  # a load of this place is the value
            lanes = max((x.lanes for x in made.index), default=1)
            if made.value.lanes == lanes:
                key = (Load, made.buffer, lanes, made.index, None, None, self.clock)
                self.remember(len(self.blocks), key, made.value)

    def changed_by(self, s: Stmt) -> None:
        self.change(*self.effects[id(s)])

    def integer(self, s: Int) -> None:
        xs = tuple(map(self.get, s.operands))
        w = s.result.lanes
        if s.name != "ramp" and (found := folded(s.name, xs, s.result.element)) is not None and found.lanes in (1, w):
            self.values[s.result] = found
            return
        names = tuple(sorted(xs, key=_order)) if s.name in COMMUTES else xs
        key = (Int, s.name, s.result.element, w, names)
        self.pure(Int(s.result, s.name, xs), key, s.name not in DIVISIONS or _is_safe(xs[1]))

    def pure(self, s: Any, key: Any, moves: bool) -> None:
        """Emit a statement as far outside as it may be, unless an equal one is there already."""
        s = self.narrowed(s)
        found = self.known.get(key)
        if found is not None:
            self.values[s.result] = found
            return
        level = len(self.blocks)
        if moves:
            level = self.outermost(operands(s))
        self.place(s, level, key)

    def narrowed(self, s: Any) -> Any:
        """Return a statement whose result has no more lanes than its operands."""
        lanes = natural_lanes(s)
        if lanes is None or lanes == s.result.lanes:
            return s
        made = Value(s.result.element, lanes, s.result.name)
        self.values[s.result] = made
        return with_result(s, made)

    def outermost(self, xs: list[Operand]) -> int:
        """Return the depth of the outermost block that a pure statement can move to."""
        needs, level = 1, len(self.blocks)
        if not self.blocks[-1].hoists:
            return level
        for x in xs:
            if type(x) is Value and (at := self.level.get(x, 0)) > needs:
                needs = at
        while level > needs and self.blocks[level - 1].hoists:
            level -= 1
        return level

    def place(self, s: Any, level: int, key: Any) -> None:
        self.blocks[level - 1].out.append(s)
        self.remember(level, key, s.result)
        self.level[s.result] = level

    def load(self, s: Load) -> None:
        made = with_operands(s, self.get)
        if isinstance(made.mask, Const) and made.mask.bits and any(x.lanes == s.result.lanes for x in made.index):
            made = Load(s.result, s.buffer, made.index)
        key = (Load, s.buffer, s.result.lanes, made.index, made.mask, made.other, self.version.get(s.buffer, 0))
        found = self.known.get(key)
        if found is not None:
            self.values[s.result] = found
            return
        made = self.narrowed(made)
        level = len(self.blocks)
        needs = level
        # An index that is computed may be inside the buffer only where the load is.
        if all(isinstance(x, Const) or x in self.indices for x in made.index):
            needs = max(self.outermost(operands(made)), self.home.get(s.buffer, 0))
        while level > needs and self.blocks[level - 1].runs and s.buffer not in self.blocks[level - 1].changes:
            level -= 1
        self.place(made, level, key)

    # ------------------------------------------------------------ control

    def loop(self, s: Loop) -> None:
        low, high = self.get(s.low), self.get(s.high)
        made = Loop(s.kind, s.index, low, high, [], s.step, s.polls)
        count = trip_count(made)
        if count == 0:
            return
        inner = s.kind is not Kind.GRID and s not in self.jumps
        if count == 1 and inner and not s.polls:
            self.values[s.index] = low
            self.statements(s.body)
            return
        self.loops[s] = made
        self.changed_by(s)
        self.level[s.index] = len(self.blocks) + 1
        self.indices.add(s.index)
        made.body = self.block(s.body, hoists=s.kind is not Kind.GRID, runs=bool(count), loop=s)
        self.changed_by(s)
        self.emit(made)

    def conditional(self, s: If) -> None:
        condition = self.get(s.condition)
        if isinstance(condition, Const):
            self.statements(s.then if condition.bits else s.orelse)
            return
        self.changed_by(s)
        blocks = []
        for body in (s.then, s.orelse):
            before = dict(self.version), self.memory
            blocks.append(self.block(body, hoists=False, runs=False))
            self.version, self.memory = before
        self.changed_by(s)
        if blocks[0] or blocks[1]:
            self.emit(If(condition, blocks[0], blocks[1], s.rarely))


def _order(x: Operand) -> tuple[int, int]:
    return (0, x.bits) if isinstance(x, Const) else (1, id(x))


def _is_safe(x: Operand) -> bool:
    """Tell whether any number can be divided by an operand."""
    return isinstance(x, Const) and x.bits != 0 and x.bits != (1 << x.element.bits) - 1


# ---------------------------------------------------------------- dead code


def remove_dead(kernel: Kernel) -> None:
    """Remove statements without an effect: values and buffers that nothing reads, and loops that do nothing.

    Values are used after they are defined, so blocks are read backwards, until no more buffers are found unread.
    """
    read = {b for s in walk(kernel.body) for b in _read_by(s)}
    while True:
        alive = _Alive(read)
        kernel.body = alive.block(kernel.body)
        if alive.reads == read:
            return
        read = alive.reads


def _read_by(s: Stmt) -> tuple[Buffer, ...]:
    """Return the buffers whose elements matter to a statement."""
    match s:
        case Locate():
            return (s.buffer,)
        case Call():
            return (*buffers_read(s), *s.results)
    return buffers_read(s)


class _Alive:
    """Statements with an effect, if only some buffers are read."""

    def __init__(self, read: set[Buffer]) -> None:
        self.read = read
        self.used: set[Operand] = set()
        self.reads: set[Buffer] = set()
        """The buffers that statements with an effect read."""

    def block(self, body: list[Stmt]) -> list[Stmt]:
        out: list[Stmt] = []
        for s in reversed(body):
            if self.keeps(s):
                out.append(s)
                self.used.update(operands(s))
                self.reads.update(_read_by(s))
        out.reverse()
        return out

    def keeps(self, s: Stmt) -> bool:
        match s:
            case Int() | Apply() | Float() | Shuffle() | Dot() | Load() | Read() | Locate():
                return s.result in self.used
            case Store() | TileStore():
                return s.buffer in self.read
            case Product():
                return s.result in self.read
            case Declare():
                return s.buffer in self.read or s.buffer.scope is Scope.MEMORY
            case Loop() | While():
                s.body = self.block(s.body)
                return bool(s.body) or isinstance(s, While) or s.polls or s.kind is Kind.GRID
            case If():
                s.then, s.orelse = self.block(s.then), self.block(s.orelse)
                return bool(s.then or s.orelse)
        return True
