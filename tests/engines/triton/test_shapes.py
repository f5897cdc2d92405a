"""Operands of products keep the shape in which they were loaded, so that Triton leaves them in shared memory."""

from __future__ import annotations

import tilery
from tilery.engines.triton.config import HOST, Config
from tilery.engines.triton.lower import lower
from tilery.engines.triton.targets import find_target
from tilery.engines.triton.versions import dialect_of

TENSOR = "tensor_view<8x64x64xf16, strides=[4096,64,1]>"
VIEW = f"partition_view<tile=(1x64x64), {TENSOR}>"
PRODUCT = f"""
cuda_tile.module @m {{
  entry @k(%a: tile<ptr<f16>>, %c: tile<ptr<f16>>) {{
    %pa = assume div_by<16>, %a : tile<ptr<f16>>
    %pc = assume div_by<16>, %c : tile<ptr<f16>>
    %t = make_tensor_view %pa, shape = [8, 64, 64], strides = [4096, 64, 1] : {TENSOR}
    %u = make_tensor_view %pc, shape = [8, 64, 64], strides = [4096, 64, 1] : {TENSOR}
    %v = make_partition_view %t : {VIEW}
    %w = make_partition_view %u : {VIEW}
    %0 = constant <i32: 0> : tile<i32>
    %x, %tx = load_view_tko weak %v[%0, %0, %0] : {VIEW}, tile<i32> -> tile<1x64x64xf16>, token
    %y = reshape %x : tile<1x64x64xf16> -> tile<64x64xf16>
    %z = constant <f32: 0.0> : tile<64x64xf32>
    %p = mmaf %y, %y, %z : tile<64x64xf16>, tile<64x64xf16>, tile<64x64xf32>
    %q = reshape %p : tile<64x64xf32> -> tile<1x64x64xf32>
    %r = ftof %q : tile<1x64x64xf32> -> tile<1x64x64xf16>
    %s = store_view_tko weak %r, %w[%0, %0, %0] : tile<1x64x64xf16>, {VIEW}, tile<i32> -> token
    return
  }}
}}
"""


def text_of(source: str) -> str:
    module = tilery.parse(source)
    config = Config(4, 3, HOST)
    return lower(module, module.entries[0], find_target("sm_90"), config, dialect_of("3.6.0")).text


def test_a_shape_of_a_shape_is_that_of_the_first_value() -> None:
    text = text_of(PRODUCT)
    assert "tt.reshape" not in text
    assert "-> tensor<64x64xf16>" in next(line for line in text.splitlines() if "tt.descriptor_load" in line)


def test_results_are_converted_and_stored_without_unit_dimensions() -> None:
    text = text_of(PRODUCT)
    assert "arith.truncf" in text and "arith.truncf %" in text
    assert "1x64x64xf32> to" not in text
    assert ", tensor<64x64xf16>" in next(line for line in text.splitlines() if "tt.descriptor_store" in line)


NEGATED = """
cuda_tile.module @m {{
  entry @k(%p: tile<ptr<f32>>) {{
    %x, %t = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
    %n = negf %x : tile<f32>
    {use}
    %s = store_ptr_tko weak %p, %r : tile<ptr<f32>>, tile<f32> -> token
    return
  }}
}}
"""


def test_a_negated_number_keeps_its_sign_unless_arithmetic_follows() -> None:
    assert "arith.xori" in text_of(NEGATED.format(use="%r = select %c, %n, %x : tile<i1>, tile<f32>").replace(
        "%n = negf", "%c = cmpf equal ordered %x, %x : tile<f32> -> tile<i1>\n    %n = negf"))  # fmt: skip
    arithmetic = text_of(NEGATED.format(use="%r = addf %n, %x : tile<f32>"))
    assert "arith.xori" not in arithmetic and "arith.subf" in arithmetic


SMALL = """
entry @k(%p: tile<ptr<{result}>>) {{
  %l = constant <{element}: {one}> : tile<{m}x{k}x{element}>
  %r = constant <{element}: {one}> : tile<{k}x{n}x{element}>
  %c = constant <{result}: {zero}> : tile<{m}x{n}x{result}>
  %d = {mma} %l, %r, %c{signs} : tile<{m}x{k}x{element}>, tile<{k}x{n}x{element}>, tile<{m}x{n}x{result}>
  %i = iota : tile<{n}xi32>
  %j = reshape %i : tile<{n}xi32> -> tile<1x{n}xi32>
  %o = broadcast %j : tile<1x{n}xi32> -> tile<{m}x{n}xi32>
  %q = reshape %p : tile<ptr<{result}>> -> tile<1x1xptr<{result}>>
  %w = broadcast %q : tile<1x1xptr<{result}>> -> tile<{m}x{n}xptr<{result}>>
  %x = offset %w, %o : tile<{m}x{n}xptr<{result}>>, tile<{m}x{n}xi32> -> tile<{m}x{n}xptr<{result}>>
  %s = store_ptr_tko weak %x, %d : tile<{m}x{n}xptr<{result}>>, tile<{m}x{n}x{result}> -> token
  return
}}"""


def product(m: int, n: int, k: int, element: str = "f16", warps: int = 4, signs: str = " signed signed") -> str:
    integers = element == "i8"
    words = {"one": 1, "zero": 0, "mma": "mmai", "signs": signs, "result": "i32"}
    if not integers:
        words = {"one": 1.0, "zero": 0.0, "mma": "mmaf", "signs": "", "result": "f64" if element == "f64" else "f32"}
    module = tilery.parse(SMALL.format(m=m, n=n, k=k, element=element, **words))
    assert not tilery.verify(module)
    config = Config(warps, 3, HOST)
    return lower(module, module.entries[0], find_target("sm_90"), config, dialect_of("3.6.0")).text


def test_products_with_few_rows_are_transposed() -> None:
    text = product(8, 128, 128)
    assert "tt.dot" in text and "tensor<128x128xf16> * tensor<128x8xf16> -> tensor<128x8xf32>" in text


def test_rows_and_columns_that_are_too_few_are_repeated() -> None:
    assert "* tensor<128x8xf16> -> tensor<128x8xf32>" in product(2, 128, 128), "transposed, and two columns four times"
    assert "tensor<16x1024xf16> * tensor<1024x8xf16>" in product(8, 8, 1024)


def test_products_that_must_be_exact_are_computed_step_by_step() -> None:
    assert "tt.dot" not in product(8, 32, 32)
    assert "tt.dot" not in product(8, 128, 128, "f64")


def test_only_instructions_that_wrap_add_to_accumulators_of_integers() -> None:
    direct, later = "tensor<128x8xi8> -> tensor<128x8xi32>", "arith.subi"
    assert direct in product(8, 128, 128, "i8") and later not in product(8, 128, 128, "i8")
    assert later not in product(128, 128, 128, "i8")
    assert later in product(128, 128, 128, "i8", warps=2), "mma.sync saturates"
    assert later in product(16, 32, 128, "i8")
