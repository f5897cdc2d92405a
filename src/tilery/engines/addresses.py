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


class Device(NamedTuple):
    """A device in DLPack's numbering."""

    kind: int
    number: int

    @property
    def is_host(self) -> bool:
        """Whether the CPU can access memory there."""
        return self.kind in (dlpack.CPU, dlpack.CUDA_HOST)


HOST = Device(dlpack.CPU, 0)


@dataclass(frozen=True, slots=True)
class MemoryRange(HoldsAddresses):
    """Bytes that a kernel may access. `label` names them in errors, `owner` keeps them alive."""

    address: int
    size: int
    label: str
    writable: bool = True
    device: Device = HOST
    owner: object = None
    pointers: tuple[int, ...] = ()
    """The offsets of addresses that it holds."""


def allocate(size: int, alignment: int) -> tuple[int, Any]:
    """Allocate zeroed memory with a guard after it; return its address and the object that keeps it alive."""
    alignment = max(alignment, 16)
    raw = np.zeros(size + alignment + GUARD, np.uint8)
    start = raw.ctypes.data
    return start + -start % alignment, raw
