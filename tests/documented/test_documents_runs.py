"""Compare the statements of the document on operations about execution with launches."""

from __future__ import annotations

import numpy as np
import pytest

import tilery
from tilery import TileError

GRID = """cuda_tile.module @m { entry @k(%out: tile<ptr<i32>>) {
  %nx, %ny, %nz = get_num_tile_blocks : tile<i32>
  %x, %y, %z = get_tile_block_id : tile<i32>
  print_tko "%i %i %i of %i %i %i;", %x, %y, %z, %nx, %ny, %nz
    : tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32>, tile<i32> -> token
  return
} }"""


def blocks(grid: int | tuple[int, ...], capsys: pytest.CaptureFixture[str]) -> list[tuple[list[int], list[int]]]:
    """Return the three numbers of each tile block, and those of the grid."""
    tilery.compile(tilery.parse(GRID)).launch(grid, [np.zeros(1, np.int32)])
    said = [text.split("of") for text in capsys.readouterr().out.split(";") if text.strip()]
    return [([int(n) for n in one.split()], [int(n) for n in all_.split()]) for one, all_ in said]


def test_a_grid_has_three_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    said = blocks((2, 3, 4), capsys)
    assert sorted(one for one, _ in said) == [[x, y, z] for x in range(2) for y in range(3) for z in range(4)]
    assert all(grid == [2, 3, 4] for _, grid in said)


def test_dimensions_that_are_not_launched_are_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert blocks(2, capsys) == [([0, 0, 0], [2, 1, 1]), ([1, 0, 0], [2, 1, 1])]


@pytest.mark.parametrize("grid", [1 << 24, (1, 1 << 24), (1, 1, 1 << 24), 0])
def test_a_grid_has_a_largest_extent(grid: int | tuple[int, ...]) -> None:
    with pytest.raises(TileError, match="grid extents must be between 1 and 16777215, got"):
        tilery.compile(tilery.parse(GRID)).launch(grid, [np.zeros(1, np.int32)])


def tile_of(pointer: str, size: int, name: str) -> str:
    return f"""%{name}0 = reshape {pointer} : tile<ptr<i32>> -> tile<1xptr<i32>>
  %{name}1 = broadcast %{name}0 : tile<1xptr<i32>> -> tile<{size}xptr<i32>>
  %{name} = offset %{name}1, %v : tile<{size}xptr<i32>>, tile<{size}xi32> -> tile<{size}xptr<i32>>"""


def test_elements_of_a_global_follow_one_another_and_live_on() -> None:
    text = f"""cuda_tile.module @m {{ global @val <i32: [5, 6, 7, 8]> : tile<4xi32>
entry @k(%out: tile<ptr<i32>>) {{
  %v = iota : tile<4xi32>
  %g = get_global @val : tile<ptr<i32>>
  {tile_of("%g", 4, "from")}
  {tile_of("%out", 4, "to")}
  %x, %t = load_ptr_tko weak %from : tile<4xptr<i32>> -> tile<4xi32>, token
  %u = store_ptr_tko weak %to, %x : tile<4xptr<i32>>, tile<4xi32> -> token
  %y = addi %x, %x : tile<4xi32>
  %w = store_ptr_tko weak %from, %y token=%t : tile<4xptr<i32>>, tile<4xi32> -> token
  return
}} }}"""
    module, out = tilery.parse(text), np.zeros(4, np.int32)
    kernel = tilery.compile(module)
    for expected in ([5, 6, 7, 8], [10, 12, 14, 16]):
        kernel.launch(1, [out])
        assert out.tolist() == expected
    tilery.compile(module).launch(1, [out])
    assert out.tolist() == [5, 6, 7, 8]  # initialised again with what is loaded again


def test_slices_do_not_overlap() -> None:
    """All slices together have every element once."""
    text = f"""cuda_tile.module @m {{ entry @k(%out: tile<ptr<i32>>) {{
  %x, %y, %z = get_tile_block_id : tile<i32>
  %v = iota : tile<2xi32>
  %all = iota : tile<8xi32>
  %part = extract %all[%x] : tile<8xi32> -> tile<2xi32>
  {tile_of("%out", 2, "to")}
  %two = constant <i32: 2> : tile<i32>
  %n = muli %x, %two : tile<i32>
  %a = reshape %n : tile<i32> -> tile<1xi32>
  %b = broadcast %a : tile<1xi32> -> tile<2xi32>
  %c = offset %to, %b : tile<2xptr<i32>>, tile<2xi32> -> tile<2xptr<i32>>
  %u = store_ptr_tko weak %c, %part : tile<2xptr<i32>>, tile<2xi32> -> token
  return
}} }}"""
    out = np.zeros(8, np.int32)
    tilery.compile(tilery.parse(text)).launch(4, [out])
    assert out.tolist() == list(range(8))


def printed(body: str, arguments: list[object], capsys: pytest.CaptureFixture[str], parameters: str = "") -> str:
    """Return what a kernel with this body prints."""
    text = f"cuda_tile.module @m {{ entry @k({parameters}) {{\n{body}\nreturn }} }}"
    tilery.compile(tilery.parse(text)).launch(1, arguments)
    return capsys.readouterr().out


def test_equality_has_no_sign(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        "%a = constant <i8: [-1, 0, 127, -128]> : tile<4xi8>",
        "%b = constant <i8: [-1, 1, 127, 127]> : tile<4xi8>",
    ]
    for n, sign in enumerate(("signed", "unsigned")):
        for predicate in ("equal", "not_equal"):
            lines.append(f"%{predicate}{n} = cmpi {predicate} %a, %b, {sign} : tile<4xi8> -> tile<4xi1>")
            lines.append(f'print_tko "%i;", %{predicate}{n} : tile<4xi1> -> token')
    shown = printed("\n".join(lines), [], capsys).split(";")
    assert shown[:2] == shown[2:4] and shown[0] != shown[1]


def test_the_slice_of_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    body = """%n = iota : tile<256xi32>
  %t = reshape %n : tile<256xi32> -> tile<32x8xi32>
  %c1 = constant <i32: 1> : tile<i32>
  %c2 = constant <i32: 2> : tile<i32>
  %0 = extract %t[%c1, %c2] : tile<32x8xi32> -> tile<4x2xi32>
  print_tko "%i", %0 : tile<4x2xi32> -> token"""
    found = [int(n) for n in "".join(c if c.isdigit() else " " for c in printed(body, [], capsys)).split()]
    assert found == [row * 8 + column for row in range(4, 8) for column in (4, 5)]


def test_outside_the_tensor_is_padding(capsys: pytest.CaptureFixture[str]) -> None:
    view = "partition_view<tile=(4), padding_value = zero, tensor_view<6xi32, strides=[1]>>"
    body = f"""%t = make_tensor_view %p, shape = [6], strides = [1] : tensor_view<6xi32, strides=[1]>
  %v = make_partition_view %t : {view}
  %one = constant <i32: 1> : tile<i32>
  %x, %tok = load_view_tko weak %v[%one] : {view}, tile<i32> -> tile<4xi32>, token
  print_tko "%i", %x : tile<4xi32> -> token"""
    shown = printed(body, [np.arange(1, 9, dtype=np.int32)], capsys, "%p: tile<ptr<i32>>")
    assert [int(n) for n in "".join(c if c.isdigit() else " " for c in shown).split()] == [5, 6, 0, 0]


# ---------------------------------------------------------------- bodies and identities of reduce and scan

BOTH = "(%a: tile<i32>, %b: tile<i32>, %c: tile<i32>, %d: tile<i32>)"


def combined(kind: str, body: str, size: int = 8, identity: int = 0) -> list[int]:
    """Combine 1, 2, 3 and so on along with tens of them; return what is made of the first, then of the second."""
    left = "i32" if kind == "reduce" else f"{size}xi32"
    more = "reverse=false" if kind == "scan" else ""
    wide = [
        f"%z{i} = reshape %y{i} : tile<i32> -> tile<1xi32>\n%w{i} = broadcast %z{i} : tile<1xi32> -> tile<{size}xi32>"
        if kind == "reduce"
        else f"%w{i} = reshape %y{i} : tile<{left}> -> tile<{left}>"
        for i in range(2)
    ]
    text = f"""cuda_tile.module @m {{ entry @k(%p: tile<ptr<i32>>, %q: tile<ptr<i32>>) {{
  %v = iota : tile<{size}xi32>
  %one = constant <i32: 1> : tile<{size}xi32>
  %ten = constant <i32: 10> : tile<{size}xi32>
  %x0 = addi %v, %one : tile<{size}xi32>
  %x1 = muli %x0, %ten : tile<{size}xi32>
  %y0, %y1 = {kind} %x0, %x1 dim=0 {more} identities=[{identity} : i32, {identity} : i32]
    : tile<{size}xi32>, tile<{size}xi32> -> tile<{left}>, tile<{left}> {BOTH} {{ {body} }}
  {tile_of("%p", size, "r")}
  {tile_of("%q", size, "s")}
  {wide[0]}
  {wide[1]}
  %t = store_ptr_tko weak %r, %w0 : tile<{size}xptr<i32>>, tile<{size}xi32> -> token
  %u = store_ptr_tko weak %s, %w1 : tile<{size}xptr<i32>>, tile<{size}xi32> -> token
  return
}} }}"""
    out = [np.zeros(size, np.int32), np.zeros(size, np.int32)]
    tilery.compile(tilery.parse(text)).launch(1, out)
    return [n for tile in out for n in (tile[:1] if kind == "reduce" else tile).tolist()]


SUMS = "%m = addi %a, %b : tile<i32> %n = addi %c, %d : tile<i32> yield %m, %n : tile<i32>, tile<i32>"
FIRSTS = "yield %a, %c : tile<i32>, tile<i32>"
SECONDS = "yield %b, %d : tile<i32>, tile<i32>"


def test_arguments_two_by_two_belong_to_one_operand() -> None:
    assert combined("reduce", SUMS) == [36, 360]
    assert combined("scan", SUMS, 4) == [1, 3, 6, 10, 10, 30, 60, 100]


def test_the_first_argument_is_what_comes_before() -> None:
    """The document has it the other way round: the element first, then the accumulator."""
    assert combined("reduce", FIRSTS) == [1, 10]
    assert combined("reduce", SECONDS) == [8, 80]
    assert combined("scan", FIRSTS, 4) == [1, 1, 1, 1, 10, 10, 10, 10]
    assert combined("scan", SECONDS, 4) == [1, 2, 3, 4, 10, 20, 30, 40]


@pytest.mark.parametrize("kind", ["reduce", "scan"])
@pytest.mark.parametrize("size", [1, 8, 256])
def test_identities_do_not_enter(kind: str, size: int) -> None:
    """No scan and no reduction of integers on an H200 let the identity in, so one that is not neutral is not seen."""
    assert combined(kind, SUMS, size, identity=1000) == combined(kind, SUMS, size)
