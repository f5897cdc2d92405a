"""Remarks of tileiras: each at its operation, and advice that changes what it is about."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import tilery
from tilery import TileError
from tilery.cli.main import main
from tilery.engines.tileiras.advice import NO_TENSOR_CORES, OLDER_TENSOR_CORES, REASONS
from tilery.engines.tileiras.compiler import find_tool
from tilery.engines.tileiras.remarks import Remark, read_remarks, remarks


@pytest.fixture(autouse=True)
def _tileiras() -> None:
    try:
        find_tool()
    except TileError:
        pytest.skip("needs NVIDIA's tileiras (pip install 'tilery[nvidia]')")


def copy(
    element: str = "f32",
    strides: str = "[256, 1]",
    tile: str = "64x64",
    pointer: str = "%a",
    padding: str = "",
    semantics: str = "weak",
    promise: str = "div_by<1>",
) -> str:
    """A kernel that copies a tile of a matrix; `%n` in the strides is an argument with a promise."""
    view = f"tensor_view<256x256x{element}, strides={strides.replace('%n', '?')}>"
    tiles = f"partition_view<tile=({tile}){padding}, {view}>"
    plain = f"tensor_view<256x256x{element}, strides=[256,1]>"
    target = f"partition_view<tile=({tile}), {plain}>"
    return f"""entry @k(%p: tile<ptr<{element}>>, %q: tile<ptr<{element}>>, %m: tile<i32>) {{
      %a = assume div_by<16>, %p : tile<ptr<{element}>>
      %b = assume div_by<16>, %q : tile<ptr<{element}>>
      %n = assume {promise}, %m : tile<i32>
      %z = constant <i32: 0> : tile<i32>
      %t = make_tensor_view {pointer}, shape = [256, 256], strides = {strides}
           : {"tile<i32> -> " if "%" in strides else ""}{view}
      %v = make_partition_view %t : {tiles}
      %x, %k = load_view_tko {semantics} %v[%z, %z] : {tiles}, tile<i32> -> tile<{tile}x{element}>, token
      %u = make_tensor_view %b, shape = [256, 256], strides = [256, 1] : {plain}
      %w = make_partition_view %u : {target}
      %s = store_view_tko weak %x, %w[%z, %z] : tile<{tile}x{element}>, {target}, tile<i32> -> token
      return
    }}"""


PAIRS: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("base pointer not 16-byte aligned", {"pointer": "%p"}, {"pointer": "%a"}),
    ("stride not 16-byte aligned", {"strides": "[250, 1]"}, {"strides": "[252, 1]"}),
    ("stride not 16-byte aligned", {"strides": "[%n, 1]"}, {"strides": "[%n, 1]", "promise": "div_by<4>"}),
    ("leading tile dimension not 16-byte aligned", {"tile": "64x2"}, {"tile": "64x4"}),
    ("no contiguous dimension found", {"strides": "[256, %n]", "promise": "div_by<4>"}, {"strides": "[256, 1]"}),
    ("TMA only supports zero padding", {"padding": ", padding_value = nan"}, {"padding": ", padding_value = zero"}),
    ("memory semantic must be weak for TMA operations", {"semantics": "relaxed device"}, {"semantics": "weak"}),
    ("unsupported element type for TMA operations", {"element": "i1"}, {"element": "i8"}),
]
"""A reason, a kernel that has it, and the kernel changed as the advice says."""


@pytest.mark.parametrize(("reason", "bad", "good"), PAIRS, ids=lambda value: value if isinstance(value, str) else "")
def test_advice_changes_the_remark(reason: str, bad: dict[str, str], good: dict[str, str]) -> None:
    module = tilery.parse(copy(**bad))
    (found,) = [r for r in remarks(module, "sm_100") if reason in r.reasons and r.op and r.op.name == "load_view_tko"]
    assert found.kind == "failed"
    assert found.message == "Failed to select TMA load instruction"
    assert found.advice == [REASONS[reason]]
    again = remarks(tilery.parse(copy(**good)), "sm_100")
    assert not any(r.kind == "failed" for r in again)


def product(m: int, n: int, element: str) -> str:
    """A kernel that multiplies a tile of m rows and one of n columns."""
    view = f"tensor_view<256x256x{element}, strides=[256,1]>"
    left, right = (f"partition_view<tile=({shape}), {view}>" for shape in (f"{m}x32", f"32x{n}"))
    out = f"partition_view<tile=({m}x{n}), tensor_view<256x256xf32, strides=[256,1]>>"
    return f"""entry @k(%p: tile<ptr<{element}>>, %q: tile<ptr<f32>>) {{
      %z = constant <i32: 0> : tile<i32>
      %t = make_tensor_view %p, shape = [256, 256], strides = [256, 1] : {view}
      %v = make_partition_view %t : {left}
      %w = make_partition_view %t : {right}
      %x, %k = load_view_tko weak %v[%z, %z] : {left}, tile<i32> -> tile<{m}x32x{element}>, token
      %y, %l = load_view_tko weak %w[%z, %z] : {right}, tile<i32> -> tile<32x{n}x{element}>, token
      %c = constant <f32: 0.0> : tile<{m}x{n}xf32>
      %d = mmaf %x, %y, %c : tile<{m}x32x{element}>, tile<32x{n}x{element}>, tile<{m}x{n}xf32>
      %u = make_tensor_view %q, shape = [256, 256], strides = [256, 1] : tensor_view<256x256xf32, strides=[256,1]>
      %r = make_partition_view %u : {out}
      %s = store_view_tko weak %d, %r[%z, %z] : tile<{m}x{n}xf32>, {out}, tile<i32> -> token
      return
    }}"""


@pytest.mark.parametrize(
    ("bad", "good"),
    [((16, 16, "f16"), (16, 32, "f16")), ((8, 64, "f16"), (64, 8, "f16")), ((64, 64, "f32"), (64, 64, "tf32"))],
)
def test_advice_brings_tensor_cores(bad: tuple[int, int, str], good: tuple[int, int, str]) -> None:
    before, after = (
        [r for r in remarks(tilery.parse(product(*shape)), "sm_90") if r.name == "RemarkTensorCoreMMA"]
        for shape in (bad, good)
    )
    assert [(r.kind, r.op and r.op.name, r.advice) for r in before] == [("failed", "mmaf", [NO_TENSOR_CORES])]
    assert [(r.kind, r.op and r.op.name) for r in after] == [("passed", "mmaf")]


def test_advice_brings_the_tensor_cores_of_the_target() -> None:
    for rows, advice in ((32, [OLDER_TENSOR_CORES.format("sm_90")]), (64, [])):
        found = remarks(tilery.parse(product(rows, 64, "f16")), "sm_90")
        assert [r.advice for r in found if r.name == "RemarkTensorCoreMMA"] == [advice]


def test_the_command_groups_remarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(copy(pointer="%p"))
    assert main(["remarks", str(path), "--target", "sm_90", "--kind", "failed"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "k, sm_90"
    assert lines[2] == "  failed: Failed to select TMA load instruction: base pointer not 16-byte aligned"
    assert lines[3].startswith("    load_view_tko")
    assert lines[4].startswith("      %tile, %result_token = load_view_tko weak %pview")
    assert lines[5].startswith("    to change it: promise the alignment, if it is true: ")
    assert main(["remarks", str(path), "--target", "sm_90", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "sm_90"
    assert {"failed", "passed"} == {each["kind"] for each in found["remarks"]}


def test_a_cutile_kernel_has_its_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.tile", reason="needs cuTile (pip install cuda-tile)")
    path = tmp_path / "one.py"
    lines = ["import cuda.tile as ct", "@ct.kernel", "def one(x):", "    t = ct.load(x, (0,), (1,))"]
    path.write_text("\n".join([*lines, "    ct.store(x, (1,), t)", ""]))
    assert main(["remarks", f"{path}::one", "--sig", "f32[64]", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["remarks"]
    (load,) = [each for each in found if each["operation"] == "load_view_tko" and each["kind"] == "failed"]
    assert [(os.path.basename(p["file"]), p["line"]) for p in load["places"]] == [("one.py", 4)]


def test_an_unknown_target_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(copy())
    assert main(["remarks", str(path), "--target", "sm_12"]) == 1
    assert "tileiras: " in capsys.readouterr().err


def test_wrong_options_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["remarks", "k.mlir", "--sig", "1"]) == 2
    assert main(["remarks", "k.mlir", "--instance", "k<1>"]) == 2
    assert "are for C++" in capsys.readouterr().err


def test_any_text_is_read() -> None:
    """What a future tileiras writes may be cut short, or new."""
    module = tilery.parse("entry @k() {\n  return\n}\n")
    ops = list(tilery.walk(module))
    for log in ("", "---", "--- !", "--- !New\nArgs:\n", "--- !Passed\nDebugLoc: { File: op, Line: 99, Column: 1 }\n"):
        assert all(isinstance(each, Remark) and each.op is None for each in read_remarks(log, ops))
    log = "--- !Failure\nDebugLoc: { File: op, Line: 2, Column: 1 }\nArgs:\n  - Reason: 'loc(\"op\":2:1): it''s so'\n"
    (found,) = read_remarks(log, ops)
    assert (found.op, found.reasons, found.kind) == (ops[1], ("it's so",), "failed")
