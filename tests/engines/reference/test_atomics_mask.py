"""Results of atomic operations for elements that are masked."""

from __future__ import annotations

import numpy as np

import tilery

CAS = """
entry @k(%p: tile<ptr<i32>>, %out: tile<ptr<i32>>) {
  %i = iota : tile<4xi32>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
  %p4 = broadcast %p1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %ps = offset %p4, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %o1 = reshape %out : tile<ptr<i32>> -> tile<1xptr<i32>>
  %o4 = broadcast %o1 : tile<1xptr<i32>> -> tile<4xptr<i32>>
  %os = offset %o4, %i : tile<4xptr<i32>>, tile<4xi32> -> tile<4xptr<i32>>
  %cmp = constant <i32: [7, -1, 9, -2]> : tile<4xi32>
  %new = constant <i32: 5> : tile<4xi32>
  %mask = constant <i1: [true, false, true, false]> : tile<4xi1>
  %old, %t = atomic_cas_tko relaxed device %ps, %cmp, %new, %mask
    : tile<4xptr<i32>>, tile<4xi32>, tile<4xi1> -> tile<4xi32>, token
  %u = store_ptr_tko weak %os, %old token=%t : tile<4xptr<i32>>, tile<4xi32> -> token
  return
}
"""


def test_a_masked_compare_and_swap_gives_what_it_would_compare_with() -> None:
    memory, out = np.full(4, 7, np.int32), np.zeros(4, np.int32)
    tilery.compile(tilery.parse(CAS)).launch(1, [memory, out])
    assert list(out) == [7, -1, 7, -2]
    assert list(memory) == [5, 7, 7, 7]
