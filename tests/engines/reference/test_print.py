"""What `print_tko` prints and how `assert` fails. The texts of the examples are what an H200 printed."""

from __future__ import annotations

import ctypes
import platform
import struct
from math import prod

import numpy as np
import pytest

import tilery
from tilery.engines.common.errors import ExecutionError
from tilery.engines.common.printf import parse_format


def printed(body: str, grid: int = 1, batch: int | None = None) -> str:
    out: list[str] = []
    module = tilery.parse(f"entry @k() {{\n%x, %y, %z = get_tile_block_id : tile<i32>\n{body}\nreturn\n}}")
    tilery.compile(module).launch(grid, [], output=out.append, batch=batch)
    return "".join(out)


def shown(format: str, value: str, type: str) -> str:
    """One constant, printed."""
    element = type.split("x")[-1]
    return printed(
        f'%c = constant <{element}: {value}> : tile<{type}>\n%0 = print_tko "{format}", %c : tile<{type}> -> token'
    )


FLOATS = "[0x0000, 0x8000, 0x3e00, 0xc080, 0x7bff, 0x0001, 0x7c00, 0x7e00]"


@pytest.mark.parametrize(
    ("format", "value", "type", "text"),
    [
        ("v=%d;", "[0, 1, 127, -128]", "4xi8", "v=[0, 1, 127, -128];"),
        ("%u", "[1, -128]", "2xi8", "[1, 4294967168]"),
        ("%x", "[127, -1]", "2xi16", "[7f, ffffffff]"),
        ("[%5d]", "[1, -200]", "2xi16", "[[    1,  -200]]"),
        ("%d", "[true, false]", "2xi1", "[1, 0]"),
        ("%lld", "[-9223372036854775808, 5]", "2xi64", "[-9223372036854775808, 5]"),
        ("%ld %%", "7", "i64", "7 %"),
        ("%c", "[100, 37]", "2xi32", "[d, %]"),
        ("%d", "[127]", "1xi8", "[127]"),
        ("%d", "[[0, 1], [2, 3]]", "2x2xi32", "[[0, 1], [2, 3]]"),
        ("%f", FLOATS, "8xf16", "[0.000000, -0.000000, 1.500000, -2.250000, 65504.000000, 0.000000, inf, nan]"),
        ("%e", "[0x3e00, 0x0001]", "2xf16", "[1.500000e+00, 5.960464e-08]"),
        ("%g", "[1.5, -2.25]", "2xf32", "[1.5, -2.25]"),
        ("%+08.3f", FLOATS, "8xf16",
         "[+000.000, -000.000, +001.500, -002.250, +65504.000, +000.000,     +inf,     +nan]"),
        ("%a", FLOATS, "8xf16", "[0x0p+0, -0x0p+0, 0x1.8p+0, -0x1.2p+1, 0x1.ffcp+15, 0x1p-24, inf, nan]"),
        ("%a", "[0x0000000000000001]", "1xf64", "[0x0.0000000000001p-1022]"),
        ("%g", "[0x44, 0x01]", "2xf8E4M3FN", "[3, 0.00195312]"),
    ],
)  # fmt: skip
def test_values_of_the_type_of_the_format(format: str, value: str, type: str, text: str) -> None:
    assert shown(format, value, type) == text


@pytest.mark.parametrize(
    ("format", "value", "type", "text"),
    [
        ("%d", "[1, 9223372036854775807]", "2xi64", "[1, 0]"),
        ("%lld", "[0, 1, 32767, -32768]", "4xi16", "[4294967296, -140737488322561, 0, 0]"),
        ("%f", "[0, 1, 127, -128]", "4xi8", "[0.000000, -nan, 0.000000, 0.000000]"),
        ("%d", "[1.5, -2.25]", "2xf32", "[0, 1073217536]"),
        ("%f", "[0xffc00000, 0xff800001]", "2xf32", "[-nan, -nan]"),
        ("%f", "[0xfe00, 0xfc01]", "2xf16", "[nan, nan]"),
        ("%f", "[0xffc0, 0xff81]", "2xbf16", "[-nan, -nan]"),
        ("%zu", "[0, 1]", "2xi32", "[%zu, %zu]"),
        ("ab\\00cd %d", "[1, 2]", "2xi32", "ab[1, 2]"),
        ("\\C3\\A9\\FF%c", "[200]", "1xi32", "\u00e9\ufffd[\ufffd]"),
    ],
)
def test_formats_that_do_not_fit(format: str, value: str, type: str, text: str) -> None:
    assert shown(format, value, type) == text


@pytest.mark.parametrize(
    ("type", "text"),
    [
        ("2x4xi64", "[[1, 1, 2, 2], [5, 5, 6, 6]]"),
        ("2x2x2xi64", "[[[1, 1], [3, 3]], [[5, 5], [7, 7]]]"),
        ("64xi64", f"[{', '.join(f'{n}, {n}' for n in (*range(1, 17), *range(33, 49)))}]"),
    ],
)
def test_each_row_begins_anew_where_the_format_does_not_fit(type: str, text: str) -> None:
    """A row is printed by a call of its own, or by several of 32 elements."""
    flat = prod(map(int, type.split("x")[:-1]))
    body = f"""
        %i = iota : tile<{flat}xi64>
        %one = constant <i64: 4294967297> : tile<{flat}xi64>
        %p = muli %i, %one : tile<{flat}xi64>
        %q = addi %p, %one : tile<{flat}xi64>
        %r = reshape %q : tile<{flat}xi64> -> tile<{type}>
        %0 = print_tko "%d", %r : tile<{type}> -> token"""
    assert printed(body) == text


def test_what_the_verifier_takes_for_a_percent_sign_may_end_a_format() -> None:
    """As for NVIDIA's verifier, the second `%` is both the end of a format and half of `%%`."""
    assert shown("%z%%3", "7", "i32") == "%z%%3"


def test_i4_has_no_sign() -> None:
    body = """
        %c = constant <i8: [7, -8, -1, 12]> : tile<4xi8>
        %t = trunci %c : tile<4xi8> -> tile<4xi4>
        %0 = print_tko "%d %x", %t, %t : tile<4xi4>, tile<4xi4> -> token"""
    assert printed(body) == "[7, 8, 15, 12] [7, 8, f, c]"


def test_several_values() -> None:
    body = """
    %a = constant <i32: 7> : tile<i32>
    %b = constant <f32: 0.5> : tile<f32>
    %c = iota : tile<4xi32>
    %0 = print_tko "a=%d b=%f c=%d 100%%!\\0A", %a, %b, %c : tile<i32>, tile<f32>, tile<4xi32> -> token"""
    assert printed(body) == "a=7 b=0.500000 c=[0, 1, 2, 3] 100%!\n"


@pytest.mark.parametrize("batch", [1, 2, None])
def test_tile_blocks_print_in_their_order(batch: int | None) -> None:
    body = """
    %0 = print_tko "block %d: ", %x : tile<i32> -> token
    %1 = print_tko "all\\0A" token=%0 -> token"""
    assert printed(body, 3, batch) == "block 0: all\nblock 1: all\nblock 2: all\n"


def test_the_text_at_an_address() -> None:
    text = np.frombuffer(b"some text\0more", np.int8).copy()
    module = tilery.parse(
        'entry @k(%p: tile<ptr<i8>>) {\n%0 = print_tko "<%s>", %p : tile<ptr<i8>> -> token\nreturn\n}'
    )
    out: list[str] = []
    tilery.compile(module).launch(1, [text], output=out.append)
    assert out == ["<some text>"]


def test_text_outside_every_buffer_is_a_fault() -> None:
    with pytest.raises(ExecutionError, match=r"print_tko: address 0x5 is outside every buffer"):
        shown("%s", "[5, 0]", "2xi64")


# ---------------------------------------------------------------- the conversions of C

LIBRARY = platform.system() == "Linux" and platform.libc_ver()[0] == "glibc"
NUMBERS = (0, 1, -1, 42, -70000, 2**31 - 1, -(2**31))
REALS = (0.0, -0.0, 1.0, 1.5, -2.25, 123456.789, 1e-5, 5e-324, 1.7e308, 0.1, 2.5, 0.5, float("inf"), float("-inf"))


@pytest.mark.skipif(not LIBRARY, reason="the examples come from the C library of Linux")
@pytest.mark.parametrize("flags", ["", "-", "+", " ", "#", "0", "+0", "-0", "#0", " 0"])
@pytest.mark.parametrize("size", ["", "1", "12", "30", ".0", ".1", "12.3", "30.15", "."])
def test_conversions_agree_with_the_c_library(flags: str, size: str) -> None:
    printf = ctypes.CDLL(None).snprintf
    buffer = ctypes.create_string_buffer(4096)

    def wanted(spec: bytes, value: ctypes._SimpleCData[int] | ctypes._SimpleCData[float]) -> bytes:
        printf(buffer, ctypes.c_size_t(4096), spec, value)
        return buffer.value

    for letter in ("d", "i", "u", "o", "x", "X", "ld", "llx", "hd", "hhu"):
        spec = f"%{flags}{size}{letter}".encode()
        for number in NUMBERS:
            long = letter.startswith("l")
            memory = struct.pack("<q" if long else "<i", number)
            argument = ctypes.c_longlong(number) if long else ctypes.c_int(number)
            assert parse_format(spec).show(memory, 0, bytes)[0] == wanted(spec, argument), (spec, number)
    for letter in "fFeEgGaA":
        spec = f"%{flags}{size}{letter}".encode()
        for real in REALS:
            got = parse_format(spec).show(struct.pack("<d", real), 0, bytes)[0]
            assert got == wanted(spec, ctypes.c_double(real)), (spec, real)


def test_width_and_precision_from_arguments() -> None:
    memory = struct.pack("<iid", 8, 2, 1.5)
    assert parse_format(b"%*.*f").show(memory, 0, bytes) == (b"    1.50", 16)
    assert parse_format(b"%*d").show(struct.pack("<ii", -4, 7), 0, bytes) == (b"7   ", 8)


def test_a_short_text_cannot_ask_for_gigabytes() -> None:
    assert len(parse_format(b"%999999999999d").show(bytes(4), 0, bytes)[0]) < 10_000


# ---------------------------------------------------------------- assert

ASSERT = """
entry @k(%n: tile<i32>) {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %i = iota : tile<8xi32>
  %r = reshape %n : tile<i32> -> tile<1xi32>
  %b = broadcast %r : tile<1xi32> -> tile<8xi32>
  %s = reshape %x : tile<i32> -> tile<1xi32>
  %c = broadcast %s : tile<1xi32> -> tile<8xi32>
  %v = addi %i, %c : tile<8xi32>
  %t = cmpi less_than %v, %b, signed : tile<8xi32> -> tile<8xi1>
  assert %t, "too large" : tile<8xi1>
  return
}"""


@pytest.mark.parametrize("batch", [1, 4])
def test_assert_names_tile_block_and_elements(batch: int) -> None:
    kernel = tilery.compile(tilery.parse(ASSERT))
    kernel.launch(4, [11], batch=batch)
    with pytest.raises(ExecutionError, match="too large") as caught:
        kernel.launch(4, [9], batch=batch)
    assert (caught.value.block, caught.value.element) == ((2, 0, 0), (7,))
    with pytest.raises(
        ExecutionError, match=r"too large \(not for the elements \[2\], \[3\], \[4\], \[5\] and 2 more\)"
    ):
        kernel.launch(4, [2], batch=batch)
