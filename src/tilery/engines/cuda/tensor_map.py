"""Tensor maps: the 128 bytes that tell the GPU's copy engine where the boxes of a tensor are."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ...diag import ErrorKind, TileError
from ...types import SCALARS
from ..common.tiles import pointee_bytes
from .contract import Descriptor, Extent
from .driver import Driver

SIZE, ALIGNMENT = 128, 64
L2_128_BYTES = 2
"""CU_TENSOR_MAP_L2_PROMOTION_L2_128B"""
UNSIGNED = {1: 0, 2: 1, 4: 2, 8: 4}
"""CUtensorMapDataType by bytes. Copies only move bits, and elements outside the tensor are zero bits in every type."""


def encode(driver: Driver, descriptor: Descriptor, address: int, parameter: Callable[[int], int]) -> Any:
    """Encode a tensor map for a tensor at an address; `parameter` returns the value of an entry's parameter."""

    def number(extent: Extent) -> int:
        return extent.value if extent.parameter is None else parameter(extent.parameter)

    item = pointee_bytes(SCALARS[descriptor.element])
    rank = len(descriptor.box)
    # The driver counts dimensions from the innermost, and leaves out the innermost stride, which is one element.
    shape = (ctypes.c_uint64 * rank)(*map(number, reversed(descriptor.shape)))
    strides = (ctypes.c_uint64 * max(1, rank - 1))(*[number(s) * item for s in reversed(descriptor.strides[:-1])])
    box = (ctypes.c_uint32 * rank)(*reversed(descriptor.box))
    steps = (ctypes.c_uint32 * rank)(*[1] * rank)
    if 0 in shape:
        raise TileError("a tensor map cannot describe an empty array", kind=ErrorKind.UNSUPPORTED)
    raw = ctypes.create_string_buffer(SIZE + ALIGNMENT)
    start = -(-ctypes.addressof(raw) // ALIGNMENT) * ALIGNMENT
    made = (ctypes.c_uint8 * SIZE).from_buffer(raw, start - ctypes.addressof(raw))
    driver.call(
        "cuTensorMapEncodeTiled",
        *(ctypes.addressof(made), UNSIGNED[item], rank, address),
        *(ctypes.addressof(part) for part in (shape, strides, box, steps)),
        *(0, descriptor.swizzle, L2_128_BYTES, 0),
    )
    return made
