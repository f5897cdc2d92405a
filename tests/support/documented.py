"""Bodies in the spelling of the documents, and how to read, refuse and print them."""

from __future__ import annotations

import pytest

import tilery
from tilery import TileError, documented

VIEW = "!cuda_tile.partition_view<tile=(8x8), tensor_view<64x64xf32, strides=[64,1]>>"
TILE = "!cuda_tile.tile<8x8xf32>"
TOKEN = "!cuda_tile.token"
HEAD = """cuda_tile.module @m {
cuda_tile.entry @k(%p: !cuda_tile.tile<ptr<f32>>, %i: !cuda_tile.tile<i32>, %j: !cuda_tile.tile<i32>,
  %cond: !cuda_tile.tile<i1>, %x: !cuda_tile.tile<f32>, %q: !cuda_tile.tile<ptr<i32>>) {
  %t = cuda_tile.make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %view = cuda_tile.make_partition_view %t : partition_view<tile=(8x8), tensor_view<64x64xf32, strides=[64,1]>>
  %tok0 = cuda_tile.make_token : !cuda_tile.token
"""
TAIL = "\n  cuda_tile.return\n}\n}\n"
LOAD = (
    f"%v, %tok1 = cuda_tile.load_view_tko acquire gpu %view[%i, %j] token=%tok0\n : {VIEW} -> {TILE}, !cuda_tile.token"
)
LOADED = f"%w, %u = cuda_tile.load_view_tko weak %view[%i, %j] : {VIEW} -> {TILE}, !cuda_tile.token\n"
STORE = f"%tok1 = cuda_tile.store_view_tko release gpu %view[%i, %j], %w token=%tok0 : {VIEW}, {TILE} -> {TOKEN}"
CAS = """%c = constant <i32: 1> : tile<i32>
%old, %tok1 = cuda_tile.atomic_cas_tko acq_rel gpu %q, %c, %c, %cond token=%tok0
 : !cuda_tile.tile<ptr<i32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i1> -> !cuda_tile.tile<i32>, !cuda_tile.token"""
RMW = """%c = constant <i32: 1> : tile<i32>
%old, %tok1 = cuda_tile.atomic_rmw_tko acquire gpu add %q, %c, %cond token=%tok0
 : !cuda_tile.tile<ptr<i32>>, !cuda_tile.tile<i32>, !cuda_tile.tile<i1> -> !cuda_tile.tile<i32>, !cuda_tile.token"""
LAYOUT = "%r = cuda_tile.negf %x {layout = #cute.layout<((1@0, 2@1), 16@1)>} : tile<f32>"
LOAD_PTR = """%v, %tok1 = cuda_tile.load_ptr_tko acquire gpu %p, %cond token=%tok0
 : !cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<i1> -> !cuda_tile.tile<f32>, !cuda_tile.token"""
STORE_PTR = """%tok1 = cuda_tile.store_ptr_tko release gpu %p, %x, %cond token=%tok0
 : !cuda_tile.tile<ptr<f32>>, !cuda_tile.tile<f32>, !cuda_tile.tile<i1> -> !cuda_tile.token"""


def read(body: str) -> list[tilery.Op]:
    """The operations of a body in the documents' spelling, verified."""
    return documented.parse(HEAD + body + TAIL).entries[0].body.ops[3:-1]


def refused(body: str) -> TileError:
    with pytest.raises(TileError) as caught:
        documented.parse(HEAD + body + TAIL)
    assert caught.value.source is not None
    return caught.value


def refused_by_default(body: str) -> TileError:
    with pytest.raises(TileError) as caught:
        tilery.parse(HEAD + body + TAIL)
    return caught.value


def printed(body: str, name: str) -> str:
    """The line of the operation of that name in the documented style."""
    text = tilery.show(documented.parse(HEAD + body + TAIL), style="documented")
    return next(line.strip() for line in text.splitlines() if f"cuda_tile.{name} " in line)
