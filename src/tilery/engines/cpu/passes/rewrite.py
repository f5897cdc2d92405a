"""Copies of statements with other operands, and facts about blocks that several passes need."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import is_
from typing import Any

from ..loops.nodes import (
    Apply,
    Atomic,
    Buffer,
    Call,
    Check,
    Const,
    Declare,
    Float,
    Guard,
    If,
    Int,
    Jump,
    Load,
    Locate,
    Loop,
    Operand,
    Prefetch,
    Product,
    Read,
    Shuffle,
    Stmt,
    Store,
    Value,
    While,
    Write,
    blocks_of,
    buffers_written,
    operands,
    walk,
)

Get = Callable[[Operand], Operand]


def with_operands(s: Any, get: Get) -> Any:
    """Return a statement without blocks, with its operands replaced. It defines the same value."""

    def maybe(x: Operand | None) -> Operand | None:
        return None if x is None else get(x)

    match s:
        case Int() | Apply() | Float() | Shuffle():
            new = tuple(map(get, s.operands))
            if all(map(is_, new, s.operands)):
                return s  # copies take time, and nothing changes these statements
            if isinstance(s, Int):
                return Int(s.result, s.name, new)
            return replace(s, operands=new)
        case Load():
            return replace(s, index=tuple(map(get, s.index)), mask=maybe(s.mask), other=maybe(s.other))
        case Store():
            return replace(s, index=tuple(map(get, s.index)), value=get(s.value), mask=maybe(s.mask))
        case Read():
            return replace(s, address=get(s.address), mask=maybe(s.mask), other=maybe(s.other))
        case Write():
            return replace(s, address=get(s.address), value=get(s.value), mask=maybe(s.mask))
        case Atomic():
            return replace(s, address=get(s.address), operands=tuple(map(get, s.operands)), mask=maybe(s.mask))
        case Guard():
            dims = tuple((get(a), get(b)) for a, b in s.dims)
            return replace(s, address=get(s.address), dims=dims, mask=maybe(s.mask))
        case Prefetch():
            return replace(s, address=get(s.address))
        case Check():
            return replace(s, condition=get(s.condition))
    return s


def natural_lanes(s: Any) -> int | None:
    """Return the lanes that the result of a statement has by its operands; None if it has none, or chooses them."""
    if not isinstance(s, (Int, Apply, Float, Load, Read)) or (isinstance(s, Int) and s.name == "ramp"):
        return None
    return max((x.lanes for x in operands(s)), default=1)


class Copy:
    """Copies statements: values and buffers that they define become new ones, others are replaced as told."""

    def __init__(self, values: dict[Value, Operand] | None = None) -> None:
        self.values: dict[Value, Operand] = dict(values or {})
        self.buffers: dict[Buffer, Buffer] = {}
        self.loops: dict[Loop | While, Loop | While] = {}

    def get(self, x: Operand) -> Operand:
        return self.values.get(x, x) if isinstance(x, Value) else x

    def fresh(self, v: Value, lanes: int | None = None) -> Value:
        made = Value(v.element, v.lanes if lanes is None else lanes, v.name)
        self.values[v] = made
        return made

    def buffer(self, b: Buffer) -> Buffer:
        return self.buffers.get(b, b)

    def block(self, body: Iterable[Stmt]) -> list[Stmt]:
        return [self.statement(s) for s in body]

    def statement(self, s: Stmt) -> Stmt:
        match s:
            case Loop():
                low, high = self.get(s.low), self.get(s.high)
                made = Loop(s.kind, self.fresh(s.index), low, high, [], s.step, s.polls)
                self.loops[s] = made
                made.body = self.block(s.body)
                return made
            case While():
                again = While([])
                self.loops[s] = again
                again.body = self.block(s.body)
                return again
            case If():
                return If(self.get(s.condition), self.block(s.then), self.block(s.orelse), s.rarely)
            case Jump():
                return Jump(s.kind, None if s.loop is None else self.loops.get(s.loop, s.loop))
            case Declare():
                self.buffers[s.buffer] = replace(s.buffer)
                return Declare(self.buffers[s.buffer])
            case Product():
                b = self.buffer
                scales = tuple(map(b, s.scales))
                return replace(s, result=b(s.result), lhs=b(s.lhs), rhs=b(s.rhs), acc=b(s.acc), scales=scales)
            case Call():
                return replace(
                    s, arguments=tuple(map(self.buffer, s.arguments)), results=tuple(map(self.buffer, s.results))
                )
        made_ = with_operands(s, self.get)
        if isinstance(made_, (Load, Store, Locate)):
            made_ = replace(made_, buffer=self.buffer(made_.buffer))
        if getattr(made_, "result", None) is not None:
            made_ = replace(made_, result=self.fresh(made_.result))
        found: Stmt = made_
        return found


def written_buffers(body: Iterable[Stmt]) -> set[Buffer]:
    """Return the buffers that statements write, wherever they are nested."""
    return {b for s in walk(list(body)) for b in buffers_written(s)}


def writes_memory(body: Iterable[Stmt]) -> bool:
    """Tell whether statements change memory."""
    return any(isinstance(s, (Write, Atomic, Call)) for s in walk(list(body)))


def trip_count(loop: Loop) -> int | None:
    """Return the number of iterations, if it is known."""
    if isinstance(loop.low, Const) and isinstance(loop.high, Const):
        low, high = (x.bits - (1 << 64) if x.bits >> 63 else x.bits for x in (loop.low, loop.high))
        return max(0, -(-(high - low) // loop.step))
    return None


def with_values(s: Stmt, copy: Copy) -> Stmt:
    """Return a statement whose operands, and those of the blocks inside, are replaced."""
    for block in blocks_of(s):
        block[:] = [with_values(each, copy) for each in block]
    if isinstance(s, Loop):
        s.low, s.high = copy.get(s.low), copy.get(s.high)
    elif isinstance(s, If):
        s.condition = copy.get(s.condition)
    new = with_operands(s, copy.get)
    lanes = natural_lanes(new)
    if lanes is not None and lanes != new.result.lanes:
        new = replace(new, result=copy.fresh(new.result, lanes))
    found: Stmt = new
    return found
