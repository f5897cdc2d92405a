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
