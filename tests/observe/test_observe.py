"""Traces, watches, pictures, comparisons and expressions."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.cli.main import main
from tilery.diag import TileError
from tilery.observe import HeatMap, Run, Source, Timeline, access_maps, evaluate, first_difference
from tilery.observe.arrays import ArrayArgument, array_arguments
from tilery.observe.names import value_names
from tilery.types import Scalar

KERNEL = """\
entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %four = constant <i32: 4> : tile<i32>
  %lane = iota : tile<4xi32>
  %start = muli %b, %four : tile<i32>
  %s1 = reshape %start : tile<i32> -> tile<1xi32>
  %s4 = broadcast %s1 : tile<1xi32> -> tile<4xi32>
  %at = addi %s4, %lane : tile<4xi32>
  %p1 = reshape %p : tile<ptr<f32>> -> tile<1xptr<f32>>
  %p4 = broadcast %p1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %pp = offset %p4, %at : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %q1 = reshape %q : tile<ptr<f32>> -> tile<1xptr<f32>>
  %q4 = broadcast %q1 : tile<1xptr<f32>> -> tile<4xptr<f32>>
  %qq = offset %q4, %at : tile<4xptr<f32>>, tile<4xi32> -> tile<4xptr<f32>>
  %x, %t = load_ptr_tko weak %pp : tile<4xptr<f32>> -> tile<4xf32>, token
  %d = addf %x, %x : tile<4xf32>
  %u = store_ptr_tko weak %qq, %d token=%t : tile<4xptr<f32>>, tile<4xf32> -> token
  return
}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "k.mlir"
    path.write_text(KERNEL)
    return path


def run(capsys: pytest.CaptureFixture[str], *args: Any) -> tuple[int, str, str]:
    status = main([str(arg) for arg in args])
    said = capsys.readouterr()
    return status, said.out, said.err


LAUNCH = ["--grid", "3", "--arg", "a=arange:f32:12", "--arg", "out=zeros:f32:12"]


def test_a_trace_is_text(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "run", kernel, *LAUNCH, "--trace", "text", "--trace-ops", "addf,store_ptr_tko")
    assert status == 0
    assert out.splitlines() == [
        "[0] block 0,0,0 and 2 more  k.mlir:16  %d = addf  [0. 2. 4. 6.]",
        "[1] block 0,0,0 and 2 more  k.mlir:17  store_ptr_tko  writes out[0] ... out[3], 4 elements",
    ]
    _, out, _ = run(capsys, "run", kernel, *LAUNCH, "--trace", "text", "--trace-lines", "16", "--trace-block", "2")
    assert out == "[0] block 2,0,0  k.mlir:16  %d = addf  [16. 18. 20. 22.]\n"


def test_a_trace_is_json(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "run", kernel, *LAUNCH, "--trace", "json")
    events = [json.loads(each) for each in out.splitlines()]
    assert [each["step"] for each in events] == list(range(17))
    load = next(each for each in events if each["operation"] == "load_ptr_tko")
    assert load["line"] == 15 and load["blocks"] == [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    assert load["results"]["%x"]["first"][1] == [4, 5, 6, 7]
    assert load["access"]["elements"][1] == "reads a[4] ... a[7], 4 elements"


def test_a_chrome_trace_has_tracks_and_arrows(kernel: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    run(capsys, "run", kernel, *LAUNCH, "--trace", "chrome", "--trace-to", file)
    events = json.loads(file.read_text())["traceEvents"]
    names = [each["args"]["name"] for each in events if each["name"] == "thread_name"]
    assert names == ["block (0, 0, 0)", "block (1, 0, 0)", "block (2, 0, 0)"]
    slices = [each for each in events if each["ph"] == "X"]
    assert len(slices) == 3 * 17
    starts, ends = ([each for each in events if each["ph"] == kind] for kind in "sf")
    assert len(starts) == len(ends) == 3
    load, store = (next(s["ts"] for s in slices if s["name"] == f"{name}_ptr_tko") for name in ("load", "store"))
    assert [(a["id"] == b["id"], a["tid"], a["ts"], b["ts"]) for a, b in zip(starts, ends)] == [
        (True, block, load + 0.5, store + 0.5) for block in range(3)
    ]


def test_watches_show_values_and_writers(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "run", kernel, *LAUNCH, "--watch", "out[5]", "--watch", "%d")
    assert out.splitlines() == [
        "%d = [0. 2. 4. 6.]  k.mlir:16  block 0,0,0",
        "%d = [ 8. 10. 12. 14.]  k.mlir:16  block 1,0,0",
        "%d = [16. 18. 20. 22.]  k.mlir:16  block 2,0,0",
        "out[5] = 10  k.mlir:17  store_ptr_tko  block 1,0,0, element [1]",
    ]
    for what, message in (
        ("out[99]", "the shape (12,)"),
        ("none[0]", "there is no array"),
        ("%no", "there is no value"),
    ):
        status, _, err = run(capsys, "run", kernel, *LAUNCH, "--watch", what)
        assert status == 2 and message in err
    status, _, err = run(capsys, "run", kernel, *LAUNCH, "--watch", "%d", "--engine", "cpu")
    assert status == 2 and "need the engine 'reference'" in err


def test_all_writers_of_an_element_are_listed_in_order(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "all.mlir"
    path.write_text(
        """entry @k(%p: tile<ptr<i32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %t = store_ptr_tko weak %p, %b : tile<ptr<i32>>, tile<i32> -> token
  %old, %u = atomic_rmw_tko relaxed device %p, add, %one token=%t : tile<ptr<i32>>, tile<i32> -> tile<i32>, token
  return
}"""
    )
    _, out, _ = run(capsys, "run", path, "--grid", "2", "--arg", "a=zeros:i32:1", "--watch", "a[0]")
    assert out.splitlines() == [
        "a[0] = 0  all.mlir:4  store_ptr_tko  block 0,0,0",
        "a[0] = 1  all.mlir:4  store_ptr_tko  block 1,0,0",
        "a[0] atomic_rmw_tko with 1  all.mlir:5  atomic_rmw_tko  block 0,0,0",
        "a[0] atomic_rmw_tko with 1  all.mlir:5  atomic_rmw_tko  block 1,0,0",
    ]


def test_pictures_are_written(kernel: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.svg", "o.png", "d.svg", "d.png", "b.svg")]
    what = ["access:a", "access:out", "tile:%d", "tile:%d", "blocks"]
    options = [word for kind, file in zip(what, files) for word in ("--picture", f"{kind}={file}")]
    assert run(capsys, "run", kernel, *LAUNCH, *options)[0] == 0
    for file in files:
        if file.suffix == ".svg":
            assert ElementTree.fromstring(file.read_text()).tag.endswith("svg")
        else:
            assert file.read_bytes().startswith(b"\x89PNG")
    for wrong in ("access:a=x.gif", "access:no=x.svg", "blocks=x.png", "cat=x.svg", "tile:%no=x.svg"):
        assert run(capsys, "run", kernel, *LAUNCH, "--picture", wrong)[0] == 2


def test_an_access_map_knows_readers_and_writers() -> None:
    compiled = tilery.compile(tilery.parse(KERNEL))
    data, out = np.zeros(16, np.float32), np.zeros(16, np.float32)
    arrays = array_arguments(compiled.params, [data, out], ["a", "out"], None)
    maps, observer = access_maps(arrays, 3)
    timeline = Timeline()
    compiled.launch(3, [data, out], observe=[observer, timeline.observer()], batch=2)
    assert maps[0].reader.tolist() == [0] * 4 + [1] * 4 + [2] * 4 + [-1] * 4
    assert maps[1].writer.tolist() == maps[0].reader.tolist() and maps[1].missing == 4
    assert maps[1].reads.sum() == 0 and maps[0].as_dict()["reads"] == [1] * 12 + [0] * 4
    assert timeline.runs == {0: [(0, 17)], 1: [(0, 17)], 2: [(17, 34)]}
    assert "not accessed" in maps[0]._repr_svg_()


def test_strided_arrays_have_the_right_elements() -> None:
    array = ArrayArgument("a", Scalar("f32"), 1000, (3, 4), (8, 2))
    assert array.at((2, 1)) == 1000 + 4 * 18
    assert array.index(1000 + 4 * 18) == (2, 1)
    assert array.index(1000 + 4) is None and array.index(999) is None


NIBBLES = """\
entry @k(%p: tile<ptr<f4E2M1FN>>) {
  %v = make_tensor_view %p, shape = [2, 8], strides = [8, 1] : tensor_view<2x8xf4E2M1FN, strides=[8,1]>
  %q = make_partition_view %v : partition_view<tile=(1x4), tensor_view<2x8xf4E2M1FN, strides=[8,1]>>
  %x, %y, %z = get_tile_block_id : tile<i32>
  %one = constant <f4E2M1FN: 1.0> : tile<1x4xf4E2M1FN>
  %t = store_view_tko weak %one, %q[%x, %y]
    : tile<1x4xf4E2M1FN>, partition_view<tile=(1x4), tensor_view<2x8xf4E2M1FN, strides=[8,1]>>, tile<i32> -> token
  return
}
"""


def test_elements_of_four_bits_are_elements(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(NIBBLES)
    launch = ["--grid", "2,1", "--arg", "p=zeros:f4E2M1FN:2x8"]
    status, out, _ = run(capsys, "run", path, *launch, "--watch", "p[1, 3]", "--watch", "p[1, 4]", "--trace", "text",
                         "--trace-ops", "store_view_tko", "--trace-block", "1")  # fmt: skip
    assert (status, out.splitlines()) == (0, [
        "p[1, 3] = 1  k.mlir:6  store_view_tko  block 1,0,0, element [0, 3]",
        "[0] block 1,0,0  k.mlir:6  store_view_tko  writes p[1, 0] ... p[1, 3], 4 elements",
    ])  # fmt: skip
    data = np.zeros((2, 4), np.uint8)
    kernel = tilery.compile(tilery.parse(NIBBLES))
    arrays = array_arguments(kernel.params, [data], ["p"], None)
    maps, observer = access_maps(arrays, 2)
    kernel.launch((2, 1), [data], observe=observer)
    assert maps[0].writer.tolist() == [[0] * 4 + [-1] * 4, [1] * 4 + [-1] * 4]


@pytest.mark.parametrize("data", [np.zeros((3, 4), np.uint8), np.zeros((3, 8), np.uint8)[:, ::2], np.zeros((), "u1")])
def test_every_element_of_four_bits_is_a_half_of_a_byte(data: Any) -> None:
    kernel = tilery.compile(tilery.parse(NIBBLES))
    (array,) = array_arguments(kernel.params, [data], ["p"], None)
    assert np.prod(array.shape, dtype=int) == 2 * data.size
    for index in np.ndindex(*array.shape):
        assert array.index(array.at(index), array.half(index)) == index


def test_a_heat_map_marks_what_is_not_finite() -> None:
    tile = np.arange(16.0).reshape(4, 4)
    tile[1, 2], tile[3, 3], tile[0, 0] = np.nan, np.inf, -np.inf
    drawn = HeatMap("%x", tile).svg()
    assert ">N<" in drawn and ">∞<" in drawn and ">-∞<" in drawn
    assert "1 NaN, 2 inf" in drawn
    colors = HeatMap("x", tile).colors(tile)
    assert len({tuple(colors[i]) for i in ((1, 2), (3, 3), (0, 0), (0, 1))}) == 4
    raw = HeatMap("x", tile).png()
    pixels = zlib.decompress(raw[raw.index(b"IDAT") + 4 : raw.index(b"IEND") - 8])
    assert len(pixels) == 4 * (1 + 3 * 4)
    big = np.zeros((300, 500))
    big[299, 499] = np.nan
    assert HeatMap("big", big).svg().count(">N<") == 1
    assert HeatMap("a<b>", np.ones((), np.float32)).svg().count("a&lt;b&gt;") == 1


def test_the_first_difference_is_named(kernel: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    other = tmp_path / "edited.mlir"
    other.write_text(KERNEL.replace("muli %b, %four", "addi %b, %four"))
    status, out, _ = run(capsys, "compare", kernel, "--first-difference", "--with", other, *LAUNCH)
    assert status == 1
    assert out.splitlines() == [
        "first difference: %start by muli at k.mlir:5 and addi at edited.mlir:5, block 0,0,0",
        "  %start is 0 and 4",
    ]
    status, out, _ = run(capsys, "compare", kernel, "--first-difference", "--passes", "canonicalize,cse", *LAUNCH)
    assert (status, out) == (0, "no operation that both have differs\n")
    status, out, _ = run(capsys, "compare", kernel, "--with", other, "--json", *LAUNCH)
    assert json.loads(out)["first"]["values"] == ["0", "4"]
    assert run(capsys, "compare", kernel, "--with", other, "--passes", "cse", *LAUNCH)[0] == 2


def test_the_first_difference_is_in_the_right_iteration() -> None:
    text = """entry @k(%f: tile<f32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %n = constant <i32: 5> : tile<i32>
  %s = for %i in (%zero to %n, step %one) : tile<i32> iter_values(%acc = %f) -> (tile<f32>) {
    %next = OP %acc, %acc : tile<f32>
    continue %next : tile<f32>
  }
  return
}"""
    left, right = (tilery.compile(tilery.parse(text.replace("OP", op))) for op in ("addf", "mulf"))
    found, complete = first_difference(1, Run(left, [2.0]), Run(right, [2.0]))
    assert complete and found is not None
    assert (found.name, found.time, found.values) == ("%next", 1, ("8.0", "16.0"))


def test_names_come_from_the_text() -> None:
    module = tilery.parse("entry @k(%n: tile<i32>) { %a, %b, %c = get_tile_block_id : tile<i32> return }")
    assert list(value_names(module).values()) == ["%n", "%a", "%b", "%c"]
    assert [value.type.text for value in Source(module).find("b", module.entry("k"))] == ["tile<i32>"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%a + 1", [1, 2, 3, 4]),
        ("b %a", None),
        ("%a[1:3]", [1, 2]),
        ("max(%a) % 2", 1),
        ("%a % 2", [0, 1, 0, 1]),
        ("(%a)%b", [0, 1, 2, 0]),
        ("np.sum(%a * 2)", 12),
        ("a.mean()", 1.5),
        ("where(%a > 1, %a, -1)", [-1, -1, 2, 3]),
        ("1 < %a <= 2 or %a == 0", [True, False, True, False]),
        ("isnan(nan)", True),
        ("%a.shape", (4,)),
        ("9 ** 9 ** 9", None),
        ("len(%a) ** len(%a) ** len(%a) ** 3", 1),
        ("%a.size ** %a.size ** %a.size ** 3", 1),
        ("(True + True) ** 70", None),
        ("(1, 2) * 3", [3, 6]),
        ("'a' * 99", TileError),
        ("__import__('os')", TileError),
        ("%a.tofile('x')", TileError),
        ("%a.__class__", TileError),
        ("[x for x in %a]", TileError),
        ("lambda: 1", TileError),
        ("eval('1')", TileError),
        ("(" * 300 + "1" + ")" * 300, None),
        ("-" * 900 + "1", None),
        ("%missing", TileError),
        ("%a[9]", TileError),
        ("%a[None, :] * where(%a[:, None] > 0, 1, 0)", None),
        ("sum(%a, axis=0)", 6),
        ("sum(%a, out=%a)", TileError),
        ("1 if all(%a >= 0) else 2", 1),
        ("x" * 2000, TileError),
        ("", TileError),
    ],
)
def test_expressions(text: str, expected: Any) -> None:
    values = {"%a": np.arange(4), "a": np.arange(4), "%b": np.int64(3), "b": np.int64(3)}
    if expected is TileError:
        with pytest.raises(TileError):
            evaluate(text, values)
        return
    try:
        found = evaluate(text, values)
    except TileError:
        assert expected is None
        return
    if expected is not None:
        assert np.array_equal(found, expected)


def test_an_expression_cannot_make_a_large_array() -> None:
    with pytest.raises(TileError, match="at most"):
        evaluate("%a[:, None] * %a", {"%a": np.zeros(1 << 13)})
    with pytest.raises(TileError, match="at most"):
        evaluate("%a[:, None] @ %a[None, :]", {"%a": np.zeros(1 << 13)})
    for text in ("maximum(%a[:, None], %a)", "where(%a, %a[:, None], 0)", "%a and %a[:, None]", "(1, 2) * %a[:, None]"):
        with pytest.raises(TileError, match="at most"):
            evaluate(text, {"%a": np.zeros(1 << 24)})
