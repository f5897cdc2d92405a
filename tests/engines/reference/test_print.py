"""Laws of `print_tko` and `assert`; examples are in `tests/cases/run`. The texts are those that an H200 printed."""

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


def test_bytes_that_are_not_text_are_replaced() -> None:
    assert shown("\\C3\\A9\\FF%c", "[200]", "1xi32") == "\u00e9\ufffd[\ufffd]"


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
