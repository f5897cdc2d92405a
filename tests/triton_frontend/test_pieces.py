"""Pointers that are affine up to a limit: engine cpu chooses between two forms of a kernel, with the same results."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")
pytest.importorskip("llvmlite")

import tilery
import tilery.triton
from tilery.engines import registry
from tilery.engines.common.errors import ExecutionError
from tilery.ir import walk
from tilery.ops import If, LoadPtrTko, LoadViewTko, MakeGatherScatterView, Module, RemI, StorePtrTko
from tilery.programs.boxes import with_views

from . import piece_kernels as kernels

SIZE = 4096


def compiled(kernel: Any) -> Module:
    """Return the module of a kernel with an input, a table, an output and three numbers, which are not specialised."""
    return tilery.triton.module(kernel, f"f32[{SIZE}], i32[16], f32[{SIZE}], 41, 43, 45")


def run(module: Module, engine: str, grid: int, table: list[int], numbers: list[int]) -> Any:
    x, out = np.arange(SIZE, dtype=np.float32), np.full(SIZE, -1, np.float32)
    values = [x, np.array((table + [0] * 16)[:16], np.int32), out, *numbers]
    registry.compile_kernel(module, None, engine=engine).launch((grid, 1, 1), values)
    return out


def variant(module: Module, grid: int, numbers: list[int]) -> Module | None:
    sizes = (-1, -1, -1, *(n.bit_length() if n >= 0 else -1 for n in numbers), grid.bit_length(), 1, 1)
    return with_views(module, module.entries[0].sym_name, sizes)


CHOSEN = (
    *("wrap", "wrap_both", "wrap_in_loop", "wrap_and_store", "limit", "clamp", "group", "rows_of_a_table"),
    *("wrapped_rows_in_a_sum", "wrapped_rows_stored", "other_limit"),
)
NEVER_STORED = ("product", "clamped_rows", "through_a_table")
"""Positions in these that are not affine only belong to elements that are not stored."""


@pytest.mark.parametrize("name", [*CHOSEN, *NEVER_STORED, "transposed"])
def test_results_are_the_same(name: str) -> None:
    """Random sizes, of which many reach the limit inside a tile."""
    source = random.Random(name)
    module = compiled(getattr(kernels, name))
    chosen = 0
    for _ in range(6):
        numbers = [source.choice([7, 8, 16, 17, 30, 31, 40, 63]), source.choice([9, 16, 33, 50]), source.randrange(200)]
        grid, table = source.choice([1, 3, 5]), sorted(source.randrange(30) for _ in range(16))
        wanted = run(module, "reference", grid, table, numbers)
        changed = variant(module, grid, numbers)
        if changed is not None:
            assert not tilery.verify(changed)
            chosen += any(isinstance(o, If) for o in walk(changed))
            for engine in ("reference", "cpu"):
                found = run(changed, engine, grid, table, numbers)
                np.testing.assert_array_equal(found, wanted, f"{engine} {numbers} {grid} {table}")
    assert bool(chosen) == (name in CHOSEN)


@pytest.mark.parametrize("name", ["product", "clamped_rows", "transposed"])
def test_elements_that_are_never_stored_are_not_read(name: str) -> None:
    """What remains of such a kernel is one form, which reads views."""
    changed = variant(compiled(getattr(kernels, name)), 3, [20, 13, 0])
    kinds = {type(o) for o in walk(changed)} if changed is not None else set()
    assert LoadViewTko in kinds and kinds.isdisjoint({If, RemI, LoadPtrTko, StorePtrTko})


@pytest.mark.parametrize("shift", [0, 3400, 3500, 1 << 20])
def test_faults_of_elements_that_are_stored_remain(shift: int) -> None:
    module = compiled(kernels.product)
    changed = variant(module, 3, [40, 16, shift])
    assert changed is not None
    wanted = outcome(module, "reference", [], [40, 16, shift])
    assert (wanted == "outside") == (shift > 3456)
    assert outcome(changed, "reference", [], [40, 16, shift]) == wanted == outcome(changed, "cpu", [], [40, 16, shift])


def test_both_parts_of_a_tile_are_views() -> None:
    changed = variant(compiled(kernels.wrap_in_loop), 3, [40, 50, 0])
    kinds = [type(o) for o in walk(changed)] if changed is not None else []
    assert kinds.count(If) == 1 and kinds.count(MakeGatherScatterView) == 1 and kinds.count(LoadViewTko) >= 3


@pytest.mark.parametrize("table", [[-20], [-(1 << 31)], [(1 << 31) - 5], [1 << 20], [3, -7]])
def test_positions_from_memory_that_are_not_small(table: list[int]) -> None:
    """Where the comparison fails, the kernel is as it was, and so are its faults."""
    module = compiled(kernels.group)
    changed = variant(module, 2, [40, 16, 0])
    assert changed is not None
    wanted = outcome(module, "reference", table)
    assert outcome(changed, "reference", table) == wanted
    assert outcome(changed, "cpu", table) == wanted


def outcome(module: Module, engine: str, table: list[int], numbers: Sequence[int] = (40, 16, 0)) -> Any:
    """Return what a launch stores, or that it fails."""
    try:
        return run(module, engine, 2, table, [*numbers]).tolist()
    except ExecutionError:
        return "outside"
