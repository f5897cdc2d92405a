"""The arrays among the arguments of a launch: which element an address is, and what it holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..diag import TileError, did_you_mean
from ..engines.common.arrays import is_array, locate
from ..engines.common.tiles import Array, carrier
from ..types import Ptr, Scalar, Tile, Type
from .numbers import decode

if TYPE_CHECKING:
    from ..engines.common.cutile_abi import Extent
    from ..engines.common.memory import Memory

ELEMENT = re.compile(r"\s*([^\[\]]+?)\s*\[([-\d\s,]+)\]\s*")
"""`a[17, 3]`."""


@dataclass(slots=True, eq=False)
class ArrayArgument:
    """An array argument: an address, and sizes and strides in elements."""

    name: str
    element: Scalar
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def bits(self) -> int:
        """The distance between neighbours in memory."""
        return self.element.row.memory_bits

    @property
    def bytes(self) -> int:
        """The bytes of an element; two elements of four bits share one."""
        return (self.bits + 7) // 8

    def at(self, index: Sequence[int]) -> int:
        """Return the address of an element."""
        if len(index) != len(self.shape) or not all(0 <= i < size for i, size in zip(index, self.shape)):
            raise TileError(f"{self.name}{list(index)}: the array has the shape {self.shape}")
        return self.address + sum(i * stride for i, stride in zip(index, self.strides)) * self.bits // 8

    def index(self, address: int) -> tuple[int, ...] | None:
        """Return the element at an address, or None if it is not in the array."""
        left = (address - self.address) * 8 // self.bits
        order = sorted(range(len(self.shape)), key=lambda axis: -self.strides[axis])
        found = [0] * len(self.shape)
        for axis in order:
            if self.strides[axis] <= 0:
                continue
            found[axis], left = divmod(left, self.strides[axis])
        inside = all(0 <= i < size for i, size in zip(found, self.shape))
        return tuple(found) if left == 0 and inside else None

    def offsets(self) -> Array:
        """Return the byte offset of each element."""
        out = np.zeros((), np.int64)
        for size, stride in zip(self.shape, self.strides):
            out = out[..., np.newaxis] + np.arange(size, dtype=np.int64) * stride
        return out * self.bits // 8

    def read(self, memory: Memory) -> Array:
        """Return the elements that memory holds now, as numbers."""
        if self.bits == 4:
            from ..engines.reference.nibbles import UINT8

            raw = memory.load(self.address + self.offsets(), UINT8)
            odd = (self.offsets() * 0 + np.arange(raw.size).reshape(raw.shape)) & 1  # rows are even, see `arguments`
            return decode(self.element, (raw >> (4 * odd).astype(np.uint8)) & 15)
        name = self.element.text
        raw = memory.load(self.address + self.offsets(), np.dtype(np.uint8) if name == "i1" else carrier(self.element))
        return raw != 0 if name == "i1" else decode(self.element, raw)


def array_arguments(
    params: Sequence[Type], args: Sequence[Any], names: Sequence[str], convention: str | None
) -> list[ArrayArgument]:
    """List the arrays among the arguments of a launch, as `Kernel.launch` takes them."""
    found, at = [], 0
    for number, value in enumerate(args):
        param = params[at] if at < len(params) else None
        at += 1
        if not is_array(value):
            continue
        memory = locate(value)
        at += 2 * len(memory.shape) if convention == "cutile" else 0
        if isinstance(param, Tile) and isinstance(param.element, Ptr):
            name = names[number] if number < len(names) else str(number)
            found.append(ArrayArgument(name, param.element.pointee, memory.address, memory.shape, memory.strides))
    return found


def extent_arguments(params: Sequence[Type], values: Sequence[Any], extents: Iterable[Extent]) -> list[ArrayArgument]:
    """List the arrays of a launch whose arguments are words, with the memory that they reach."""
    pointees = {
        value: param.element.pointee
        for param, value in zip(params, values)
        if isinstance(param, Tile) and isinstance(param.element, Ptr)
    }
    return [
        ArrayArgument(each.name, pointees[each.address], each.address, tuple(each.shape), tuple(each.strides))
        for each in extents
        if each.address in pointees and not each.pointers
    ]


def find_element(text: str, arrays: Sequence[ArrayArgument]) -> tuple[ArrayArgument, tuple[int, ...]] | None:
    """Return the array and the index that a text such as `a[17, 3]` names; None if it has another form."""
    matched = ELEMENT.fullmatch(text)
    if matched is None or matched[1].startswith("%"):
        return None
    names = [array.name for array in arrays]
    found = next((array for array in arrays if array.name == matched[1]), None)
    if found is None:
        raise TileError(f"there is no array '{matched[1]}'{did_you_mean(matched[1], names)}", notes=_known(names))
    try:
        index = tuple(int(part) for part in matched[2].split(","))
    except ValueError:
        raise TileError(f"'{text}': expected an element such as a[17, 3]") from None
    found.at(index)
    return found, index


def _known(names: list[str]) -> tuple[str, ...]:
    return (f"the arrays are {', '.join(names)}",) if names else ("the launch has no arrays",)
