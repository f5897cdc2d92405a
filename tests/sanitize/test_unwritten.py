"""Outputs that no tile block wrote: the block that should have, and how other tools pass outputs on."""

from __future__ import annotations

import numpy as np

import tilery
from tilery.debug.session import Session
from tilery.reducer.case import Case, CaseLaunch
from tilery.reducer.oracles import sanitized
from tilery.reducer.report import launch_options
from tilery.sanitize import Sanitizer

ROWS = """
cuda_tile.module @m { entry @k(%p: tile<ptr<f32>>) {
  %i, %j, %z = get_tile_block_id : tile<i32>
  %v = make_tensor_view %p, shape=[8, 32], strides=[32, 1] : tensor_view<8x32xf32, strides=[32,1]>
  %tiles = make_partition_view %v : partition_view<tile=(4x8), tensor_view<8x32xf32, strides=[32,1]>>
  %x = constant <f32: 2.5> : tile<4x8xf32>
  %t = store_view_tko weak %x, %tiles[%i, %j] : tile<4x8xf32>, partition_view<tile=(4x8), tensor_view<8x32xf32, strides=[32,1]>>, tile<i32> -> token
} }
"""  # noqa: E501  # one operation


def test_the_missing_block_is_found_in_two_dimensions() -> None:
    out = np.zeros((8, 32), np.float32)
    found = Sanitizer("unwritten", outputs=[out])
    kernel = tilery.compile(tilery.parse(ROWS))
    kernel.launch((2, 3), [out], sanitize=found)
    (report,) = found.reports
    assert report.values == {"the first one": "[0, 24]", "their number": "64 of 256"}
    assert report.notes == ["tile block (0, 3, 0) would store to element [0, 24], but the grid is (2, 3, 1)"]


def test_an_output_of_other_launches_is_left_alone() -> None:
    out, other = np.zeros((8, 32), np.float32), np.zeros(4, np.float32)
    found = Sanitizer("unwritten", outputs=[out, other])
    tilery.compile(tilery.parse(ROWS)).launch((2, 4), [out], sanitize=found)
    assert list(found.reports) == []


def test_the_reducer_keeps_outputs() -> None:
    module, launch = tilery.parse(ROWS), CaseLaunch("k", args=(np.zeros((8, 32), np.float32),), outputs=frozenset([0]))
    assert sanitized(module, launch, "unwritten", None, 10)[0] == ["unwritten"]
    assert launch_options(Case(module, launch), launch, "k", {})[-1] == "a0=output:f32:8x32"


def test_the_debugger_knows_outputs() -> None:
    out = np.zeros((8, 32), np.float32)
    session = Session(tilery.compile(tilery.parse(ROWS)), (2, 3), [out], sanitize="unwritten", outputs=[out])
    assert session.sanitizer is not None and len(session.sanitizer.outputs) == 1
