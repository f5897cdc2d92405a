"""The error of a fault in a tile block that updates in place what it reads: it names the operation that gave up."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import tilery
from tilery.engines.kernel import ExecutionError

UPDATES = """entry @k(%a: tile<ptr<i32>>, %places: tile<ptr<i32>>) {
  %i, %t0 = load_ptr_tko weak %places : tile<ptr<i32>> -> tile<i32>, token
  %p = offset %a, %i : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %x, %t1 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %next = constant <i32: NEXT> : tile<i32>
  %t2 = store_ptr_tko weak %places, %next : tile<ptr<i32>>, tile<i32> -> token
  %far = constant <i32: FAR> : tile<i32>
  %j = muli %i, %far : tile<i32>
  %q = offset %a, %j : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
  %y, %t3 = load_ptr_tko weak %q : tile<ptr<i32>> -> tile<i32>, token
  %t4 = store_ptr_tko weak %a, %y : tile<ptr<i32>>, tile<i32> -> token
  return
}"""


def fault(following: int, far: int) -> ExecutionError:
    """Launch the kernel with place 1: its second load is out of bounds if `far` is."""
    module = tilery.parse(UPDATES.replace("NEXT", str(following)).replace("FAR", str(far)))
    with pytest.raises(ExecutionError) as caught:
        tilery.compile(module, engine="cpu").launch(1, [np.zeros(4, np.int32), np.ones(1, np.int32)])
    loads = [o for o in module.entries[0].body.ops if o.name == "load_ptr_tko"]
    assert caught.value.op is loads[2] and caught.value.block == (0, 0, 0)
    return caught.value


def test_a_fault_that_happens_again_has_its_address() -> None:
    assert fault(2, 1000).address is not None


def test_the_second_run_succeeds() -> None:
    error = fault(0, 1000)
    assert error.address is None and any("memory has changed" in str(note) for note in error.notes)


def test_the_second_run_fails_at_another_operation() -> None:
    error = fault(2000, 1000)
    assert error.address is None and any("memory has changed" in str(note) for note in error.notes)
