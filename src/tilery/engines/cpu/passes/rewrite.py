"""Copies of statements with other operands, and facts about blocks that several passes need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..loops.nodes import (
    Apply,
    Atomic,
    Buffer,
    Call,
    Const,
    Declare,
    Float,
    If,
    Int,
    Jump,
    Load,
    Locate,
    Loop,
    Operand,
    Product,
    Read,
    Stmt,
    Store,
    Value,
    While,
    Write,
    blocks_of,
    buffers_written,
    defined,
    operands,
    walk,
    with_operands,
    with_result,
)

NATURAL = frozenset((Int, Apply, Float, Load, Read))
"""Statements whose results have as many lanes as their operands."""


def natural_lanes(s: Any) -> int | None:
    """Return the lanes that the result of a statement has by its operands; None if it has none, or chooses them."""
    kind = type(s)
    if kind not in NATURAL or (kind is Int and s.name == "ramp"):
        return None
    lanes = 1
    for x in operands(s):
        if x.lanes > lanes:
            lanes = x.lanes
    return lanes


class Copy:
    """Copies statements: values and buffers that they define become new ones, others are replaced as told."""

    def __init__(self, values: dict[Value, Operand] | None = None) -> None:
        self.values: dict[Value, Operand] = dict(values or {})
        self.buffers: dict[Buffer, Buffer] = {}
        self.loops: dict[Loop | While, Loop | While] = {}

    def get(self, x: Operand) -> Operand:
        return self.values.get(x, x) if type(x) is Value else x

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
        found: Any = with_operands(s, self.get)
        if isinstance(found, (Load, Store, Locate)) and found.buffer in self.buffers:
            found = replace(found, buffer=self.buffer(found.buffer))
        if (v := defined(found)) is not None:
            found = with_result(found, self.fresh(v))
        made_: Stmt = found
        return made_


def written_buffers(body: Iterable[Stmt]) -> set[Buffer]:
    """Return the buffers that statements write, wherever they are nested."""
    return {b for s in walk(list(body)) for b in buffers_written(s)}


def writers_of(body: list[Stmt]) -> dict[Buffer, int]:
    """Return how many statements write each buffer."""
    found: dict[Buffer, int] = {}
    for s in walk(body):
        for b in buffers_written(s):
            found[b] = found.get(b, 0) + 1
    return found


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
        new = with_result(new, copy.fresh(new.result, lanes))
    found: Stmt = new
    return found
