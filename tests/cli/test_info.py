"""`tilery info` and `tilery dump`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command import TEXT
from support.oracle import ROOT
from tilery.cli.main import main


def test_info(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(kernel)]) == 0
    out = capsys.readouterr().out
    assert "bytecode 13.1" in out
    assert "entry @vector_add" in out
    assert "tile<ptr<f32>>" in out


def test_info_as_json(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(kernel)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["entries"][0]["params"] == ["tile<ptr<f32>>"] * 3 + ["tile<i32>"]
    assert facts["ops"]["load_view_tko"] == 2
    assert facts["bytes"] == kernel.stat().st_size


def test_info_reads_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(TEXT)
    assert main(["info", "--json", str(path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["format"], facts["version"], facts["ops"]["addi"]) == ("text", None, 1)


def test_dump_shows_every_byte(kernel: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(kernel)]) == 0
    out = capsys.readouterr().out
    assert "magic" in out
    assert "addf" in out


def test_dump_of_a_broken_file_goes_up_to_the_break(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dump", str(broken)]) == 1
    shown = capsys.readouterr()
    assert "magic" in shown.out
    assert "error: at byte 0x" in shown.err


def test_info_of_a_matrix_product(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--json", str(ROOT / "bench/kernels/gemm.mlir")]) == 0
    facts = json.loads(capsys.readouterr().out)
    entry = facts["entries"][0]
    (product,) = entry["products"]
    assert (product["m"], product["n"], product["k"], product["inputs"]) == (128, 128, 32, "f32")
    assert entry["work"]["block"]["bytes written"] == 128 * 128 * 4
    assert entry["work"]["iteration"] == {
        "bytes read": 2 * 128 * 32 * 4,
        "bytes written": 0,
        "flops": 2 * 128 * 128 * 32,
    }
    assert facts["needs"] == {}


LOOP = """\
entry @k(%p: tile<ptr<f32>>) optimization_hints=<sm_100 = {occupancy = 2}> {
  %l = constant <i32: 0> : tile<i32>
  %u = constant <i32: 10> : tile<i32>
  %s = constant <i32: 4> : tile<i32>
  for %i in (%l to %u, step %s) : tile<i32> {
    %t, %k = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
    %a = atan2 %t, %t : tile<f32>
    continue
  }
  return
}
"""


def test_info_of_a_loop_of_known_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text(LOOP)
    assert main(["info", str(path), str(path)]) == 0
    out = capsys.readouterr().out
    assert out.count("entry @k") == 2
    assert "per tile block: 12 bytes read, 3 flops" in out
    assert "needs bytecode 13.2: atan2" in out
    assert "hints for sm_100: occupancy = 2" in out


def test_many_parameters_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(ROOT / "bench/kernels/attention.mlir")]) == 0
    out = capsys.readouterr().out
    assert "    0  tile<ptr<f16>>     7  tile<ptr<f16>>    14  tile<ptr<f16>>    21  tile<ptr<f16>>\n" in out
