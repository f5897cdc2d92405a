"""Copies of what holds memory: each has memory of its own, or there is none."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.common.addresses import MemoryRange
from tilery.engines.common.arguments import BoundArguments
from tilery.engines.common.arrays import locate
from tilery.engines.common.cutile_abi import Array, extent
from tilery.engines.common.memory import Memory
from tilery.engines.recorded import Recorded
from tilery.engines.reference.launch import ReferenceLoaded

COUNTER = """global @state alignment = 16 <i64: 7> : tile<1xi64>
entry @count(%out: tile<ptr<i32>>) {
  %g = get_global @state : tile<ptr<i64>>
  %p = ptr_to_ptr %g : tile<ptr<i64>> -> tile<ptr<i32>>
  %v, %t0 = load_ptr_tko weak %p : tile<ptr<i32>> -> tile<i32>, token
  %one = constant <i32: 1> : tile<i32>
  %n = addi %v, %one : tile<i32>
  %t1 = store_ptr_tko weak %p, %n token=%t0 : tile<ptr<i32>>, tile<i32> -> token
  %t2 = store_ptr_tko weak %out, %n : tile<ptr<i32>>, tile<i32> -> token
  return
}"""

Copy = Callable[[Any], Any]
COPIES: dict[str, Copy] = {"deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}


def count(kernel: Any) -> int:
    out = np.zeros(1, np.int32)
    kernel.launch(1, [out])
    return int(out[0])


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copied_kernel_has_globals_of_its_own(copied: Copy) -> None:
    kernel = ReferenceLoaded(tilery.parse(COUNTER)).kernel()
    assert count(kernel) == 8
    other = copied(kernel)
    addresses = [set(each.loaded.globals.values()) for each in (kernel, other)]
    assert not addresses[0] & addresses[1]
    assert (count(other), count(other), count(kernel)) == (9, 10, 9), "the bytes are copied, not the memory"
    del kernel
    gc.collect()
    taken = [np.full(1 << 10, 0x5A, np.uint8) for _ in range(100)]
    assert count(other) == 11
    assert all((each == 0x5A).all() for each in taken)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_kernels_that_share_globals_share_them_in_the_copy(copied: Copy) -> None:
    loaded = ReferenceLoaded(tilery.parse(COUNTER + COUNTER[COUNTER.index("entry") :].replace("@count", "@more")))
    one, two = copied([loaded.kernel("count"), loaded.kernel("more")])
    assert (count(one), count(two), count(one)) == (8, 9, 10)
    assert loaded.content("state")[0] == 7


def test_a_shallow_copy_of_a_kernel_keeps_the_memory_it_uses() -> None:
    other = copy.copy(tilery.compile(tilery.parse(COUNTER)))
    gc.collect()
    assert (count(other), count(other)) == (8, 9)


def test_a_kernel_runs_in_a_spawned_process() -> None:
    kernel = tilery.compile(tilery.parse(COUNTER))
    assert count(kernel) == 8
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(count, (kernel,)) == 9
    assert count(kernel) == 9


def holders() -> list[Any]:
    """One object of every class that holds addresses."""
    memory = Memory()
    buffer = memory.at(memory.allocate(8, 16, "buffer"))
    placed = Recorded(b"", "k", (1, 1, 1), [], []).place()
    neutral = [locate(np.zeros(1)), MemoryRange(4096, 8, "x"), BoundArguments()]
    return [memory, buffer, *neutral, placed, extent(Array("x", 1, 32), [4096, 1, 1])]


@pytest.mark.parametrize("holder", holders(), ids=lambda holder: type(holder).__name__)
@pytest.mark.parametrize("copied", [*COPIES.values(), copy.copy], ids=[*COPIES, "copy"])
def test_no_address_survives_a_copy(holder: Any, copied: Copy) -> None:
    with pytest.raises(TypeError, match=r"cannot pickle or copy .* addresses"):
        copied(holder)
