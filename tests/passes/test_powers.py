"""`pow-to-product`: squares become products with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import tilery

SQUARE = """
cuda_tile.module @m {{
  entry @k(%x: tile<ptr<{kind}>>, %y: tile<ptr<{kind}>>) {{
    %i = iota : tile<4096xi32>
    %two = constant <{kind}: {power}> : tile<{kind}>
    %row = reshape %two : tile<{kind}> -> tile<1x{kind}>
    %n = broadcast %row : tile<1x{kind}> -> tile<4096x{kind}>
    %a = reshape %x : tile<ptr<{kind}>> -> tile<1xptr<{kind}>>
    %b = broadcast %a : tile<1xptr<{kind}>> -> tile<4096xptr<{kind}>>
    %from = offset %b, %i : tile<4096xptr<{kind}>>, tile<4096xi32> -> tile<4096xptr<{kind}>>
    %c = reshape %y : tile<ptr<{kind}>> -> tile<1xptr<{kind}>>
    %d = broadcast %c : tile<1xptr<{kind}>> -> tile<4096xptr<{kind}>>
    %to = offset %d, %i : tile<4096xptr<{kind}>>, tile<4096xi32> -> tile<4096xptr<{kind}>>
    %v, %t = load_ptr_tko weak %from : tile<4096xptr<{kind}>> -> tile<4096x{kind}>, token
    %p = fpowf %v, %n : tile<4096x{kind}>
    %u = store_ptr_tko weak %to, %p token=%t : tile<4096xptr<{kind}>>, tile<4096x{kind}> -> token
    return
  }}
}}
"""


def changed(kind: str, power: str) -> tuple[tilery.Module, tilery.Module]:
    before = tilery.parse(SQUARE.format(kind=kind, power=power))
    return before, tilery.optimize(before, "pow-to-product")


@pytest.mark.parametrize("kind", ["f16", "bf16", "f32"])
def test_all_bits_are_the_same(kind: str) -> None:
    """Every number of 16 bits, and a sample of f32 with all exponents."""
    before, after = changed(kind, "2.0")
    assert "mulf" in tilery.show(after) and "fpowf" not in tilery.show(after)
    number = np.arange(1 << 16, dtype=np.uint16)
    values = number if kind != "f32" else (number.astype(np.uint32) << 16) ^ (number * np.uint32(40503))
    for block in values.reshape(-1, 4096):
        results = [np.zeros_like(block), np.zeros_like(block)]
        for module, result in zip((before, after), results):
            tilery.compile(module).launch(1, [block.copy(), result])
        assert (results[0] == results[1]).all()


@pytest.mark.parametrize("power", ["2.5", "-2.0", "0x4000"])
def test_only_squares(power: str) -> None:
    assert ("mulf" in tilery.show(changed("f16", power)[1])) is (power == "0x4000")


def test_f64_stays() -> None:
    assert "mulf" not in tilery.show(changed("f64", "2.0")[1])


def test_integer_powers() -> None:
    text = """cuda_tile.module @m { entry @k(%x: tile<f32>, %n: tile<i32>) {
        %two = constant <i32: 2> : tile<i32>
        %a = fpowi %x, %two : tile<f32>, tile<i32>
        %b = fpowi %x, %n : tile<f32>, tile<i32>
        %t = print_tko "%f %f", %a, %b : tile<f32>, tile<f32> -> token
        return } }"""
    shown = tilery.show(tilery.optimize(tilery.parse(text), "pow-to-product"))
    assert shown.count("mulf") == shown.count("fpowi") == 1
