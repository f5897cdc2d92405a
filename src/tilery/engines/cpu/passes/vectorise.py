"""Turn innermost loops into lanes, and write out short loops over buffers in registers.

A parallel loop may run in lanes. So may a serial one that computes and writes memory once, without reading what it
writes: lanes are written in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ....types import F64, I64
from ..loops.builder import Builder
from ..loops.nodes import (
    Apply,
    Buffer,
    Check,
    Declare,
    Float,
    Guard,
    If,
    Int,
    Kernel,
    Kind,
    Load,
    Loop,
    Operand,
    Read,
    Scope,
    Shuffle,
    Stmt,
    Store,
    Value,
    Write,
    blocks_of,
    defined,
    index,
    operands,
    walk,
    with_operands,
    with_result,
)
from ..targets import Machine
from .inline import linear
from .rewrite import Copy, natural_lanes, trip_count

FEW_LANES = 16
"""Lanes of code that accesses memory by addresses of its own: short code is better there."""
MAX_UNROLLED = 4000
"""Statements that a loop may become."""
MAX_TURNS = 64
LINE = 64
"""Bytes of a cache line."""
PART = 16
"""Bytes of a line that are stored past the caches together, where a row has only a part of the line."""
PURE = (Int, Apply, Float, Shuffle)


def vectorise(machine: Machine) -> Callable[[Kernel], None]:
    """Return the pass for a processor. A chunk has four registers of elements that are computed."""

    def run(kernel: Kernel) -> None:
        kernel.body = _block(kernel.body, _Setting(machine.vector_bytes, kernel.disjoint, kernel.streams))

    return run


@dataclass(frozen=True, slots=True)
class _Setting:
    """How loops are turned into lanes at some place."""

    most: int
    """The most lanes."""
    disjoint: bool
    streams: Value | None
    """Whether the launch wants stores past the caches; None where that is not worth the code."""

    def rarely(self) -> _Setting:
        return _Setting(self.most, self.disjoint, None)


def _block(body: list[Stmt], how: _Setting) -> list[Stmt]:
    out: list[Stmt] = []
    for s in body:
        if isinstance(s, Loop):
            out += _loop(s, how)
            continue
        if isinstance(s, If):
            s.then = _block(s.then, how.rarely() if s.rarely else how)
            s.orelse = _block(s.orelse, how)
        else:
            for block in blocks_of(s):
                block[:] = _block(block, how)
        out.append(s)
    return out


def _loop(s: Loop, how: _Setting) -> list[Stmt]:
    if any(blocks_of(each) for each in s.body):
        s.body = _block(s.body, how)
        return [s]
    count = trip_count(s)
    if count is None or count < 2 or not _may_run_in_lanes(s, how.disjoint):
        return [s]
    most = how.most
    if any(v.element is F64 for each in s.body if (v := defined(each)) is not None):
        most //= 2
    if any(isinstance(each, Guard) for each in s.body):
        most = min(most, FEW_LANES)
    lanes = 1
    while lanes < most and count % (2 * lanes) == 0:
        lanes *= 2
    if lanes == 1:
        return [s]
    plain = _in_lanes(s, lanes, s.low, s.high)
    line = _elements_of_line(s, count)
    if how.streams is None or not 0 < line <= lanes:
        return plain
    return [If(how.streams, _past_caches(s, lanes, line, count), plain)]


def _may_run_in_lanes(s: Loop, disjoint: bool) -> bool:
    if s.polls or s.step != 1 or s.kind not in (Kind.PARALLEL, Kind.SERIAL):
        return False
    if not all(
        isinstance(each, (Int, Apply, Float, Shuffle, Load, Store, Read, Write, Guard, Check)) for each in s.body
    ):
        return False
    if any(v.lanes != 1 for each in s.body if (v := defined(each)) is not None):
        return False
    varying: set[Operand] = {s.index}
    for each in s.body:
        if not varying.isdisjoint(operands(each)):
            if (v := defined(each)) is not None:
                varying.add(v)
        elif isinstance(each, (Store, Write)):
            return False  # every iteration stores to the same place
        if isinstance(each, Store) and varying.isdisjoint(each.index):
            return False
        if isinstance(each, Write) and each.address not in varying:
            return False
        if isinstance(each, Guard) and each.dims:
            return False
    if s.kind is Kind.SERIAL:
        effects = [each for each in s.body if isinstance(each, (Store, Write))]
        reads = {each.home for each in s.body if isinstance(each, Read)}
        if len(effects) != 1 or not isinstance(effects[0], Write):
            return False
        return not reads or (disjoint and None not in reads and effects[0].home not in {None, *reads})
    return True


def _in_lanes(s: Loop, lanes: int, low: Operand, high: Operand, *, streams: bool = False) -> list[Stmt]:
    """Return a loop whose iterations do what `lanes` iterations did. It may store past the caches."""
    copy = Copy()
    body: list[Stmt] = []
    made = Loop(s.kind, Value(I64, 1, s.index.name), low, high, body, lanes)
    is_one = trip_count(made) == 1
    vector = Value(I64, lanes)
    body.append(Int(vector, "ramp", (low if is_one else made.index,)))
    copy.values[s.index] = vector
    for each in s.body:
        new = with_operands(each, copy.get)
        if isinstance(new, Write) and streams:
            new = replace(new, streams=True)
        v = defined(each)
        if v is not None:
            width = natural_lanes(new)
            if width is None:
                width = max((x.lanes for x in operands(new)), default=1)
            new = with_result(new, copy.fresh(v, width))
        body.append(new)
    return body if is_one else [made]


# ---------------------------------------------------------------- stores past the caches


def _elements_of_line(s: Loop, count: int) -> int:
    """Return the elements of a cache line, if a loop writes neighbours and some of them may be computed again; else 0.

    Elements that were overwritten in the meantime come out wrong then, and are not stored. They must not become
    addresses, indices or divisors.
    """
    if not s.body or s.low != index(0) or not isinstance(s.body[-1], Write) or s.body[-1].mask is not None:
        return 0
    write = s.body[-1]
    item = write.value.element.bits // 8
    form = linear(write.address, s.body)
    if item < 2 or form is None or form[1] != {s.index: index(item)} or count * item % LINE:
        return 0
    unsure: set[Operand] = set()
    for each in s.body[:-1]:
        if not isinstance(each, (*PURE, Load, Read)):
            return 0
        used: tuple[Operand, ...] = ()
        match each:
            case Load():
                used = each.index
            case Read():
                used = (each.address,)
            case Int(name="sdiv" | "srem" | "udiv" | "urem"):
                used = each.operands[1:]
        if not unsure.isdisjoint(used):
            return 0
        if isinstance(each, (Load, Read)) or not unsure.isdisjoint(operands(each)):
            unsure.add(each.result)
    return LINE // item


def _past_caches(s: Loop, lanes: int, line: int, count: int) -> list[Stmt]:
    """Store lines past the caches, wherever the first one begins.

    What a row has before its first line and after its last is stored in parts, the former first and the latter last:
    with those of the neighbouring rows they make up lines before the processor writes them.
    """
    out: list[Stmt] = []
    b = Builder(out)
    write = s.body[-1]
    assert isinstance(write, Write)
    start = linear(write.address, s.body)
    assert start is not None
    rest = b.integer("and", b.sub(index(0), start[0]), index(LINE - 1))
    before = b.integer("udiv", rest, index(LINE // line))
    uneven = b.integer("slt", index(0), before)
    with b.when(uneven):
        _store_some(b, s, line, 0, index(0), before)
    at = before
    for width in dict.fromkeys((lanes, line)):
        out += _in_lanes(s, width, at, index(count - width + 1), streams=True)
        left = b.sub(index(count), at)
        at = b.sub(index(count), b.integer("and", left, index(width - 1)))
    with b.when(uneven):
        _store_some(b, s, line, count - line, before, index(line))
    return out


def _store_some(b: Builder, s: Loop, line: int, start: int, low: Operand, high: Operand) -> None:
    """Store some of the elements from `start` on, as many as a line has, past the caches."""
    *body, write = _in_lanes(s, line, index(start), index(start + line))
    assert isinstance(write, Write)
    form, item = linear(s.body[-1].address, s.body), LINE // line  # type: ignore[union-attr]
    assert form is not None
    edge = Buffer(write.value.element, (line,), name="edge")
    lanes = Value(I64, line)
    b.block += [Declare(edge), *body, Int(lanes, "ramp", (index(0),)), Store(edge, (lanes,), write.value)]
    first = b.add(form[0], index(start * item))

    def pieces(width: int) -> None:
        with b.loop(Kind.SERIAL, high, low, width) as loop:
            at: Operand = loop.index
            if width > 1:
                at = Value(I64, width)
                b.emit(Int(at, "ramp", (loop.index,)))
            x = Value(edge.element, width)
            b.emit(Load(x, edge, (at,)))
            address = Value(I64, width)
            offset = b.mul(at, index(item))
            b.emit(Int(address, "add", (first, offset)))
            b.emit(replace(write, address=address, value=x, streams=True))

    part = PART // item
    made = If(b.integer("eq", b.both(b.either(low, high), index(part - 1)), index(0)), [], [])
    for block, width in ((made.then, part), (made.orelse, 1)):
        with b.within(block):
            pieces(width)
    b.emit(made)


# ---------------------------------------------------------------- short loops


def unroll(kernel: Kernel) -> None:
    """Write out loops that are meant to be, and short loops that index buffers in registers."""
    kernel.body = _unrolled(kernel.body)


def _unrolled(body: list[Stmt]) -> list[Stmt]:
    out: list[Stmt] = []
    for s in body:
        for block in blocks_of(s):
            block[:] = _unrolled(block)
        count = trip_count(s) if isinstance(s, Loop) else None
        if isinstance(s, Loop) and count is not None and (s.kind is Kind.UNROLLED or _pays(s, count)):
            low = s.low.bits  # type: ignore[union-attr]
            for n in range(count):
                out += Copy({s.index: index(low + n * s.step)}).block(s.body)
        else:
            out.append(s)
    return out


def _pays(s: Loop, count: int) -> bool:
    inside = list(walk(s.body))
    if s.polls or s.kind is Kind.GRID or count > MAX_TURNS or count * len(inside) > MAX_UNROLLED:
        return False
    if any(not isinstance(each, (*PURE, Load, Store, Read, Check)) for each in inside):
        return False
    varying: set[Operand] = {s.index}
    for each in inside:
        if (v := defined(each)) is not None and not varying.isdisjoint(operands(each)):
            varying.add(v)
        if not isinstance(each, (Load, Store)) or each.buffer.scope is not Scope.REGISTER:
            continue
        if not varying.isdisjoint(each.index):
            return True
    return False
