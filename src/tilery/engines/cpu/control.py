"""Control flow: what loops carry is held in variables (scalars) and in pairs of buffers that swap (tiles)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ir import Block, Op, Value, walk
from ...ops import Break, Constant, Continue, For, If, Loop, MmaF, MmaI, Return, Yield
from ...types import Token
from ..common.tiles import dense_array
from .abi import NotLowered
from .memory import fault_if
from .products.integers import pack_integers_before
from .products.pairs import pack_before
from .registry import ELEMENTWISE, emits
from .tiles import Buffer, Tensor, is_scalar, is_tile, reg, shape, stored
from .writer import MOVES, Writer


@dataclass
class Carried:
    """A value that a loop carries: a variable, or two buffers of which one is current."""

    value: Value
    slot: str
    other: str = ""
    result: str = ""


@dataclass
class Frame:
    """An enclosing loop, or an `if`, whose terminators are being written."""

    op: Op
    carried: list[Carried | None]
    results: list[Carried | None]
    again: str
    done: str
    counter: str = ""
    in_place: dict[Value, Carried] = field(default_factory=dict)


def is_carried(v: Value) -> bool:
    if isinstance(v.type, Token):
        return False
    if not is_tile(v):
        raise NotLowered(f"a value of {v.type} is carried")
    return True


def variable(g: Writer, v: Value, pair: bool) -> Carried | None:
    """Room for a value that comes from several places."""
    if not is_carried(v):
        return None
    if is_scalar(v):
        return Carried(v, g.slot(reg(v)))
    buffers = [g.buffer(shape(v), reg(v)) for _ in range(1 + pair)]
    slots = [g.slot("ptr") for _ in buffers]
    for slot, b in zip(slots, buffers):
        g.store("ptr", b.pointer, slot)
    return Carried(v, *slots)


def current(g: Writer, c: Carried) -> Any:
    """The present place of the value."""
    if is_scalar(c.value):
        return g.load(reg(c.value), c.slot)
    return Buffer(g.load("ptr", c.slot), shape(c.value), stored(reg(c.value)))


def assign(g: Writer, pairs: list[tuple[Carried | None, Value]]) -> None:
    """Give variables their next values, all at once."""
    scalars: list[tuple[Carried, str]] = []
    swaps: list[Carried] = []
    for c, new in pairs:
        if c is None:
            continue
        if is_scalar(new):
            scalars.append((c, g.clean(g.scalar(new), new, 1)))
            continue
        if new in g.done_in_place:
            continue
        room = Buffer(g.load("ptr", c.other or c.slot), shape(new), stored(reg(new)))
        g.fill_clean(room, new)
        if c.other:
            swaps.append(c)
    for c, x in scalars:
        g.store(reg(c.value), x, c.slot)
    for c in swaps:
        one, two = g.load("ptr", c.slot), g.load("ptr", c.other)
        g.store("ptr", two, c.slot)
        g.store("ptr", one, c.other)


def before_region(g: Writer, o: Op) -> None:
    """Compute what a region needs from outside before it, unless that costs nothing."""
    inner = [i for block in o.blocks for i in walk(block)]
    own = {v for i in inner for v in i.results} | {a for b in o.blocks for a in b.args}
    own |= {a for i in inner for b in i.blocks for a in b.args}
    for i in inner if isinstance(o, (For, Loop)) else ():
        pack_integers_before(g, i, own)
    packed = {v for i in inner if isinstance(o, (For, Loop)) for v in pack_before(g, i, own)}
    for i in inner:
        if isinstance(i, MmaF) and packed >= {i.lhs, i.rhs} - own:
            operands = [i.acc]
        else:
            operands = list(i.operands)
        for v in operands:
            if v in own or not is_tile(v) or isinstance(g.held.get(v), (str, Buffer, Tensor)) or g.free(v):
                continue
            g.materialise(v)


def region(g: Writer, block: Block) -> bool:
    """Write a region; return whether it ended with a jump elsewhere. What it computed is forgotten."""
    held, keep, goal, sides = dict(g.held), dict(g.keep), dict(g.goal), g.sides
    arena = g.arena
    g.sides = {}
    g.memo.append({})
    ended = g.block(block)
    g.memo.pop()
    g.held, g.keep, g.goal, g.sides = held, keep, goal, sides
    g.arena = arena
    return ended


@emits(For)
def lower_for(g: Writer, o: For) -> None:
    before_region(g, o)
    index, *args = o.region.args
    carried = [variable(g, v, True) for v in args]
    assign_first(g, carried, o.initValues)
    t = reg(index)
    counter = g.slot(t)
    g.store(t, g.scalar(o.lowerBound), counter)
    high, step = g.scalar(o.upperBound), g.scalar(o.step)
    head, body, again, done = (g.fresh(kind) for kind in ("for", "each", "again", "after"))
    g.jump(head)
    g.mark(head)
    i = g.load(t, counter)
    less = "ult" if o.unsignedCmp else "slt"
    g.branch(g.compare(less, t, 1, i, high), body, done)
    g.mark(body)
    g.memo.append({})
    g.poll()
    g.held[index] = i
    for c in carried:
        if c is not None:
            g.held[c.value] = current(g, c)
    frame = Frame(o, list(carried), [], again, done, counter)
    frame.in_place = products_in_place(g, o.region, carried)
    for product, c in frame.in_place.items():
        g.dirty_memo[c.value] = g.dirty(product) and _is_loose(g, o.initValues[carried.index(c)])
    g.frames.append(frame)
    region(g, o.region)
    g.frames.pop()
    g.memo.pop()
    g.mark(again)
    i = g.load(t, counter)
    after = g.op("add", t, 1, i, step)
    g.store(t, after, counter)
    fits, wrapped, fine = g.compare(less, t, 1, i, after), g.fresh("wrapped"), g.fresh("next")
    g.branch(fits, fine, wrapped)
    g.mark(wrapped)
    fault_if(g, o, g.let(f"xor i1 {g.compare(less, t, 1, '0' if t != 'i1' else 'false', step)}, true"))
    g.jump(done)
    g.mark(fine)
    g.jump(head)
    g.mark(done)
    for result, c in zip(o.resultValues, carried):
        if c is not None:
            g.held[result] = current(g, c)
            g.dirty_memo[result] = g.dirty(c.value)


def _is_loose(g: Writer, v: Value) -> bool:
    """Whether every NaN of a tile stands for the canonical one, so that none has to be kept."""
    while isinstance(v.owner, MOVES) and not g.dirty(v):
        v = v.owner.operands[0]
    if isinstance(v.owner, Constant):
        data = dense_array(v.owner.value)
        return data.dtype.kind == "f" and not np.isnan(data).any()
    return g.dirty(v)


def assign_first(g: Writer, carried: list[Carried | None], values: tuple[Value, ...]) -> None:
    """The values of the first iteration."""
    for c, v in zip(carried, values):
        if c is None:
            continue
        if is_scalar(v):
            g.store(reg(v), g.clean(g.scalar(v), v, 1), c.slot)
        else:
            g.fill_clean(Buffer(g.load("ptr", c.slot), shape(v), stored(reg(v))), v)


@emits(Loop)
def lower_loop(g: Writer, o: Loop) -> None:
    before_region(g, o)
    carried = [variable(g, v, True) for v in o.region.args]
    results = [variable(g, v, False) for v in o.resultValues]
    assign_first(g, carried, o.initValues)
    head, done = g.fresh("loop"), g.fresh("after")
    g.jump(head)
    g.mark(head)
    g.memo.append({})
    g.poll()
    for c in carried:
        if c is not None:
            g.held[c.value] = current(g, c)
    g.frames.append(Frame(o, list(carried), list(results), head, done))
    region(g, o.region)
    g.frames.pop()
    g.memo.pop()
    g.mark(done)
    for result, c in zip(o.resultValues, results):
        if c is not None:
            g.held[result] = current(g, c)


@emits(If)
def lower_if(g: Writer, o: If) -> None:
    before_region(g, o)
    results = [variable(g, v, False) for v in o.results_]
    then, other, done = (g.fresh(kind) for kind in ("then", "else", "join"))
    g.branch(g.scalar(o.condition), then, other)
    g.frames.append(Frame(o, [], list(results), done, done))
    for label, block in ((then, o.thenRegion), (other, o.elseRegion)):
        g.mark(label)
        if block is None or not region(g, block):
            g.jump(done)
    g.frames.pop()
    g.mark(done)
    for result, c in zip(o.results_, results):
        if c is not None:
            g.held[result] = current(g, c)


# ---------------------------------------------------------------- terminators


@emits(Yield)
def lower_yield(g: Writer, o: Yield) -> None:
    frame = g.frames[-1]
    assign(g, list(zip(frame.results, o.operands_)))
    g.jump(frame.done)


@emits(Continue)
def lower_continue(g: Writer, o: Continue) -> None:
    frame = next(f for f in reversed(g.frames) if isinstance(f.op, (For, Loop)))
    assign(g, list(zip(frame.carried, o.operands_)))
    g.jump(frame.again)


@emits(Break)
def lower_break(g: Writer, o: Break) -> None:
    frame = next(f for f in reversed(g.frames) if isinstance(f.op, Loop))
    assign(g, list(zip(frame.results, o.operands_)))
    g.jump(frame.done)


@emits(Return)
def lower_return(g: Writer, o: Return) -> None:
    g.put("ret i64 0")


def products_in_place(g: Writer, block: Block, carried: list[Carried | None]) -> dict[Value, Carried]:
    """Products that may overwrite the carried accumulator that they add to.

    A block of the result is stored where the same block of the accumulator was read, so nothing else may read the
    accumulator, neither later nor at other elements: no other operation, no operand of the product, no permutation.
    """
    last = block.ops[-1]
    if not isinstance(last, Continue):
        return {}
    uses: dict[Value, list[Op]] = {}
    for i in walk(block):
        for v in i.operands:
            uses.setdefault(v, []).append(i)
    found = {}
    for c, new in zip(carried, last.operands_):
        o = new.owner
        if c is None or is_scalar(new) or not isinstance(o, (MmaF, MmaI)) or o not in block.ops or len(uses[new]) != 1:
            continue
        v = o.acc
        # The accumulator itself, or element-wise operations on it that nothing else uses.
        while v is not c.value and len(uses[v]) == 1 and isinstance(v.owner, Op) and type(v.owner) in ELEMENTWISE:
            inner = [u for u in v.owner.operands if _reaches(g, u, c.value)]
            if len(inner) != 1:
                break
            v = inner[0]
        if v is c.value and len(uses[v]) == 1:
            found[new] = c
    return found


def _reaches(g: Writer, v: Value, wanted: Value) -> bool:
    stack, seen = [v], set()
    while stack:
        v = stack.pop()
        if v is wanted:
            return True
        if v in seen or not isinstance(v.owner, Op) or not g.is_recipe(v.owner):
            continue
        seen.add(v)
        stack += [u for u in v.owner.operands if is_tile(u)]
    return False
