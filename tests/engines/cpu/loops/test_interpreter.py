"""The interpreter of loop IR, on kernels that are built by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilery.engines.common.memory import Memory
from tilery.engines.cpu.loops.builder import Builder
from tilery.engines.cpu.loops.interpreter import Faulted, Interpreter
from tilery.engines.cpu.loops.nodes import (
    Buffer,
    Const,
    Declare,
    Float,
    Int,
    Kernel,
    Kind,
    Locate,
    Loop,
    Read,
    Scope,
    Shuffle,
    Value,
    Write,
    index,
    make_kernel,
)
from tilery.engines.cpu.loops.verifier import verify
from tilery.types import F32, F64, I1, I8, I32, I64


def kernel_of(build: Callable[[Builder, Value, Value], None]) -> Kernel:
    """A kernel with one parameter, an address; `build` fills the loop over the grid."""
    address = Value(I64, 1, "p")
    kernel = make_kernel("k", [address], [])
    b = Builder(kernel.body)
    blocks = b.resize(kernel.grid[0], I64, signed=False)
    grid = Loop(Kind.GRID, Value(I64, 1, "rank"), index(0), blocks, [])
    b.emit(grid)
    with b.within(grid.body):
        build(b, address, grid.index)
    return kernel


def run(build: Callable[[Builder, Value, Value], None], size: int = 16, blocks: int = 1) -> list[int]:
    """Run a kernel on an array of i32 that holds 0, 1, 2 and so on; return the array."""
    kernel = kernel_of(build)
    verify(kernel)
    array = np.arange(size, dtype=np.int32)
    memory = Memory()
    memory.add(array.ctypes.data, array.nbytes, "p")
    Interpreter(kernel, memory).run((blocks, 1, 1), [np.array([array.ctypes.data], np.int64)], {})
    return [int(n) for n in array]


def test_a_write_in_order_keeps_the_last_one() -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        with b.nest(Kind.SERIAL, (4, 4)) as (i, j):
            x = b.resize(b.add(b.mul(i, index(4)), j), I32, signed=False)
            b.write(b.add(p, b.mul(j, index(4))), x)

    assert run(build)[:5] == [12, 13, 14, 15, 4]


def test_a_buffer_in_a_loop_is_private_to_the_iteration() -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        with b.nest(Kind.PARALLEL, (4,)) as (i,):
            total = b.variable(I64)
            b.store(total, (), index(0))
            with b.loop(Kind.SERIAL, index(3)) as k:
                b.store(total, (), b.add(b.load(total), b.mul(i, k.index)))
            b.write(b.add(p, b.mul(i, index(4))), b.resize(b.load(total), I32, signed=False))

    assert run(build)[:5] == [0, 3, 6, 9, 4]


def test_masks_of_branches_in_parallel_iterations() -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        room = b.declare(I32, (8,))
        with b.nest(Kind.PARALLEL, (8,)) as (i,):
            b.store(room, (i,), Const(I32, 7))
            with b.when(b.integer("slt", i, index(3))) as branch:
                b.store(room, (i,), Const(I32, 1))
                with b.within(branch.orelse):
                    b.store(room, (i,), b.resize(i, I32, signed=False))
        with b.nest(Kind.SERIAL, (8,)) as (i,):
            b.write(b.add(p, b.mul(i, index(4))), b.load(room, (i,)), b.integer("ne", i, index(5)))

    assert run(build, 8) == [1, 1, 1, 3, 4, 5, 6, 7]


def test_jumps_leave_the_loop_that_they_name() -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        count = b.variable(I64)
        b.store(count, (), index(0))
        with b.repeat() as outer, b.loop(Kind.SERIAL, index(10)) as inner:
            with b.when(b.integer("eq", inner.index, index(2))):
                b.jump("continue", inner)
            with b.when(b.integer("eq", inner.index, index(5))):
                b.jump("break", outer)
            b.store(count, (), b.add(b.load(count), index(1)))
        b.write(p, b.resize(b.load(count), I32, signed=False))

    assert run(build)[0] == 4


def test_a_tile_block_can_end_early_and_others_go_on() -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        with b.when(b.integer("eq", rank, index(1))):
            b.jump("return")
        b.write(b.add(p, b.mul(rank, index(4))), Const(I32, 9))

    assert run(build, 4, blocks=3) == [9, 1, 9, 3]


@pytest.mark.parametrize(("count", "writes", "fine"), [(16, False, True), (17, False, False), (0, False, True)])
def test_guards_check_every_element_of_a_box(count: int, writes: bool, fine: bool) -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        b.guard(p, 4, writes, 5, None, [(index(count), index(4))])

    if fine:
        run(build)
    else:
        with pytest.raises(Faulted) as caught:
            run(build)
        assert (caught.value.op, caught.value.block) == (5, 0)


def test_guards_refuse_addresses_between_elements() -> None:
    with pytest.raises(Faulted):
        run(lambda b, p, rank: b.guard(b.add(p, index(2)), 4, False, 0, None))


def test_checks_look_at_active_iterations_only() -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        with b.nest(Kind.PARALLEL, (8,)) as (i,), b.when(b.integer("slt", i, index(3))):
            b.check(b.integer("ne", i, index(6)), 0)

    run(build)


def test_lanes_are_an_axis() -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        steps, at = Value(I64, 4), Value(I64, 4)
        b.emit(Int(steps, "ramp", (index(0),)))
        b.emit(Int(at, "add", (b.mul(steps, index(4)), p)))
        old, new = Value(I32, 4), Value(I32, 4)
        b.emit(Read(old, at))
        b.emit(Shuffle(new, (old,), (3, 2, 1, 0)))
        b.emit(Write(at, new))

    assert run(build, 5) == [3, 2, 1, 0, 4]


def test_own_memory_is_zero_in_every_tile_block() -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        own, address = Buffer(I8, (4,), Scope.MEMORY), Value(I64)
        b.emit(Declare(own))
        b.emit(Locate(address, own))
        old = b.read(I32, address)
        b.write(address, Const(I32, 3))
        b.write(b.add(p, b.mul(rank, index(4))), old)

    assert run(build, 4, blocks=2) == [0, 0, 2, 3]


@pytest.mark.parametrize(
    ("name", "a", "b", "wanted"),
    [
        ("add", 2**31 - 1, 1, -(2**31)), ("sub", -(2**31), 1, 2**31 - 1), ("mul", 1 << 20, 1 << 20, 0),
        ("sdiv", -7, 2, -3), ("srem", -7, 2, -1), ("udiv", -1, 2, 2**31 - 1), ("urem", -1, 10, 5),
        ("shl", 3, 31, -(2**31)), ("lshr", -1, 28, 15), ("ashr", -16, 2, -4), ("smin", -1, 1, -1),
        ("umin", -1, 1, 1), ("smax", -1, 1, 1), ("umax", -1, 1, -1), ("xor", 5, 3, 6),
    ],
)  # fmt: skip
def test_folding_and_interpreting_agree(name: str, a: int, b: int, wanted: int) -> None:
    """A known operand is folded by the builder; from a buffer it is computed by the interpreter."""

    def build(builder: Builder, p: Value, rank: Value) -> None:
        x, y = (Const(I32, n % (1 << 32)) for n in (a, b))
        folded = builder.integer(name, x, y)
        assert isinstance(folded, Const)
        rooms = [builder.variable(I32) for _ in range(2)]
        for room, number in zip(rooms, (x, y)):
            builder.store(room, (), number)
        builder.write(p, folded)
        builder.write(builder.add(p, index(4)), builder.integer(name, *(builder.load(room) for room in rooms)))

    assert run(build)[:2] == [wanted, wanted]


def test_truth_values_wrap_around() -> None:
    def build(b: Builder, p: Value, rank: Value) -> None:
        room = b.variable(I1)
        b.store(room, (), Const(I1, 1))
        x = b.load(room)
        b.write(p, b.resize(x, I32, signed=True))
        b.write(b.add(p, index(4)), b.resize(b.integer("add", x, x), I32, signed=False))

    assert run(build)[:2] == [-1, 0]


def test_a_float_that_is_narrowed_has_the_nan_of_f32() -> None:
    payloads = [0x7FF8000000000001, 0xFFF4000020000000, 0x7FFC000000000000]

    def build(b: Builder, p: Value, rank: Value) -> None:
        for n, bits in enumerate(payloads):
            made = Value(F32)
            b.emit(Float(made, "narrow", (Const(F64, bits),)))
            b.write(b.add(p, index(4 * n)), made)

    assert run(build)[:3] == [0x7FFFFFFF] * 3
