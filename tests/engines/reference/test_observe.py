"""`launch(observe=...)`: events for chosen operations, filters, and that observing changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from support.contract import arguments, random_case
from tilery.diag import TileError
from tilery.engines.reference.launch import ReferenceLoaded
from tilery.engines.reference.observe import Event, Observe, Observer
from tilery.sanitize import Sanitizer

KERNEL = """
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %range = iota : tile<4xi32>
  %four = constant <i32: 4> : tile<i32>
  %first = muli %b, %four : tile<i32>
  %1 = reshape %first : tile<i32> -> tile<1xi32>
  %2 = broadcast %1 : tile<1xi32> -> tile<4xi32>
  %at = addi %2, %range : tile<4xi32>
  %3 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %4 = broadcast %3 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %ps = offset %4, %at : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %x, %t = load_ptr_tko weak %ps : tile<4xptr<f32>> -> tile<4xf32>, token
  %s = addf %x, %x : tile<4xf32>
  %u = store_ptr_tko weak %ps, %s token=%t : tile<4xptr<f32>>, tile<4xf32> -> token
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  for %i in (%zero to %four, step %one) : tile<i32> {
    %odd = cmpi equal %i, %one, signed : tile<i32> -> tile<i1>
    if %odd {
      %v = addf %s, %s : tile<4xf32>
    }
  }
} }
"""


def observed(grid: int = 3, batch: int | None = None, **filters: Any) -> list[Event]:
    seen: list[Event] = []
    data = np.arange(grid * 4, dtype=np.float32)
    kernel = tilery.compile(tilery.parse(KERNEL))
    kernel.launch(grid, [data], observe=Observe(seen.append, **filters), batch=batch)
    assert data.tolist() == (2 * np.arange(grid * 4)).tolist()
    return seen


def test_an_event_has_operands_results_blocks_and_addresses() -> None:
    load, store = observed(ops=["load_ptr_tko", "store_ptr_tko"])
    assert load.blocks.tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    assert load.after["result"].tolist() == np.arange(12).reshape(3, 4).tolist()
    assert store.before["value"].tolist() == (2 * np.arange(12)).reshape(3, 4).tolist()
    assert store.access is not None and load.access is not None
    assert (store.access.addresses == load.access.addresses).all()
    assert (np.diff(store.access.addresses.ravel()) == 4).all()
    assert store.after["result_token"] is None


def test_a_block_filter_selects_lanes() -> None:
    for batch in (None, 1, 2):
        (event,) = observed(ops=["store_ptr_tko"], blocks=[(2, 0, 0)], batch=batch)
        assert event.ranks.tolist() == [2]
        assert event.before["value"].tolist() == [[16, 18, 20, 22]]
        assert event.access is not None and event.access.addresses.shape == (1, 4)
    assert [e.ranks.tolist() for e in observed(ops=["store_ptr_tko"], blocks=[0, 2], batch=1)] == [[0], [2]]


def test_lines_values_and_conditions_filter() -> None:
    line = KERNEL.splitlines().index("  %s = addf %x, %x : tile<4xf32>") + 1
    assert [e.op.name for e in observed(lines=[line])] == ["addf"]
    assert observed(lines=[f"elsewhere.mlir:{line}"]) == []
    module = tilery.parse(KERNEL)
    loaded = next(o for o in tilery.ir.walk(module) if o.name == "load_ptr_tko").results[0]
    seen: list[Event] = []
    tilery.compile(module).launch(1, [np.ones(4, np.float32)], observe=Observe(seen.append, values=[loaded]))
    assert [e.op.name for e in seen] == ["load_ptr_tko", "addf"]
    large = observed(ops=["addf"], when=lambda result: result.max() > 20, batch=1)
    assert [(e.ranks.tolist(), e.after["result"].max()) for e in large] == [([1], 28), ([2], 22), ([2], 44)]


def test_control_flow_is_observed_with_what_decides_it() -> None:
    seen = observed(ops=["for", "if"], grid=1)
    assert [e.op.name for e in seen] == ["for", "if"] * 4 + ["for"]
    assert [e.before["iteration"].tolist() for e in seen if e.op.name == "for"] == [[i] for i in range(5)]
    assert [e.before["condition"].tolist() for e in seen if e.op.name == "if"] == [[i == 1] for i in range(4)]


def test_a_function_sees_everything_and_several_observers_take_part() -> None:
    names: list[str] = []
    some: list[Event] = []
    watching = Sanitizer("all")
    kernel = tilery.compile(tilery.parse(KERNEL))
    both: list[Any] = [lambda event: names.append(event.op.name), Observe(some.append, ops=["addf"], tokens=True)]
    kernel.launch(2, [np.zeros(8, np.float32)], observe=both, sanitize=watching)
    assert not watching.reports
    assert len(some) == 2
    assert {"load_ptr_tko", "addf", "store_ptr_tko", "for", "if", "return"} <= set(names)


def test_tokens_are_ids_if_an_observer_asks() -> None:
    load, store = observed(ops=["load_ptr_tko", "store_ptr_tko"], tokens=True)
    made = load.after["result_token"]
    assert store.before["token"].tolist() == made.tolist()
    assert len(set(made.tolist()) | set(store.after["result_token"].tolist())) == 6


def test_kept_values_do_not_change() -> None:
    """Without an observer the engine overwrites dead values; an observer may keep them."""
    text = """
    cuda_tile.module @m { entry @k() {
      %b, %y, %z = get_tile_block_id : tile<i32>
      %f = itof %b signed : tile<i32> -> tile<f32>
      %1 = addf %f, %f : tile<f32>
      %2 = addf %1, %1 : tile<f32>
      %3 = addf %2, %2 : tile<f32>
    } }"""
    seen: list[Event] = []
    tilery.compile(tilery.parse(text)).launch(3, observe=Observe(seen.append, ops=["addf"]))
    assert [e.after["result"].tolist() for e in seen] == [[0, 2, 4], [0, 4, 8], [0, 8, 16]]


def test_an_observer_hears_of_the_end_with_its_error() -> None:
    class Ends(Observer):
        def __init__(self) -> None:
            self.errors: list[Exception | None] = []

        def finish(self, error: Exception | None) -> None:
            self.errors.append(error)

    ends = Ends()
    kernel = tilery.compile(tilery.parse(KERNEL))
    kernel.launch(1, [np.zeros(4, np.float32)], observe=ends)
    with pytest.raises(TileError, match="outside every buffer"):
        kernel.launch(2, [np.zeros(4, np.float32)], observe=ends)
    assert ends.errors[0] is None and isinstance(ends.errors[1], TileError)


def test_mistakes_have_words() -> None:
    kernel = tilery.compile(tilery.parse(KERNEL))
    data = np.zeros(4, np.float32)
    with pytest.raises(TileError, match="expected a function, an Observer or a list of them, got a str"):
        kernel.launch(1, [data], observe="addf")
    with pytest.raises(TileError, match="there is no operation 'addff'"):
        kernel.launch(1, [data], observe=Observe(print, ops=["addff"]))
    with pytest.raises(TileError, match=r"tile block \(1,\) is not in the grid \(1, 1, 1\)"):
        kernel.launch(1, [data], observe=Observe(print, blocks=[1]))


def test_the_cpu_engine_lets_the_reference_engine_be_observed() -> None:
    pytest.importorskip("llvmlite")
    seen: list[Event] = []
    kernel = tilery.compile(tilery.parse(KERNEL), engine="cpu")
    kernel.launch(1, [np.ones(4, np.float32)], observe=Observe(seen.append, ops=["addf"]))
    assert len(seen) == 2


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_observing_changes_nothing(seed: int) -> None:
    """The same memory and statistics, and each executed operation is an event."""
    module, contract = random_case(seed)
    for number, launch in enumerate(contract.launches):
        plain, watched = arguments(launch, seed + number), arguments(launch, seed + number)
        wanted = ReferenceLoaded(module).kernel(launch.entry).launch(launch.grid, plain, output=lambda text: None)
        seen: list[Event] = []
        kernel = ReferenceLoaded(module).kernel(launch.entry)
        got = kernel.launch(launch.grid, watched, output=lambda text: None, observe=seen.append)
        assert got == wanted
        for a, b in zip(plain, watched):
            assert not isinstance(a, np.ndarray) or a.tobytes() == b.tobytes()
        assert sum(len(e.ranks) for e in seen if e.op.name == "return") == got.blocks
