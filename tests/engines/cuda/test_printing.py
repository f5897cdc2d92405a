"""Records of printed values, as a kernel leaves them in a buffer on a GPU."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence

import numpy as np
import pytest

import tilery
from support.fake_cuda import FakeCuda
from tilery.engines.cuda.contract import PRINTS, LaunchContract, Passed
from tilery.engines.cuda.driver import Driver
from tilery.engines.cuda.launch import Binary, CudaKernel, CudaLoaded
from tilery.engines.cuda.printing import BUFFER_BYTES, HEAD, decode, device_string, record_layout
from tilery.ops import Entry, Global, Module, PrintTko

TWICE = """entry @k() {
  %x, %y, %z = get_tile_block_id : tile<i32>
  %0 = iota : tile<4xi32>
  %1 = reshape %x : tile<i32> -> tile<1xi32>
  %2 = broadcast %1 : tile<1xi32> -> tile<4xi32>
  %3 = muli %0, %2 : tile<4xi32>
  %4 = itof %x signed : tile<i32> -> tile<f16>
  %5 = cmpi equal %3, %0, signed : tile<4xi32> -> tile<4xi1>
  %t0 = print_tko "block %d: %5d", %x, %3 : tile<i32>, tile<4xi32> -> token
  %t1 = print_tko " %e %x\\0A", %4, %5 token=%t0 : tile<f16>, tile<4xi1> -> token
  return
}"""


def sites(entry: Entry) -> list[PrintTko]:
    return [o for o in entry.body.ops if isinstance(o, PrintTko)]


def record(o: PrintTko, number: int, block: Sequence[int], values: Sequence[np.ndarray]) -> bytes:
    places, size = record_layout(o)
    made = bytearray(b"\xff" * size)
    made[:HEAD] = struct.pack("<4i", number, *block)
    for place, value in zip(places, values):
        made[place : place + value.nbytes] = value.tobytes()
    return bytes(made)


def records(entry: Entry, blocks: Sequence[int]) -> bytes:
    """The output of the kernel above: all first texts, then all second ones."""
    first, second = sites(entry)
    iota, out = np.arange(4, dtype=np.int32), b""
    for x in blocks:
        out += record(first, 0, (x, 0, 0), [np.array([x], np.int32), x * iota])
    for x in blocks:
        out += record(second, 1, (x, 0, 0), [np.array([x], np.float16), x * iota == iota])
    return len(out).to_bytes(HEAD, "little") + out


def expected(blocks: int) -> str:
    said: list[str] = []
    tilery.compile(tilery.parse(TWICE)).launch(blocks, output=said.append)
    return "".join(said)


def nothing(address: int) -> bytes:
    raise AssertionError(address)


def test_the_text_is_that_of_the_reference_engine() -> None:
    (entry,) = tilery.parse(TWICE).entries
    assert decode(entry, records(entry, [2, 0, 3, 1]), nothing, 1 << 20) == expected(4)


def test_a_record_that_does_not_fit_is_left_out() -> None:
    (entry,) = tilery.parse(TWICE).entries
    data = records(entry, [0])
    first = HEAD + record_layout(sites(entry)[0])[1]
    for length in (first, len(data) - 1):
        assert decode(entry, data[:length], nothing, 1 << 20) == "block 0: [    0,     0,     0,     0]"


def test_text_has_a_limit() -> None:
    (entry,) = tilery.parse(TWICE).entries
    with pytest.raises(MemoryError):
        decode(entry, records(entry, [0, 1]), nothing, 60)


class Compiled:
    """A compiler whose kernels get nothing but a buffer for printed values."""

    engine = "triton"

    def compile(self, module: Module, entry: Entry, target: str) -> Binary:
        return Binary(b"image", LaunchContract(entry.sym_name, (Passed(PRINTS),), 32))

    def initial(self, o: Global) -> bytes | None:
        return None


def load() -> tuple[FakeCuda, CudaKernel]:
    module = tilery.parse(TWICE)
    library = FakeCuda(module, LaunchContract("k", (Passed(PRINTS),), 32))
    return library, CudaLoaded(module, Compiled(), Driver(library)).kernel("k")


def test_a_launch_prints_its_records() -> None:
    library, kernel = load()
    said: list[str] = []
    with kernel.bind(2) as bound:
        data = records(kernel.entry, [1, 0])
        ctypes.memmove(bound._prints, data, len(data))
        bound.print_records(said.append)
        bound.launch()
        bound.print_records(said.append)
    assert said == [expected(2)], "each launch starts with an empty buffer"
    assert library.live() == 0


def test_more_than_the_buffer_holds_is_an_error() -> None:
    _, kernel = load()
    said: list[str] = []
    with kernel.bind(2) as bound:
        data = (BUFFER_BYTES).to_bytes(HEAD, "little") + records(kernel.entry, [0, 1])[HEAD:] + b"\xff" * HEAD
        ctypes.memmove(bound._prints, data, len(data))
        with pytest.raises(tilery.TileError, match="@k printed values of 33554432 bytes"):
            bound.print_records(said.append)
    assert said == [expected(2)]


def test_strings_are_read_from_device_memory() -> None:
    _, kernel = load()
    driver = kernel.loaded.driver
    address = driver.allocate(300)
    text = b"a" * 290 + b"\0more"
    ctypes.memmove(address, text, len(text))
    assert device_string(driver, 1000)(address) == b"a" * 290
    assert device_string(driver, 7)(address) == b"a" * 7
    driver.free(address)
