"""A kernel as a linear program: structured control flow is lowered to instructions and jumps over numbered slots.

Code keeps its textual order. So the batch of tile blocks with the smaller program counter is further back, and batches
that diverged meet again where the control flow does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...analysis.effects import accesses, enclosing_accesses, memory_ordering
from ...analysis.flops import flops
from ...analysis.liveness import Liveness
from ...attrs import MemoryOrderingSemantics
from ...ir import Block, Op, Refused, Value, walk
from ...ops import Alloca, Break, Continue, For, If, Loop, Return, Yield
from ...types import TOKEN, TensorView, Tile, Type
from ..common.layout import MAX_RANK, alloca_bytes
from ..common.tiles import carrier
from .registry import RUNS, Executor

Slots = tuple[int, ...]
Arg = int | None | Slots
Moves = tuple[Slots, Slots]
"""A parallel copy: from these slots to those."""

NO_MOVES: Moves = ((), ())
CONTROL = (If, For, Loop, Yield, Continue, Break, Return)
"""The operations that are lowered to control-flow instructions."""
MAX_NESTED_BODIES = 32
"""The deepest nesting of bodies of `reduce` and `scan`."""


class Label:
    """A jump target, bound once everything before it has been lowered."""

    __slots__ = ("pc",)

    def __init__(self) -> None:
        self.pc = -1


@dataclass(slots=True)
class Compute:
    """Execute an operation, then free the values of `frees`."""

    op: Op
    run: Executor
    args: tuple[Arg, ...]
    outs: tuple[Arg, ...]
    frees: Slots = ()
    reusable: Slots = ()
    """Dead values whose memory nothing else shares, so that the result may overwrite it."""
    flops: int = 0
    """Floating-point operations of one tile block."""


@dataclass(slots=True)
class Branch:
    """Continue if the condition holds, else jump."""

    op: If
    condition: int
    target: Label


@dataclass(slots=True)
class CopyAndJump:
    """Copy values and jump."""

    op: Op
    moves: Moves
    target: Label
    frees: Slots = ()
    polls: Slots | None = None
    """If this jumps back to the head of a loop that accesses memory, which may wait for other tile blocks: what it
    carries, without tokens. If these values and memory stay the same, it waits."""


@dataclass(slots=True)
class Test:
    """The head of a `for`: enter the body if the counter is below the bound, else jump."""

    op: For
    counter: int
    bound: int
    variable: int
    exit: Label


@dataclass(slots=True)
class Advance:
    """The end of a `for`'s body: copy values, add the step to the counter, and jump; to `exit` if that overflows."""

    op: For
    moves: Moves
    counter: int
    step: int
    target: Label
    exit: Label
    frees: Slots = ()


@dataclass(slots=True)
class Leave:
    """The join of control flow after an `if` or a loop: copy values, then free those of `frees` and `inner`."""

    op: Op
    moves: Moves
    frees: Slots
    inner: range
    head: Label | None = None
    """The head of a `loop`."""


@dataclass(slots=True)
class Finish:
    """End the program with these values."""

    op: Op
    values: Slots


@dataclass(slots=True)
class Observed:
    """Call functions with the batch, then execute a control-flow instruction. Only observed launches have it."""

    op: Op
    inner: Instruction
    looks: tuple[Callable[[Any], None], ...]


Instruction = Compute | Branch | CopyAndJump | Test | Advance | Leave | Finish | Observed


@dataclass(slots=True)
class RegionCode:
    """Code, the slots of the parameters, and for each captured value its slot outside and its slot here."""

    code: list[Instruction]
    params: Slots
    captured: tuple[tuple[int, int], ...]
    bodies: dict[Block, RegionCode]
    peak: int
    """The most bytes that one tile block holds at once, in tiles and `alloca`."""
    widest: int
    """The bytes of the largest single tile or `alloca`."""
    steady: bool
    """Whether tile blocks cannot observe each other: every access is weak."""
    slots: dict[Value, int]
    """The slot of each value while it is live."""


@dataclass(slots=True)
class _Loop:
    op: For | Loop
    params: Slots
    results: Slots
    counter: int = -1
    polls: bool = False
    head: Label = field(default_factory=Label)
    exit: Label = field(default_factory=Label)


@dataclass(slots=True)
class _Work:
    """A block that is being lowered, what to do at its end, where `yield` jumps to, and the enclosing loop."""

    ops: Iterator[Op]
    end: Callable[[], None] | None
    joined: tuple[Label, Slots] | None
    loop: _Loop | None


def build(root: Op, block: Block) -> RegionCode:
    """Lower the body of an entry."""
    return _Builder(root, block).program()[0]


class _Builder:
    """Lowers a block and everything inside it. Bodies of `reduce` and `scan` become programs of their own."""

    def __init__(self, root: Op, block: Block, nested: int = 0) -> None:
        if nested > MAX_NESTED_BODIES:
            raise Refused(root, f"{root.name}: bodies nest more than {MAX_NESTED_BODIES} deep")
        self.root, self.block, self.nested = root, block, nested
        self.live = Liveness(block)
        self.dead = self.live.ending()
        self.shared = {v for o in walk(block) if _may_share(o) for v in o.operands}
        self.polling = enclosing_accesses(block)
        self.steady = all(memory_ordering(o) is MemoryOrderingSemantics.WEAK for o in accesses(block))
        self.code: list[Instruction] = []
        self.slots: dict[Value, int] = {}
        self.count = 0
        self.captured: list[Value] = []
        self.bodies: dict[Block, RegionCode] = {}
        self.held = self.peak = self.widest = self.allocated = 0
        self.work: list[_Work] = []

    def program(self) -> tuple[RegionCode, list[Value]]:
        """Return the program, and the values that it captures."""
        params = tuple(map(self.define, self.block.args))
        self.work.append(_Work(iter(self.block.ops), None, None, None))
        while self.work:
            work = self.work[-1]
            o = next(work.ops, None)
            if o is not None:
                self.lower(o, work)
                continue
            self.work.pop()
            if work.end is not None:
                work.end()
        peak = self.peak + self.allocated
        made = RegionCode(self.code, params, (), self.bodies, peak, self.widest, self.steady, self.slots)
        return made, self.captured

    # ------------------------------------------------------------ slots

    def define(self, value: Value) -> int:
        """Assign a slot to a new value."""
        slot = self.slots[value] = self.fresh()
        if isinstance(value.type, (Tile, TensorView)) and len(value.type.shape) > MAX_RANK:
            o = value.owner if isinstance(value.owner, Op) else self.root
            raise Refused(o, f"{o.name}: {value.type} has more than {MAX_RANK} dimensions")
        size = tile_bytes(value.type)
        self.held += size
        self.widest = max(self.widest, size)
        self.peak = max(self.peak, self.held)
        return slot

    def fresh(self) -> int:
        self.count += 1
        return self.count - 1

    def use(self, value: Value) -> int:
        slot = self.slots.get(value)
        if slot is None:
            slot = self.slots[value] = self.fresh()
            self.captured.append(value)
        return slot

    def uses_of(self, values: tuple[Value, ...]) -> Slots:
        return tuple(map(self.use, values))

    def release(self, o: Op, *results: Value) -> Slots:
        """Return the slots of the values that die with an operation."""
        values = [*self.dead.get(o, ()), *(v for v in results if v not in self.live.last)]
        self.held -= sum(tile_bytes(v.type) for v in values)
        return tuple(self.slots[v] for v in values)

    # ------------------------------------------------------------ operations

    def lower(self, o: Op, work: _Work) -> None:
        match o:
            case If():
                self.lower_if(o, work)
            case For():
                self.lower_for(o)
            case Loop():
                self.lower_loop(o)
            case Yield() if work.joined is not None:
                label, results = work.joined
                self.code.append(CopyAndJump(o, (self.uses_of(o.operands_), results), label, self.release(o)))
            case Yield() | Return():
                self.code.append(Finish(o, self.uses_of(o.operands_)))
            case Continue():
                self.lower_continue(o, work)
            case Break():
                assert work.loop is not None
                moves = self.uses_of(o.operands_), work.loop.results
                self.code.append(CopyAndJump(o, moves, work.loop.exit, self.release(o)))
            case _:
                self.lower_compute(o)

    def lower_compute(self, o: Op) -> None:
        run = RUNS.get(type(o))
        if run is None:
            raise Refused(o, f"{o.name}: this operation cannot be executed")
        args = tuple(self.argument(getattr(o, f.attr)) for f in o.opdef.operands)
        for block in o.blocks:
            self.bodies[block] = self.body(o, block)
        if isinstance(o, Alloca):
            self.allocated += alloca_bytes(o) + o.alignment
            self.widest = max(self.widest, alloca_bytes(o))
        reusable = self.reusable(o) if run.reuses else ()
        outs: list[Arg] = []
        for f in o.opdef.outs:
            made = getattr(o, f.attr)
            outs.append(tuple(map(self.define, made)) if isinstance(made, tuple) else self.define(made))
        self.code.append(Compute(o, run, args, tuple(outs), self.release(o, *o.results), reusable, flops(o)))

    def reusable(self, o: Op) -> Slots:
        """Return the operands whose memory the result may overwrite: freshly allocated, dying here, and not shared."""
        type = o.results[0].type
        return tuple(
            self.slots[v]
            for v in dict.fromkeys(o.operands)
            if self.live.ends_at(v, o) and v not in self.shared
            if _is_fresh(v) and _alike(v.type, type)
        )

    def argument(self, value: Value | tuple[Value, ...] | None) -> Arg:
        if value is None:
            return None
        return self.uses_of(value) if isinstance(value, tuple) else self.use(value)

    def body(self, o: Op, block: Block) -> RegionCode:
        """Lower the body of a `reduce` or `scan`."""
        inner = _Builder(o, block, self.nested + 1)
        made, captured = inner.program()
        self.peak = max(self.peak, self.held + made.peak)
        made.captured = tuple((self.use(v), inner.slots[v]) for v in captured)
        return made

    # ------------------------------------------------------------ control flow

    def push(
        self, block: Block, end: Callable[[], None], loop: _Loop | None, joined: tuple[Label, Slots] | None = None
    ) -> None:
        self.work.append(_Work(iter(block.ops), end, joined, loop))

    def mark(self, label: Label) -> None:
        label.pc = len(self.code)

    def lower_if(self, o: If, work: _Work) -> None:
        otherwise, joined = Label(), Label()
        results = tuple(map(self.define, o.results_))
        first, held = self.count, self.held
        self.code.append(Branch(o, self.use(o.condition), otherwise))

        def end() -> None:
            self.lower_end(o, joined, NO_MOVES, first, held)

        def end_then() -> None:
            self.mark(otherwise)
            if o.elseRegion is None:
                end()
            else:
                self.held = held
                self.push(o.elseRegion, end, work.loop, (joined, results))

        self.push(o.thenRegion, end_then, work.loop, (joined, results))

    def lower_for(self, o: For) -> None:
        results = tuple(map(self.define, o.resultValues))
        first, held = self.count, self.held
        variable, *carried = map(self.define, o.region.args)
        loop = _Loop(o, tuple(carried), results, self.fresh())
        starts = self.uses_of((o.lowerBound, *o.initValues))
        self.code.append(CopyAndJump(o, (starts, (loop.counter, *carried)), loop.head))
        self.mark(loop.head)
        self.code.append(Test(o, loop.counter, self.use(o.upperBound), variable, loop.exit))
        self.push(o.region, lambda: self.lower_end(o, loop.exit, (loop.params, results), first, held), loop)

    def lower_loop(self, o: Loop) -> None:
        results = tuple(map(self.define, o.resultValues))
        first, held = self.count, self.held
        carried = tuple(map(self.define, o.region.args))
        loop = _Loop(o, carried, results, polls=o in self.polling)
        self.code.append(CopyAndJump(o, (self.uses_of(o.initValues), carried), loop.head))
        self.mark(loop.head)
        self.push(o.region, lambda: self.lower_end(o, loop.exit, NO_MOVES, first, held, loop.head), loop)

    def lower_continue(self, o: Continue, work: _Work) -> None:
        loop = work.loop
        assert loop is not None
        moves = self.uses_of(o.operands_), loop.params
        if isinstance(loop.op, For):
            step = self.use(loop.op.step)
            self.code.append(Advance(loop.op, moves, loop.counter, step, loop.head, loop.exit, self.release(o)))
        else:
            values = zip(o.operands_, loop.params)
            polls = tuple(slot for value, slot in values if value.type is not TOKEN) if loop.polls else None
            self.code.append(CopyAndJump(o, moves, loop.head, self.release(o), polls))

    def lower_end(self, o: Op, label: Label, moves: Moves, first: int, held: int, head: Label | None = None) -> None:
        self.mark(label)
        self.held = held
        self.code.append(Leave(o, moves, self.release(o, *o.results), range(first, self.count), head))


def _may_share(o: Op) -> bool:
    """Whether the results of an operation may share memory with its operands."""
    run = RUNS.get(type(o))
    return memory_ordering(o) is None and not (run and run.reuses)


def tile_bytes(type: Type) -> int:
    """Return the bytes of a tile as it is held; other values take next to nothing."""
    return type.size * carrier(type.element).itemsize if isinstance(type, Tile) else 0


def _is_fresh(value: Value) -> bool:
    """Tell whether the memory of a value was allocated for it alone."""
    run = RUNS.get(type(value.owner)) if isinstance(value.owner, Op) else None
    return run is not None and run.reuses


def _alike(a: Type, b: Type) -> bool:
    return (
        isinstance(a, Tile) and isinstance(b, Tile) and a.shape == b.shape and carrier(a.element) == carrier(b.element)
    )
