"""`tilery prove` and `tilery opt --validate`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tilery
from tilery.cli.main import main
from tilery.engines.recorded import capture, save
from tilery.prove.plans import parse_plan

from .cases import module

PLAN = """
outs = ["y"]
[sizes]
n = [40, 7]
[buffers]
x = "real[n]"
y = "out[1]"
[scratch.b]
w = "out[2]"
[[a]]
file = "{0}/whole.mlir"
grid = "1"
args = "x, y, n"
[[b]]
file = "{0}/halves.mlir"
grid = "2"
args = "x, w, n"
[[b]]
file = "{0}/join.mlir"
grid = "1"
args = "w, y"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    from tilery import Builder
    from tilery.builder import f32, i32, ptr

    def write(name: str, made: tilery.Module) -> None:
        (tmp_path / name).write_text(tilery.show(made), "utf-8")

    write("a.mlir", module(lambda b, x: x + x))
    write("b.mlir", module(lambda b, x: x * 2.0))
    write("c.mlir", module(lambda b, x: x * 3.0))
    for parts, name in ((1, "whole.mlir"), (2, "halves.mlir")):
        b = Builder()
        with b.entry("k", x=ptr(f32), y=ptr(f32), n=i32) as p:
            part, _, _ = b.block_id()
            at = b.iota(64 // parts) + part * (64 // parts)
            v = b.load_ptr(p.x + at, mask=at < p.n, other=0)
            b.store_ptr(p.y + part, b.sum(v, dim=0))
        write(name, b.module)
    b = Builder()
    with b.entry("k", w=ptr(f32), y=ptr(f32)) as p:
        b.store_ptr(p.y, b.sum(b.load(b.view(p.w, (2,), tile=(2,)), (0,)), dim=0))
    write("join.mlir", b.module)
    return tmp_path


BUFFERS = ["--buf", "x=real[3, 32]", "--buf", "y=out[3,32]", "--grid", "3"]


def test_equal_and_different(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = (str(folder / f"{name}.mlir") for name in "abc")
    assert main(["prove", a, b, *BUFFERS]) == 0
    text = capsys.readouterr().out
    assert text.startswith("equal\n")
    assert "not looked at: rounding" in text
    assert main(["prove", a, c, *BUFFERS, "--witness", str(folder / "w"), "--json"]) == 1
    facts = json.loads(capsys.readouterr().out)
    assert facts["answer"] == "different"
    assert np.load(folder / "w" / "x.npy").shape == (3, 32)
    given = ["--buf", f"x=@{folder / 'w' / 'x.npy'}", "--buf", "y=out[3,32]", "--grid", "3"]
    assert main(["prove", a, c, *given]) == 1


def test_a_plan_with_two_launches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(folder.as_posix()), "utf-8")
    assert main(["prove", str(plan), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["shapes"] == [{"n": 40}, {"n": 7}]


def test_bits(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("z3")
    a, b = (str(folder / f"{name}.mlir") for name in "ab")
    assert main(["prove", a, a, "--bits"]) == 0
    assert "the same bits" in capsys.readouterr().out
    assert main(["prove", a, b, "--bits"]) == 3
    assert capsys.readouterr().out.startswith("undecided: not proven: what a store writes")


def test_recorded_launches(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tilery.engines.common.cutile_abi import ArrayExtent

    x, y = np.ones((3, 32), np.float32), np.zeros((3, 32), np.float32)
    for name in "abc":
        made = tilery.load(folder / f"{name}.mlir")
        memory = [ArrayExtent(n, v.ctypes.data, v.nbytes) for n, v in (("x", x), ("y", y))]
        pointers = [v.ctypes.data for v in (x, y)]
        save(folder / f"{name}.zip", capture(made, tilery.dumps(made), "k", (3, 1, 1), pointers, memory, ["x", "y"]))
    assert main(["prove", str(folder / "a.zip"), str(folder / "b.zip")]) == 0
    assert main(["prove", str(folder / "a.zip"), str(folder / "c.zip")]) == 1
    assert main(["prove", str(folder / "a.zip"), str(folder / "c.mlir")]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "prove needs A and B"),
        (["B"], "nothing is compared"),
        (["B", "--buf", "x=what"], "expected real[...]"),
        (["B", "--buf", "x"], "expected NAME=SPEC"),
        (["B", "--size", "n=x"], "expected NAME or NAME=N,N"),
        (["B", "--buf", "x=real[k]", "--buf", "y=out[3,32]"], "there is no size 'k'"),
        (["B", "--buf", "x=real[3,32]", "--buf", "y=out[3,32]", "--grid", "1/2"], "expected + - *"),
        (["B", "--buf", "x=real[3,32]", "--buf", "y=out[3,32]", "--args", "x,y,z"], "there is no size 'z'"),
        (["B", *BUFFERS, "--out", "y", "--out", "z"], "the output 'z' is not a buffer"),
        (["B", "--buf", "x=@words.npy", "--buf", "y=out[3,32]"], "elements of type <U1"),
        (["B", "--buf", "x=@complex.npy", "--buf", "y=out[3,32]"], "elements of type complex128"),
    ],
)
def test_mistakes(folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str) -> None:
    a = str(folder / "a.mlir")
    np.save(folder / "words.npy", np.array(["a"]))
    np.save(folder / "complex.npy", np.ones((3, 32), complex))
    options = [o.replace("@", f"@{folder}/") for o in options]
    assert main(["prove", a, *(a if o == "B" else o for o in options)]) in (1, 2)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[", "sizes = 3", "x = 1", "[[a]]\ngrid = '1'", "[sizes]\nn = 'x'"])
def test_broken_plans(text: str) -> None:
    with pytest.raises(tilery.TileError):
        parse_plan(text)


def test_outs_and_scratch_of_a_plan_are_checked() -> None:
    plan = PLAN.format("folder")
    with pytest.raises(tilery.TileError, match="'outs' must be a list"):
        parse_plan(plan.replace('outs = ["y"]', "outs = 5"))
    with pytest.raises(tilery.TileError, match=r"no 'scratch\.c'"):
        parse_plan(plan.replace("scratch.b", "scratch.c"))


@pytest.mark.parametrize("spec", ["real[0]", "real[3]", "zeros"])
def test_a_number_has_no_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: str) -> None:
    file = tmp_path / "k.mlir"
    file.write_text(
        """entry @k(%n: tile<i32>, %f: tile<f32>, %y: tile<ptr<f32>>) {
  %t = store_ptr_tko weak %y, %f : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""
    )
    given = ["prove", str(file), str(file), "--buf", "n=real", "--buf", "y=out[1]"]
    assert main([*given, "--buf", f"f={spec}", "--args", "3,f,y"]) == 1
    assert "'f' is passed as a number of type f32" in capsys.readouterr().err
    assert main([*given, "--buf", "f=real", "--args", "n,f,y"]) == 1
    assert "'n' is passed as a number of type i32" in capsys.readouterr().err
    assert main([*given, "--buf", "f=real", "--args", "3,f,y"]) == 0
    assert "for this launch, `y` is the same function of" in capsys.readouterr().out


def test_a_witness_stays_in_its_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, c = (str(folder / f"{name}.mlir") for name in "ac")
    buffers = ["--buf", "../x=real[3,32]", "--buf", "y=out[3,32]", "--grid", "3", "--witness", str(folder / "w")]
    assert main(["prove", a, c, *buffers]) == 2
    assert "its name is not a file name" in capsys.readouterr().err
    assert not (folder / "x.npy").exists()


def test_recorded_arguments_that_share_memory_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tilery.engines.common.cutile_abi import ArrayExtent

    x = np.ones((3, 32), np.float32)
    made = tilery.load(folder / "a.mlir")
    at = x.ctypes.data
    recorded = capture(made, tilery.dumps(made), "k", (3, 1, 1), [at, at], [ArrayExtent("x", at, x.nbytes)], ["x", "y"])
    save(folder / "a.zip", recorded)
    assert main(["prove", str(folder / "a.zip"), str(folder / "a.zip")]) == 1
    assert "shares its memory" in capsys.readouterr().err


def test_validate(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("z3")
    assert main(["opt", str(folder / "whole.mlir"), "--validate", "--passes", "canonicalize,cse"]) == 0
    said = capsys.readouterr().err
    assert "validate: canonicalize: @k: proven" in said
    assert "validate: cse: @k: proven" in said


CUTILE = """
import cuda.tile as ct


@ct.kernel
def shifted(x, y, TILE: ct.Constant[int]):
    r = ct.bid(0)
    v = ct.load(x, index=(r, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp(v - ct.max(v, axis=1, keepdims=True))
    ct.store(y, index=(r, 0), tile=e / ct.sum(e, axis=1, keepdims=True))


@ct.kernel
def plain(x, y, TILE: ct.Constant[int]):
    r = ct.bid(0)
    v = ct.load(x, index=(r, 0), shape=(1, TILE), padding_mode=ct.PaddingMode.NEG_INF)
    e = ct.exp2(v * 1.4426950408889634)
    ct.store(y, index=(r, 0), tile=e / ct.sum(e, axis=1, keepdims=True))
"""


def test_kernels_of_cutile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.tile")
    file = tmp_path / "softmaxes.py"
    file.write_text(CUTILE, "utf-8")
    options = ["--size", "n=70", "--buf", "x=real[4,n]", "--buf", "y=out[4,n]", "--grid", "4"]
    signature = ["--sig", "f32[4, {n}], f32[4, {n}], 128"]
    assert main(["prove", f"{file}::shifted", f"{file}::plain", *options, *signature]) == 0
    said = capsys.readouterr().out
    assert "is read as log2(e)" in said
    assert "stability: y is finite in A only" in said


ADD_CUTILE = """import cuda.tile as ct


@ct.kernel
def add(x, y, z, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(z, (i,), ct.load(x, (i,), (T,)) + ct.load(y, (i,), (T,)))
"""
ADD_TRITON = """import triton
import triton.language as tl


@triton.jit
def add(x, y, z, n, T: tl.constexpr):
    at = tl.program_id(0) * T + tl.arange(0, T)
    keep = at < n
    tl.store(z + at, tl.load(y + at, mask=keep) + tl.load(x + at, mask=keep), mask=keep)
"""


def test_cutile_and_triton_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cuda.tile", reason="needs cuTile (pip install cuda-tile)")
    pytest.importorskip("triton", reason="needs Triton")
    a, b = tmp_path / "a.py", tmp_path / "b.py"
    a.write_text(ADD_CUTILE)
    b.write_text(ADD_TRITON)
    arrays = "f32[{n}], f32[{n}], f32[{n}]"
    command = ["prove", f"{a}::add", f"{b}::add", "--size", "n=70", "--grid", "cdiv(n, 32)", "--args", "x,y,z"]
    command += ["--args-b", "x,y,z,n", "--sig", f"{arrays}, 32", "--sig-b", f"{arrays}, {{n}}, 32"]
    command += ["--buf", "x=real[n]", "--buf", "y=real[n]", "--buf", "z=out[n]"]
    assert main(command) == 0, capsys.readouterr().err
    assert "is the same function of `x` and `y`" in capsys.readouterr().out
    b.write_text(ADD_TRITON.replace("at < n", "at < n - 1"))
    assert main(command) == 1


SOURCE = """import math
import torch
import cuda.tile as ct
from .utils import helper
if torch.cuda.is_available():
    from triton.language.extra.libdevice import rsqrt
SCALE = 1 / math.log(2)
TABLE = helper(SCALE)


def twice(x):
    return x + x * SCALE


@register("scale")
@ct.kernel(occupancy=2)
def scale(x, T: ct.Constant[int]):
    y = ct.load(x, (0,), (T,))
    ct.store(x, (0,), twice(y))


@ct.kernel
def other(x):
    pass


x = y = torch.zeros(3)
scale(x)
"""


def test_a_published_kernel_is_taken_out_of_its_file() -> None:
    from proving.published import extract

    assert [line for line in extract(SOURCE, "scale").splitlines() if line] == [
        "import math",
        "import cuda.tile as ct",
        "SCALE = 1 / math.log(2)",
        "def twice(x):",
        "    return x + x * SCALE",
        "@ct.kernel(occupancy=2)",
        "def scale(x, T: ct.Constant[int]):",
        "    y = ct.load(x, (0,), (T,))",
        "    ct.store(x, (0,), twice(y))",
    ]
    with pytest.raises(tilery.TileError, match="no kernel 'scales'"):
        extract(SOURCE, "scales")
