"""Constants from numbers, types from text, and kernels by name."""

from __future__ import annotations

import math
import struct

import pytest

import tilery
from tilery import TileError, types
from tilery.attrs import Dense, FloatAttr, IntAttr
from tilery.types import F16, F32, I1, I4, I8, I32, SCALARS, Ptr, Tile


def test_a_float_fills_a_tile() -> None:
    assert Dense.of(Tile((4,), F32), [1.5]) == Dense(Tile((4,), F32), struct.pack("<f", 1.5))


def test_negative_integers() -> None:
    assert Dense.of(Tile((4,), I32), [-1]).data == b"\xff" * 4
    assert Dense.of(Tile((2,), I8), [-1, 2]).data == b"\xff\x02"
    assert Dense.of(Tile((2,), I4), [-1, 7]).elements() == [15, 7]


def test_integers_remain_the_bits_of_floats() -> None:
    assert Dense.of(Tile((), F32), [0x3F800000]) == Dense.of(Tile((), F32), [1.0])


def test_the_sign_of_zero_is_kept() -> None:
    assert Dense.of(Tile((2,), F16), [0.0, -0.0]).elements() == [0, 0x8000]


def test_booleans() -> None:
    assert Dense.of(Tile((4,), I1), [True, False, True, True]).elements() == [1, 0, 1, 1]


@pytest.mark.parametrize("name", [name for name, s in SCALARS.items() if s.is_float])
def test_floats_of_every_type(name: str) -> None:
    element = SCALARS[name]
    shape = (2,) if element.is_packed else ()
    text = tilery.parse(f"entry @k() {{ %0 = constant <{name}: 1.5> : {Tile(shape, element)} return }}", verify=False)
    constant = text.entries[0].body.ops[0]
    if name == "f8E8M0FNU":  # powers of two only: 1.5 is between 1 and 2, and 2 is even
        assert FloatAttr.of(element, 2.0).bits == FloatAttr.of(element, 1.5).bits
    else:
        assert Dense.of(Tile(shape, element), [1.5]) == constant.value  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("element", "value", "said"),
    [
        ("f16", 1e30, "f16 cannot represent 1e+30"),
        ("f8E4M3FN", math.inf, "f8E4M3FN cannot represent inf"),
        ("f8E8M0FNU", -1.0, "f8E8M0FNU cannot represent -1.0"),
        ("f4E2M1FN", math.nan, "f4E2M1FN cannot represent nan"),
        ("i8", 256, "value 256 does not fit in 8 bits"),
        ("i8", -129, "value -129 does not fit in 8 bits"),
        ("i32", 1.5, "1.5 is not an integer, and i32 holds integers"),
        ("f32", -1, "value -1 does not fit in 32 bits"),
    ],
)
def test_what_does_not_fit_is_refused(element: str, value: float, said: str) -> None:
    with pytest.raises(TileError) as caught:
        Dense.of(Tile((2,), SCALARS[element]), [value])
    assert caught.value.message == said


def test_the_number_of_elements_is_checked() -> None:
    with pytest.raises(TileError, match="tile<4xi32> has 4 elements, got 3"):
        Dense.of(Tile((4,), I32), [1, 2, 3])
    with pytest.raises(TileError, match="a constant holds numbers"):
        Dense.of(Tile((), Ptr(F32)), [0])


def test_attributes_of_numbers() -> None:
    assert IntAttr.of(I32, -1).bits == 0xFFFFFFFF
    assert FloatAttr.of(F32, math.inf).bits == 0x7F800000


@pytest.mark.parametrize(
    "text",
    ["tile<64x64xf32>", "f16", "ptr<f32>", "tile<ptr<i8>>", "token", "tensor_view<?x64xf32, strides=[64,1]>",
     "partition_view<tile=(8), padding_value = zero, tensor_view<64xf32, strides=[1]>>"],
)  # fmt: skip
def test_types_from_text(text: str) -> None:
    assert types.parse(text).text == text
    assert types.parse(f" !cuda_tile.{text} " if "<" in text else text) is types.parse(text)


@pytest.mark.parametrize(
    "text", ["", "tile<3xf32>", "tile<4xf32", "tile<4xf32> x", "banana", "f32 \x01", "!a", "\ud800"]
)
def test_texts_that_are_no_type(text: str) -> None:
    with pytest.raises(TileError):
        types.parse(text)


def test_an_unknown_kernel_names_the_kernels_there_are() -> None:
    module = tilery.parse("entry @a() {} entry @b() {}")
    with pytest.raises(TileError, match="the module has no kernel 'foo'; its kernels: 'a', 'b'"):
        module.entry("foo")
    with pytest.raises(TileError, match="its kernels: none"):
        tilery.parse("").entry("foo")
