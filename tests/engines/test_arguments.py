"""Arguments as data for any engine: bytes in slots, memory with its device, owner and label."""

from __future__ import annotations

import contextlib
import ctypes
import random
import struct
from math import inf, nan
from typing import Any

import numpy as np
import pytest

import tilery
from tilery.engines.common import dlpack
from tilery.engines.common.addresses import HOST, DlpackDevice
from tilery.engines.common.arguments import bind, scalar_bytes
from tilery.engines.common.numerics.convert import float_to_float
from tilery.engines.common.tiles import scalar_lane
from tilery.types import F64, SCALARS, Tile

ENTRY = "entry @k(%x: tile<ptr<f32>>, %n: tile<i16>, %b: tile<i1>, %f: tile<bf16>) {\n  return\n}"


def test_slots_are_bytes_and_arrays_are_ranges() -> None:
    entry = tilery.parse(ENTRY).entry("k")
    x = np.arange(6, dtype=np.float32)[::-2]
    bound = bind(entry, [x, -2, True, 1.5], names=["x"])
    assert bound.slots == [struct.pack("<Q", x.ctypes.data), b"\xfe\xff", b"\x01", b"\xc0\x3f"]
    (found,) = bound.ranges
    assert (found.address, found.size) == (x.ctypes.data - 16, 20)
    assert (found.label, found.writable, found.device, found.owner) == ("argument 'x'", True, HOST, x)
    x.flags.writeable = False
    assert not bind(entry, [x, 0, 0, 0]).ranges[0].writable


def test_an_address_is_a_slot_without_memory() -> None:
    bound = bind(tilery.parse(ENTRY).entry("k"), [-16, 0, False, 0], buffers=[(4096, 8)])
    assert bound.slots[0] == struct.pack("<q", -16)
    assert [(each.address, each.size, each.label) for each in bound.ranges] == [(4096, 8, "buffer 0")]


def floats() -> list[float]:
    """Powers of two with their neighbours, ties, specials, NaNs with payloads, and random bits."""
    dice = random.Random(3)
    found = [0.0, -0.0, inf, -inf, nan, -nan, 1e300, 5e-324, 65504.0, 65519.9, 65520.0, 448.0, 464.0, 57344.0, 61440.0]
    found += struct.unpack("<2d", bytes.fromhex("010000000000f4ff0100000000c0f97f"))
    for exponent in range(-160, 135):
        for part in (1.0, 1.0625, 1.125, 1.1875, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875, 1 + 2**-8, 1 + 3 * 2**-11):
            found += [part * 2.0**exponent, -part * 2.0**exponent, part * 2.0**exponent * (1 + 2**-52)]
    return found + [struct.unpack("<d", dice.randbytes(8))[0] for _ in range(2000)]


@pytest.mark.parametrize("name", [name for name, t in SCALARS.items() if t.is_float and name != "tf32"])
def test_a_float_is_rounded_as_ftof_rounds_it(name: str) -> None:
    element, numbers = SCALARS[name], floats()
    with np.errstate(all="ignore"):
        expected = float_to_float(np.array(numbers), F64, element)
    for number, wanted in zip(numbers, expected):
        assert scalar_bytes("x", element, number) == wanted.tobytes(), number


@pytest.mark.parametrize("name", [name for name in SCALARS if name != "f4E2M1FN"])  # there is no scalar of it
def test_a_slot_is_a_lane_of_the_reference_engine(name: str) -> None:
    lane = scalar_lane(Tile((), SCALARS[name]), scalar_bytes("x", SCALARS[name], 1))
    assert lane.shape == (1,) and lane[0]


class OnGpu:
    """An array of four f32 that says it is on the second GPU."""

    def __init__(self) -> None:
        self.managed = dlpack.Managed()
        self.shape = (ctypes.c_int64 * 1)(4)
        tensor = self.managed.tensor
        tensor.data, tensor.device_type, tensor.device_id = 1 << 40, dlpack.CUDA, 1
        tensor.rank, tensor.code, tensor.bits, tensor.lanes = 1, dlpack.FLOAT, 32, 1
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))

    def __dlpack__(self, **_: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.managed), b"dltensor", None)


def test_memory_of_a_gpu_is_named_and_the_reference_engine_refuses_it() -> None:
    module, array = tilery.parse(ENTRY), OnGpu()
    (found,) = bind(module.entry("k"), [array, 0, 0, 0]).ranges
    assert (found.address, found.size, found.device) == (1 << 40, 16, DlpackDevice(dlpack.CUDA, 1))
    with pytest.raises(tilery.TileError, match="argument 0: the array is not in host memory"):
        tilery.compile(module).launch(1, [array, 0, 0, 0])


# ---------------------------------------------------------------- whatever callers make


class Whole(int):
    """An integer whose methods raise."""

    def __int__(self) -> int:
        raise ZeroDivisionError

    __repr__ = __index__ = __int__  # type: ignore[assignment]


class Fraction(float):
    def __float__(self) -> float:
        raise ZeroDivisionError


class Silent:
    def __repr__(self) -> str:
        raise ZeroDivisionError


class Told:
    """An array that says where it is."""

    def __init__(self, cuda: bool = False, **facts: Any) -> None:
        told = {"data": (1 << 20, False), "shape": (4,), "typestr": "<f4", "version": 3} | facts
        setattr(self, "__cuda_array_interface__" if cuda else "__array_interface__", told)


def strided(shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    return np.lib.stride_tricks.as_strided(np.zeros(64, np.float32), shape, strides)


ODD: dict[str, Any] = {
    "strides that overflow": lambda: strided((3,), (1 << 62,)),
    "strides that overflow downwards": lambda: strided((3,), (-(1 << 62),)),
    "strides that overflow together": lambda: strided((2, 2), (1 << 62, 1 << 62)),
    "the longest stride": lambda: strided((2,), (-(1 << 63),)),
    "both ways": lambda: strided((2, 2), (1 << 62, -(1 << 62))),
    "a stride that does not matter": lambda: strided((1,), (1 << 62,)),
    "no elements": lambda: strided((0, 1 << 40), (1 << 62, 4)),
    "backwards": lambda: np.zeros(64, np.float32)[::-1],
    "one element for all": lambda: strided((1 << 40,), (0,)),
    "broadcast": lambda: np.broadcast_to(np.zeros(1, np.float32), (64,)),
    "rank 0": lambda: np.zeros((), np.float32),
    "rank 64": lambda: np.zeros((1,) * 64, np.float32),
    "rank 65": lambda: Told(shape=(1,) * 65),
    "rank 65 on a GPU": lambda: Told(True, shape=(1,) * 65),
    "strides on a GPU that overflow": lambda: Told(True, strides=(1 << 62,)),
    "structured": lambda: np.zeros(4, [("a", "f4"), ("b", "i4")]),
    "no bytes": lambda: np.zeros(4, "V0"),
    "objects": lambda: np.zeros(4, object),
    "text": lambda: np.array(["a", "bc"]),
    "times": lambda: np.zeros(4, "M8[s]"),
    "another byte order": lambda: np.zeros(4, ">f4"),
    "unaligned": lambda: np.zeros(257, np.uint8)[1:].view(np.float32),
    "strides within elements": lambda: np.zeros(9, np.dtype({"names": ["a"], "formats": ["f4"], "itemsize": 5}))["a"],
    "at address 0": lambda: Told(data=(0, False)),
    "a negative size": lambda: Told(shape=(-1,)),
    "a memoryview": lambda: memoryview(bytearray(256)),
    "an integer of 16,610 bits": lambda: 10**5000,
    "an integer that raises": lambda: Whole(5),
    "a float that raises": lambda: Fraction(5),
    "no representation": Silent,
    "a long list": lambda: [0.0] * 1000,
}
TAKES = {
    "an array": ("tile<ptr<f32>>", None),
    "a float": ("tile<f32>", None),
    "an integer": ("tile<i64>", None),
    "an array of cuTile": ("tile<ptr<f32>>, %s: tile<i64>, %t: tile<i64>", "cutile"),
}


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("takes", TAKES)
@pytest.mark.parametrize("odd", ODD)
def test_odd_arguments_are_refused_or_work(odd: str, takes: str, engine: str) -> None:
    """A launch never raises anything but TileError, on any argument, nor while it makes the text of the error."""
    if engine == "cpu":
        pytest.importorskip("llvmlite")
    parameters, convention = TAKES[takes]
    kernel: Any = tilery.compile(tilery.parse(f"entry @k(%p: {parameters}) {{ return }}"), engine=engine)
    value = ODD[odd]()
    for grid, options in (
        (1, {"convention": convention}),
        (1, {"convention": convention, "buffers": [value], "sanitize": "all"}),
        (1, {"names": [value], "limits": value}),
        ([value, 1], {"threads": value, "batch": value}),
    ):
        with contextlib.suppress(tilery.TileError):
            kernel.launch(grid, [value], **options)


def test_the_memory_of_an_array_must_exist() -> None:
    kernel = tilery.compile(tilery.parse("entry @k(%p: tile<ptr<f32>>) { return }"))
    with pytest.raises(tilery.TileError, match=r"argument 0: there is no memory for an array at 0x.* with shape \[3\]"):
        kernel.launch(1, [ODD["strides that overflow"]()])
    with pytest.raises(tilery.TileError, match="there is no memory for an array at 0x0"):
        kernel.launch(1, [Told(True, data=(0, False))])
    with pytest.raises(tilery.TileError, match="buffer 0: there is no memory of 4 bytes at 0x0"):
        kernel.launch(1, [np.zeros(4, np.float32)], buffers=[(0, 4)])
