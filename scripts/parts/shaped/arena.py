"""Buffers of engine cpu between pages that nothing may touch."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

from tilery.engines.common.addresses import HoldsAddresses
from tilery.engines.cpu.native import pool

from .memory import NONE, PAGE, protect


class GuardedArena(HoldsAddresses):
    """The buffers of a launch, full of junk, made anew for each launch, and ending at a forbidden page."""

    bytes = -1
    """Too small for any launch, so that none uses the arena of another."""

    def __init__(self, size: int, count: int = 1) -> None:
        self.stride = -(-size // pool.LINE) * pool.LINE
        whole = self.stride * count
        pages = max(1, -(-whole // PAGE))
        memory = mmap.mmap(-1, (pages + 2) * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self._raw = np.frombuffer(memory, np.uint8)
        self._raw[PAGE : (pages + 1) * PAGE] = 0xEE
        protect(start, PAGE, NONE)
        protect(start + (pages + 1) * PAGE, PAGE, NONE)
        self.address = start + (pages + 1) * PAGE - whole
