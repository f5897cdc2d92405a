"""The cost of kernels: by their text, of a launch, and under the roofs of a GPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tilery
from make_kernel import vector_add
from tilery import TileError
from tilery.cli.main import main
from tilery.cost import GPUS, KernelCost, Roofline, find_gpu, measure, roofline_svg, static_cost
from tilery.engines.recorded import Pointer, Recorded, RecordedBuffer, save

LOOP = """entry @loop(%p: tile<ptr<f32>>, %n: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %t = make_tensor_view %p, shape = [64, 64], strides = [64, 1] : tensor_view<64x64xf32, strides=[64,1]>
  %v = make_partition_view %t : partition_view<tile=(16x64), tensor_view<64x64xf32, strides=[64,1]>>
  for %i in (%zero to BOUND, step %one) : tile<i32> {
    %x, %k = load_view_tko weak %v[%i, %zero] : partition_view<tile=(16x64), tensor_view<64x64xf32, strides=[64,1]>>, tile<i32> -> tile<16x64xf32>, token
    %s = reduce %x dim=1 identities=[0.0 : f32] : tile<16x64xf32> -> tile<16xf32>
    (%a: tile<f32>, %b: tile<f32>) {
      %c = addf %a, %b : tile<f32>
      yield %c : tile<f32>
    }
    %y = mulf %x, %x : tile<16x64xf32>
    continue
  }
  return
}
"""  # noqa: E501  # Tile IR


PRODUCT = """entry @k() {
  %a = constant <i8: 1> : tile<16x32xi8>
  %b = constant <i8: 1> : tile<32x8xi8>
  %c = constant <i32: 0> : tile<16x8xi32>
  %d = mmai %a, %b, %c signed signed : tile<16x32xi8>, tile<32x8xi8>, tile<16x8xi32>
  %e = constant <f32: 1.0> : tile<8xf32>
  %f = cmpf less_than ordered %e, %e : tile<8xf32> -> tile<8xi1>
  return
}
"""


def loop(bound: str) -> tilery.Module:
    return tilery.parse(LOOP.replace("BOUND", bound))


def by_name(cost: KernelCost, name: str) -> tuple[int | None, int, int, int]:
    (found,) = [o for o in cost.ops if o.op.name == name]
    return found.times, found.flops, found.bytes_read, found.bytes_written


def test_a_tile_block_by_its_text() -> None:
    cost = static_cost(vector_add().entries[0], blocks=3)
    assert (cost.flops, cost.bytes_read, cost.bytes_written) == (3 * 128, 3 * 1024, 3 * 512)
    assert cost.intensity == pytest.approx(128 / 1536)
    assert cost.tiles == {"tile<128xf32>": 3}
    assert not cost.is_partial


def test_a_loop_of_known_length_counts_each_time() -> None:
    cost = static_cost(loop("%three").entries[0])
    assert by_name(cost, "load_view_tko") == (3, 0, 3 * 16 * 64 * 4, 0)
    assert by_name(cost, "mulf") == (3, 3 * 16 * 64, 0, 0)
    assert by_name(cost, "reduce") == (3, 3 * 16 * 63, 0, 0)


def test_a_loop_of_unknown_length_counts_once() -> None:
    cost = static_cost(loop("%n").entries[0])
    assert cost.is_partial
    assert by_name(cost, "mulf") == (None, 16 * 64, 0, 0)


def test_loops_and_blocks_are_counted_alike() -> None:
    cost, one = (static_cost(loop("%n").entries[0], blocks) for blocks in (54, 1))
    assert by_name(cost, "mulf") == (None, 54 * 16 * 64, 0, 0)
    assert (cost.intensity, cost.bytes) == (one.intensity, 54 * one.bytes)
    around = LOOP.replace("  for %i in", "  for %j in (%zero to %n, step %one) : tile<i32> {\n  for %i in")
    around = around.replace("continue\n  }", "continue\n  }\n  continue\n  }").replace("BOUND", "%three")
    nested = static_cost(tilery.parse(around).entries[0], 2)
    assert by_name(nested, "mulf") == (None, 2 * 3 * 16 * 64, 0, 0)


def test_loops_without_end_are_of_unknown_length() -> None:
    """The product of many trip counts would be longer than can be printed, or divided."""
    depth = 300
    head = "for %i{0} in (%z to %b, step %o) : tile<i64> {{\n"
    text = "entry @k() {\n%f = constant <f32: 1.0> : tile<8xf32>\n"
    for name, value in (("z", 0), ("o", 1), ("b", (1 << 63) - 1)):
        text += f"%{name} = constant <i64: {value}> : tile<i64>\n"
    text += "".join(head.format(n) for n in range(depth)) + "%x = addf %f, %f : tile<8xf32>\n"
    module = tilery.parse(text + "continue\n}\n" * depth + "return\n}\n")
    cost = static_cost(module.entries[0])
    assert by_name(cost, "addf") == (None, 8, 0, 0)
    assert Roofline(cost, find_gpu("H200")).seconds < 1


def test_a_launch_counts_iterations() -> None:
    x = np.zeros((64, 64), np.float32)
    cost = measure(loop("%n"), 2, [x, 3])
    assert (cost.exact, cost.blocks, cost.is_partial) == (True, 2, False)
    assert by_name(cost, "mulf") == (6, 6 * 16 * 64, 0, 0)
    assert by_name(cost, "load_view_tko") == (6, 0, 6 * 16 * 64 * 4, 0)
    assert (cost.distinct_read, cost.distinct_written) == (48 * 64 * 4, 0)


def test_a_launch_counts_what_is_inside_the_view() -> None:
    a, b, out = np.ones((3, 500), np.float32)
    cost = measure(vector_add(), 4, [a, b, out, 500])
    assert (cost.bytes_read, cost.bytes_written) == (4000, 2000)
    assert (cost.distinct_read, cost.distinct_written) == (4000, 2000)
    assert cost.flops == 4 * 128  # every element of a tile is computed, also those outside
    assert (out == 2).all()


def test_a_launch_agrees_with_the_statistics_of_the_engine() -> None:
    ones = np.ones((3, 64, 64), np.float32)
    for module, args in ((vector_add(), [*ones, 4096]), (loop("%n"), [ones[0], 4]), (tilery.parse(PRODUCT), [])):
        stats = tilery.compile(module).launch(4, args)
        cost = measure(module, 4, args)
        assert (cost.flops, cost.bytes_read, cost.bytes_written) == (stats.flops, stats.bytes_read, stats.bytes_written)
    assert cost.flops == static_cost(module.entries[0], 4).flops == 4 * 8192


def test_the_text_and_a_launch_agree_where_nothing_is_left_open() -> None:
    module = loop("%three")
    counted, told = measure(module, 2, [np.zeros((64, 64), np.float32), 0]), static_cost(module.entries[0], 2)
    assert [o.as_dict() for o in counted.ops] == [o.as_dict() for o in told.ops]


def test_a_bad_access_is_an_error() -> None:
    with pytest.raises(TileError, match="outside of it"):
        measure(loop("%n"), 1, [np.zeros(64, np.float32), 3])


def test_masked_accesses_count_what_they_access() -> None:
    text = """entry @k(%p: tile<ptr<i32>>, %n: tile<i32>) {
      %i = iota : tile<8xi32>
      %r = reshape %n : tile<i32> -> tile<1xi32>
      %b = broadcast %r : tile<1xi32> -> tile<8xi32>
      %m = cmpi less_than %i, %b, signed : tile<8xi32> -> tile<8xi1>
      %q = reshape %p : tile<ptr<i32>> -> tile<1xptr<i32>>
      %w = broadcast %q : tile<1xptr<i32>> -> tile<8xptr<i32>>
      %o = offset %w, %i : tile<8xptr<i32>>, tile<8xi32> -> tile<8xptr<i32>>
      %x, %t = load_ptr_tko weak %o, %m : tile<8xptr<i32>>, tile<8xi1> -> tile<8xi32>, token
      %u = store_ptr_tko weak %o, %x, %m token=%t : tile<8xptr<i32>>, tile<8xi32>, tile<8xi1> -> token
      return
    }"""
    cost = measure(tilery.parse(text), 1, [np.zeros(5, np.int32), 5])
    assert (cost.bytes_read, cost.bytes_written, cost.distinct_bytes) == (20, 20, 40)


# ---------------------------------------------------------------- rooflines


def test_a_roofline_is_the_longer_of_two_times() -> None:
    cost = static_cost(vector_add().entries[0], 1000)
    roof = Roofline(cost, find_gpu("H200"))
    assert roof.memory_seconds == pytest.approx(1_536_000 / 4.8e12)
    assert roof.compute_seconds == pytest.approx(128_000 / 67e12)
    assert (roof.bound, roof.seconds) == ("memory", roof.memory_seconds)
    assert roof.attainable == pytest.approx(cost.flops / roof.seconds / 1e12)


@pytest.mark.parametrize(
    ("element", "ceiling"),
    [("f16", "tensor f16"), ("bf16", "tensor f16"), ("f8E4M3FN", "tensor f8"), ("f32", "vector f32")],
)
def test_products_have_the_ceiling_of_their_type(element: str, ceiling: str) -> None:
    text = f"""entry @k() {{
      %a = constant <{element}: 0.0> : tile<16x32x{element}>
      %b = constant <{element}: 0.0> : tile<32x8x{element}>
      %c = constant <f32: 0.0> : tile<16x8xf32>
      %d = mmaf %a, %b, %c : tile<16x32x{element}>, tile<32x8x{element}>, tile<16x8xf32>
      return
    }}"""
    assert static_cost(tilery.parse(text).entries[0]).by_ceiling() == {ceiling: 2 * 16 * 32 * 8}


@pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)
def test_a_picture_is_well_formed(gpu: object) -> None:
    found = next(each for each in GPUS.values() if each is gpu)
    launch = measure(vector_add(), 4, [*np.ones((3, 500), np.float32), 500])
    points = [Roofline(launch, found), Roofline(launch, found, distinct=True)]
    root = ElementTree.fromstring(roofline_svg(points))
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert f"Roofline of {found.name}, {found.bandwidth:,.0f} GB/s" in texts
    assert "vector_add" in texts
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    circles = list(root.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == 3
    assert all(0 < float(c.attrib["cx"]) < width and 0 < float(c.attrib["cy"]) < height for c in circles)


def test_a_picture_of_a_kernel_without_arithmetic_has_no_dot() -> None:
    module = tilery.parse("entry @k() {\n  return\n}\n")
    svg = roofline_svg([Roofline(static_cost(module.entries[0]), find_gpu("B200"))])
    assert "<circle" not in svg


# ---------------------------------------------------------------- the command


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "loop.mlir"
    path.write_text(LOOP.replace("BOUND", "%n"))
    return path


def test_the_command_prints_a_table(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(kernel), "--gpu", "h200"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "loop: 1 tile block"
    assert lines[2].split() == ["operation", "times", "bytes", "read", "bytes", "written", "flops", "source"]
    assert lines[3].split() == ["load_view_tko", "?", "4,096"]
    assert lines[-1].startswith("  H200, every byte: at least ")


def test_the_command_runs_and_draws(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "roof.svg"
    options = ["--grid", "2", "--arg", "zeros:f32:64x64", "--arg", "3", "--gpu", "B200", "--picture", str(picture)]
    assert main(["cost", str(kernel), *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kernels"][0]["exact"], found["kernels"][0]["blocks"]) == (True, 2)
    assert [roof["distinct"] for roof in found["rooflines"]] == [False, True]
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gpu", "h300"], "unknown GPU 'h300'"),
        (["--picture", "x.svg"], "--picture needs --gpu"),
        (["--grid", "a"], "--grid: expected X"),
        (["--grid", "0"], "--grid: expected numbers from 1"),
        (["--grid", "9" * 400], "--grid: expected numbers from 1"),
        (["--arg", "1"], "has 2 parameters"),
    ],
)
def test_wrong_options(kernel: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(kernel), *options]) == 2
    assert message in capsys.readouterr().err


def test_a_launch_that_faults_is_an_error(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", str(kernel), "--arg", "zeros:f32:64", "--arg", "3"]) == 1
    assert "outside of it" in capsys.readouterr().err


def test_a_recorded_launch_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "launch.zip"
    buffers = [RecordedBuffer(bytes(2000), 0, [name]) for name in "abc"]
    arguments: list[int | float | bool | Pointer] = [Pointer(0, 0), Pointer(1, 0), Pointer(2, 0), 500]
    save(path, Recorded(tilery.dumps(vector_add()), "vector_add", (4, 1, 1), arguments, buffers))
    assert main(["cost", "--run", str(path), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["kernels"]
    assert (found["blocks"], found["bytes_read"], found["bytes_written"]) == (4, 4000, 2000)
    for options, blocks in (([], 4), (["--grid", "6,9"], 54)):
        assert main(["cost", str(path), "--json", *options]) == 0
        (found,) = json.loads(capsys.readouterr().out)["kernels"]
        assert (found["blocks"], found["bytes_written"]) == (blocks, blocks * 512)


def test_a_png_needs_a_converter(
    kernel: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    assert main(["cost", str(kernel), "--gpu", "h200", "--picture", "x.png"]) == 2
    assert "needs CairoSVG" in capsys.readouterr().err


def test_the_gpus_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "--list-gpus"]) == 0
    out = capsys.readouterr().out
    for gpu in GPUS.values():
        assert gpu.name in out and gpu.source in out
        assert set(gpu.unconfirmed) <= {"memory", *gpu.peaks}
        assert gpu.source or set(gpu.unconfirmed) == {"memory", *gpu.peaks}
    assert out.count("*") == 1 + sum(len(gpu.unconfirmed) for gpu in GPUS.values())
    assert main(["cost"]) == 2
