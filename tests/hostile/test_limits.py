"""Limits hold inside every operation: a launch can stop in the middle of one, and printed text counts as memory."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import tilery
from support.hostile.growth import is_linear, peak_of
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.limits import Limits
from tilery.engines.common.memory import Memory
from tilery.engines.common.numerics import order
from tilery.engines.common.tiles import Array
from tilery.engines.common.watch import Late, watched
from tilery.engines.reference.ops.atomics import compare_and_swap
from tilery.types import I32

MEGABYTE = 1 << 20


def memory_with(array: Array) -> Memory:
    memory = Memory()
    memory.add(array.ctypes.data, array.nbytes, "array", owner=array)
    return memory


def remainders() -> object:
    return order.remainder(np.full((1, 1 << 20), 1e10), np.full((1, 1 << 20), 1e-3))


def swaps() -> object:
    array = np.zeros(4, np.int32)
    numbers = np.arange(1 << 20, dtype=np.int32)
    return compare_and_swap(
        memory_with(array), I32, np.full(1 << 20, array.ctypes.data, np.int64), numbers, numbers + np.int32(1)
    )


def text() -> object:
    array = np.full(1 << 20, ord("x"), np.uint8)
    return memory_with(array).text(array.ctypes.data, 1 << 30)


@pytest.mark.parametrize("run", [remainders, swaps, text])
def test_a_launch_can_stop_inside_an_operation(run: Callable[[], object]) -> None:
    asked = 0

    def ask() -> None:
        nonlocal asked
        asked += 1
        if asked == 20:
            raise Late

    with watched(ask), pytest.raises(Late):
        run()


def test_swaps_at_one_address_are_made_in_order() -> None:
    rng = np.random.default_rng(0)
    for count, places in ((3000, 1), (3000, 3), (300, 200)):
        array = np.zeros(places, np.int32)
        at = rng.integers(0, places, count)
        wanted, values = rng.integers(0, 3, (2, count)).astype(np.int32)
        expected, found = array.copy(), []
        for n, place in enumerate(at):
            found.append(expected[place])
            if expected[place] == wanted[n]:
                expected[place] = values[n]
        old = compare_and_swap(memory_with(array), I32, array.ctypes.data + 4 * at, wanted, values)
        assert old.tolist() == found and array.tolist() == expected.tolist()


PRINTS = """
entry @k(%n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  for %i in (%zero to %n, step %one) : tile<i32> {
    print_tko "x" -> token
    continue
  }
  return
}
"""


def test_printed_text_counts_as_the_memory_that_it_takes() -> None:
    kernel = tilery.compile(tilery.parse(PRINTS))
    kernel.launch(1, [10], output=lambda text: None)

    def run() -> None:
        with pytest.raises(ExecutionError, match="out of memory"):
            kernel.launch(1, [200_000], limits=Limits(memory=2 * MEGABYTE), output=lambda text: None)

    assert peak_of(run) < 4 * MEGABYTE


def test_large_output_arrives_in_parts() -> None:
    kernel = tilery.compile(tilery.parse(PRINTS.replace('"x"', '"' + "x" * 1000 + 'é"')))
    parts: list[str] = []
    kernel.launch(1, [3000], output=parts.append)
    assert "".join(parts) == ("x" * 1000 + "é") * 3000


def test_long_text_is_printed_in_linear_time() -> None:
    def make(size: int) -> Callable[[], object]:
        array = np.full(size, ord("x"), np.uint8)
        return lambda: memory_with(array).text(array.ctypes.data, 1 << 30)

    assert is_linear(make, 1 << 19)
