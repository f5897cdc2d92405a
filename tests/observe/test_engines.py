"""The first operation in which two engines differ, with planted faults."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from support.contract import arguments
from tilery import ops
from tilery.attrs import Dense
from tilery.cli.main import main
from tilery.engines import registry
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.ir import clone, walk
from tilery.observe import EngineLaunch, first_engine_difference
from tilery.observe.instrument import count_trips, find_probes, instrument, split
from tilery.ops import Module
from tilery.smith import smith_with_contract
from tilery.verifier.verify import verify

LOOPS = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %lane = iota : tile<4xi32>
  %start = muli %b, %four : tile<i32>
  %s1 = reshape %start : tile<i32> -> tile<1xi32>
  %s4 = broadcast %s1 : tile<1xi32> -> tile<4xi32>
  %at = addi %s4, %lane : tile<4xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p4 = broadcast %p1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %pp = offset %p4, %at : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q4 = broadcast %q1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %qq = offset %q4, %at : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %x, %t = load_ptr_tko weak %pp : tile<4xptr<f32>> -> tile<4xf32>, token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %r = for %i in (%one to %four, step %one) : tile<i32> iter_values(%acc = %x) -> (tile<4xf32>) {
    %l = loop iter_values(%j = %zero, %in = %acc) : tile<i32>, tile<4xf32> -> tile<4xf32> {
      %over = cmpi greater_than_or_equal %j, %i, signed : tile<i32> -> tile<i1>
      if %over {
        break %in : tile<4xf32>
      }
      %more = addf %in, %in : tile<4xf32>
      %k = addi %j, %one : tile<i32>
      continue %k, %more : tile<i32>, tile<4xf32>
    }
    continue %l : tile<4xf32>
  }
  %u = store_ptr_tko weak %qq, %r token=%t : tile<4xptr<f32>>, tile<4xf32> -> token
  return
}
"""
LAUNCH = ["--grid", "2", "--arg", "p=@{}", "--arg", "q=zeros:f32:8"]


def add_becomes_multiply(module: Module) -> Module:
    copy: Module = clone(module)
    for parent in walk(copy):
        for block in parent.blocks:
            for n, o in enumerate(block.ops):
                if isinstance(o, ops.AddF):
                    block.ops[n] = ops.MulF(
                        lhs=o.lhs,
                        rhs=o.rhs,
                        rounding_mode=o.rounding_mode,
                        flush_to_zero=o.flush_to_zero,
                        result=o.result,
                    )
                    o.result.owner = block.ops[n]
    return copy


def stores(module: Module) -> int:
    return sum(isinstance(o, ops.StorePtrTko) for o in walk(module))


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Module], Any]], None]:
    """Register an engine `faulty`, which loads modules with a function."""

    def register(load: Callable[[Module], Any]) -> None:
        class Faulty:
            @staticmethod
            def load(module: Module, **options: Any) -> Any:
                return load(module)

        monkeypatch.setitem(registry.ENGINES, "faulty", registry.EngineRow("faulty", "faulty_engine", "differs"))
        monkeypatch.setitem(sys.modules, "faulty_engine", Faulty)

    return register


@pytest.fixture
def compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    (tmp_path / "k.mlir").write_text(LOOPS)
    # 2 + 2 is 2 * 2, so the first addition is right in every block; 4 + 4 is not 4 * 4. The first block has zeros.
    np.save(tmp_path / "p.npy", np.array([0, 0, 0, 0, 0, 2, 2, 0], np.float32))

    def run(*options: str) -> tuple[int, str]:
        launch = [each.format(tmp_path / "p.npy") for each in LAUNCH]
        status = main(["compare", str(tmp_path / "k.mlir"), "--first-difference", *launch, *options])
        return status, capsys.readouterr().out

    return run


def test_the_operation_block_iteration_and_element_are_named(plant: Any, compare: Any) -> None:
    plant(lambda module: ReferenceLoaded(add_becomes_multiply(module)))
    status, out = compare("--engines", "reference,faulty")
    assert status == 1
    assert out.splitlines() == [
        "first difference: %more by addf at k.mlir:25, block 1,0,0, iteration 2,1 (reference and faulty)",
        "  %more[1] is 8.0 and 16.0",
        "  2 of 4 elements differ",
    ]
    status, out = compare("--engines", "reference,faulty", "--json")
    found = json.loads(out)
    assert (found["equal"], found["hidden"], found["complete"]) == (False, False, True)
    assert found["first"]["iterations"] == [1, 0] and found["first"]["element"] == [1]


def test_differences_within_a_distance_are_passed_by(plant: Any, compare: Any) -> None:
    plant(lambda module: ReferenceLoaded(add_becomes_multiply(module)))
    assert compare("--engines", "reference,faulty", "--within", str(1 << 32))[0] == 0


def test_equal_engines(compare: Any) -> None:
    assert compare("--engines", "reference,reference") == (0, "no value and no array differs\n")


def test_a_fault_that_stores_hide(plant: Any, compare: Any) -> None:
    plant(lambda module: ReferenceLoaded(module if stores(module) > 1 else add_becomes_multiply(module)))
    status, out = compare("--engines", "reference,faulty")
    assert status == 1 and "memory from q[5] by store_ptr_tko at k.mlir:31, block 1,0,0" in out
    assert "storing values hides the difference" in out


def test_a_fault_that_many_stores_hide(plant: Any, compare: Any) -> None:
    plant(lambda module: ReferenceLoaded(module if stores(module) > 9 else add_becomes_multiply(module)))
    status, out = compare("--engines", "reference,faulty")
    assert status == 1 and "first difference: %more by addf" in out and "storing all values hides" in out


def test_a_fault_in_a_store(plant: Any, compare: Any) -> None:
    def load(module: Module) -> Any:
        copy: Module = clone(module)
        store = next(o for o in walk(copy) if isinstance(o, ops.StorePtrTko) and o.token is not None)
        source = next(o for o in walk(copy) if isinstance(o, ops.LoadPtrTko))
        store.value = source.result
        return ReferenceLoaded(copy)

    plant(load)
    status, out = compare("--engines", "reference,faulty")
    assert status == 1 and "memory from q[5] by store_ptr_tko" in out and "the write itself differs" in out


def test_a_fault_in_what_engine_cpu_compiles(compare: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    from tilery.engines.cpu import launch

    load = launch.load
    assert compare("--engines", "reference,cpu")[0] == 0
    monkeypatch.setattr(launch, "load", lambda module, **options: load(add_becomes_multiply(module), **options))
    status, out = compare("--engines", "reference,cpu")
    assert status == 1 and "%more by addf at k.mlir:25, block 1,0,0, iteration 2,1" in out


def test_only_the_first_executions_of_a_large_value_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilery.observe import engines

    monkeypatch.setattr(engines, "MOST_BYTES", 2 * 4 * 4)
    launch = EngineLaunch(tilery.parse(LOOPS), 2, [np.full(8, 2, np.float32), np.zeros(8, np.float32)])
    found = first_engine_difference(launch, ReferenceLoaded, lambda m: ReferenceLoaded(add_becomes_multiply(m)))
    assert not found.complete and found.runs > 5
    assert found.first is not None and found.first.values == (str(2.0**7), str(2.0**64))  # the outer loop's result


def test_arrays_of_four_bits_are_compared() -> None:
    text = """entry @k(%p: tile<ptr<f4E2M1FN>>) {
      %v = make_tensor_view %p, shape = [2, 4], strides = [4, 1] : tensor_view<2x4xf4E2M1FN, strides=[4,1]>
      %q = make_partition_view %v : partition_view<tile=(1x4), tensor_view<2x4xf4E2M1FN, strides=[4,1]>>
      %x, %y, %z = get_tile_block_id : tile<i32>
      %one = constant <f4E2M1FN: 1.0> : tile<1x4xf4E2M1FN>
      %t = store_view_tko weak %one, %q[%x, %y]
        : tile<1x4xf4E2M1FN>, partition_view<tile=(1x4), tensor_view<2x4xf4E2M1FN, strides=[4,1]>>, tile<i32> -> token
      return
    }"""
    launch = EngineLaunch(tilery.parse(text), 2, [np.zeros((2, 2), np.uint8)], names=["p"])

    def load(module: Module) -> Any:
        copy: Module = clone(module)
        for o in walk(copy):
            if isinstance(o, ops.Constant) and o.value.element.bits == 4:
                o.value = Dense.of(o.value.type, [2.0])
        return ReferenceLoaded(copy)

    assert first_engine_difference(launch, ReferenceLoaded, ReferenceLoaded).equal
    found = first_engine_difference(launch, ReferenceLoaded, load)
    assert not found.equal and found.first is not None
    assert (found.first.name, found.first.values, found.first.block) == (
        "memory from p[0, 0]", ("1.0", "2.0"), (0, 0, 0)
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_stores_keep_random_modules_legal_and_what_they_compute(seed: int) -> None:
    module, contract = smith_with_contract(seed, size=40, mix={"for": 3, "Control Flow": 3, "Integer": 2, "Core": 2})
    for number, launch in enumerate(contract.launches):
        kernel = ReferenceLoaded(module).kernel(launch.entry)
        blocks = int(np.prod(launch.grid))
        options = {"grid": launch.grid, "args": arguments(launch, number), "output": lambda text: None}
        trips = count_trips(kernel, options, ReferenceLoaded)
        assert all(
            probe.key() < later.key() or probe.op is later.op for probe, later in pairwise(find_probes(kernel.entry))
        )
        for group in split(find_probes(kernel.entry), trips, blocks, 1 << 22):
            made = instrument(module, kernel.entry, group, trips, blocks, most=1 << 22)
            assert not verify(made.module)
            before, after = arguments(launch, number), arguments(launch, number)
            ReferenceLoaded(module).kernel(launch.entry).launch(launch.grid, before, output=lambda text: None)
            ReferenceLoaded(made.module).kernel(launch.entry).launch(
                launch.grid, [*after, *made.buffers().values()], output=lambda text: None
            )
            assert all(a.tobytes() == b.tobytes() for a, b in zip(before, after) if isinstance(a, np.ndarray))
