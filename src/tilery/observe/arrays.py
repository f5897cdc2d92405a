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
from ..types import I1, Ptr, Scalar, Tile, Type
from .numbers import decode

if TYPE_CHECKING:
    from ..engines.common.cutile_abi import ArrayExtent
    from ..engines.common.memory import Memory

ELEMENT = re.compile(r"\s*([^\[\]]+?)\s*\[([-\d\s,]+)\]\s*")
"""`a[17, 3]`."""


@dataclass(slots=True, eq=False)
class ArrayArgument:
    """An array argument: an address, and sizes and strides in elements. Elements of four bits count one each."""

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
        return self.address + self._position(index) // 8

    def half(self, index: Sequence[int]) -> int:
        """Return which half of its byte an element is; 0 unless it has four bits."""
        return self._position(index) % 8 // 4

    def _position(self, index: Sequence[int]) -> int:
        return sum(i * stride for i, stride in zip(index, self.strides)) * self.bits

    def index(self, address: int, half: int = 0) -> tuple[int, ...] | None:
        """Return the element at an address, or None if it is not in the array."""
        left = ((address - self.address) * 8 + 4 * half) // self.bits
        order = sorted(range(len(self.shape)), key=lambda axis: -self.strides[axis])
        found = [0] * len(self.shape)
        for axis in order:
            if self.strides[axis] <= 0:
                continue
            found[axis], left = divmod(left, self.strides[axis])
        inside = all(0 <= i < size for i, size in zip(found, self.shape))
        return tuple(found) if left == 0 and inside else None

    def positions(self) -> Array:
        """Return the offset of each element in bits."""
        out = np.zeros((), np.int64)
        for size, stride in zip(self.shape, self.strides):
            out = out[..., np.newaxis] + np.arange(size, dtype=np.int64) * stride
        return out * self.bits

    def read(self, memory: Memory) -> Array:
        """Return the elements that memory holds now, as numbers."""
        positions = self.positions()
        whole = self.bits > 4 and self.element is not I1
        raw = memory.load(self.address + positions // 8, carrier(self.element) if whole else np.dtype(np.uint8))
        if self.bits == 4:
            raw = raw >> (positions % 8).astype(np.uint8) & 15
        return raw != 0 if self.element is I1 else decode(self.element, raw)


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
            found.append(_array(name, param.element.pointee, memory.address, memory.shape, memory.strides))
    return found


def _array(name: str, element: Scalar, address: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> ArrayArgument:
    """Describe an array as a launch takes it: elements of four bits are passed as bytes of two each.

    >>> from tilery.types import Scalar
    >>> _array("x", Scalar("f4E2M1FN"), 4096, (3, 2), (2, 1)).shape
    (3, 4)
    """
    if element.row.memory_bits == 4:
        if strides[-1:] == (1,):
            shape, strides = (*shape[:-1], 2 * shape[-1]), (*(2 * s for s in strides[:-1]), 1)
        else:  # bytes with gaps between them
            shape, strides = (*shape, 2), (*(2 * s for s in strides), 1)
    return ArrayArgument(name, element, address, shape, strides)


def extent_arguments(
    params: Sequence[Type], values: Sequence[Any], extents: Iterable[ArrayExtent]
) -> list[ArrayArgument]:
    """List the arrays of a launch whose arguments are words, with the memory that they reach."""
    pointees = {
        value: param.element.pointee
        for param, value in zip(params, values)
        if isinstance(param, Tile) and isinstance(param.element, Ptr)
    }
    return [
        _array(each.name, pointees[each.address], each.address, tuple(each.shape), tuple(each.strides))
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
