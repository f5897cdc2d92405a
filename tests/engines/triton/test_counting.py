"""Kernels that count do so in shared memory, if nothing can tell the difference."""

from __future__ import annotations

import pytest

import tilery
from tilery.engines.triton.compiler import compile_entry
from tilery.engines.triton.config import Config
from tilery.engines.triton.counting import PROGRAMS, SIZES, counts_once
from tilery.engines.triton.lower import lower
from tilery.engines.triton.state import Lowered
from tilery.engines.triton.targets import find_target
from tilery.engines.triton.versions import dialect_of

HISTOGRAM = """entry @k(%x: tile<ptr<i32>>, %counts: tile<ptr<i32>>, %n: tile<i32>) {
  %b0, %b1, %b2 = get_tile_block_id : tile<i32>
  %t = make_tensor_view %x, shape = [65536], strides = [1] : tensor_view<65536xi32, strides=[1]>
  %v = make_partition_view %t : partition_view<tile=(1024), tensor_view<65536xi32, strides=[1]>>
  %keys, %d = load_view_tko weak %v[%b0] : partition_view<tile=(1024), tensor_view<65536xi32, strides=[1]>>, tile<i32> -> tile<1024xi32>, token
  %n1 = reshape %n : tile<i32> -> tile<1xi32>
  %limit = broadcast %n1 : tile<1xi32> -> tile<1024xi32>
  %inside = cmpi less_than %keys, %limit, unsigned : tile<1024xi32> -> tile<1024xi1>
  %c1 = reshape %counts : tile<ptr<i32>> -> tile<1xptr<i32>>
  %c2 = broadcast %c1 : tile<1xptr<i32>> -> tile<1024xptr<i32>>
  %at = offset %c2, %keys : tile<1024xptr<i32>>, tile<1024xi32> -> tile<1024xptr<i32>>
  %one = constant <i32: 1> : tile<1024xi32>
  %old, %done = atomic_rmw_tko relaxed device %at, add, %one, %inside : tile<1024xptr<i32>>, tile<1024xi32>, tile<1024xi1> -> tile<1024xi32>, token
  return
}"""  # noqa: E501


def lowered(text: str, warps: int = 4) -> Lowered:
    module = tilery.parse(text)
    assert not tilery.verify(module)
    return lower(module, module.entries[0], find_target("sm_90"), Config(num_warps=warps), dialect_of("3.6.0"))


def test_words_are_counted_by_the_length_of_the_array() -> None:
    found = lowered(HISTOGRAM)
    assert found.programs == PROGRAMS
    assert found.text.count("red.shared.add") == len(SIZES)
    assert found.text.count("tt.atomic_rmw") == len(SIZES) + 1, "and one by one if it is long"


@pytest.mark.parametrize(("old", "new"), [
    ("relaxed device", "acq_rel device"),
    (", add, %one,", ", and, %one,"),
    ("%keys, %limit, unsigned", "%keys, %limit, signed"),
    ("less_than %keys, %limit", "less_than_or_equal %keys, %limit"),
    ("%one = constant <i32: 1> : tile<1024xi32>", "%one = iota : tile<1024xi32>"),
    ("offset %c2, %keys :", "offset %c2, %limit :"),
    ("  return", '  %p = print_tko "%d", %b0 : tile<i32> -> token\n  return'),
    ("  return", '  %p = print_tko "%d", %old : tile<1024xi32> -> token\n  return'),
    ("load_view_tko weak %v[%b0]", "load_view_tko relaxed device %v[%b0]"),
    ("%n1 = reshape %n :", "%n1 = reshape %b0 :"),
])  # fmt: skip
def test_other_kernels_are_left_alone(old: str, new: str) -> None:
    assert old in HISTOGRAM
    found = lowered(HISTOGRAM.replace(old, new))
    assert found.programs == 0 and "red.shared" not in found.text


def test_small_tiles_are_left_alone() -> None:
    assert lowered(HISTOGRAM.replace("1024", "64"), warps=4).programs == 0


LAYOUT = "#b = #ttg.blocked<{{sizePerThread = [{}], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>\n"
ADDITION = '%1 = tt.elementwise_inline_asm "red.shared.add" {{}} %0 : tensor<512xi32, #b> -> tensor<512xi32, {}>\n'


@pytest.mark.parametrize(("size", "layout", "count", "once"), [
    (4, "#b", len(SIZES), True),
    (8, "#b", len(SIZES), False),
    (4, "#b", len(SIZES) + 1, False),
    (4, "#ttg.slice<{dim = 0, parent = #b}>", len(SIZES), False),
])  # fmt: skip
def test_layouts_that_repeat_elements_are_noticed(size: int, layout: str, count: int, once: bool) -> None:
    assert counts_once(LAYOUT.format(size) + ADDITION.format(layout) * count) is once


def test_programs_share_a_folded_grid() -> None:
    pytest.importorskip("triton")
    contract = compile_entry(tilery.parse(HISTOGRAM)).contract
    assert contract.folded and contract.programs == PROGRAMS
