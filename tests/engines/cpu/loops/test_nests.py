"""What passes do to nests: fusion, buffers filled on the side, reductions by comparison, stores past the caches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from support.loops import load
from tilery.engines.cpu.abi import Specialisation, Target
from tilery.engines.cpu.loops.nodes import (
    Buffer,
    Check,
    Const,
    Declare,
    Float,
    If,
    Int,
    Kernel,
    Kind,
    Load,
    Loop,
    Prefetch,
    Read,
    Scope,
    Shuffle,
    Stmt,
    Store,
    Value,
    Write,
    index,
    make_kernel,
    walk,
)
from tilery.engines.cpu.loops.verifier import verify
from tilery.engines.cpu.lower import lower
from tilery.engines.cpu.native.targets import TARGETS
from tilery.engines.cpu.passes.inline import inline
from tilery.engines.cpu.passes.pipeline import passes
from tilery.engines.cpu.passes.side import fill_on_the_side
from tilery.engines.cpu.passes.simplify import simplify
from tilery.types import I1, I32, I64

AVX512: Target = TARGETS["avx512"]
EXACT = Specialisation(exact=True)
KERNELS = Path(__file__).parents[4] / "bench" / "kernels"


def after(module: tilery.Module, *chosen: Callable[[Kernel], Any]) -> Kernel:
    made = lower(module, module.entries[0])
    for change in chosen:
        change(made)
        verify(made)
    return made


def bench(name: str) -> tilery.Module:
    return tilery.parse((KERNELS / f"{name}.mlir").read_text())


def tiles(kernel: Kernel) -> list[Buffer]:
    found = [s.buffer for s in walk(kernel.body) if isinstance(s, Declare)]
    return [b for b in found if b.scope is Scope.ARENA and len(b.shape) == 2]


# ---------------------------------------------------------------- fusion

SUM = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %z = constant <i32: 0> : tile<i32>
  %t = make_tensor_view %p, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %v = make_partition_view %t : partition_view<tile=(8x64), tensor_view<?x64xf32, strides=[64,1]>>
  %u = make_tensor_view %q, shape = [%n, 64], strides = [64, 1] : tile<i32> -> tensor_view<?x64xf32, strides=[64,1]>
  %w = make_partition_view %u : partition_view<tile=(8x64), tensor_view<?x64xf32, strides=[64,1]>>
  %a, %k = load_view_tko weak %v[%z, %z] : partition_view<tile=(8x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32>
    -> tile<8x64xf32>, token
  BODY
  %s = store_view_tko weak %e, %w[%z, %z] : tile<8x64xf32>,
    partition_view<tile=(8x64), tensor_view<?x64xf32, strides=[64,1]>>, tile<i32> -> token
  return }"""
ADD = """reduce %x dim=1 identities=[0.0 : f32] : tile<8x64xf32> -> tile<8xf32>
    (%one: tile<f32>, %two: tile<f32>) { %both = addf %one, %two : tile<f32>  yield %both : tile<f32> }"""


def chain(length: int) -> str:
    """Each value is used twice: fused without sharing, their number would double with every step."""
    lines = ["%x0 = addf %a, %a : tile<8x64xf32>"]
    lines += [f"%x{n + 1} = mulf %x{n}, %x{max(n - 1, 0)} : tile<8x64xf32>" for n in range(length)]
    return "\n".join([*lines, f"%e = addf %x{length}, %x{length} : tile<8x64xf32>"])


def test_a_chain_with_two_uses_of_each_value_stays_short() -> None:
    module = tilery.parse(SUM.replace("BODY", chain(30)))
    kernel = after(module, simplify, inline, simplify)
    assert len(list(walk(kernel.body))) < 300
    assert not [b for b in tiles(kernel) if b.name != "copy"]


def test_tiles_of_two_dimensions_fuse_although_rows_were_hoisted() -> None:
    scaled = "%e = mulf %a, %a : tile<8x64xf32>"
    kernel = after(tilery.parse(SUM.replace("BODY", scaled)), simplify, inline, simplify)
    assert not [b for b in tiles(kernel) if b.name != "copy"]


def test_a_sum_fills_the_buffer_of_what_it_adds() -> None:
    kernel = after(bench("softmax"), simplify, inline, simplify)
    nests = [s for s in walk(kernel.body) if isinstance(s, Loop)]
    fill_on_the_side(kernel)
    verify(kernel)
    assert len([s for s in walk(kernel.body) if isinstance(s, Loop)]) < len(nests)
    assert [b.name for b in tiles(kernel)] == ["exp"]


# ---------------------------------------------------------------- what the passes compute

ROWS = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>) {
  %z = constant <i32: 0> : tile<i32>
  %t = make_tensor_view %p, shape = [6, 64], strides = [64, 1] : tensor_view<6x64xf32, strides=[64,1]>
  %v = make_partition_view %t : partition_view<tile=(8x64), tensor_view<6x64xf32, strides=[64,1]>>
  %u = make_tensor_view %q, shape = [8], strides = [1] : tensor_view<8xf32, strides=[1]>
  %w = make_partition_view %u : partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>
  %x, %k = load_view_tko weak %v[%z, %z] : partition_view<tile=(8x64), tensor_view<6x64xf32, strides=[64,1]>>, tile<i32>
    -> tile<8x64xf32>, token
  %m = reduce %x dim=1 identities=[0.0 : f32] : tile<8x64xf32> -> tile<8xf32>
    (%one: tile<f32>, %two: tile<f32>) { %both = OP %one, %two : tile<f32>  yield %both : tile<f32> }
  %s = store_view_tko weak %m, %w[%z] : tile<8xf32>, partition_view<tile=(8), tensor_view<8xf32, strides=[1]>>,
    tile<i32> -> token
  return }"""


@pytest.mark.parametrize("op", ["maxf", "minf"])
def test_the_largest_of_a_row_is_found_by_comparisons(op: str) -> None:
    module = tilery.parse(ROWS.replace("OP", op))
    name = {"maxf": "larger", "minf": "smaller"}[op]
    assert any(isinstance(s, Float) and s.name == name for s in walk(lower(module, module.entries[0]).body))


@pytest.mark.parametrize("op", ["maxf", "minf"])
def test_zeros_and_rows_without_a_number_are_reduced_exactly(op: str) -> None:
    """Also infinities: a row of nothing but the worst number looks like one without numbers."""
    module = tilery.parse(ROWS.replace("OP", op))
    rng = np.random.default_rng(4)
    rows = rng.choice(np.array([0.0, -0.0], np.float32), (6, 64))
    rows[1, ::3] = np.nan
    rows[2] = np.nan
    rows[3] = -np.inf if op == "maxf" else np.inf
    rows[4] = rng.standard_normal(64)
    rows[5, 7:] = [np.nan] * 57
    left = []
    kernels = [
        tilery.compile(module),
        tilery.compile(module, engine="cpu"),
        load(module, *passes(AVX512, EXACT)).kernel(),
    ]
    for kernel in kernels:
        found = np.zeros(8, np.float32)
        kernel.launch(1, [rows.copy(), found])
        left.append(found.tobytes())
    assert left[0] == left[1] == left[2]


def test_a_propagated_nan_is_not_lost() -> None:
    module = tilery.parse(ROWS.replace("OP %one, %two", "maxf %one, %two propagate_nan"))
    assert not any(isinstance(s, Float) for s in walk(lower(module, module.entries[0]).body))


@pytest.mark.parametrize("kept", ["one", "two"])
def test_a_reduction_that_computes_a_maximum_and_yields_an_element(kept: str) -> None:
    text = ROWS.replace("OP", "maxf").replace("yield %both", f"yield %{kept}")
    rows = np.random.default_rng(4).standard_normal((6, 64)).astype(np.float32)
    found = [np.zeros(8, np.float32) for _ in range(2)]
    for engine, place in zip(("reference", "cpu"), found):
        tilery.compile(tilery.parse(text), engine=engine).launch(1, [rows, place])
    assert found[0].tobytes() == found[1].tobytes()


COPY = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %t = make_tensor_view %p, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %v = make_partition_view %t : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
  %u = make_tensor_view %q, shape = [%n], strides = [1] : tile<i32> -> tensor_view<?xf32, strides=[1]>
  %w = make_partition_view %u : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>
  %a, %k = load_view_tko weak %v[%b] : partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>, tile<i32>
    -> tile<128xf32>, token
  %c = addf %a, %a : tile<128xf32>
  %s = store_view_tko weak %c, %w[%b] : tile<128xf32>, partition_view<tile=(128), tensor_view<?xf32, strides=[1]>>,
    tile<i32> -> token
  return }"""


@pytest.mark.parametrize("offset", [0, 1, 4, 15])
@pytest.mark.parametrize("in_place", [False, True])
def test_whole_lines_bypass_the_caches_wherever_a_row_begins(offset: int, in_place: bool) -> None:
    """The interpreter takes this version of every nest, and demands that lines begin at lines."""
    kernel = load(tilery.parse(COPY), *passes(AVX512, EXACT)).kernel()
    raw = np.zeros(512 + 32, np.float32)
    at = (-raw.ctypes.data % 64) // 4 + offset
    x = raw[at : at + 300]
    x[:] = np.arange(300)
    out = x if in_place else np.zeros(300, np.float32)
    kernel.launch(3, [x, out, 300])
    assert (out == 2 * np.arange(300)).all() and not raw[:at].any() and not raw[at + 300 :].any()


def test_such_a_version_stores_whole_lines_and_parts_of_the_first_and_the_last() -> None:
    kernel = after(tilery.parse(COPY), *passes(AVX512, EXACT))
    versions = [s for s in walk(kernel.body) if isinstance(s, If) and s.condition is kernel.streams]
    stores = [s for each in versions for s in walk(each.then) if isinstance(s, Write) and s.streams]
    assert {s.value.lanes for s in stores} == {1, 4, 16, 64} and all(s.mask is None for s in stores)
    assert sum(isinstance(s, Write) and s.streams for s in walk(kernel.body)) == len(stores)


def test_what_is_read_again_by_a_heavy_function_is_fetched_ahead() -> None:
    assert any(isinstance(s, Prefetch) for s in walk(after(bench("softmax"), *passes(AVX512, EXACT)).body))
    assert not any(isinstance(s, Prefetch) for s in walk(after(bench("vadd"), *passes(AVX512, EXACT)).body))


def test_operands_of_the_next_product_are_fetched_while_one_is_computed() -> None:
    """A tile of 128 x 32 f32 has two lines a row, one of 32 x 128 has eight; the result has 128 blocks."""
    fetched = [s for s in walk(after(bench("gemm"), *passes(AVX512, EXACT)).body) if isinstance(s, Prefetch)]
    assert len(fetched) == (128 * 2 + 32 * 8) // 128


TWO_PRODUCTS = """entry @k(%p: tile<ptr<f32>>, %q: tile<ptr<f32>>, %n: tile<i32>) {
  %z = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %t = make_tensor_view %p, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> TENSOR
  %v = make_partition_view %t : VIEW
  %u = make_tensor_view %q, shape = [%n, %n], strides = [%n, 1] : tile<i32> -> TENSOR
  %w = make_partition_view %u : VIEW
  %zeros = constant <f32: 0.0> : tile<64x64xf32>
  %m = constant <i32: 2> : tile<i32>
  %r:2 = for %i in (%z to %m, step %one) : tile<i32> iter_values(%x = %zeros, %y = %zeros)
      -> (tile<64x64xf32>, tile<64x64xf32>) {
    %a, %ta = load_view_tko weak %v[%z, %i] : VIEW, tile<i32> -> tile<64x64xf32>, token
    %b, %tb = load_view_tko weak %v[%i, %z] : VIEW, tile<i32> -> tile<64x64xf32>, token
    %first = mmaf %a, %b, %x : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
    %c, %tc = load_view_tko weak %v[%i, %one] : VIEW, tile<i32> -> tile<64x64xf32>, token
    %second = mmaf %a, %c, %y : tile<64x64xf32>, tile<64x64xf32>, tile<64x64xf32>
    continue %first, %second : tile<64x64xf32>, tile<64x64xf32>
  }
  %s0 = store_view_tko weak %r#0, %w[%z, %z] : tile<64x64xf32>, VIEW, tile<i32> -> token
  %s1 = store_view_tko weak %r#1, %w[%z, %one] : tile<64x64xf32>, VIEW, tile<i32> -> token
  return }"""


def test_operands_that_are_loaded_after_a_product_are_not_fetched_before_they_are_known() -> None:
    tensor = "tensor_view<?x?xf32, strides=[?,1]>"
    text = TWO_PRODUCTS.replace("VIEW", f"partition_view<tile=(64x64), {tensor}>").replace("TENSOR", tensor)
    kernel = after(tilery.parse(text), *passes(AVX512, EXACT))
    assert any(isinstance(s, Prefetch) for s in walk(kernel.body))


# ---------------------------------------------------------------- squares

TURN = """entry @k(%p: tile<ptr<T>>, %q: tile<ptr<T>>) {
  %z = constant <i32: 0> : tile<i32>
  %t = make_tensor_view %p, shape = [4, 32, 64], strides = [2048, 64, 1] : SOURCE
  %v = make_partition_view %t : partition_view<tile=(4x32x64), SOURCE>
  %u = make_tensor_view %q, shape = [4, 64, 32], strides = [2048, 32, 1] : TARGET
  %w = make_partition_view %u : partition_view<tile=(4x64x32), TARGET>
  %a, %k = load_view_tko weak %v[%z, %z, %z] : partition_view<tile=(4x32x64), SOURCE>, tile<i32>
    -> tile<4x32x64xT>, token
  %b = permute %a [0, 2, 1] : tile<4x32x64xT> -> tile<4x64x32xT>
  %s = store_view_tko weak %b, %w[%z, %z, %z] : tile<4x64x32xT>, partition_view<tile=(4x64x32), TARGET>, tile<i32>
    -> token
  return }"""


@pytest.mark.parametrize("t,dtype", [("f32", np.float32), ("f64", np.float64), ("i8", np.int8), ("f16", np.float16)])
def test_squares_are_turned_in_registers(t: str, dtype: Any) -> None:
    text = TURN.replace("SOURCE", "tensor_view<4x32x64xT, strides=[2048,64,1]>")
    text = text.replace("TARGET", "tensor_view<4x64x32xT, strides=[2048,32,1]>").replace("T>", t + ">")
    module = tilery.parse(text.replace("xT,", f"x{t},"))
    chosen = passes(AVX512, EXACT)
    assert any(isinstance(s, Shuffle) for s in walk(after(module, *chosen).body))
    x = np.arange(4 * 32 * 64).reshape(4, 32, 64).astype(dtype)
    out = np.zeros((4, 64, 32), dtype)
    load(module, *chosen).kernel().launch(1, [x, out])
    assert (out == x.transpose(0, 2, 1)).all()


def test_checks_do_not_pass_to_a_load_that_may_not_run() -> None:
    """A nest that may load each element does not do the checks; later ones load the buffer, because memory changed."""
    place, yes = Value(I64, 1, "place"), Value(I1, 1, "yes")
    kernel = make_kernel("k", [place, yes], [])
    tile, one, two = (Buffer(I32, (4,), name=name) for name in ("tile", "one", "two"))

    def nest(fill: Callable[[Value], list[Stmt]]) -> Loop:
        i = Value(I64)
        return Loop(Kind.PARALLEL, i, index(0), index(4), fill(i))

    def checked(i: Value) -> list[Stmt]:
        x, good = Value(I32), Value(I1)
        return [Read(x, place), Int(good, "ne", (x, Const(I32, 5))), Check(good, 0), Store(tile, (i,), x)]

    def perhaps(i: Value) -> list[Stmt]:
        x = Value(I32)
        return [If(yes, [Load(x, tile, (i,)), Store(one, (i,), x)])]

    def copied(i: Value) -> list[Stmt]:
        x = Value(I32)
        return [Load(x, tile, (i,)), Store(two, (i,), x)]

    def written(i: Value) -> list[Stmt]:
        x, y = Value(I32), Value(I32)
        return [Load(x, one, (i,)), Load(y, two, (i,)), Write(place, x), Write(place, y)]

    body: list[Stmt] = [*(Declare(b) for b in (tile, one, two)), nest(checked), nest(perhaps)]
    body += [Write(place, Const(I32, 1)), nest(copied), nest(written)]
    kernel.body.append(Loop(Kind.GRID, Value(I64), index(0), index(1), body))
    inline(kernel)
    inside = {id(each) for s in walk(kernel.body) if isinstance(s, If) for each in walk(s.then)}
    assert [s for s in walk(kernel.body) if isinstance(s, Check) and id(s) not in inside]
