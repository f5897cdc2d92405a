"""Each rule of the loop IR, broken."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilery.engines.cpu.loops.builder import Builder
from tilery.engines.cpu.loops.nodes import (
    Buffer,
    Check,
    Const,
    Declare,
    Guard,
    If,
    Int,
    Jump,
    Kind,
    Load,
    Locate,
    Loop,
    Read,
    Scope,
    Shuffle,
    Store,
    Value,
    While,
    index,
    truth,
)
from tilery.engines.cpu.loops.verifier import Malformed, verify
from tilery.types import F32, I1, I32, I64

from .test_interpreter import kernel_of

OTHER = Value(I64)
TABLE = Buffer(I32, (2,), Scope.CONSTANT, data=np.zeros(2, np.int32))


def twice(b: Builder) -> None:
    v = Value(I64)
    b.emit(Int(v, "add", (index(1), index(2))))
    b.emit(Int(v, "add", (index(1), index(2))))


def leaves_its_block(b: Builder) -> None:
    v = Value(I64)
    b.emit(If(truth(True), [Int(v, "add", (index(1), index(2)))]))
    b.emit(Int(Value(I64), "add", (v, v)))


def buffer_leaves_its_block(b: Builder) -> None:
    buffer = Buffer(I32, ())
    b.emit(If(truth(True), [Declare(buffer)]))
    b.emit(Store(buffer, (), Const(I32, 0)))


def runs_out(b: Builder) -> None:
    room = b.declare(I32, (4,))
    with b.loop(Kind.PARALLEL, index(5)) as loop:
        b.store(room, (loop.index,), Const(I32, 0))


def leaves_parallel(b: Builder) -> None:
    with b.repeat() as outer, b.loop(Kind.PARALLEL, index(5)):
        b.jump("break", outer)


def grid_inside(b: Builder) -> None:
    with b.repeat(), b.loop(Kind.GRID, index(5)):
        pass


def in_declared(*shape: int) -> Callable[[Builder], Buffer]:
    return lambda b: b.declare(I32, shape)


def store_constant(b: Builder) -> None:
    b.emit(Declare(TABLE))
    b.emit(Store(TABLE, (index(0),), Const(I32, 0)))


def declare_twice(b: Builder) -> None:
    b.emit(Declare(TABLE))
    b.emit(Declare(TABLE))


def jump_first(b: Builder) -> None:
    b.emit(Jump("return"))
    b.emit(Check(truth(True), 0))


RULES: list[tuple[str, Callable[[Builder], object]]] = [
    ("defined before its use", lambda b: b.emit(Check(Value(I1), 0))),
    ("defined before its use", leaves_its_block),
    ("defined twice", twice),
    ("more bits than its type", lambda b: b.emit(Check(Const(I1, 256), 0))),
    ("where it is not declared", buffer_leaves_its_block),
    ("declared twice", declare_twice),
    ("only constants have data", lambda b: b.emit(Declare(Buffer(I32, (), Scope.CONSTANT)))),
    ("a constant buffer is stored to", store_constant),
    ("runs out of the buffer", runs_out),
    ("always outside", lambda b: b.emit(Load(Value(I32), in_declared(4)(b), (index(4),)))),
    ("as many numbers as", lambda b: b.emit(Load(Value(I32), in_declared(4, 4)(b), (index(0),)))),
    ("the type of the buffer", lambda b: b.emit(Load(Value(F32), in_declared()(b), ()))),
    ("the type of the buffer", lambda b: b.store(in_declared()(b), (), index(0))),
    ("indices are i64", lambda b: b.emit(Load(Value(I32), in_declared(4)(b), (Const(I32, 0),)))),
    ("a known name", lambda b: b.emit(Int(Value(I64), "pow", (index(1), index(2))))),
    ("integers of one type", lambda b: b.emit(Int(Value(I64), "add", (index(1), Const(I32, 2))))),
    ("the right type", lambda b: b.emit(Int(Value(I64), "slt", (index(1), index(2))))),
    ("the width changes", lambda b: b.emit(Int(Value(I64), "trunc", (Const(I32, 1),)))),
    ("`bits` keeps the size", lambda b: b.emit(Int(Value(I64), "bits", (Const(I32, 1),)))),
    ("one of two values", lambda b: b.emit(Int(Value(I64), "select", (truth(True), index(1), Const(I32, 1))))),
    ("as many lanes", lambda b: b.emit(Int(Value(I64, 4), "add", (index(1), index(2))))),
    ("a number per lane", lambda b: b.emit(Shuffle(Value(I64, 4), (index(0),), (0, 0)))),
    ("lanes that there are", lambda b: b.emit(Shuffle(Value(I64, 2), (index(0),), (0, 1)))),
    ("an address is an i64", lambda b: b.emit(Read(Value(I32), Const(I32, 0)))),
    ("1, 2, 4 or 8 bytes", lambda b: b.emit(Guard(index(0), (), 3, False, 0))),
    ("a mask is an i1", lambda b: b.emit(Read(Value(I32), index(0), index(1)))),
    ("type of the result", lambda b: b.emit(Read(Value(I32), index(0), truth(True), index(1)))),
    ("a condition is an i1", lambda b: b.emit(Check(index(1), 0))),
    ("only own memory", lambda b: b.emit(Locate(Value(I64), in_declared()(b)))),
    ("the step of a loop", lambda b: b.emit(Loop(Kind.SERIAL, Value(I64), index(0), index(1), [], 0))),
    ("bounds are i64", lambda b: b.emit(Loop(Kind.SERIAL, Value(I64), Const(I32, 0), index(1), []))),
    ("outside all others", grid_inside),
    ("inside the loop that it names", lambda b: b.emit(Jump("break", While([])))),
    ("names the loop", lambda b: b.emit(Jump("break"))),
    ("leave parallel iterations", leaves_parallel),
    ("last statement", jump_first),
]


@pytest.mark.parametrize(("rule", "build"), RULES, ids=lambda x: x if isinstance(x, str) else "")
def test_rules(rule: str, build: Callable[[Builder], object]) -> None:
    def fill(b: Builder, p: Value, rank: Value) -> None:
        build(b)

    kernel = kernel_of(fill)
    with pytest.raises(Malformed, match=rule):
        verify(kernel)


def test_a_kernel_has_one_loop_over_the_grid() -> None:
    kernel = kernel_of(lambda b, p, rank: None)
    verify(kernel)
    kernel.body.pop()
    with pytest.raises(Malformed, match="one loop over the grid"):
        verify(kernel)
