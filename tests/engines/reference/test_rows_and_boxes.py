"""Stores of rows: rows that overlap, rows in several arrays, masks with several parts."""

from __future__ import annotations

import numpy as np
import pytest

import tilery
from tilery import ErrorKind, TileError
from tilery.engines.common.limits import Limits
from tilery.engines.reference.boxes import apart

OVERLAPPING = """entry @k(%p: tile<ptr<i32>>) {
  %c = iota : tile<8xi32>
  %c2 = reshape %c : tile<8xi32> -> tile<1x8xi32>
  %col = broadcast %c2 : tile<1x8xi32> -> tile<4x8xi32>
  %r = iota : tile<4xi32>
  %r2 = reshape %r : tile<4xi32> -> tile<4x1xi32>
  %row = broadcast %r2 : tile<4x1xi32> -> tile<4x8xi32>
  %apart = constant <i32: 4> : tile<4x8xi32>
  %hundred = constant <i32: 100> : tile<4x8xi32>
  %two = constant <i32: 2> : tile<4x8xi32>
  %eight = constant <i32: 8> : tile<4x8xi32>
  %begin = muli %row, %apart : tile<4x8xi32>
  %place = addi %begin, %col : tile<4x8xi32>
  %h = muli %row, %hundred : tile<4x8xi32>
  %value = addi %h, %col : tile<4x8xi32>
  %odd = remi %row, %two signed : tile<4x8xi32>
  %end = subi %eight, %odd : tile<4x8xi32>
  %mask = cmpi less_than %col, %end, signed : tile<4x8xi32> -> tile<4x8xi1>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1x1xptr<i32>>
  %ps = broadcast %p1 : tile<1x1xptr<i32>> -> tile<4x8xptr<i32>>
  %at = offset %ps, %place : tile<4x8xptr<i32>>, tile<4x8xi32> -> tile<4x8xptr<i32>>
  %t = store_ptr_tko weak %at, %value, %mask : tile<4x8xptr<i32>>, tile<4x8xi32>, tile<4x8xi1> -> token
  return
}"""
TWO_ARRAYS = """entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {
  %c = iota : tile<512xi32>
  %c2 = reshape %c : tile<512xi32> -> tile<1x512xi32>
  %col = broadcast %c2 : tile<1x512xi32> -> tile<2x512xi32>
  %r = iota : tile<2xi32>
  %r2 = reshape %r : tile<2xi32> -> tile<2x1xi32>
  %row = broadcast %r2 : tile<2x1xi32> -> tile<2x512xi32>
  %zero = constant <i32: 0> : tile<2x512xi32>
  %first = cmpi equal %row, %zero, signed : tile<2x512xi32> -> tile<2x512xi1>
  %p1 = reshape %p : tile<ptr<i32>> -> tile<1x1xptr<i32>>
  %ps = broadcast %p1 : tile<1x1xptr<i32>> -> tile<2x512xptr<i32>>
  %q1 = reshape %q : tile<ptr<i32>> -> tile<1x1xptr<i32>>
  %qs = broadcast %q1 : tile<1x1xptr<i32>> -> tile<2x512xptr<i32>>
  %chosen = select %first, %ps, %qs : tile<2x512xi1>, tile<2x512xptr<i32>>
  %at = offset %chosen, %col : tile<2x512xptr<i32>>, tile<2x512xi32> -> tile<2x512xptr<i32>>
  %value = addi %row, %col : tile<2x512xi32>
  %t = store_ptr_tko weak %at, %value : tile<2x512xptr<i32>>, tile<2x512xi32> -> token
  return
}"""


def test_rows_that_overlap_are_stored_in_order() -> None:
    out = np.full(24, -1, np.int32)
    tilery.compile(tilery.parse(OVERLAPPING)).launch(1, [out])
    expected = np.full(24, -1, np.int32)
    for row in range(4):
        for column in range(8 - row % 2):
            expected[4 * row + column] = 100 * row + column
    assert out.tolist() == expected.tolist()


def test_rows_in_two_arrays() -> None:
    one, other = np.zeros(512, np.int32), np.zeros(512, np.int32)
    tilery.compile(tilery.parse(TWO_ARRAYS)).launch(1, [one, other])
    assert one.tolist() == list(range(512)) and other.tolist() == list(range(1, 513))


@pytest.mark.parametrize("short", [0, 1])
def test_nothing_is_stored_if_one_row_does_not_fit(short: int) -> None:
    arrays = [np.zeros(511 if short == number else 512, np.int32) for number in range(2)]
    with pytest.raises(TileError):
        tilery.compile(tilery.parse(TWO_ARRAYS)).launch(1, arrays)
    assert not any(array.any() for array in arrays)


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((4,), (4,), True),
        ((4,), (3,), False),
        ((4,), (-4,), True),
        ((2, 4), (16, 4), True),
        ((2, 4), (15, 4), False),
        ((2, 2, 4), (32, 16, 4), True),
        ((2, 2, 4), (28, 16, 4), False),
        ((1, 4), (0, 4), True),
    ],
)
def test_boxes_whose_elements_do_not_overlap(shape: tuple[int, ...], strides: tuple[int, ...], expected: bool) -> None:
    assert apart(shape, strides, 4) is expected


def test_a_launch_may_take_exactly_its_steps() -> None:
    kernel, out = tilery.compile(tilery.parse(OVERLAPPING)), np.zeros(24, np.int32)
    steps = kernel.launch(1, [out]).steps
    kernel.launch(1, [out], limits=Limits(steps=steps))
    with pytest.raises(TileError) as caught:
        kernel.launch(1, [out], limits=Limits(steps=steps - 1))
    assert caught.value.kind is ErrorKind.STEPS
