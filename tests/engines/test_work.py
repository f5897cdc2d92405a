"""Facts about kernels from which rules choose how to compile them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tilery
from support.oracle import ROOT
from tilery.engines.gpu.variants import candidate_variants, default_variant
from tilery.engines.triton.config import HOST, POINTERS, default_config
from tilery.engines.triton.targets import find_target
from tilery.engines.work import Work, work_of

VIEW = "partition_view<tile=(64x64), tensor_view<?x?xf16, strides=[?,1]>>"
HEAD = f"""
    %n = assume div_by<16>, %size : tile<i32>
    %ta = make_tensor_view %a, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %tb = make_tensor_view %b, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> tensor_view<?x?xf16, strides=[?,1]>
    %va = make_partition_view %ta : {VIEW}
    %vb = make_partition_view %tb : {VIEW}
    %x, %y, %z = get_tile_block_id : tile<i32>
    %zero = constant <i32: 0> : tile<i32>
    %one = constant <i32: 1> : tile<i32>
"""
LOADED = f"""
      %p, %t1 = load_view_tko weak %va[%x, %i] : {VIEW}, tile<i32> -> tile<64x64xf16>, token
      %q, %t2 = load_view_tko weak %vb[%i, %y] : {VIEW}, tile<i32> -> tile<64x64xf16>, token
"""
SUMS = "%start = constant <f32: 0.0> : tile<64x64xf32>"


def work(body: str) -> Work:
    head = "cuda_tile.module @m {\n  entry @k(%a: tile<ptr<f16>>, %b: tile<ptr<f16>>, %size: tile<i32>) {"
    module = tilery.parse(f"{head}{HEAD}{body}\n    return\n  }}\n}}")
    assert not tilery.verify(module)
    return work_of(module.entries[0])


def test_a_pure_product() -> None:
    found = work(f"""
    {SUMS}
    %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %start) -> (tile<64x64xf32>) {{
      {LOADED}
      %m = mmaf %p, %q, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %m : tile<64x64xf32>
    }}""")
    assert (found.products, found.accumulator, found.rows, found.pure) == (1, 4096, 64, True)
    assert found.live == 4096 + 2 * 2048 + 4096 and found.loop_bytes == 16384 and not found.loops


def test_two_accumulators_count_together() -> None:
    found = work(f"""
    {SUMS}
    %r, %s = for %i in (%zero to %n, step %one) : tile<i32>
      iter_values(%acc = %start, %bcc = %start) -> (tile<64x64xf32>, tile<64x64xf32>) {{
      {LOADED}
      %m = mmaf %p, %q, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      %k = mmaf %q, %p, %bcc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %m, %k : tile<64x64xf32>, tile<64x64xf32>
    }}""")
    assert found.accumulator == 8192 and found.pure and not found.chained


def test_other_arithmetic_in_the_loop_is_not_pure() -> None:
    found = work(f"""
    {SUMS}
    %r = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %start) -> (tile<64x64xf32>) {{
      {LOADED}
      %e = exp %q : tile<64x64xf16>
      %m = mmaf %p, %e, %acc : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
      continue %m : tile<64x64xf32>
    }}""")
    assert found.products == 1 and not found.pure


@pytest.mark.parametrize("stores", [True, False])
def test_loops_without_products(stores: bool) -> None:
    store = f"%t3 = store_view_tko weak %q, %va[%x, %i] : tile<64x64xf16>, {VIEW}, tile<i32> -> token"
    found = work(f"""
    for %i in (%zero to %n, step %one) : tile<i32> {{
      {LOADED}
      {store if stores else ""}
      continue
    }}""")
    assert found.loops and found.stores is stores and not found.products and found.tile == 4096


H200 = find_target("sm_90")


def test_live_tiles_need_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    def config(**facts: Any) -> tuple[int, int, int]:
        monkeypatch.setattr("tilery.engines.triton.config.work_of", lambda entry: Work(**facts))
        entry = tilery.parse("cuda_tile.module @m { entry @k() { return } }").entries[0]
        found = default_config(entry, H200)
        assert found.views == POINTERS
        return found.num_warps, found.unroll, found.pipeline

    assert config(tile=8192, reduces=True, live=16384) == (4, 0, 0)
    assert config(tile=8192, reduces=True, live=65536) == (16, 0, 0)
    assert config(tile=4096, loops=True, live=8192) == (4, 2, 0)
    assert config(tile=4096, loops=True, live=8192, stores=True) == (4, 0, 3)
    assert config(tile=2048, loops=True, live=4096, stores=True) == (4, 2, 0)
    assert config(tile=1024, live=2048) == (4, 0, 0)


def test_stages_that_fill_shared_memory_need_warps(monkeypatch: pytest.MonkeyPatch) -> None:
    def config(**facts: Any) -> tuple[int, int]:
        monkeypatch.setattr("tilery.engines.triton.config.work_of", lambda entry: Work(products=1, **facts))
        entry = tilery.parse("cuda_tile.module @m { entry @k() { return } }").entries[0]
        found = default_config(entry, H200)
        assert found.views == HOST
        return found.num_warps, found.num_stages

    assert config(accumulator=128 * 128, loop_bytes=32 << 10) == (4, 3)
    assert config(accumulator=128 * 128, loop_bytes=64 << 10) == (8, 3)
    assert config(accumulator=16 * 128, loop_bytes=64 << 10) == (4, 3)
    assert config(accumulator=128 * 256, loop_bytes=48 << 10) == (8, 4)
    assert config(accumulator=128 * 128, loop_bytes=32 << 10, chained=True) == (4, 2)


BUGS = ROOT / "docs" / "reports" / "lab" / "compiler_bugs"
LOOP = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {{
  %0 = constant <i32: 0> : tile<i32>
  %1 = constant <i32: 1> : tile<i32>
  %a, %b = for %i in (%0 to %n, step %1) : tile<i32> iter_values(%x = %0, %y = {first}) -> (tile<i32>, tile<i32>) {{
    %v = addi %x, %i : tile<i32>
    continue %v, {second} : tile<i32>, tile<i32>
  }}
  %t = store_ptr_tko weak %p, %b : tile<ptr<i32>>, tile<i32> -> token
  return
}}"""


@pytest.mark.parametrize("path", sorted(BUGS.glob("*.mlir")), ids=lambda path: path.stem)
def test_known_faults_of_tileiras_are_avoided(path: Path) -> None:
    """Engine gpu takes Triton, by rules and as a candidate, if it is there."""
    found = work_of(tilery.parse(path.read_text("utf-8")).entries[0])
    assert found.distrusts_tileiras
    assert default_variant(found).engine == "triton"
    assert {variant.engine for variant in candidate_variants(found)} <= {"triton"}
    assert default_variant(found, ("tileiras",)).engine == "tileiras"


@pytest.mark.parametrize(
    ("first", "second", "wrong"), [("%1", "%v", True), ("%0", "%v", False), ("%1", "%y", False), ("%1", "%x", False)]
)
def test_values_that_continue_passes_twice(first: str, second: str, wrong: bool) -> None:
    module = tilery.parse(LOOP.format(first=first, second=second))
    assert work_of(module.entries[0]).distrusts_tileiras is wrong
