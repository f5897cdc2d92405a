"""Accesses through affine pointers become accesses through views, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilery
from tilery.analysis.affine import Forms
from tilery.analysis.ranges import ranges
from tilery.engines import registry
from tilery.ir import walk
from tilery.ops import LoadPtrTko, LoadViewTko, Module, Offset, StorePtrTko, StoreViewTko
from tilery.programs.boxes import with_views
from tilery.types import PartitionView

ROWS = """
entry @rows(%x: tile<ptr<f32>>, %y: tile<ptr<f32>>, %stride: tile<i32>, %n: tile<i32>, %m: tile<i32>) {
  %i, %j, %k = get_tile_block_id : tile<i32>
  %eight = constant <i32: 8> : tile<i32>
  %first = muli %i, %eight : tile<i32>
  %first1 = reshape %first : tile<i32> -> tile<1xi32>
  %first8 = broadcast %first1 : tile<1xi32> -> tile<8xi32>
  %iota = iota : tile<8xi32>
  %column = addi %first8, %iota : tile<8xi32>
  %n1 = reshape %n : tile<i32> -> tile<1xi32>
  %n8 = broadcast %n1 : tile<1xi32> -> tile<8xi32>
  %inside = cmpi PREDICATE %column, %n8, signed : tile<8xi32> -> tile<8xi1>
  %short = cmpi less_than %j, %m, signed : tile<i32> -> tile<i1>
  %short1 = reshape %short : tile<i1> -> tile<1xi1>
  %short8 = broadcast %short1 : tile<1xi1> -> tile<8xi1>
  %mask = andi %inside, %short8 : tile<8xi1>
  %row = muli %j, %stride : tile<i32>
  %row1 = reshape %row : tile<i32> -> tile<1xi32>
  %row8 = broadcast %row1 : tile<1xi32> -> tile<8xi32>
  %at = addi %row8, %column : tile<8xi32>
  %x1 = reshape %x : tile<ptr<f32>> -> tile<1xptr<f32>>
  %x8 = broadcast %x1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %from = offset %x8, %at : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %pad = constant <f32: PADDING> : tile<8xf32>
  %v, %t = load_ptr_tko weak %from, %mask, %pad : tile<8xptr<f32>>, tile<8xi1>, tile<8xf32> -> tile<8xf32>, token
  %w = addf %v, %v : tile<8xf32>
  %y1 = reshape %y : tile<ptr<f32>> -> tile<1xptr<f32>>
  %y8 = broadcast %y1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %to = offset %y8, %at : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %u = store_ptr_tko weak %to, %w token = %t : tile<8xptr<f32>>, tile<8xf32> -> token
  return
}
"""


WIDE = """  %m64 = exti %m signed : tile<i32> -> tile<i64>
  %stride64 = exti %stride signed : tile<i32> -> tile<i64>
  %column64 = exti %column signed : tile<8xi32> -> tile<8xi64>
  %row = muli %m64, %stride64 : tile<i64>"""


def rows(predicate: str = "less_than", padding: str = "0.5") -> Module:
    return tilery.parse(ROWS.replace("PREDICATE", predicate).replace("PADDING", padding))


def sizes(grid: tuple[int, int, int], *integers: int) -> tuple[int, ...]:
    return (-1, -1, *(n.bit_length() for n in integers), *(n.bit_length() for n in grid))


def run(module: Module, engine: str, n: int, m: int) -> Any:
    x = np.arange(3 * 24, dtype=np.float32)
    y = np.full(3 * 24, -1, np.float32)
    registry.compile_kernel(module, None, engine=engine).launch((3, 3, 1), [x, y, 24, n, m])
    return y


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("n, m", [(0, 3), (1, 3), (8, 2), (13, 3), (24, 0), (24, 3), (30, 9)])
@pytest.mark.parametrize(
    "predicate, padding", [("less_than", "0.5"), ("less_than_or_equal", "0.0"), ("less_than", "0xFF800000")]
)
def test_results_are_the_same(engine: str, n: int, m: int, predicate: str, padding: str) -> None:
    module = rows(predicate, padding)
    changed = with_views(module, "rows", sizes((3, 3, 1), 24, n, m))
    assert changed is not None and not tilery.verify(changed)
    kinds = [type(o) for o in walk(changed)]
    assert kinds.count(LoadViewTko) == kinds.count(StoreViewTko) == 1
    assert LoadPtrTko not in kinds and StorePtrTko not in kinds
    np.testing.assert_array_equal(run(changed, engine, n, m), run(module, "reference", n, m))


@pytest.mark.parametrize("padding", ["0.0", "0xFF800000"])
def test_padding_that_is_spread_from_a_scalar_is_that_of_the_view(padding: str) -> None:
    spread = f"""%pad0 = constant <f32: {padding}> : tile<f32>
  %pad1 = reshape %pad0 : tile<f32> -> tile<1xf32>
  %pad = broadcast %pad1 : tile<1xf32> -> tile<8xf32>"""
    text = ROWS.replace("PREDICATE", "less_than").replace("%pad = constant <f32: PADDING> : tile<8xf32>", spread)
    changed = with_views(tilery.parse(text), "rows", sizes((3, 3, 1), 24, 13, 3))
    assert changed is not None
    (load,) = (o for o in walk(changed) if isinstance(o, LoadViewTko))
    assert isinstance(load.view.type, PartitionView) and load.view.type.padding_value is not None
    np.testing.assert_array_equal(run(changed, "cpu", 13, 3), run(tilery.parse(text), "reference", 13, 3))


@pytest.mark.parametrize("row", [-2, 0, 2, 3])
def test_rows_whose_number_is_compared_without_its_sign(row: int) -> None:
    """As bounds are checked: a negative number is no row. Such a number may come from memory."""
    text = ROWS.replace("PREDICATE", "less_than").replace("PADDING", "0.0")
    for old, new in (
        ("less_than %j, %m, signed", "less_than %m, %limit, unsigned"),
        ("  %iota", "  %limit = constant <i32: 3> : tile<i32>\n  %iota"),
        ("  %row = muli %j, %stride : tile<i32>", WIDE),
        ("%row : tile<i32> -> tile<1xi32>", "%row : tile<i64> -> tile<1xi64>"),
        ("%row1 : tile<1xi32> -> tile<8xi32>", "%row1 : tile<1xi64> -> tile<8xi64>"),
        ("%at = addi %row8, %column : tile<8xi32>", "%at = addi %row8, %column64 : tile<8xi64>"),
        ("%at : tile<8xptr<f32>>, tile<8xi32>", "%at : tile<8xptr<f32>>, tile<8xi64>"),
        ("%w token = %t : tile<8xptr<f32>>, tile<8xf32>", "%w, %mask token = %t : MASKED"),
        ("MASKED", "tile<8xptr<f32>>, tile<8xf32>, tile<8xi1>"),
    ):
        assert old in text
        text = text.replace(old, new)
    module = tilery.parse(text)
    changed = with_views(module, "rows", (-1, -1, 5, 5, -1, 2, 2, 1))
    assert changed is not None
    kinds = [type(o) for o in walk(changed)]
    assert LoadPtrTko not in kinds and StorePtrTko not in kinds
    np.testing.assert_array_equal(run(changed, "cpu", 13, row), run(module, "reference", 13, row))


def test_pointers_that_may_wrap_around_stay() -> None:
    unknown = (-1, -1, -1, 5, 2, 2, 2, 1)  # a negative stride
    for known in (sizes((3, 3, 1), (1 << 31) - 1, 24, 3), sizes(((1 << 31) - 1, 1, 1), 24, 24, 3), unknown):
        changed = with_views(rows(), "rows", known)
        if changed is not None:  # which of both is executed depends on the positions
            kinds = [type(o) for o in walk(changed)]
            assert kinds.count(LoadPtrTko) >= 1 and kinds.count(StorePtrTko) >= 1
            np.testing.assert_array_equal(run(changed, "cpu", 13, 3), run(rows(), "reference", 13, 3))


@pytest.mark.parametrize("predicate", ["greater_than", "equal", "not_equal", "greater_than_or_equal"])
def test_masks_that_are_no_box_at_the_start_stay(predicate: str) -> None:
    changed = with_views(rows(predicate), "rows", sizes((3, 3, 1), 24, 13, 3))
    kinds = [type(o) for o in walk(changed)] if changed is not None else []
    assert kinds.count(LoadPtrTko) == 1, "only the store, which has no mask, goes through a view"
    assert changed is not None
    np.testing.assert_array_equal(run(changed, "cpu", 13, 3), run(rows(predicate), "reference", 13, 3))


def test_the_form_of_pointers() -> None:
    module = with_assumes(rows())
    entry = module.entries[0]
    pointers = next(o.result for o in walk(entry) if isinstance(o, Offset))
    form = Forms(ranges(entry))[pointers]
    assert form is not None and form.base is entry.body.args[0]
    assert [dict(step) for step in form.steps] == [{(): 1}]
    assert {len(product) for product in form.start} == {1}, "the first column and the first element of the row"


def with_assumes(module: Module) -> Module:
    """Promise small integers, so that nothing wraps around."""
    text = str(module)
    for name in ("blockId_x", "blockId_y"):
        text = text.replace(f"muli %{name},", f"muli %{name}_small,")
    promise = "".join(
        f"  %{name}_small = assume bounded<0, 100>, %{name} : tile<i32>\n" for name in ("blockId_x", "blockId_y")
    )
    text = text.replace("get_tile_block_id : tile<i32>\n", f"get_tile_block_id : tile<i32>\n{promise}", 1)
    text = text.replace("%arg2: tile<i32>", "%stride: tile<i32>").replace("%arg2", "%small")
    return tilery.parse(text.replace(promise, promise + "  %small = assume bounded<1, 100>, %stride : tile<i32>\n"))


def test_long_chains_are_given_up_in_time() -> None:
    """Each operation uses the one before it twice."""
    masks = "".join(f"  %m{n + 1} = andi %m{n}, %m{n} : tile<8xi1>\n" for n in range(60))
    text = ROWS.replace("PREDICATE", "less_than").replace("PADDING", "0.5")
    text = text.replace("  %row = muli", f"  %m0 = andi %mask, %mask : tile<8xi1>\n{masks}  %row = muli")
    changed = with_views(tilery.parse(text.replace("weak %from, %mask", "weak %from, %m60")), "rows", SMALL)
    assert changed is not None and any(isinstance(o, LoadPtrTko) for o in walk(changed))
    products = "".join(f"  %p{n + 1} = muli %p{n}, %p{n} : tile<8xi32>\n" for n in range(60))
    text = ROWS.replace("PREDICATE", "less_than").replace("PADDING", "0.5")
    text = text.replace("  %at = addi %row8", f"  %p0 = muli %n8, %n8 : tile<8xi32>\n{products}  %at = addi %p60")
    assert with_views(tilery.parse(text), "rows", sizes((3, 3, 1), 24, 1, 3)) is None


SMALL = sizes((3, 3, 1), 24, 13, 3)
