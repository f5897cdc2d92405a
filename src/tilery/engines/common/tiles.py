"""Values of a kernel as NumPy arrays.

A tile is an array whose axis 0 runs over the tile blocks of a batch ("lanes") and whose other axes are the tile's. A
value that is the same in all blocks has one lane and broadcasts. Types that NumPy lacks are held as their bits: bf16 in
uint16, the 8-bit floats, f4 and i4 (one element per byte) in uint8. A tf32 is a float32, as in memory. A token is None.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...attrs import Dense
from ...types import I1, SCALARS, TF32, Ptr, Scalar, Tile, Type

Array = NDArray[Any]

CARRIERS: dict[str, np.dtype[Any]] = {s.name: np.dtype(s.row.carrier) for s in SCALARS.values()}
ADDRESS = np.dtype(np.int64)
CACHED = 1 << 16
"""Larger constants, in elements or bytes, are not cached: the cache would hold their memory forever."""
_UNSIGNED: dict[int, np.dtype[Any]] = {n: np.dtype(f"u{n}") for n in (1, 2, 4, 8)}


def carrier(element: Type) -> np.dtype[Any]:
    """Return the NumPy type that holds an element; pointers are held as addresses.

    >>> from tilery.types import F32, SCALARS
    >>> carrier(F32), carrier(SCALARS["bf16"])
    (dtype('float32'), dtype('uint16'))
    """
    return ADDRESS if isinstance(element, Ptr) else CARRIERS[element.text]


def scalar_lane(type: Type, slot: bytes) -> Array:
    """Return the value of a parameter, given as memory holds it, in one lane.

    >>> from tilery.types import I8
    >>> scalar_lane(Tile((), I8), b"\\xff")
    array([-1], dtype=int8)
    """
    assert isinstance(type, Tile)
    return np.frombuffer(slot, carrier(type.element))


def unsigned(array: Array) -> Array:
    """View an array as unsigned integers of the same width."""
    return array.view(_UNSIGNED[array.dtype.itemsize])


def element_of(type: Type) -> Scalar:
    """Return the element type of a tile of numbers."""
    assert isinstance(type, Tile) and isinstance(type.element, Scalar)
    return type.element


def spread(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays to the same number of lanes, for functions that do not broadcast."""
    lanes = max(a.shape[0] for a in arrays)
    return tuple(a if a.shape[0] == lanes else np.broadcast_to(a, (lanes, *a.shape[1:])) for a in arrays)


def pointee_bytes(element: Scalar) -> int:
    """Return the bytes of an element in memory; two f4 share one, see `pointee_bits`.

    >>> [pointee_bytes(t) for t in (I1, TF32)]
    [1, 4]
    """
    return CARRIERS[element.name].itemsize


def pointee_bits(element: Scalar) -> int:
    """Return the distance between neighbours in memory, in bits. Two f4 share a byte, the first in its lower half.

    >>> [pointee_bits(t) for t in (I1, TF32, Scalar("f4E2M1FN"))]
    [8, 32, 4]
    """
    return element.row.memory_bits


def dense_array(value: Dense) -> Array:
    """Return the elements of a constant as a read-only array; a splat takes the memory of one element.

    >>> from tilery.types import I32
    >>> dense_array(Dense(Tile((2, 2), I32), b"\\x07\\0\\0\\0"))
    array([[7, 7],
           [7, 7]], dtype=int32)
    """
    return (_dense_array if len(value.data) <= CACHED else _dense_array.__wrapped__)(value)


@lru_cache(maxsize=1024)
def _dense_array(value: Dense) -> Array:
    element, size = value.element, value.type.size
    flat: Array
    if element is I1:
        if len(value.data) == 1 and size > 8:
            flat = np.array([value.data[0] & 1], np.bool_)
        else:
            flat = np.unpackbits(np.frombuffer(value.data, np.uint8), count=size, bitorder="little").astype(np.bool_)
    elif element is TF32:
        parts = np.frombuffer(value.data, np.uint8).reshape(-1, 3).astype(np.uint32)
        flat = ((parts[:, 0] | parts[:, 1] << 8 | parts[:, 2] << 16) << 13).view(np.float32)
    else:
        flat = np.frombuffer(value.data, CARRIERS[element.name])
        if element.bits < 8:
            flat = flat & ((1 << element.bits) - 1)
    if flat.size == 1:
        return np.broadcast_to(flat.reshape(()), value.type.shape)
    flat.flags.writeable = False
    return flat.reshape(value.type.shape)


def packed(elements: Array) -> Array:
    """Pack elements, one per byte, two to a byte.

    >>> packed(np.array([1, 2, 3], np.uint8)).tolist()
    [33, 3]
    """
    pairs = np.zeros(len(elements) + len(elements) % 2, np.uint8)
    pairs[: len(elements)] = elements
    return pairs[::2] | pairs[1::2] << 4


def unpacked(memory: Array) -> Array:
    """Unpack the bits of elements, two to a byte, along the last dimension.

    >>> unpacked(np.array([33, 3], np.uint8)).tolist()
    [1, 2, 3, 0]
    """
    return np.stack([memory & 15, memory >> 4], axis=-1).reshape(*memory.shape[:-1], -1)
