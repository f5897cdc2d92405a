"""Arrays next to an inaccessible page: an access outside them ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE


def guarded(value: Any, *, before: bool = False) -> Any:
    """Return a copy of an array that ends at a forbidden page, or with `before` begins after one; other values as is.

    >>> guarded(np.arange(3)).tolist(), guarded(5)
    ([0, 1, 2], 5)
    """
    if not isinstance(value, np.ndarray) or not value.nbytes:
        return value
    size = -(-value.nbytes // PAGE) * PAGE
    memory = mmap.mmap(-1, size + 2 * PAGE)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    library = ctypes.CDLL(None, use_errno=True)
    for page in (base, base + PAGE + size):
        if library.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), 0):
            raise OSError(ctypes.get_errno(), "mprotect")
    start = PAGE if before else PAGE + size - value.nbytes
    made = np.frombuffer(memory, value.dtype, value.size, start).reshape(value.shape)
    made[...] = value
    return made
