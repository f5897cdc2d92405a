"""Other machines for a launch: they may execute operations in their own way and choose what lies outside a tensor."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import tilery
from support.contract import arguments, random_case
from tilery.builder import f32, ptr
from tilery.engines.common.launch import Launch
from tilery.engines.reference.launch import load
from tilery.engines.reference.machine import Machine
from tilery.sanitize.schedule import ScheduledMachine


def module() -> tilery.Module:
    b = tilery.Builder()
    with b.entry("k", p=ptr(f32), q=ptr(f32)) as p:
        x = b.load(b.view(p.p, (5,), tile=(8,), padding="neg_inf"), (0,))
        b.store(b.view(p.q, (8,), tile=(8,)), (0,), -x)
    return b.module


class Odd(Machine):
    """Pads with 7 whatever the view says, and counts operations instead of negating."""

    seen: list[str] = []

    def padding(self, view: Any) -> Any:
        return np.float32(7)

    def _execute(self, instruction: Any, batch: Any, args: list[Any]) -> Any:
        self.seen.append(instruction.op.name)
        return args[0] if instruction.op.name == "negf" else super()._execute(instruction, batch, args)


def test_a_launch_takes_a_machine_of_its_own() -> None:
    out = np.zeros(8, np.float32)
    load(module()).kernel().launch(1, [np.arange(5, dtype=np.float32), out], machine=Odd, threads=4)
    assert out.tolist() == [0, 1, 2, 3, 4, 7, 7, 7]
    assert "negf" in Odd.seen
    load(module()).kernel().launch(1, [np.arange(5, dtype=np.float32), out])
    assert out.tolist() == [0, -1, -2, -3, -4, np.inf, np.inf, np.inf]


def test_a_machine_and_a_sanitizer_exclude_each_other() -> None:
    with pytest.raises(tilery.TileError, match="exclude each other"):
        load(module()).kernel().launch(
            1, [np.zeros(5, np.float32), np.zeros(8, np.float32)], machine=Odd, sanitize="bounds"
        )


def counting() -> tilery.Module:
    """A kernel whose loop runs as often as a number in memory says, with private memory and a branch."""
    return tilery.parse("""cuda_tile.module @m { entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>, %by: tile<i32>) {
      %b, %y, %z = get_tile_block_id : tile<i32>
      %0 = constant <i32: 0> : tile<i32>
      %1 = constant <i32: 1> : tile<i32>
      %at = offset %p, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %n, %t = load_ptr_tko weak %at : tile<ptr<i32>> -> tile<i32>, token
      %r = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%s = %0) -> (tile<i32>) {
        %c = cmpi less_than %i, %b, signed : tile<i32> -> tile<i1>
        %v = if %c -> (tile<i32>) { yield %by : tile<i32> } else { yield %1 : tile<i32> }
        %w = addi %s, %v : tile<i32>
        continue %w : tile<i32>
      }
      %to = offset %q, %b : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
      %u = store_ptr_tko weak %to, %r : tile<ptr<i32>>, tile<i32> -> token
      return
    } }""")


@pytest.mark.parametrize("scheduled", [False, True])
def test_launches_side_by_side_leave_what_each_leaves_alone(scheduled: bool) -> None:
    kernel = load(counting()).kernel()
    alone, together, launches = [], [], []
    for seed in range(4):
        counts = np.random.default_rng(seed).integers(0, 9, 7).astype(np.int32)
        found = np.zeros(7, np.int32), np.zeros(7, np.int32)
        kernel.launch(7, [counts, found[0], 10 + seed])
        machine = functools.partial(ScheduledMachine, seed) if scheduled else None
        launches.append(Launch(kernel.entry, 7, [counts, found[1], 10 + seed], machine=machine, batch=8))
        alone.append(found[0])
        together.append(found[1])
    stats = kernel.launch_together(launches)
    assert stats.blocks == 28
    assert np.array_equal(alone, together)
    assert len({bytes(each) for each in alone}) == 4


def test_random_modules_side_by_side() -> None:
    for seed in range(12):
        module, contract = random_case(seed)
        if module.globals:
            continue
        for launch in contract.launches:
            kernel = load(module).kernel(launch.entry)
            sets = [[arguments(launch, at) for _ in range(2)] for at in range(3)]
            for args, _ in sets:
                kernel.launch(launch.grid, args, output=lambda text: None)
            more = [Launch(kernel.entry, launch.grid, args, output=lambda text: None) for _, args in sets]
            kernel.launch_together(more)
            for one, other in sets:
                arrays = [(a, b) for a, b in zip(one, other) if isinstance(a, np.ndarray)]
                assert all(a.tobytes() == b.tobytes() for a, b in arrays), seed
