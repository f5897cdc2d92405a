"""Matrix products in loops, of all element types and many shapes, against the reference engine."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilery

pytest.importorskip("llvmlite")

from tilery.attrs import Signedness
from tilery.engines.cpu import launch
from tilery.engines.cpu.abi import ALLOWED_SYMBOLS, Target
from tilery.engines.cpu.native.build import lower_kernel
from tilery.engines.cpu.native.compiler import compile_texts, host
from tilery.engines.cpu.native.objects import Code
from tilery.engines.cpu.native.targets import TARGETS
from tilery.engines.cpu.targets import machine_of
from tilery.ir import walk
from tilery.ops import MmaI

TYPES = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "tf32": np.float32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "i8": np.int8, "i32": np.int32,
}  # fmt: skip

LEAVING = """entry @k(%a: tile<ptr<i8>>, %c: tile<ptr<i32>>) {
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %n = constant <i32: 3> : tile<i32>
  %ta = make_tensor_view %a, shape = [64,64], strides = [64,1] : tensor_view<64x64xi8, strides=[64,1]>
  %tc = make_tensor_view %c, shape = [64,64], strides = [64,1] : tensor_view<64x64xi32, strides=[64,1]>
  %pa = make_partition_view %ta : VIEWxi8
  %pc = make_partition_view %tc : VIEWxi32
  %l, %t = load_view_tko weak %pa[%z,%z] : VIEWxi8, tile<i32> -> tile<64x64xi8>, token
  %o = constant <i32: 0> : tile<64x64xi32>
  %large = constant <i32: 2147483600> : tile<64x64xi32>
  %r = for %i in (%z to %n, step %one) : tile<i32> iter_values(%acc = %o) -> (tile<64x64xi32>) {
    %first = cmpi equal %i, %z, signed : tile<i32> -> tile<i1>
    if %first {
      continue %large : tile<64x64xi32>
    }
    %d = mmai %l, %l, %acc signed signed : tile<64x64xi8>, tile<64x64xi8>, tile<64x64xi32>
    continue %d : tile<64x64xi32>
  }
  %s = store_view_tko weak %r, %pc[%z,%z] : tile<64x64xi32>, VIEWxi32, tile<i32> -> token
  return
}"""


def module(op: str, t: str, r: str, m: int, n: int, k: int, start: str, edge: int, transposed: bool) -> Any:
    """A loop over three tiles of K, the last of which is cut; `start` is the first accumulator."""
    whole = 3 * k - edge
    rows, columns = ("%j", "%l") if transposed else ("%l", "%j")
    sizes = f"{n}x{whole}" if transposed else f"{whole}x{n}"
    tile = f"{n}x{k}" if transposed else f"{k}x{n}"
    turn = f"%y = permute %y0 [1, 0] : tile<{n}x{k}x{t}> -> tile<{k}x{n}x{t}>"
    step = whole if transposed else n
    a, b = f"tensor_view<{m}x{whole}x{t}, strides=[{whole},1]>", f"tensor_view<{sizes}x{t}, strides=[{step},1]>"
    c = f"tensor_view<{m}x{n}x{r}, strides=[{n},1]>"
    name = "%y0" if transposed else "%y"
    signs = " signed unsigned" if op == "mmai" else ""
    text = f"""entry @k(%a: tile<ptr<{t}>>, %b: tile<ptr<{t}>>, %c: tile<ptr<{r}>>) {{
  %z = constant <{r}: {start}> : tile<{m}x{n}x{r}>
  %j = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %end = constant <i32: 3> : tile<i32>
  %ta = make_tensor_view %a, shape = [{m}, {whole}], strides = [{whole}, 1] : {a}
  %tb = make_tensor_view %b, shape = [{sizes.replace("x", ", ")}], strides = [{step}, 1] : {b}
  %tc = make_tensor_view %c, shape = [{m}, {n}], strides = [{n}, 1] : {c}
  %pa = make_partition_view %ta : partition_view<tile=({m}x{k}), padding_value = zero, {a}>
  %pb = make_partition_view %tb : partition_view<tile=({tile}), padding_value = zero, {b}>
  %pc = make_partition_view %tc : partition_view<tile=({m}x{n}), {c}>
  %s = for %l in (%j to %end, step %one) : tile<i32> iter_values(%acc = %z) -> (tile<{m}x{n}x{r}>) {{
    %x, %t0 = load_view_tko weak %pa[%j, %l] : partition_view<tile=({m}x{k}), padding_value = zero, {a}>, tile<i32>
      -> tile<{m}x{k}x{t}>, token
    {name}, %t1 = load_view_tko weak %pb[{rows}, {columns}] : partition_view<tile=({tile}), padding_value = zero, {b}>,
      tile<i32> -> tile<{tile}x{t}>, token
    {turn if transposed else ""}
    %p = {op} %x, %y, %acc{signs} : tile<{m}x{k}x{t}>, tile<{k}x{n}x{t}>, tile<{m}x{n}x{r}>
    continue %p : tile<{m}x{n}x{r}>
  }}
  %t2 = store_view_tko weak %s, %pc[%j, %j] : tile<{m}x{n}x{r}>, partition_view<tile=({m}x{n}), {c}>, tile<i32> -> token
  return
}}"""
    made = tilery.parse("\n".join(line for line in text.splitlines() if line.strip()))
    shapes = [(m, whole), (n, whole) if transposed else (whole, n), (m, n)]
    rng = np.random.default_rng(m * n + k)
    if op == "mmai":
        args = [rng.integers(-128, 128, s).astype(np.int8) for s in shapes[:2]]
    else:
        args = [rng.standard_normal(s).astype(np.float32).astype(TYPES[t]) for s in shapes[:2]]
    return made, [*args, np.zeros(shapes[2], TYPES[r])]


def run(made: Any, args: list[Any], **options: Any) -> Any:
    """Run on the reference engine, or with options on this one; return the result."""
    out = np.zeros_like(args[-1])
    kernel = launch.load(made, **options).kernel() if options else tilery.compile(made)
    kernel.launch(1, [*args[:-1], out])
    return out


SHAPES = [(8, 8, 8), (16, 32, 16), (64, 64, 32), (128, 64, 64), (1, 16, 32), (4, 2, 4), (32, 1, 8)]


PAIRS = [("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("f32", "f32"), ("tf32", "f32"), ("f64", "f64"),
         ("f8E4M3FN", "f32"), ("f8E5M2", "f16")]  # fmt: skip
FLOATS = [
    (*pair, SHAPES[(n + 3 * k) % len(SHAPES)], bool((n + k) % 2)) for n, pair in enumerate(PAIRS) for k in range(3)
]
INTEGERS = list(zip([*SHAPES, (8, 8, 1), (64, 64, 64)], ["0", "2147483000", "-2147483648"] * 3, [False, True] * 5))


@pytest.mark.parametrize(("t", "r", "shape", "transposed"), FLOATS)
def test_floats(t: str, r: str, shape: tuple[int, int, int], transposed: bool) -> None:
    made, args = module("mmaf", t, r, *shape, "0.0", 3, transposed)
    want = run(made, args)
    assert run(made, args, exact=True).tobytes() == want.tobytes()
    found = run(made, args, exact=False).astype(np.float64)
    bound = np.abs(args[0].astype(np.float64)) @ np.abs((args[1].T if transposed else args[1]).astype(np.float64))
    assert (np.abs(found - want.astype(np.float64)) <= bound * (2e-3 if r == "f16" else 2e-6) + 1e-30).all()


@pytest.mark.parametrize(("shape", "start", "transposed"), INTEGERS)
def test_integers(shape: tuple[int, int, int], start: str, transposed: bool) -> None:
    made, args = module("mmai", "i8", "i32", *shape, start, 0 if shape[2] == 1 else 1, transposed)
    assert run(made, args, exact=False).tobytes() == run(made, args).tobytes()


SIGNS = [(left, right) for left in Signedness for right in Signedness]
SIZES = [((64, 64, 64), False), ((128, 64, 64), True), ((16, 32, 16), True), ((1, 16, 4), False), ((8, 8, 32), True)]


@pytest.mark.parametrize("signs", SIGNS, ids=lambda signs: f"{signs[0].value}-{signs[1].value}")
@pytest.mark.parametrize(("shape", "transposed"), SIZES)
def test_signs_of_integers(shape: tuple[int, int, int], transposed: bool, signs: tuple[Signedness, Signedness]) -> None:
    made, args = module("mmai", "i8", "i32", *shape, "0", 1, transposed)
    (product,) = (o for o in walk(made) if isinstance(o, MmaI))
    product.signedness_lhs, product.signedness_rhs = signs
    args[0][0], args[1][:, 0] = -128, -128
    lowered = lower_kernel(made, made.entries[0], False, host()) or pytest.fail("not lowered")
    if "amx-int8" not in host().features:
        size = host().vector_bytes
        assert ("vpdpbusd" in lowered.text) is ("i8.us" in machine_of(host()).dots and shape[1] >= size // 4)
    assert run(made, args, exact=False).tobytes() == run(made, args).tobytes()


@pytest.mark.skipif("avx512vnni" not in host().features, reason="the processor has no products of four bytes")
@pytest.mark.parametrize("signs", SIGNS, ids=lambda signs: f"{signs[0].value}-{signs[1].value}")
def test_short_vectors_of_four_bytes(signs: tuple[Signedness, Signedness]) -> None:
    """Lowered for a processor with vectors of 256 bits, and compiled for this one, which has the same instruction."""
    made, args = module("mmai", "i8", "i32", 16, 32, 16, "7", 1, False)
    (product,) = (o for o in walk(made) if isinstance(o, MmaI))
    product.signedness_lhs, product.signedness_rhs = signs
    avx2 = TARGETS["avx2"]
    short = Target(avx2.triple, "alderlake", avx2.features | {"avxvnni"})
    lowered = lower_kernel(made, made.entries[0], False, short) or pytest.fail("not lowered")
    assert "vpdpbusd.256" in lowered.text and "vpdpbusd" in str(compile_texts([lowered.text], short, "asm")[0])
    kernel = launch.load(made).kernel()
    kernel.lowered, kernel.code = lowered, Code((compile_texts([lowered.text], host())[0], ALLOWED_SYMBOLS))
    kernel.address = kernel.code.address("run")
    out = np.zeros_like(args[-1])
    kernel.launch(1, [*args[:-1], out], threads=1)
    assert out.tobytes() == run(made, args).tobytes()


@pytest.mark.parametrize("target", ["avx2", "neon"])
@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
@pytest.mark.parametrize(("op", "t", "r"), [("mmaf", "f16", "f32"), ("mmaf", "f64", "f64"), ("mmai", "i8", "i32")])
def test_short_vectors(op: str, t: str, r: str, transposed: bool, target: str) -> None:
    """Lowered for another processor, without its own instructions, and compiled for this one."""
    made, args = module(op, t, r, 16, 64, 64, "7" if op == "mmai" else "0.0", 1, transposed)
    lowered = lower_kernel(made, made.entries[0], False, TARGETS[target]) or pytest.fail("not lowered")
    kernel = launch.load(made).kernel()
    kernel.lowered, kernel.code = lowered, Code((compile_texts([lowered.text], host())[0], ALLOWED_SYMBOLS))
    kernel.address = kernel.code.address("run")
    out = np.zeros_like(args[-1])
    kernel.launch(1, [*args[:-1], out], threads=1)
    assert out.tobytes() == run(made, args, exact=False).tobytes()


REPEATED = """entry @k(%n: tile<i32>, %a: tile<ptr<i8>>, %b: tile<ptr<i8>>, %c: tile<ptr<i32>>) {
  %z = constant <i32: 0> : tile<32x32xi32>
  %zero = constant <i32: 0> : tile<i32>
  %first = constant <i32: -5> : tile<i32>
  %step = constant <i32: 3> : tile<i32>
  %ta = make_tensor_view %a, shape = [32, 512], strides = [512, 1] : tensor_view<32x512xi8, strides=[512,1]>
  %tb = make_tensor_view %b, shape = [512, 32], strides = [32, 1] : tensor_view<512x32xi8, strides=[32,1]>
  %tc = make_tensor_view %c, shape = [32, 32], strides = [32, 1] : tensor_view<32x32xi32, strides=[32,1]>
  %pa = make_partition_view %ta : partition_view<tile=(32x512), tensor_view<32x512xi8, strides=[512,1]>>
  %pb = make_partition_view %tb : partition_view<tile=(512x32), tensor_view<512x32xi8, strides=[32,1]>>
  %pc = make_partition_view %tc : partition_view<tile=(32x32), tensor_view<32x32xi32, strides=[32,1]>>
  %x, %t0 = load_view_tko weak %pa[%zero, %zero] :
    partition_view<tile=(32x512), tensor_view<32x512xi8, strides=[512,1]>>, tile<i32> -> tile<32x512xi8>, token
  %y, %t1 = load_view_tko weak %pb[%zero, %zero] :
    partition_view<tile=(512x32), tensor_view<512x32xi8, strides=[32,1]>>, tile<i32> -> tile<512x32xi8>, token
  %s = for %l in (%first to %n, step %step) : tile<i32> iter_values(%acc = %z) -> (tile<32x32xi32>) {
    %p = mmai %x, %y, %acc signed signed : tile<32x512xi8>, tile<512x32xi8>, tile<32x32xi32>
    continue %p : tile<32x32xi32>
  }
  %t2 = store_view_tko weak %s, %pc[%zero, %zero] :
    tile<32x32xi32>, partition_view<tile=(32x32), tensor_view<32x32xi32, strides=[32,1]>>, tile<i32> -> token
  return
}"""


@pytest.mark.parametrize("signs", SIGNS, ids=lambda signs: f"{signs[0].value}-{signs[1].value}")
def test_integers_from_outside_a_loop(signs: tuple[Signedness, Signedness]) -> None:
    made, rng = tilery.parse(REPEATED), np.random.default_rng(2)
    (product,) = (o for o in walk(made) if isinstance(o, MmaI))
    product.signedness_lhs, product.signedness_rhs = signs
    args = [np.int32(7), *(rng.integers(-128, 128, size).astype(np.int8) for size in ((32, 512), (512, 32)))]
    out, want = np.zeros((32, 32), np.int32), np.zeros((32, 32), np.int32)
    tilery.compile(made).launch(1, [*args, want])
    tilery.compile(made, engine="cpu").launch(1, [*args, out])
    assert out.tobytes() == want.tobytes() and want.any()


def test_sums_from_zero_on_saturate_after_many_products() -> None:
    """No sum can saturate in the first 255 iterations of the loop, and those of the first rows do in the next."""
    made, rng = tilery.parse(REPEATED), np.random.default_rng(1)
    a, b = (rng.integers(-128, 128, size).astype(np.int8) for size in ((32, 512), (512, 32)))
    a[:4], b[:, 3:5] = -128, -128
    b[:, 4] = 127
    for iterations in (1, 255, 256, 300):
        out, want = np.zeros((32, 32), np.int32), np.zeros((32, 32), np.int32)
        for c, engine in ((want, "reference"), (out, "cpu")):
            tilery.compile(made, engine=engine).launch(1, [np.int32(3 * iterations - 5), a, b, c])
        assert out.tobytes() == want.tobytes()
        assert bool(want[0, 3] == 2**31 - 1) is (iterations > 255)


def test_an_early_continue_gives_another_accumulator() -> None:
    """The first iteration ends in a branch, with sums that saturate in the second one."""
    text = LEAVING
    for name in ("i8", "i32"):
        text = text.replace(f"VIEWx{name}", f"partition_view<tile=(64x64), tensor_view<64x64x{name}, strides=[64,1]>>")
    a = np.full((64, 64), 100, np.int8)
    found = []
    for engine in ("reference", "cpu"):
        c = np.zeros((64, 64), np.int32)
        tilery.compile(tilery.parse(text), engine=engine).launch(1, [a, c])
        found.append(c)
    assert (found[0] == 2**31 - 1).all() and (found[1] == found[0]).all()


bf16 = pytest.mark.skipif("avx512bf16" not in host().features, reason="the processor has no products of bf16")


@bf16
@pytest.mark.parametrize("transposed", [False, True], ids=["plain", "transposed"])
@pytest.mark.parametrize("at", [0, 100, 191])
def test_tiny_numbers_of_bf16_are_not_lost(at: int, transposed: bool) -> None:
    """The processor's products take subnormal numbers for 0, so tiny ones go another way."""
    made, args = module("mmaf", "bf16", "f32", 64, 64, 64, "0.0", 0, transposed)
    assert "dpbf16ps" in (lower_kernel(made, made.entries[0], False, host()) or pytest.fail("not lowered")).text
    args[0][...] = 0
    args[0][3, at] = 2.0**-130
    args[1][...] = 2.0**3
    want = run(made, args)
    assert want[3].max() > 0
    assert run(made, args, exact=False).tobytes() == want.tobytes()


@bf16
def test_products_of_bf16_keep_infinities_and_nans() -> None:
    made, args = module("mmaf", "bf16", "f32", 64, 64, 64, "0.0", 0, False)
    args[0][0, 0], args[0][1, 1], args[1][5, 7] = np.inf, np.nan, -np.inf
    want, found = run(made, args), run(made, args, exact=False)
    same = np.isfinite(want)
    assert (np.isfinite(found) == same).all() and found[~same].tobytes() == want[~same].tobytes()


@bf16
def test_sums_that_do_not_start_at_zero_are_not_flushed() -> None:
    made, args = module("mmaf", "bf16", "f32", 64, 64, 64, "1.0e-40", 0, False)
    args[0][...] = 0
    assert run(made, args, exact=False).tobytes() == run(made, args).tobytes()


@pytest.mark.parametrize("t", ["f32", "f64"])
def test_which_nan_a_sum_is_does_not_matter_if_it_is_narrowed(t: str) -> None:
    made, args = module("mmaf", t, t, 64, 64, 64, "0.0", 0, False)
    text = launch.emit(made, None, "llvm", target="avx512", exact=True)
    assert isinstance(text, str)
    assert ("@llvm.fma.v8f64" in text) == (t == "f32")  # the reference engine rounds each step in f64
    assert ("fcmp uno <8 x double>" in text) == (t == "f64")
    args[0][3, 5], args[0][4, 6], args[1][6, 7] = np.nan, np.inf, 0
    args[0].view(f"u{args[0].itemsize}")[5, 1] |= 0x7FF1 << 8 * args[0].itemsize - 16  # another NaN
    assert run(made, args, exact=True).tobytes() == run(made, args).tobytes()
