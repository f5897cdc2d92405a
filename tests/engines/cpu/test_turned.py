"""Permuted tiles are computed, reduced and scanned in the order in which they lie in memory, with the same bits."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import tilery
from tilery.engines.cpu.loops.nodes import Read, walk
from tilery.engines.cpu.lower import lower
from tilery.engines.cpu.passes.inline import inline, perfect_nest
from tilery.engines.cpu.passes.simplify import simplify
from tilery.engines.cpu.passes.squares import _Nest

pytest.importorskip("llvmlite")

KERNEL = """entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>, %n: tile<i32>) {
  %z = constant <i32: 0> : tile<i32>
  %ta = make_tensor_view %a, shape = [WIDTH], strides = [1] : tensor_view<WIDTHxf32, strides=[1]>
  %tb = make_tensor_view %b, shape = [SIZE], strides = [1] : tensor_view<SIZExf32, strides=[1]>
  %pa = make_partition_view %ta : partition_view<tile=(WIDTH), tensor_view<WIDTHxf32, strides=[1]>>
  %pb = make_partition_view %tb : partition_view<tile=(SIZE), tensor_view<SIZExf32, strides=[1]>>
  %v, %t = load_view_tko weak %pa[%z] : partition_view<tile=(WIDTH), tensor_view<WIDTHxf32, strides=[1]>>, tile<i32>
    -> tile<WIDTHxf32>, token
  %x = reshape %v : tile<WIDTHxf32> -> tile<FROMxf32>
  %p = permute %x [ORDER] : tile<FROMxf32> -> tile<TOxf32>
  %h = absf %p : tile<TOxf32>
  %e = sqrt %h : tile<TOxf32>
  BODY
  %w = reshape %r : tile<RESULTxf32> -> tile<SIZExf32>
  %s = store_view_tko weak %w, %pb[%z] : tile<SIZExf32>,
    partition_view<tile=(SIZE), tensor_view<SIZExf32, strides=[1]>>, tile<i32> -> token
  return
}"""
REDUCE = """%q = reduce %e dim=DIM identities=[0.0 : f32] : tile<TOxf32> -> tile<LESSxf32>
  (%l: tile<f32>, %m: tile<f32>) { %c = COMBINE %l, %m : tile<f32> yield %c : tile<f32> }
  %r = addf %q, %q : tile<LESSxf32>"""
SCAN = """%q = scan %e dim=DIM reverse=REVERSE identities=[0.0 : f32] : tile<TOxf32> -> tile<TOxf32>
  (%l: tile<f32>, %m: tile<f32>) { %c = addf %l, %m : tile<f32> yield %c : tile<f32> }
  %r = mulf %q, %p : tile<TOxf32>"""
ELEMENTWISE = """%f = mulf %e, %p : tile<TOxf32>
  %r = permute %f [ORDER] : tile<TOxf32> -> tile<RESULTxf32>"""
COLUMNS = """entry @k(%a: tile<ptr<f32>>, %b: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %ta = make_tensor_view %a, shape = [64, 16], strides = [16, 1] : tensor_view<64x16xf32, strides=[16,1]>
  %tb = make_tensor_view %b, shape = [16], strides = [1] : tensor_view<16xf32, strides=[1]>
  %pa = make_partition_view %ta : partition_view<tile=(64x16), tensor_view<64x16xf32, strides=[16,1]>>
  %pb = make_partition_view %tb : partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>
  %v, %t = load_view_tko weak %pa[%z, %z] : partition_view<tile=(64x16), tensor_view<64x16xf32, strides=[16,1]>>,
    tile<i32> -> tile<64x16xf32>, token
  %p = permute %v [1, 0] : tile<64x16xf32> -> tile<16x64xf32>
  %q = reduce %p dim=1 identities=[0.0 : f32] : tile<16x64xf32> -> tile<16xf32>
  (%l: tile<f32>, %m: tile<f32>) { %c = addf %l, %m : tile<f32> yield %c : tile<f32> }
  %s = store_view_tko weak %q, %pb[%z] : tile<16xf32>, partition_view<tile=(16), tensor_view<16xf32, strides=[1]>>,
    tile<i32> -> token
  return
}"""
SIZES = (4, 64, 16)


def kernel(body: str, order: tuple[int, ...], dim: int, **names: str) -> tilery.Module:
    to = [SIZES[d] for d in order]
    again = [to[d] for d in order]
    less = [n for d, n in enumerate(to) if d != dim]
    result = again if body is ELEMENTWISE else less if body is REDUCE else to
    text = KERNEL.replace("BODY", body)
    words = {"ORDER": ", ".join(map(str, order)), "DIM": str(dim), "WIDTH": str(np.prod(SIZES)), **names}
    words |= {"SIZE": str(np.prod(result)), "FROM": shape(SIZES), "TO": shape(to), "LESS": shape(less)}
    for name, word in {**words, "RESULT": shape(result)}.items():
        text = text.replace(name, word)
    return tilery.parse(text)


def shape(sizes: object) -> str:
    return "x".join(map(str, sizes))  # type: ignore[call-overload]


def same_bits(module: tilery.Module) -> None:
    given = np.random.default_rng(3).standard_normal(np.prod(SIZES), np.float32)
    given[[3, 70]] = np.inf, np.nan
    found = []
    for engine in ("reference", "cpu"):
        out = np.zeros(np.prod(SIZES), np.float32)
        tilery.compile(module, engine=engine).launch(1, [given, out, 5])
        found.append(out.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("dim", range(3))
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_reductions(order: tuple[int, ...], dim: int) -> None:
    for combine in ("addf", "maxf"):
        same_bits(kernel(REDUCE, order, dim, COMBINE=combine))


@pytest.mark.parametrize("dim", range(3))
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_scans(order: tuple[int, ...], dim: int) -> None:
    same_bits(kernel(SCAN, order, dim, REVERSE="true" if dim == 1 else "false"))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_elements(order: tuple[int, ...]) -> None:
    same_bits(kernel(ELEMENTWISE, order, 0))


def test_a_reduction_reads_neighbours_side_by_side() -> None:
    """The innermost loops around reads from memory move by one element, although the tile is permuted."""
    module = tilery.parse(COLUMNS)
    lowered = lower(module, module.entries[0])
    simplify(lowered)
    inline(lowered)
    found = 0
    for s in walk(lowered.body):
        nest = perfect_nest(s)
        if nest is None:
            continue
        loops, body = nest
        moves = _Nest(loops, body).moves
        for each in body:
            if isinstance(each, Read):
                assert moves[each.address][loops[-1].index] == 4
                found += 1
    assert found
