"""Results that replace what they are computed from: accumulators of products, and tiles stored where they come from."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")
if sys.platform != "linux":
    pytest.skip("protects pages of memory with Linux's mprotect", allow_module_level=True)


from support.both_engines import assert_same, partition, whole

PRODUCTS = {
    "plain": "%n = mmaf %y, %x, %acc : L, L, L",
    "left operand": "%n = mmaf %acc, %y, %acc : L, L, L",
    "right operand": "%n = mmaf %y, %acc, %acc : L, L, L",
    "both operands": "%n = mmaf %acc, %acc, %acc : L, L, L",
    "permuted": "%p = permute %acc [1,0] : L -> L\n %n = mmaf %x, %y, %p : L, L, L",
    "permuted, then negated": "%q = permute %acc [1,0] : L -> L\n %p = negf %q : L\n %n = mmaf %x, %y, %p : L, L, L",
    "negated, then permuted": "%q = negf %acc : L\n %p = permute %q [1,0] : L -> L\n %n = mmaf %x, %y, %p : L, L, L",
    "negated": "%p = negf %acc : L\n %n = mmaf %x, %y, %p : L, L, L",
    "plus itself permuted": "%q = permute %acc [1,0] : L -> L\n %p = addf %acc, %q : L\n"
    " %n = mmaf %x, %y, %p : L, L, L",
    "negated left operand": "%q = negf %acc : L\n %n = mmaf %q, %y, %acc : L, L, L",
    "permuted left operand": "%q = permute %acc [1,0] : L -> L\n %n = mmaf %q, %y, %acc : L, L, L",
    "the same operation twice": "%p = negf %acc : L\n %n = mmaf %p, %y, %p : L, L, L",
    "used twice": "%p = addf %acc, %acc : L\n %n = mmaf %x, %y, %p : L, L, L",
    "used by a later operation": "%m = mmaf %x, %y, %acc : L, L, L\n %n = addf %m, %acc : L",
    "through reshapes": "%q = reshape %acc : L -> tile<2xHx{n}x{t}>\n %s = permute %q [1,0,2] : tile<2xHx{n}x{t}>"
    " -> tile<Hx2x{n}x{t}>\n %p = reshape %s : tile<Hx2x{n}x{t}> -> L\n %n = mmaf %x, %y, %p : L, L, L",
}  # fmt: skip


def loop(n: int, t: str, body: str) -> str:
    tile, view = f"tile<{n}x{n}x{t}>", partition([n, n], t, [n, 1])
    body = body.replace("{n}", str(n)).replace("{t}", t).replace("xHx", f"x{n // 2}x").replace("<Hx", f"<{n // 2}x")
    return f"""entry @k(%a: tile<ptr<{t}>>, %b: tile<ptr<{t}>>, %o: tile<ptr<{t}>>) {{
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
{whole("va", "%a", [n, n], t)}{whole("vb", "%b", [n, n], t)}{whole("vo", "%o", [n, n], t)}
  %x, %t0 = load_view_tko weak %va[%z, %z] : {view}, tile<i32> -> {tile}, token
  %y, %t1 = load_view_tko weak %vb[%z, %z] : {view}, tile<i32> -> {tile}, token
  %r = for %i in (%z to %three, step %one) : tile<i32> iter_values(%acc = %x) -> ({tile}) {{
 {body.replace("L", tile)}
    continue %n : {tile}
  }}
  %t2 = store_view_tko weak %r, %vo[%z, %z] : {tile}, {view}, tile<i32> -> token
  return }}"""


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize(("t", "n"), [("f32", 4), ("f32", 8), ("f32", 64), ("f64", 4), ("f64", 32)])
def test_accumulators(name: str, t: str, n: int) -> None:
    """Integers are so small that sums are exact, with and without `exact`."""
    dtype: Any = {"f32": np.float32, "f64": np.float64}[t]
    values = np.random.default_rng(n).integers(-1, 2, (2, n, n)).astype(dtype)
    assert_same(loop(n, t, PRODUCTS[name]), [*values, np.zeros((n, n), dtype)], exact=n < 16)


@pytest.mark.parametrize("name", ["plain", "negated", "left operand"])
@pytest.mark.parametrize("turns", [0, 1])
def test_an_accumulator_that_no_product_replaces_keeps_its_nans(name: str, turns: int) -> None:
    values = np.ones((2, 32, 32), np.float32)
    values[0].reshape(-1).view(np.uint32)[[3, 500]] = 0x7FC12345, 0xFFC00001
    text = loop(32, "f32", PRODUCTS[name]).replace("<i32: 3>", f"<i32: {turns}>")
    assert_same(text, [*values, np.zeros((32, 32), np.float32)])


KEPT = """%n = mmaf %x, %y, %acc : L, L, L
    %c = cmpi equal %i, %one, signed : tile<i32> -> tile<i1>
    if %c {
      continue %acc : L
    }"""


@pytest.mark.parametrize(("t", "n"), [("f32", 4), ("f32", 32), ("f64", 16)])
def test_a_branch_that_keeps_the_accumulator(t: str, n: int) -> None:
    """The product has been computed before, but the loop goes on with what it had."""
    values = np.random.default_rng(7).integers(-3, 4, (2, n, n)).astype({"f32": np.float32, "f64": np.float64}[t])
    assert_same(loop(n, t, KEPT), [*values, np.zeros_like(values[0])])


# ---------------------------------------------------------------- views that overlap themselves


def in_place(sizes: tuple[int, ...], ones: tuple[int, ...], dims: str) -> str:
    """A tile is loaded, changed, and stored where it was. Strides are arguments, but for those of `ones`."""
    named = [f"%s{d}" for d in range(len(sizes)) if d not in ones]
    strides = ["1" if d in ones else "?" for d in range(len(sizes))]
    given = ", ".join("1" if d in ones else f"%s{d}" for d in range(len(sizes)))
    tile, view = f"tile<{'x'.join(map(str, sizes))}xi32>", partition(sizes, "i32", strides, dims.split("x"))
    tensor = view[view.index("tensor_view") : -1]
    params = "".join(f", {name}: tile<i64>" for name in named)
    dynamic = [f"%n{d}" for d, size in enumerate(dims.split("x")) if size == "?"]
    params += "".join(f", {name}: tile<i64>" for name in dynamic)
    shape = ", ".join(f"%n{d}" if size == "?" else size for d, size in enumerate(dims.split("x")))
    types = "tile<i64> -> " if named or dynamic else ""
    zeros = ", ".join(["%z"] * len(sizes))
    return f"""entry @k(%p: tile<ptr<i32>>{params}) {{
  %z = constant <i32: 0> : tile<i32>
  %i = iota : tile<{np.prod(sizes)}xi32>
  %r = reshape %i : tile<{np.prod(sizes)}xi32> -> {tile}
  %t = make_tensor_view %p, shape = [{shape}], strides = [{given}] : {types}{tensor}
  %v = make_partition_view %t : {view}
  %x, %k = load_view_tko weak %v[{zeros}] : {view}, tile<i32> -> {tile}, token
  %y = addi %x, %r : {tile}
  %l = store_view_tko weak %y, %v[{zeros}] token = %k : {tile}, {view}, tile<i32> -> token
  return }}"""


FORMS: list[tuple[tuple[int, ...], tuple[int, ...], list[tuple[int, ...]]]] = [
    ((8, 8), (1,), [(s,) for s in (0, 1, 2, 4, 7, 8, 9, 16)]),
    ((8, 8), (0,), [(s,) for s in (0, 1, 2, 4, 7, 8, 9, 16)]),
    ((8, 8), (), [(0, 0), (1, 1), (1, 8), (8, 1), (2, 16), (16, 2), (3, 2), (5, 0), (0, 5), (2, 3)]),
    ((8, 8), (0, 1), [()]),
    ((16,), (), [(0,), (1,), (2,)]),
    ((2, 4, 8), (2,), [(32, 8), (8, 16), (4, 1), (0, 8), (8, 0), (1, 2)]),
    ((4, 2, 4), (0,), [(4, 8), (8, 4), (2, 1)]),
]


@pytest.mark.parametrize("whole_tile", [True, False])
@pytest.mark.parametrize(("sizes", "ones", "strides"), FORMS)
def test_views_that_overlap_themselves(
    sizes: tuple[int, ...], ones: tuple[int, ...], strides: list[tuple[int, ...]], whole_tile: bool
) -> None:
    """Every element is loaded before any is stored; where several share memory, the last one remains."""
    dims = "x".join(map(str, sizes)) if whole_tile else "x".join("?" for _ in sizes)
    text = in_place(sizes, ones, dims)
    for each in strides:
        cut = [[]] if whole_tile else [list(sizes), [n - (n > 2) for n in sizes]]
        for extents in cut:
            assert_same(text, [np.arange(300, dtype=np.int32) * 1000, *each, *extents])


def test_views_that_overlap_themselves_beside_a_stride_that_wraps() -> None:
    """The tensor has one element along the second dimension, whose stride may be anything, and the tile has eight."""
    text = in_place((4, 8), (), "4x1")
    for long in (1 << 59, 1 << 60, 3 << 59, (1 << 61) - 8, 1 << 34):
        for short in (0, 1, 4):
            assert_same(text, [np.arange(40, dtype=np.int32) * 1000, short, long])


@pytest.mark.parametrize("count", [64, 256, 1024])
def test_tiles_of_two_sizes_that_begin_at_one_place(count: int) -> None:
    """The larger one is stored elements further on, after the smaller one has been loaded."""
    large, small = partition([count], "i32", [1]), partition([4], "i32", [1])
    text = f"""entry @k(%p: tile<ptr<i32>>, %o: tile<ptr<i32>>, %s: tile<i32>) {{
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<{count}xi32>
  %q = offset %p, %s : tile<ptr<i32>>, tile<i32> -> tile<ptr<i32>>
{whole("va", "%p", [count], "i32")}{whole("vb", "%p", [4], "i32")}{whole("vc", "%q", [count], "i32")}\
{whole("vo", "%o", [4], "i32")}
  %x, %t0 = load_view_tko weak %va[%z] : {large}, tile<i32> -> tile<{count}xi32>, token
  %y, %t1 = load_view_tko weak %vb[%z] : {small}, tile<i32> -> tile<4xi32>, token
  %w = addi %x, %one : tile<{count}xi32>
  %t2 = store_view_tko weak %w, %vc[%z] token = %t0 : tile<{count}xi32>, {large}, tile<i32> -> token
  %t3 = store_view_tko weak %y, %vo[%z] token = %t1 : tile<4xi32>, {small}, tile<i32> -> token
  return }}"""
    for shift in (0, 3, 8, 65):
        assert_same(text, [np.arange(1200, dtype=np.int32) * 1000, np.zeros(4, np.int32), shift])
