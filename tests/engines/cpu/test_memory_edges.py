"""Memory that a kernel reserves, strides that no element depends on, and tiles that are stored on the way."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")
if sys.platform != "linux":
    pytest.skip("protects pages of memory with Linux's mprotect", allow_module_level=True)

from support.both_engines import assert_same, partition, whole
from tilery.engines.cpu.native import pool

CANARY = 0xA5


class ArenaBeforeCanaries(pool.Arena):
    """An arena of exactly the size that was asked for, at an address that is a multiple of 64 but not of 128."""

    made: list[ArenaBeforeCanaries] = []

    def __init__(self, size: int, count: int = 1) -> None:
        super().__init__(size, count)
        self._raw = np.full(self.bytes + 4096 + (1 << 17), CANARY, np.uint8)
        self.address = self._raw.ctypes.data + (64 - self._raw.ctypes.data) % 4096
        ArenaBeforeCanaries.made.append(self)

    def is_intact(self) -> bool:
        start = self.address - self._raw.ctypes.data
        before, after = self._raw[:start], self._raw[start + self.bytes :]
        return bool((before == CANARY).all() and (after == CANARY).all())


@pytest.mark.parametrize("alignment", [1, 64, 128, 512, 4096, 1 << 16])
def test_alloca_stays_in_the_arena(alignment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1024
    allocas = "".join(
        f"""
  %a{i} = alloca num_elem = {n}, alignment = {alignment} : tile<ptr<i8>>
  %r{i} = reshape %a{i} : tile<ptr<i8>> -> tile<1xptr<i8>>
  %s{i} = broadcast %r{i} : tile<1xptr<i8>> -> tile<{n}xptr<i8>>
  %p{i} = offset %s{i}, %i : tile<{n}xptr<i8>>, tile<{n}xi32> -> tile<{n}xptr<i8>>
  %k{i} = store_ptr_tko weak %p{i}, %v : tile<{n}xptr<i8>>, tile<{n}xi8> -> token
  %n{i} = ptr_to_int %a{i} : tile<ptr<i8>> -> tile<i64>
  %q{i} = constant <i64: {i}> : tile<i64>
  %o{i} = offset %o, %q{i} : tile<ptr<i64>>, tile<i64> -> tile<ptr<i64>>
  %u{i} = store_ptr_tko weak %o{i}, %n{i} : tile<ptr<i64>>, tile<i64> -> token"""
        for i in range(2)
    )
    text = f"""entry @k(%o: tile<ptr<i64>>) {{
  %i = iota : tile<{n}xi32>
  %v = constant <i8: 65> : tile<{n}xi8>{allocas}
  return }}"""
    kernel, found = tilery.compile(tilery.parse(text), engine="cpu"), np.zeros(2, np.int64)
    for kept in ("_small", "_large"):
        monkeypatch.setattr(pool.get(), kept, [])
    monkeypatch.setattr(pool, "Arena", ArenaBeforeCanaries)
    kernel.launch(1, [found], threads=1)
    arena = ArenaBeforeCanaries.made.pop()
    assert arena.is_intact()
    first, second = sorted(found.tolist())
    assert not first % alignment and not second % alignment and first + n <= second


def test_alloca_is_zero_after_a_region_that_used_buffers() -> None:
    """Buffers of a region are reused after it, but not for memory that was zeroed when the tile block started."""
    view = partition([64], "i32", [1])
    text = f"""entry @k(%x: tile<ptr<i32>>, %o: tile<ptr<i32>>) {{
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %two = constant <i32: 2> : tile<i32>
  %true = constant <i1: true> : tile<i1>
{whole("vx", "%x", [64], "i32")}{whole("vo", "%o", [64], "i32")}
  %l, %t0 = load_view_tko weak %vx[%z] : {view}, tile<i32> -> tile<64xi32>, token
  for %i in (%z to %two, step %one) : tile<i32> {{
    %s = if %true -> (tile<64xi32>) {{
      %c = cat %l, %l dim = 0 : tile<64xi32>, tile<64xi32> -> tile<128xi32>
      %e = extract %c[%one] : tile<128xi32> -> tile<64xi32>
      %f = scan %e dim=0 reverse=false identities=[0 : i32] : tile<64xi32> -> tile<64xi32>
      (%u: tile<i32>, %v: tile<i32>) {{
        %w = addi %u, %v : tile<i32>
        yield %w : tile<i32>
      }}
      yield %f : tile<64xi32>
    }} else {{
      yield %l : tile<64xi32>
    }}
    %a = alloca num_elem = 64, alignment = 64 : tile<ptr<i32>>
    %j = iota : tile<64xi32>
    %r = reshape %a : tile<ptr<i32>> -> tile<1xptr<i32>>
    %b = broadcast %r : tile<1xptr<i32>> -> tile<64xptr<i32>>
    %p = offset %b, %j : tile<64xptr<i32>>, tile<64xi32> -> tile<64xptr<i32>>
    %m, %t1 = load_ptr_tko weak %p : tile<64xptr<i32>> -> tile<64xi32>, token
    %n = addi %m, %s : tile<64xi32>
    %t2 = store_ptr_tko weak %p, %n token = %t1 : tile<64xptr<i32>>, tile<64xi32> -> token
    %t3 = store_view_tko weak %n, %vo[%z] : tile<64xi32>, {view}, tile<i32> -> token
    continue
  }}
  return }}"""
    assert_same(text, [np.arange(64, dtype=np.int32), np.zeros(64, np.int32)])


# ---------------------------------------------------------------- a dimension of one element


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("batch", [0, 1, 4])
@pytest.mark.parametrize("m", [1, 2, 16, 64])
def test_products_with_one_step(element: str, batch: int, m: int) -> None:
    """The left operand is a column: its only dimension with neighbours is not the last one."""
    sizes = [batch] * (batch > 0)
    loaded, turn = [*sizes, 1, m], [0] * (batch > 0) + [d + (batch > 0) for d in (1, 0)]
    parts = ([1, m], [m, 1], [1, 8], [m, 8])
    row, lhs, rhs, out = ("x".join(map(str, [*sizes, *part])) + f"x{element}" for part in parts)
    zeros = ", ".join(["%z"] * len(loaded))
    views = [
        partition(loaded, element, _row_major(loaded)),
        partition([*sizes, m, 8], element, _row_major([*sizes, m, 8])),
    ]
    text = f"""entry @k(%x: tile<ptr<{element}>>, %o: tile<ptr<{element}>>) {{
  %z = constant <i32: 0> : tile<i32>
{whole("vx", "%x", loaded, element)}{whole("vo", "%o", [*sizes, m, 8], element)}
  %l, %t = load_view_tko weak %vx[{zeros}] : {views[0]}, tile<i32> -> tile<{row}>, token
  %a = permute %l {turn} : tile<{row}> -> tile<{lhs}>
  %b = constant <{element}: 2.0> : tile<{rhs}>
  %c = constant <{element}: 0.5> : tile<{out}>
  %r = mmaf %a, %b, %c : tile<{lhs}>, tile<{rhs}>, tile<{out}>
  %s = store_view_tko weak %r, %vo[{zeros}] : tile<{out}>, {views[1]}, tile<i32> -> token
  return }}"""
    count = max(batch, 1) * m
    x = np.arange(count, dtype=np.float32 if element == "f32" else np.float64)
    assert_same(text, [x, np.zeros(count * 8, x.dtype)])


def _row_major(sizes: list[int]) -> list[int]:
    return [int(np.prod(sizes[d + 1 :])) for d in range(len(sizes))]


@pytest.mark.parametrize("stride", [0, 5, 1 << 20, 1 << 40, (1 << 63) + 12345])
def test_the_stride_of_one_element_is_not_used(stride: int) -> None:
    """With one column, no element is a stride away from another, wherever that would be."""
    view, out = partition([4, 1], "f32", [1, "?"]), partition([4, 1], "f32", [1, 1])
    tensor = view[view.index("tensor_view") : -1]
    text = f"""entry @k(%x: tile<ptr<f32>>, %o: tile<ptr<f32>>, %s: tile<i64>) {{
  %z = constant <i32: 0> : tile<i32>
  %tx = make_tensor_view %x, shape = [4, 1], strides = [1, %s] : tile<i64> -> {tensor}
  %vx = make_partition_view %tx : {view}
{whole("vo", "%o", [4, 1], "f32")}
  %l, %t = load_view_tko weak %vx[%z, %z] : {view}, tile<i32> -> tile<4x1xf32>, token
  %b = constant <f32: 2.0> : tile<1x1xf32>
  %r = mmaf %l, %b, %l : tile<4x1xf32>, tile<1x1xf32>, tile<4x1xf32>
  %u = store_view_tko weak %r, %vo[%z, %z] : tile<4x1xf32>, {out}, tile<i32> -> token
  return }}"""
    assert_same(text, [np.arange(4, dtype=np.float32), np.zeros(4, np.float32), stride - (1 << 64) * (stride >> 63)])


# ---------------------------------------------------------------- tiles that are stored on the way


SPARSE = "gather_scatter_view<tile=(N), tensor_view<Nxi32, strides=[1]>, sparse_dim=0>"
STORES = {
    "scatter": "%t1 = store_view_tko weak %s, %go[%i] : tile<Nxi32>, SPARSE, tile<Nxi32> -> token",
    "store": "%t1 = store_view_tko weak %s, %vo[%z] : tile<Nxi32>, VIEW, tile<i32> -> token",
    "two operands": """%t1, %t9 = reduce %s, %y dim=0 identities=[0 : i32, 0 : i32]
      : tile<Nxi32>, tile<Nxi32> -> tile<i32>, tile<i32>
  (%p: tile<i32>, %q: tile<i32>, %u: tile<i32>, %v: tile<i32>) {
    %w = addi %p, %u : tile<i32>
    yield %w, %v : tile<i32>, tile<i32>
  }""",
}  # fmt: skip


@pytest.mark.parametrize("n", [4, 32, 256])
@pytest.mark.parametrize("last", ["cat", "turned"])
@pytest.mark.parametrize("second", STORES)
@pytest.mark.parametrize("first", STORES)
def test_a_tile_that_several_loops_need(first: str, second: str, last: str, n: int) -> None:
    """It is computed once and stored by the loop that needs it first, also where its elements are already known."""
    uses = STORES[first] + "\n  " + STORES[second].replace("%t1", "%t2").replace("%t9", "%t8")
    if last == "cat":
        uses += "\n  %d = cat %y, %c dim = 0 : tile<Nxi32>, tile<Nxi32> -> tile<Mxi32>"
    else:
        uses += """
  %f = reshape %y : tile<Nxi32> -> tile<2xHxi32>
  %g = permute %f [1, 0] : tile<2xHxi32> -> tile<Hx2xi32>
  %h = reshape %g : tile<Hx2xi32> -> tile<Nxi32>
  %d = cat %h, %y dim = 0 : tile<Nxi32>, tile<Nxi32> -> tile<Mxi32>"""
    text = f"""entry @k(%a: tile<ptr<i32>>, %o: tile<ptr<i32>>, %b: tile<ptr<i32>>) {{
  %z = constant <i32: 0> : tile<i32>
  %c = constant <i32: 3> : tile<Nxi32>
  %i = iota : tile<Nxi32>
{whole("va", "%a", [n], "i32")}{whole("vo", "%o", [n], "i32")}{whole("vb", "%b", [2 * n], "i32")}
  %go = make_gather_scatter_view %t_vo : SPARSE
  %ga = make_gather_scatter_view %t_va : SPARSE
  %x, %t0 = load_view_tko weak %ga[%i] : SPARSE, tile<Nxi32> -> tile<Nxi32>, token
  %y = divi %x, %c signed : tile<Nxi32>
  %s = addi %y, %c : tile<Nxi32>
  {uses}
  %t3 = store_view_tko weak %d, %vb[%z] : tile<Mxi32>, {partition([2 * n], "i32", [1])}, tile<i32> -> token
  return }}"""
    text = text.replace("SPARSE", SPARSE).replace("VIEW", partition([n], "i32", [1]))
    for letter, size in (("N", n), ("M", 2 * n), ("H", n // 2)):
        text = text.replace(f"tile<{letter}x", f"tile<{size}x").replace(f"x{letter}x", f"x{size}x")
        text = text.replace(f"tile=({letter})", f"tile=({size})").replace(f"view<{letter}x", f"view<{size}x")
    x = np.arange(100, 100 + n, dtype=np.int32)
    assert_same(text, [x, np.zeros_like(x), np.zeros(2 * n, np.int32)])


@pytest.mark.parametrize("t", ["f4E2M1FN", "i8"])
def test_tiles_that_may_share_bytes_are_stored_one_after_the_other(t: str) -> None:
    """Rows of three elements of four bits: the last one of a row and the first one of the next are in one byte."""
    tensor = f"tensor_view<?x3x{t}, strides=[3,1]>"
    view = f"partition_view<tile=(1x4), {tensor}>"
    kernel = tilery.compile(
        tilery.parse(f"""entry @k(%p: tile<ptr<{t}>>, %q: tile<ptr<{t}>>, %n: tile<i32>) {{
  %x, %y, %z = get_tile_block_id : tile<i32>
  %o = constant <i32: 0> : tile<i32>
  %tp = make_tensor_view %p, shape = [%n, 3], strides = [3, 1] : tile<i32> -> {tensor}
  %tq = make_tensor_view %q, shape = [%n, 3], strides = [3, 1] : tile<i32> -> {tensor}
  %vp = make_partition_view %tp : {view}
  %vq = make_partition_view %tq : {view}
  %a, %t0 = load_view_tko weak %vp[%x, %o] : {view}, tile<i32> -> tile<1x4x{t}>, token
  %t1 = store_view_tko weak %a, %vq[%x, %o] token = %t0 : tile<1x4x{t}>, {view}, tile<i32> -> token
  return }}"""),
        engine="cpu",
    )
    assert kernel.lowered is not None and kernel.lowered.ordered == (t != "i8")  # type: ignore[attr-defined]  # engine cpu's own
