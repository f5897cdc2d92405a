"""Passes over the loop IR: after each one the kernel is legal, and the interpreter computes the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from support.contract import arguments, random_case
from support.loops import load
from tilery.engines.common.limits import Limits
from tilery.engines.cpu.abi import NotLowered, Specialisation, Target
from tilery.engines.cpu.loops.builder import Builder
from tilery.engines.cpu.loops.nodes import (
    Buffer,
    Const,
    Declare,
    If,
    Int,
    Kernel,
    Kind,
    Load,
    Loop,
    Product,
    Read,
    Scope,
    Store,
    Value,
    Write,
    index,
    make_kernel,
    walk,
)
from tilery.engines.cpu.loops.verifier import verify
from tilery.engines.cpu.lower import lower
from tilery.engines.cpu.passes.hoist import hoist_packing
from tilery.engines.cpu.passes.inline import inline
from tilery.engines.cpu.passes.pipeline import passes
from tilery.engines.cpu.passes.products import expand_products
from tilery.engines.cpu.passes.registers import split_registers
from tilery.engines.cpu.passes.simplify import simplify
from tilery.engines.cpu.passes.vectorise import unroll, vectorise
from tilery.engines.cpu.passes.whole import split_masks
from tilery.engines.cpu.targets import machine_of
from tilery.types import F32, I64

AVX512 = Target("x86_64-unknown-linux-gnu", "", frozenset({"avx2", "avx512f", "fma", "f16c"}))
AVX2 = Target("x86_64-unknown-linux-gnu", "", frozenset({"avx2", "fma", "f16c"}))
EXACT = Specialisation(exact=True)
MACHINE = machine_of(AVX512)
KERNELS = Path(__file__).parents[4] / "bench" / "kernels"


def packed_early(kernel: Kernel) -> None:
    """Turn products into loops, and move what packs operands out of loops."""
    expand_products(MACHINE, EXACT)(kernel)
    hoist_packing(kernel)


ALONE = {
    "simplify": simplify,
    "products": expand_products(MACHINE, EXACT),
    "packing": packed_early,
    "inline": inline,
    "masks": split_masks,
    "vectorise": vectorise(MACHINE),
    "unroll": unroll,
    "registers": split_registers(MACHINE),
}


def left_by(loaded: Any, entry: str, grid: Any, given: list[Any]) -> tuple[str, list[bytes]]:
    """Launch a kernel on copies; return the operation that failed, if one did, and the arrays."""
    args = [x.copy() if isinstance(x, np.ndarray) else x for x in given]
    error = ""
    try:
        loaded.kernel(entry).launch(grid, args, output=lambda text: None, limits=Limits(seconds=60))
    except tilery.TileError as found:
        error = found.message.split(":")[0]
    return error, [x.tobytes() for x in args if isinstance(x, np.ndarray)]


def compare(seed: int, *chosen: Any) -> None:
    module, contract = random_case(seed)
    try:
        plain, changed = load(module), load(module, *chosen)
        for n, each in enumerate(contract.launches):
            given = arguments(each, seed + n)
            want = left_by(plain, each.entry, each.grid, given)
            got = left_by(changed, each.entry, each.grid, given)
            assert got[0] == want[0] and (want[0] or got == want)
    except NotLowered:
        pytest.skip("this kernel has no loops")


@pytest.mark.parametrize("name", ALONE)
@pytest.mark.parametrize("seed", range(5000, 5012))
def test_a_pass_alone_changes_no_bits(name: str, seed: int) -> None:
    compare(seed, ALONE[name])


@pytest.mark.parametrize("target", [AVX512, AVX2], ids=["avx512", "avx2"])
@pytest.mark.parametrize("seed", range(5100, 5130))
def test_all_passes_change_no_bits(seed: int, target: Target) -> None:
    compare(seed, *passes(target, EXACT))


def kernel_of(name: str, *chosen: Any) -> Kernel:
    module = tilery.parse((KERNELS / f"{name}.mlir").read_text())
    made = lower(module, module.entries[0])
    for change in chosen:
        change(made)
        verify(made)
    return made


def buffers(kernel: Kernel) -> list[Buffer]:
    return [s.buffer for s in walk(kernel.body) if isinstance(s, Declare) and s.buffer.scope is Scope.ARENA]


@pytest.mark.parametrize(("name", "tiles"), [("vadd", 1), ("gelu", 1), ("layernorm", 1)])
def test_nests_of_the_benchmarks_are_fused(name: str, tiles: int) -> None:
    """The only tile in memory is that of the version for arrays that overlap."""
    found = buffers(kernel_of(name, simplify, inline, simplify))
    assert [b.name for b in found if b.shape] == ["copy"] * tiles


def test_a_function_that_two_nests_need_is_computed_once() -> None:
    kernel = kernel_of("softmax", simplify, inline, simplify)
    exps = [s for s in walk(kernel.body) if getattr(getattr(s, "op", None), "name", "").startswith("exp")]
    assert len(exps) == 1


def test_whole_tiles_have_no_masks() -> None:
    kernel = kernel_of("vadd", simplify, inline, simplify, split_masks, simplify)
    versions = [s for s in walk(kernel.body) if isinstance(s, If) and s.rarely]
    whole = [s for each in versions for s in walk(each.orelse) if isinstance(s, (Read, Write))]
    assert any(s.mask is None for s in whole)


def test_loops_become_lanes() -> None:
    kernel = kernel_of("vadd", *passes(AVX512, EXACT))
    lanes = {s.value.lanes for s in walk(kernel.body) if isinstance(s, Write)}
    assert MACHINE.vector_bytes in lanes


def test_products_become_loops() -> None:
    kernel = kernel_of("gemm", *passes(AVX512, Specialisation()))
    assert not any(isinstance(s, Product) for s in walk(kernel.body))
    sums = [s.buffer for s in walk(kernel.body) if isinstance(s, Declare) and s.buffer.name == "sums"]
    assert [b.shape for b in sums] == [(16,)] * 16


def test_an_operand_from_outside_a_loop_is_packed_before_it() -> None:
    """Attention multiplies the same queries with the keys of every iteration."""
    kernel = kernel_of("attention", simplify, expand_products(MACHINE, Specialisation()), hoist_packing)
    (loop,) = (s for s in walk(kernel.body) if isinstance(s, Loop) and s.polls)
    packed = [
        s.buffer.name for s in walk(kernel.body) if isinstance(s, Declare) and s.buffer.name in ("rows", "panels")
    ]
    inside = [s.buffer.name for s in walk(loop.body) if isinstance(s, Declare) and s.buffer.name in ("rows", "panels")]
    assert sorted(packed) == ["panels", "panels", "rows", "rows"] and sorted(inside) == ["panels", "panels", "rows"]


def test_an_accumulator_that_is_scaled_is_replaced_in_place() -> None:
    kernel = kernel_of("attention", *passes(AVX512, Specialisation()))
    (loop,) = (s for s in walk(kernel.body) if isinstance(s, Loop) and s.polls)
    assert [s.buffer.name for s in walk(loop.body) if isinstance(s, Declare) and s.buffer.name == "mmaf"] == ["mmaf"]


# ---------------------------------------------------------------- single rules


def loops_of(body: list[Any]) -> Kernel:
    kernel = make_kernel("k", [], [])
    kernel.body = [Loop(Kind.GRID, Value(I64, 1, "rank"), index(0), index(1), body)]
    verify(kernel)
    return kernel


def test_a_division_stays_where_its_divisor_is_known() -> None:
    body: list[Any] = []
    b = Builder(body)
    room = b.declare(I64, ())
    number = b.read(I64, index(64))
    with b.loop(Kind.SERIAL, number), b.when(b.integer("ne", number, index(0))):
        b.store(room, (), b.integer("udiv", index(7), number))
    b.write(index(64), b.load(room))
    kernel = loops_of(body)
    simplify(kernel)
    verify(kernel)
    (branch,) = (s for s in walk(kernel.body) if isinstance(s, If) and any(isinstance(t, Store) for t in s.then))
    assert any(isinstance(s, Int) and s.name == "udiv" for s in branch.then)


def test_a_load_does_not_leave_a_loop_that_stores() -> None:
    body: list[Any] = []
    b = Builder(body)
    room = b.declare(F32, (4,))
    with b.nest(Kind.PARALLEL, (4,)) as at:
        b.store(room, at, Const(F32, 0))
    with b.loop(Kind.SERIAL, index(3)):
        b.store(room, (index(0),), b.load(room, (index(1),)))
        b.store(room, (index(1),), b.load(room, (index(2),)))
    b.write(index(64), b.load(room, (index(1),)))
    kernel = loops_of(body)
    simplify(kernel)
    verify(kernel)
    (loop,) = (s for s in walk(kernel.body) if isinstance(s, Loop) and s.kind is Kind.SERIAL)
    assert sum(isinstance(s, Load) for s in loop.body) == 2


def test_iterations_that_store_to_one_place_are_not_lanes() -> None:
    body: list[Any] = []
    b = Builder(body)
    room = b.declare(I64, ())
    with b.loop(Kind.SERIAL, index(8)) as loop:
        b.store(room, (), loop.index)
    b.write(index(64), b.load(room))
    kernel = loops_of(body)
    vectorise(MACHINE)(kernel)
    assert all(s.value.lanes == 1 for s in walk(kernel.body) if isinstance(s, Store))


SPARSE = "gather_scatter_view<tile=(COUNT), tensor_view<?xi32, strides=[1]>, sparse_dim=0>"
DENSE = "partition_view<tile=(COUNT), tensor_view<COUNTxi32, strides=[1]>>"
GATHER = f"""entry @k(%a: tile<ptr<i32>>, %b: tile<ptr<i32>>, %n: tile<i64>) {{
  %z = constant <i32: 0> : tile<i32>
  %ta = make_tensor_view %a, shape = [COUNT], strides = [1] : tensor_view<COUNTxi32, strides=[1]>
  %va = make_partition_view %ta : {DENSE}
  %x, %t0 = load_view_tko weak %va[%z] : {DENSE}, tile<i32> -> tile<COUNTxi32>, token
  %at = addi %x, %x : tile<COUNTxi32>
  %tb = make_tensor_view %b, shape = [%n], strides = [1] : tile<i64> -> tensor_view<?xi32, strides=[1]>
  %vb = make_gather_scatter_view %tb : {SPARSE}
  %y, %t1 = load_view_tko weak %vb[%at] : {SPARSE}, tile<COUNTxi32> -> tile<COUNTxi32>, token
  %t2 = store_view_tko weak %y, %vb[%at] token = %t1 : tile<COUNTxi32>, {SPARSE}, tile<COUNTxi32> -> token
  return }}"""


@pytest.mark.parametrize("count", [16, 1024])
def test_positions_are_read_from_memory_once(count: int) -> None:
    """They are checked in one nest and used in others: another thread may change the memory in between."""
    module = tilery.parse(GATHER.replace("COUNT", str(count)))
    kernel = lower(module, module.entries[0])
    for run in passes(AVX512, Specialisation()):
        run(kernel)
    reads = [s for s in walk(kernel.body) if isinstance(s, Read) and s.home is not None and s.home.number == 0]
    assert len(reads) == 1
