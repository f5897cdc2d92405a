"""A kernel as LLVM IR: the plan of a block, the operations in order, and the function that runs tile blocks."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ...analysis.alignment import Alignment, axis_info
from ...analysis.effects import accesses as memory_accesses
from ...analysis.effects import enclosing, memory_ordering
from ...attrs import MemoryOrderingSemantics as Ordering
from ...ir import Block, Op, Value, walk
from ...ops import (
    Alloca,
    Assume,
    Break,
    Constant,
    Continue,
    Entry,
    For,
    GdcLaunchDependentsTko,
    GdcWaitTko,
    GetNumTileBlocks,
    GetTileBlockId,
    If,
    Iota,
    JoinTokens,
    LoadViewTko,
    Loop,
    MakeToken,
    MemoryFenceAliasTko,
    Module,
    Permute,
    PrintTko,
    Reduce,
    Reshape,
    Return,
    StoreViewTko,
    Yield,
)
from ...types import GatherScatterView, Ptr
from ..common.layout import MAX_RANK
from . import atomics, control, reduce, shapes, views
from .abi import ALLOWED_SYMBOLS, Lowered, NotLowered, Specialisation, Target
from .access import LINE, load_chunk
from .arithmetic import circle, floating, integer, mathlib, powers
from .callbacks import is_called, write_call
from .llvm.entry import BLOCK, run_function
from .memory import provenance, reserve_allocas
from .products import integers
from .registry import ELEMENTWISE, EMITTED, HEAVY, emits
from .shapes import filled_by_squares, lies_across, turned_by
from .stores import written_tensors
from .text import FOOTER, Number
from .tiles import Access, Buffer, Home, is_scalar, is_tile, reg, same_but_for_ones, shape
from .writer import MAX_LINES, MOVES, Writer

__all__ = [
    "atomics", "circle", "control", "floating", "integer", "integers", "lower", "mathlib", "powers", "reduce",
    "shapes", "views",
]  # fmt: skip

NOTHING = (MakeToken, JoinTokens, MemoryFenceAliasTko, GdcLaunchDependentsTko, GdcWaitTko)
TERMINATORS = (Yield, Continue, Break, Return)
MAX_OPS = 20000
MAX_DEPTH = 100
"""Nested regions: a region looks at all that it holds, whatever is inside what."""
MAX_WORK = 3_000_000
"""Lines of code that are executed in some milliseconds."""
PAGE = 4096
"""Addresses that are equal but for multiples of this look equal to a processor when it begins to load."""
MANY = 4
"""A tile that more loops than this need is computed once, even if it is cheap."""


def lower(module: Module, entry: Entry, target: Target, wanted: Specialisation) -> Lowered:
    """Lower one entry of a verified module. Raises NotLowered if it cannot be compiled."""
    if target.x86 and not {"avx2", "fma", "f16c"} <= target.features:
        raise NotLowered("the processor has no AVX2")
    ops = list(walk(entry))
    if len(ops) > MAX_OPS:
        raise NotLowered("the kernel is very large")
    if _depth(entry.body) > MAX_DEPTH:
        raise NotLowered("the kernel is nested very deep")
    if any(len(getattr(v.type, "shape", ())) > MAX_RANK for o in ops for v in o.results):
        raise NotLowered("NumPy, and so the reference engine, has no arrays of so many dimensions")
    g = Lowering(module, entry, target, wanted)
    strong = dict.fromkeys(o for o in memory_accesses(entry) if memory_ordering(o) is not Ordering.WEAK)
    waits = any(isinstance(o, (Loop, For)) for o in enclosing(entry.body, strong.__contains__))
    g.called = dict.fromkeys(o for o in ops if is_called(o, wanted.exact))
    try:
        text = g.text(entry)
    except RecursionError:
        raise NotLowered("the kernel is nested very deep") from None
    used = {v for o in ops for v in o.operands}
    ordered = not all(atomics.commutes(o, used) for o in strong)
    lowered = Lowered(text, list(g.numbers_of), g.peak + 64, list(g.globals), ALLOWED_SYMBOLS)
    lowered.callbacks, lowered.written = list(g.called), written_tensors(entry)
    lowered.waits, lowered.ordered = waits, ordered or any(isinstance(o, PrintTko) for o in ops)
    lowered.long = any(isinstance(o, (Loop, For)) for o in ops) or g.work[0] + len(g.lines) > MAX_WORK
    return lowered


class Lowering(Writer):
    """The lowering of one entry."""

    def __init__(self, module: Module, entry: Entry, target: Target, wanted: Specialisation) -> None:
        super().__init__(target, wanted)
        self.globals = {o.sym_name: o for o in module.globals}
        self.entry = entry
        self.writers = enclosing(entry.body, _writes)
        """The operations that write to memory, or hold one that does."""
        self.loops = {v: o for o in walk(entry) if isinstance(o, For) for v in o.region.args}

    def load_chunk(self, access: Access, t: str, index: tuple[Number, ...], vd: int, w: int) -> str:
        return load_chunk(self, access, t, index, vd, w)

    def filled_by_squares(self, b: Buffer, v: Value) -> bool:
        return filled_by_squares(self, b, v)

    @cached_property
    def alignment(self) -> Alignment:
        return axis_info(self.entry, trust=False)

    def runs(self, v: Value, vd: int, w: int) -> bool:
        return w > 1 and self.alignment[v].contiguity[vd] >= w

    # ------------------------------------------------------------ blocks

    def block(self, block: Block) -> bool:
        """Write the operations of a block; return whether it ends with a jump."""
        self.plan(block)
        uses = self.uses(block)
        waiting: list[Value] = []
        for position, o in enumerate(block.ops):
            self.numbers_of.setdefault(o, len(self.numbers_of))
            self.lines.append(f"; op {self.numbers_of[o]}")
            if len(self.lines) > MAX_LINES:
                raise NotLowered("the kernel is very large")
            if o in self.writers:
                self.settle_pending(waiting, uses, position)
                waiting = []
            self.operation(o)
            waiting += [v for v in o.results if isinstance(self.held.get(v), Access)]
            for v in o.results:
                if self.keep.get(v) == "own" and v in self.keep:
                    del self.keep[v]
                    self.materialise(v)
        return bool(block.ops) and isinstance(block.ops[-1], TERMINATORS)

    def uses(self, block: Block) -> dict[Value, list[tuple[int, Op]]]:
        """The operations that use a value, with their positions in the block, or those of what holds them."""
        found: dict[Value, list[tuple[int, Op]]] = {}
        if any(o in self.writers for o in block.ops):
            for position, o in enumerate(block.ops):
                for i in walk(o) if o.nested else (o,):
                    for v in i.operands:
                        found.setdefault(v, []).append((position, i))
        return found

    def settle_pending(self, loads: list[Value], uses: dict[Value, list[tuple[int, Op]]], position: int) -> None:
        """Read loads that operations after a position need, or what is computed from them, before memory changes."""
        stack, seen = list(loads), set[Value]()
        while stack:
            v = stack.pop()
            if v in seen or not is_tile(v) or isinstance(self.held.get(v), (str, Buffer)):
                continue
            seen.add(v)
            users = uses.get(v, [])
            if users and users[-1][0] > position:
                self.materialise(v)
            else:
                stack += [u for _, o in users if self.is_recipe(o) for u in o.results]

    def operation(self, o: Op) -> None:
        if isinstance(o, NOTHING):
            return
        if isinstance(o, Assume):
            self.assume(o)
            return
        provenance(self, o)
        emit = write_call if o in self.called else EMITTED.get(type(o))
        if emit is not None:
            emit(self, o)
            return
        if not self.is_recipe(o):
            raise NotLowered(o.name)
        (v,) = o.results
        if isinstance(o, Constant) and (table := self.constant(o)) is not None:
            self.held[v] = table
        elif isinstance(o, Reshape) and not is_scalar(v) and not same_but_for_ones(shape(v), shape(o.source)):
            b = self.materialise(o.source)
            self.held[v] = Buffer(b.pointer, shape(v), b.type)
        elif is_scalar(v):
            self.held[v] = self.scalar(v)

    def assume(self, o: Assume) -> None:
        v = o.result
        if o.value in self.homes:
            self.homes[v] = self.homes[o.value]
        if o.value in self.held and not isinstance(self.held[o.value], Access):
            self.held[v] = self.held[o.value]
        elif is_tile(v) and is_scalar(v):
            self.held[v] = self.scalar(v)

    # ------------------------------------------------------------ the plan

    def groups(self, o: Op) -> list[list[Value]]:
        """The tiles that loops of an operation read, loop by loop."""
        if self.is_recipe(o) or isinstance(o, (If, Assume)):
            return []
        if isinstance(o, Reduce):
            return [list(o.operands_)]
        return [[v] for v in o.operands if is_tile(v) and not is_scalar(v)]

    def plan(self, block: Block) -> None:
        """Decide which tiles to put in buffers: those that are not cheap and that several loops need."""
        inside = set(block.ops)
        members: dict[Value, list[tuple[int, bool]]] = {}
        users: dict[Value, list[Op]] = {}
        count = 0
        for o in block.ops:
            for v in o.operands:
                users.setdefault(v, []).append(o)
            for group in self.groups(o):
                found: dict[Value, bool] = {}
                for v in group:
                    self.behind(v, found, inside)
                moved = [v for v in found if isinstance(v.owner, Permute) and not is_scalar(v)]
                if len(moved) > MANY:  # each may double the orders in which its producers are needed
                    self.keep.update(dict.fromkeys(moved, "own"))
                side = _stores_sides(o)
                if side and any(type(v.owner) in HEAVY and not is_scalar(v) for v in found):
                    again = [v for v in found if v in members and isinstance(v.owner, LoadViewTko)]
                    self.fetchers = dict.fromkeys(again, o) | self.fetchers
                for v, direct in found.items():
                    members.setdefault(v, []).append((count, direct and side))
                count += 1
        weights: dict[Value, bool] = {}
        for v, where in members.items():
            numbers = _numbers(members, v)
            many = len(numbers) > MANY and type(v.owner) in ELEMENTWISE and not is_scalar(v)
            if len(numbers) > 1 and (many or self.weigh(v, members, weights)):
                others = [
                    u
                    for u in users[v]
                    if not (self.is_recipe(u) and {n for n, _ in members.get(u.results[0], [])} == numbers)
                ]
                if others:
                    self.keep[v] = "side" if where[0][1] else "own"
        for v in (v for o in block.ops for v in o.results if lies_across(self, v)):
            if v not in users or not all(turned_by(self, v, u) for u in users[v]):
                self.keep[v] = "own"

    def with_sides(self, values: list[Value], emit: Any) -> None:
        """Write a loop that stores some tiles on the way: those that it evaluates in the order of their elements."""
        found: dict[Value, bool] = {}
        for v in values:
            self.behind(v, found, None)
        sides = [v for v, direct in found.items() if direct and self.keep.get(v) == "side"]
        again = set(sides)
        for o in sorted((v.owner for v in found if isinstance(v.owner, Op)), key=self.numbers_of.__getitem__):
            if not again.isdisjoint(o.operands):
                again.update(o.results)
        self.forget(again)  # a chunk that is known would not be stored
        before = self.sides
        sources = [a for v in found if isinstance(a := self.held.get(v), Access)]
        self.sides = {v: self.goal.get(v) or self.side(v, sources[:1]) for v in sides}
        emit()
        made, self.sides = self.sides, before
        for v in sides:
            del self.keep[v]
        self.settle(dict(made))

    def side(self, v: Value, sources: list[Access]) -> Buffer:
        """A buffer that a loop stores to while it loads from elsewhere, half a page away from there.

        A load that looks as if it were of what has just been stored has to wait.
        """
        if not sources:
            return self.buffer(shape(v), reg(v))
        room = self.buffer(shape(v), reg(v), PAGE)
        here, there = (self.let(f"ptrtoint ptr {p} to i64") for p in (room.pointer, sources[0].pointer))
        shift = self.let(f"and i64 {self.add(self.sub(there, here), PAGE // 2)}, {PAGE - LINE}")
        return Buffer(self.at("i8", room.pointer, shift), shape(v), room.type)

    # ------------------------------------------------------------ the function

    def text(self, entry: Entry) -> str:
        params = entry.body.args
        names = list(self.globals)
        for n, v in enumerate(params):
            t = reg(v)
            self.held[v] = self.truth(self.load("i8" if t == "i1" else t, self.at("i64", "%slots", n)), t, 1)
            if isinstance(v.type.element, Ptr):  # type: ignore[attr-defined]
                words = [self.load("i64", self.at("i64", "%slots", len(params) + 3 * n + k)) for k in range(3)]
                self.homes[v] = Home(*words)
        first = 4 * len(params)
        for n in range(len(names)):
            for k, kind in enumerate(("glow", "ghigh", "gwrite")):
                self.put(f"%{kind}{n} = load i64, ptr {self.at('i64', '%slots', first + 3 * n + k)}")
            self.put(f"%global{n} = load i64, ptr {self.at('i64', '%slots', first + 3 * len(names) + n)}")
        reserve_allocas(self, [o for o in walk(entry) if isinstance(o, Alloca)])
        if not self.block(entry.body):
            self.put("ret i64 0")
        functions = [f.replace("TABLE", str(first + 4 * len(names))) for f in self.functions.values()]
        parts = [
            *functions,
            BLOCK,
            "entry:",
            *self.slots,
            *self.lines,
            "}",
            run_function(self, self.target),
            *self.needs,
            FOOTER,
        ]
        return "\n".join(parts)


@emits(GetTileBlockId)
def get_tile_block_id(g: Writer, o: GetTileBlockId) -> None:
    g.held.update(zip(o.results, ("%bx", "%by", "%bz")))


@emits(GetNumTileBlocks)
def get_num_tile_blocks(g: Writer, o: GetNumTileBlocks) -> None:
    g.held.update(zip(o.results, ("%gx", "%gy", "%gz")))


def _depth(block: Block) -> int:
    """Return the depth of nested regions."""
    depth, level = 0, [block]
    while level:
        depth, level = depth + 1, [inner for b in level for o in b.ops if o.nested for inner in o.blocks]
    return depth


def _writes(o: Op) -> bool:
    return memory_ordering(o) is not None and not o.name.startswith("load")


def _stores_sides(o: Op) -> bool:
    """Whether the loop of an operation is written by `with_sides`."""
    if isinstance(o, Reduce):
        return reduce.is_in_registers(o)
    return isinstance(o, StoreViewTko) and not isinstance(o.view.type, GatherScatterView) and not is_scalar(o.tile)


def _numbers(members: dict[Value, list[tuple[int, bool]]], v: Value) -> set[int]:
    """The loops that evaluate a value."""
    return {n for n, _ in members.get(v, [])}


def is_native(cls: type[Op]) -> bool:
    """Whether an operation has code of its own, in some of its forms."""
    others = (*NOTHING, *MOVES, Assume, Constant, Iota)
    return cls in ELEMENTWISE or cls in EMITTED or issubclass(cls, others)
