"""Kernels that only add integers to memory: threads add to memory of their own, and nobody can tell."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

from tilery.diag import TileError
from tilery.engines.cpu import launch
from tilery.engines.cpu.native import jobs

TILE, BLOCKS, BINS = 64, 50, 16
HEAD = """entry @k(%x: tile<ptr<i32>>, %counts: tile<ptr<T>>, %n: tile<i32>) {
  %b, %by, %bz = get_tile_block_id : tile<i32>
  %size = constant <i32: 3200> : tile<i32>
  %view = make_tensor_view %x, shape = [%size], strides = [1] : tile<i32> -> tensor_view<?xi32, strides=[1]>
  %tiles = make_partition_view %view : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>
  %found, %u = load_view_tko weak %tiles[%b] : partition_view<tile=(64), tensor_view<?xi32, strides=[1]>>, tile<i32>
    -> tile<64xi32>, token
  %r = reshape %n : tile<i32> -> tile<1xi32>
  %s = broadcast %r : tile<1xi32> -> tile<64xi32>
  %m = cmpi less_than %found, %s, signed : tile<64xi32> -> tile<64xi1>
  %p1 = reshape %counts : tile<ptr<T>> -> tile<1xptr<T>>
  %p2 = broadcast %p1 : tile<1xptr<T>> -> tile<64xptr<T>>
  %p = offset %p2, %found : tile<64xptr<T>>, tile<64xi32> -> tile<64xptr<T>>
  %one = constant <T: 3> : tile<64xT>
  %old, %w = atomic_rmw_tko relaxed device %p, MODE, %one, %m : tile<64xptr<T>>, tile<64xT>, tile<64xi1>
    -> tile<64xT>, token
"""
WRITES_BACK = """  %back = store_ptr_tko weak %p, %old, %m : tile<64xptr<T>>, tile<64xT>, tile<64xi1> -> token
"""
READS = """  %again, %v = load_ptr_tko weak %p, %m : tile<64xptr<T>>, tile<64xi1> -> tile<64xT>, token
"""


def kernel(element: str = "i32", mode: str = "add", rest: str = "") -> Any:
    text = (HEAD + rest + "  return\n}").replace("xT>", f"x{element}>").replace("<T", f"<{element}")
    return launch.load(tilery.parse(text.replace("MODE", mode))).kernel()


def numbers(high: int = BINS) -> Any:
    return np.random.default_rng(3).integers(0, high, TILE * BLOCKS, dtype=np.int32)


def wanted(counts: Any, x: Any, below: int = BINS) -> Any:
    return counts + (3 * np.bincount(x[x < below], minlength=len(counts))[: len(counts)]).astype(counts.dtype)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads that had memory of their own."""
    found: list[int] = []
    begin = jobs.Private.begin

    def counted(private: Any, start: int) -> Any:
        found.append(start)
        return begin(private, start)

    monkeypatch.setattr(jobs.Private, "begin", counted)
    return found


@pytest.mark.parametrize("element", ["i32", "i64"])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_are_added_to_what_is_there(element: str, threads: int, begun: list[int]) -> None:
    x, dtype = numbers(), np.dtype(element.replace("i", "int"))
    counts = np.arange(BINS, dtype=dtype) - np.iinfo(dtype).max
    expected = wanted(counts, x, 9)
    made = kernel(element)
    for _ in range(2):  # the memory of threads is cleared each time
        found = counts.copy()
        made.launch(BLOCKS, [x, found, 9], threads=threads)
        assert found.tobytes() == expected.tobytes()
    assert 2 <= len(begun) <= 2 * threads


def test_sums_wrap_around() -> None:
    x, counts = numbers(), np.full(BINS, 0x7FFFFFFF, np.int32)
    expected = wanted(counts.astype(np.int64), x).astype(np.int32)
    kernel().launch(BLOCKS, [x, counts, BINS], threads=2)
    assert (counts == expected).all()


def test_few_additions_are_made_in_place(begun: list[int]) -> None:
    x, counts = numbers(), np.zeros(4096, np.int32)
    kernel().launch(BLOCKS, [x, counts, BINS], threads=2)
    assert (counts == wanted(np.zeros_like(counts), x)).all()
    assert not begun


@pytest.mark.parametrize(("mode", "rest"), [("xchg", ""), ("max", ""), ("add", WRITES_BACK), ("add", READS)])
def test_kernels_that_do_more_use_the_memory_of_the_arguments(mode: str, rest: str) -> None:
    assert kernel(mode=mode, rest=rest).lowered.gathered == []


def test_an_array_that_is_also_read(begun: list[int]) -> None:
    """Tile blocks read what others add to: only the sums of one block alone are known."""
    x = np.zeros(TILE * BLOCKS, np.int32)
    kernel().launch(BLOCKS, [x, x, 1], threads=2)
    assert not begun
    assert x[0] % 3 == 0 and x[0] > 0


def test_elements_of_another_argument(begun: list[int]) -> None:
    """Pointers may leave their array and reach another one."""
    both = np.zeros(64 + TILE * BLOCKS, np.int32)
    counts, x = both[:BINS], both[64:]
    x[:] = numbers()
    x[70] = 64  # adds 3 to the first element, after the first tile block has read it
    expected = both.copy()
    expected[:BINS] = wanted(counts, x)
    expected[64] += 3
    kernel().launch(BLOCKS, [x, counts, 65], threads=1)
    assert begun
    assert both.tobytes() == expected.tobytes()


def test_faults_are_those_of_the_reference_engine(begun: list[int]) -> None:
    x, counts = numbers(), np.zeros(BINS, np.int32)
    x[777] = 1 << 29
    with pytest.raises(TileError) as found:
        kernel().launch(BLOCKS, [x, counts, 1 << 30], threads=2)
    with pytest.raises(TileError) as other:
        tilery.compile(kernel().loaded.module).launch(BLOCKS, [x, counts, 1 << 30])
    assert begun
    assert found.value.message == other.value.message


def test_arrays_that_cannot_be_written(begun: list[int]) -> None:
    x, counts = numbers(), np.zeros(BINS, np.int32)
    counts.flags.writeable = False
    with pytest.raises(TileError):
        kernel().launch(BLOCKS, [x, counts, BINS], threads=2)
    assert not begun
    assert not counts.any()


def test_launches_at_once_add_to_the_same_array() -> None:
    x, counts, made = numbers(), np.zeros(BINS, np.int32), kernel()
    others = [threading.Thread(target=made.launch, args=(BLOCKS, [x, counts, BINS])) for _ in range(8)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert (counts == 8 * wanted(np.zeros_like(counts), x)).all()
