"""The content of made-up arrays: a page at a time, when a kernel first accesses it."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from ...engines.common.tiles import Array, pointee_bytes
from ...types import Scalar

REACH = 1 << 28
"""Bytes of address space for each argument."""
PAGE = 1 << 12


class Content:
    """Address space without content for the array of an argument."""

    def __init__(self, element: Scalar, integers: str, floats: str, extent: int) -> None:
        self.element, self.item = element, pointee_bytes(element)
        self.how = integers if element.is_int else floats
        self.extent = extent
        self._memory = _reserve()
        self.bytes = np.frombuffer(self._memory, np.uint8)
        base = int(self.bytes.ctypes.data)
        self.start = base + -base % (1 << 20)
        """The address of the first element; a multiple of a megabyte."""
        self.end = self.start + REACH - (1 << 20)
        self._skip = self.start - base
        self._filled = np.zeros((self.end - self.start) // PAGE, bool)
        self.high = self.start + self.item
        """The end of what has been accessed."""

    @property
    def pages(self) -> int:
        """The number of pages with content."""
        return int(np.count_nonzero(self._filled))

    def touch(self, addresses: Array, size: int) -> None:
        """Fill the pages of elements."""
        self.high = max(self.high, int(addresses.max()) + size)
        self._fill(np.unique((addresses - self.start) // PAGE))

    def touch_range(self, low: int, high: int) -> None:
        """Fill the pages of a range."""
        self.high = max(self.high, high)
        self._fill(np.arange((low - self.start) // PAGE, (high - 1 - self.start) // PAGE + 1))

    def _fill(self, pages: Array) -> None:
        pages = pages[~self._filled[pages]]
        if not len(pages):
            return
        self._filled[pages] = True
        each = PAGE // self.item
        first = pages * PAGE // self.item
        made = numbers(self.element, self.how, first.reshape(-1, 1) + np.arange(each), self.extent)
        whole = self.bytes[self._skip : self._skip + len(self._filled) * PAGE].reshape(-1, PAGE)
        whole[pages, : each * self.item] = made.view(np.uint8).reshape(len(pages), -1)

    def reset(self) -> None:
        """Forget the content, but not what was accessed."""
        self._filled[:] = False


def _reserve() -> Any:
    """Return address space that takes no memory until something is written to it."""
    if hasattr(mmap, "MAP_NORESERVE"):
        return mmap.mmap(-1, REACH, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_NORESERVE)
    return np.empty(REACH, np.uint8)


def numbers(element: Scalar, how: str, at: Array, extent: int) -> Array:
    """Return the elements of an array at these positions, as memory holds them."""
    size = pointee_bytes(element)
    if element.is_int:
        made = _integers(how, at, extent)
        if element.bits < 8:
            made = made & ((1 << element.bits) - 1)
        return np.ascontiguousarray(made.astype(f"i{size}"))
    floats = _floats(how, at)
    name = element.name
    if name in ("f64", "f16"):
        return np.ascontiguousarray(floats.astype(f"f{size}"))
    if name in ("f32", "tf32"):
        return np.ascontiguousarray(floats.astype(np.float32))
    if name == "bf16":
        return np.ascontiguousarray((floats.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))
    if not element.format.signed:  # powers of two around 1
        return np.ascontiguousarray((127 + at % 2).astype(np.uint8))
    one = element.format.bias << element.format.mantissa
    bits = one + at % 2
    if how == "negative":
        bits = bits | 1 << element.bits - 1
    return np.ascontiguousarray(bits.astype(np.uint8))


def _integers(how: str, at: Array, extent: int) -> Array:
    match how:
        case "zero":
            return np.zeros_like(at)
        case "one":
            return np.ones_like(at)
        case "tile":
            return at * extent
        case "mixed":
            return (at * 5 + 3) % 7 - 1
    return at


def _floats(how: str, at: Array) -> Array:
    sizes = 0.5 + at * 7 % 13 / 8
    match how:
        case "positive":
            return sizes
        case "negative":
            return -sizes
        case "small":
            return sizes / 4
        case "big":
            return sizes * 8
    return np.where(at * 3 % 5 < 2, -sizes, sizes)
