"""cuTile's calling convention, and launches in files."""

from __future__ import annotations

import ctypes
import random
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilery
from tilery import TileError
from tilery.engines import recorded as record
from tilery.engines.common.addresses import MemoryRange
from tilery.engines.common.cutile_abi import (
    Array,
    ArrayExtent,
    List,
    Number,
    expand,
    extents,
    guess_parameters,
    slot_size,
    value_of,
)
from tilery.types import F32, F64, I1, I8, I32, I64, Ptr, Tile

SUM_OF_LIST = """
entry @total(%list: tile<ptr<i64>>, %count: tile<i32>, %out: tile<ptr<f32>>, %n: tile<i32>, %s: tile<i32>) {
  %zero = constant <i32: 0> : tile<i32>
  %one = constant <i32: 1> : tile<i32>
  %three = constant <i32: 3> : tile<i32>
  %start = constant <f32: 0.0> : tile<f32>
  %sum = for %i in (%zero to %count, step %one) : tile<i32> iter_values(%acc = %start) -> (tile<f32>) {
    %row = muli %i, %three : tile<i32>
    %at = offset %list, %row : tile<ptr<i64>>, tile<i32> -> tile<ptr<i64>>
    %word, %t = load_ptr_tko weak %at : tile<ptr<i64>> -> tile<i64>, token
    %p = int_to_ptr %word : tile<i64> -> tile<ptr<f32>>
    %x, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
    %next = addf %acc, %x : tile<f32>
    continue %next : tile<f32>
  }
  %v = store_ptr_tko weak %out, %sum : tile<ptr<f32>>, tile<f32> -> token
  return
}
"""


def scalar(element: Any) -> Tile:
    return Tile((), element)


def test_arguments_in_order() -> None:
    a, b = np.zeros((2, 3), np.float32), np.zeros((4, 5), np.int64).T
    values = expand([a, 7, (2.5, (b, True))], [])
    assert values[0] is a and values[7] is b
    assert values[1:7] == [2, 3, 3, 1, 7, 2.5]
    assert values[8:] == [5, 4, 1, 5, True]


def test_a_list_of_arrays_is_words_and_a_length() -> None:
    arrays = [np.zeros((2, 3), np.float16), np.zeros((8, 6), np.float16)[::2, ::3]]
    ranges: list[MemoryRange] = []
    address, length = expand([arrays], ranges)
    assert length == 2
    words = struct.unpack("<10q", ctypes.string_at(address, 80))
    assert words == (arrays[0].ctypes.data, 2, 3, 3, 1, arrays[1].ctypes.data, 4, 2, 12, 3)
    assert [(each.label, each.address, each.writable) for each in ranges] == [
        ("list", address, False),
        ("list[0]", arrays[0].ctypes.data, True),
        ("list[1]", arrays[1].ctypes.data, True),
    ]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("text", "an argument of type 'str'"),
        ([], "must contain at least one array"),
        ([1], "must contain at least one array"),
        ([np.zeros(2), np.zeros((2, 2))], "the same element type and rank"),
        (np.zeros(4)[::-1], "negative strides"),
    ],
)
def test_what_cannot_be_passed(argument: object, words: str) -> None:
    with pytest.raises(TileError, match=words):
        expand([argument], [])


def test_a_kernel_takes_a_list() -> None:
    arrays = [np.array([x], np.float32) for x in (1, 2, 4)]
    out = np.zeros(1, np.float32)
    tilery.compile(tilery.parse(SUM_OF_LIST)).launch(1, [arrays, out], convention="cutile")
    assert out[0] == 7


@pytest.mark.parametrize(
    ("element", "word", "value"),
    [
        (I1, b"\x01\0\0\0", True),
        (I1, b"\x00\0\0\0", False),
        (I8, b"\xff\x01", -1),
        (I32, struct.pack("<q", -5), -5),
        (I64, struct.pack("<q", -(1 << 40)), -(1 << 40)),
        (F32, struct.pack("<fI", 1.5, 0xFFFFFFFF), 1.5),
        (F64, struct.pack("<d", 0.1), 0.1),
        (Ptr(F32), struct.pack("<Q", (1 << 64) - 16), (1 << 64) - 16),
    ],
)
def test_the_words_of_a_launch(element: Any, word: bytes, value: object) -> None:
    got = value_of(scalar(element), word)
    assert got == value and type(got) is type(value)
    assert slot_size(scalar(element)) <= max(len(word), 8)


def test_no_slot_for_a_tile() -> None:
    with pytest.raises(TileError, match="no parameters of tile<2xf32>"):
        slot_size(Tile((2,), F32))


def test_extents_of_arrays_and_of_lists() -> None:
    words = struct.pack("<6q", 4096, 10, 2, 8192, 0, 1)
    memory = {512: words}
    found = extents(
        [Number("n"), Array("x", 2, 4), List("ys", 1, 32)],
        [3, 1024, 3, 5, 8, 1, 512, 2],
        lambda address, size: memory[address][:size],
    )
    assert [(each.name, each.address, each.size) for each in found] == [
        ("x", 1024, 11),
        ("ys", 512, 48),
        ("ys[0]", 4096, 76),
        ("ys[1]", 8192, 0),
    ]
    assert found[1].pointers == (0, 24)


def test_a_guess_of_what_parameters_are() -> None:
    kinds = [Ptr(F32), I32, I32, I32, F32, Ptr(I8)]
    assert guess_parameters([scalar(kind) for kind in kinds]) == [
        Array("arg0", 1, 32),
        Number("arg3"),
        Number("arg4"),
        Array("arg5", 0, 8),
    ]


# ---------------------------------------------------------------- files


def recorded(offset: int = 0) -> record.Recorded:
    """A launch of the kernel above with two arrays in one piece of memory, at some offset."""
    module = tilery.parse(SUM_OF_LIST)
    raw = np.arange(64, dtype=np.float32)[offset:]
    out = np.zeros(1, np.float32)
    rows = np.array([[raw.ctypes.data, 2, 1], [raw.ctypes.data + 4, 2, 1]], np.int64)
    memory = [
        ArrayExtent("list", rows.ctypes.data, rows.nbytes, pointers=(0, 24)),
        ArrayExtent("list[0]", raw.ctypes.data, 8),
        ArrayExtent("list[1]", raw.ctypes.data + 4, 8),
        ArrayExtent("out", out.ctypes.data, 4),
    ]
    values = [rows.ctypes.data, 2, out.ctypes.data, 1, 1]
    return record.capture(module, tilery.dumps(module), "total", (1, 1, 1), values, memory)


@pytest.mark.parametrize("offset", [0, 1, 5])
def test_a_recorded_launch_runs_again(tmp_path: Path, offset: int) -> None:
    launch = recorded(offset)
    assert sorted(map(sorted, (b.names for b in launch.buffers))) == [["list"], ["list[0]", "list[1]"], ["out"]]
    record.save(tmp_path / "launch.zip", launch)
    again = record.load(tmp_path / "launch.zip")
    assert again == launch
    placed = again.place()
    for (address, _), buffer in zip(placed.buffers, launch.buffers):
        assert address % record.ALIGNMENT == buffer.remainder
    tilery.compile(tilery.load(again.bytecode), entry=again.entry).launch(
        again.grid, placed.arguments, buffers=placed.buffers
    )
    (number,) = [at for at, buffer in enumerate(again.buffers) if buffer.names == ["out"]]
    assert np.frombuffer(placed.read(number), np.float32)[0] == 2 * offset + 1


def test_a_pointer_to_nothing_is_not_recorded() -> None:
    module = tilery.parse("entry @k(%p: tile<ptr<f32>>) {\n  return\n}")
    with pytest.raises(TileError, match="does not point to an array"):
        record.capture(module, tilery.dumps(module), "k", (1, 1, 1), [16], [])


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04", b"PK\x05\x06" + bytes(18)])
def test_other_files_are_no_launches(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "wrong.zip"
    file.write_bytes(content)
    with pytest.raises(TileError, match="not a recorded launch"):
        record.load(file)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"format": 1', '"format": 2'),
        ('"offset": 0', '"offset": 999'),
        ('"buffer": ', '"buffer": 77'),
        ('"remainder": ', '"remainder": -1'),
        ('"grid": [', '"grid": [7, '),
        ('"entry"', '"no entry"'),
        ('"grid": [', '"grid": [1e999, '),
        ("{", "[" * 100_000 + "{"),
    ],
)
def test_broken_launches_are_refused(tmp_path: Path, old: str, new: str) -> None:
    record.save(tmp_path / "a.zip", recorded())
    with zipfile.ZipFile(tmp_path / "a.zip") as file:
        parts = {name: file.read(name) for name in file.namelist()}
    text = parts["launch.json"].decode()
    assert old in text
    parts["launch.json"] = text.replace(old, new, 1).encode()
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)
    with pytest.raises(TileError, match="not a recorded launch"):
        record.load(tmp_path / "b.zip")


def test_damaged_launches_are_refused(tmp_path: Path) -> None:
    file, dice = tmp_path / "a.zip", random.Random(1)
    record.save(file, recorded())
    good = file.read_bytes()
    refused = 0
    for _ in range(500):
        data = bytearray(good)
        data[dice.randrange(len(data))] = dice.randrange(256)
        file.write_bytes(data)
        try:
            record.load(file).place()
        except TileError:
            refused += 1
    assert refused > 100
