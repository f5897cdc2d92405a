"""`tilery compile` and `--engine cpu`: the code of a kernel for several targets, and kernels that run on it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.oracle import ROOT
from tilery.cli.main import main

pytest.importorskip("llvmlite")

ADD = str(ROOT / "bench" / "kernels" / "vadd.mlir")
GEMM = str(ROOT / "bench" / "kernels" / "gemm.mlir")
ARGS = ["--grid", "1", "--convention", "cutile", *(["--arg", "ones:f32:1024"] * 2), "--arg", "out=zeros:f32:1024"]


def test_llvm_ir_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", ADD, "--engine", "cpu"]) == 0
    out = capsys.readouterr().out
    assert "define i64 @run(" in out and "fadd" in out


@pytest.mark.parametrize("target, instruction", [("avx2", "vaddps"), ("avx512", "zmm"), ("neon", "fadd")])
def test_assembly_of_other_processors(target: str, instruction: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", ADD, "--engine", "cpu", "--emit", "asm", "--target", target]) == 0
    assert instruction in capsys.readouterr().out


@pytest.mark.parametrize("target", ["avx2", "amx", "neon"])
def test_matrix_products_compile_for_other_processors(target: str, tmp_path: Path) -> None:
    out = tmp_path / "gemm.o"
    assert main(["compile", GEMM, "--engine", "cpu", "--emit", "object", "--target", target, "-o", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x7fELF")


@pytest.mark.parametrize(
    "options, status, message",
    [
        (["--engine", "reference"], 2, "engine 'reference' compiles nothing"),
        (["--engine", "cpu", "--emit", "ptx"], 2, "engine 'cpu' has no 'ptx', expected llvm"),
        (["--engine", "cpu", "--target", "z80"], 1, "unknown target 'z80', expected host, avx2"),
        (["--engine", "cpu", "--entry", "nothing"], 1, "has no kernel 'nothing'"),
    ],
)
def test_what_there_is_not(options: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", ADD, *options]) == status
    assert message in capsys.readouterr().err


def test_a_kernel_runs_on_the_engine_that_auto_chooses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", ADD, "--engine", "auto", *ARGS, "--print", "out"]) == 0
    found = capsys.readouterr()
    assert found.out == "out = [2. 2. 2. ... 2. 2. 2.]\n" and found.err == "engine: cpu\n"
    assert main(["run", ADD, "--engine", "auto", *ARGS, "--json"]) == 0
    found = capsys.readouterr()
    assert json.loads(found.out)["engine"] == "cpu" and not found.err


def test_a_fault_is_shown_as_the_reference_engine_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.mlir"
    path.write_text("""entry @k(%p: tile<ptr<f32>>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %q = offset %p, %x : tile<ptr<f32>>, tile<i32> -> tile<ptr<f32>>
  %v, %t0 = load_ptr_tko weak %q : tile<ptr<f32>> -> tile<f32>, token
  %t1 = store_ptr_tko weak %q, %v : tile<ptr<f32>>, tile<f32> -> token
  return
}
""")
    errors = []
    for engine in ("reference", "cpu"):
        assert main(["run", str(path), "--engine", engine, "--grid", "9", "--arg", "a=ones:f32:8"]) == 1
        errors.append(re.sub("0x[0-9a-f]{6,}", "ADDRESS", capsys.readouterr().err))
    assert errors[0] == errors[1] and "note: in tile block (8, 0, 0)" in errors[0]


def test_engines_agree_on_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    random = [a.replace("ones", "randn") for a in ARGS]
    assert main(["compare", ADD, "--engines", "reference,cpu", *random]) == 0
    assert capsys.readouterr().out == "equal, bit for bit\n"
