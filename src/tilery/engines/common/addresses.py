"""Memory at real addresses: the ranges that a kernel may access, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, SupportsIndex

import numpy as np

from . import dlpack

GUARD = 1024
"""Bytes left free after memory that we allocate, so that an access past its end does not hit the next array."""


def refuse_copy(holder: object) -> NoReturn:
    """Raise TypeError: a copy would hold addresses of memory that it does not keep alive."""
    raise TypeError(f"cannot pickle or copy a '{type(holder).__name__}': it holds addresses of this process")


class HoldsAddresses:
    """Base of classes that refuse to be pickled or copied."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        refuse_copy(self)


class DlpackDevice(NamedTuple):
    """A device in DLPack's numbering."""

    kind: int
    number: int

    @property
    def is_host(self) -> bool:
        """Whether the CPU can access memory there."""
        return self.kind in (dlpack.CPU, dlpack.CUDA_HOST)


HOST = DlpackDevice(dlpack.CPU, 0)


class Runs(NamedTuple):
    """The bytes of an array with gaps: runs of `length` bytes, repeated by steps (stride and count), outer first."""

    steps: tuple[tuple[int, int], ...]
    length: int


def runs_of(shape: tuple[int, ...], strides: tuple[int, ...], item: int) -> Runs | None:
    """Return the runs of an array, counted from its lowest byte; None if it has no gaps. Strides are in bytes.

    Also None if its elements are interleaved in a way that runs cannot describe.

    >>> runs_of((4, 8), (64, 4), 4), runs_of((8, 8), (32, 4), 4)
    (Runs(steps=((64, 4),), length=32), None)
    """
    dims = sorted((abs(stride), count) for stride, count in zip(strides, shape) if count > 1 and stride)
    length = reach = item
    steps: list[tuple[int, int]] = []
    for stride, count in dims:
        if stride < reach:
            return None
        if stride == length and not steps:
            length *= count
        else:
            steps.insert(0, (stride, count))
        reach += stride * (count - 1)
    return Runs(tuple(steps), length) if steps else None


class Layout(NamedTuple):
    """Where the elements of an array are; strides are in bytes."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item: int

    def find(self, address: int) -> tuple[int, ...] | None:
        """Return the element that an address is in, or None.

        >>> Layout(4096, (3, 4), (32, 4), 4).find(4096 + 32 + 8)
        (1, 2)
        """
        left, found = address - self.address, [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -self.strides[axis]):
            if self.strides[axis] > 0:
                found[axis], left = divmod(left, self.strides[axis])
        inside = all(0 <= i < size for i, size in zip(found, self.shape))
        return tuple(found) if inside and 0 <= left < self.item else None


@dataclass(frozen=True, slots=True)
class MemoryRange(HoldsAddresses):
    """Bytes that a kernel may access. `label` names them in errors, `owner` keeps them alive."""

    address: int
    size: int
    label: str
    writable: bool = True
    device: DlpackDevice = HOST
    owner: object = None
    pointers: tuple[int, ...] = ()
    """The offsets of addresses that it holds."""
    runs: Runs | None = None
    """The bytes of an array with gaps."""
    layout: Layout | None = None
    """Where its elements are, if it is an array."""


def allocate(size: int, alignment: int) -> tuple[int, Any]:
    """Allocate zeroed memory with a guard after it; return its address and the object that keeps it alive."""
    alignment = max(alignment, 16)
    raw = np.zeros(size + alignment + GUARD, np.uint8)
    start = raw.ctypes.data
    return start + -start % alignment, raw
