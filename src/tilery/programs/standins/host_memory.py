"""Memory of the stand-ins for NVIDIA's `cuda` packages: allocations on the host, and copies that stay inside them."""

from __future__ import annotations

import ctypes
from typing import Any

from ..device import STATE, memory_at


def free(address: int) -> bool:
    """Free memory; whether there was any."""
    return STATE.memory.pop(int(address), None) is not None


def holds(address: int, size: int) -> bool:
    """Whether an allocation holds these bytes."""
    memory = memory_at(address)
    return memory is not None and address + size <= ctypes.addressof(memory) + len(memory)


def address_of(value: Any) -> int:
    """Return the address that an argument means: a number, an array, bytes, or an object that is one of them."""
    if hasattr(value, "__array_interface__"):
        return int(value.__array_interface__["data"][0])
    if hasattr(value, "getPtr"):
        return int(value.getPtr())
    if isinstance(value, bytearray):
        return ctypes.addressof((ctypes.c_char * len(value)).from_buffer(value))
    if isinstance(value, bytes):
        return ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value or 0
    return int(value)


def copy(to: Any, source: Any, size: int, *, device_to: bool, device_from: bool) -> bool:
    """Copy bytes; refuse addresses of the device that are in no allocation."""
    target, origin = address_of(to), address_of(source)
    if (device_to and not holds(target, size)) or (device_from and not holds(origin, size)):
        return False
    ctypes.memmove(target, origin, size)
    return True


def fill(address: int, pattern: bytes, count: int) -> bool:
    """Repeat a pattern in memory."""
    if not holds(int(address), len(pattern) * count):
        return False
    ctypes.memmove(int(address), pattern * count, len(pattern) * count)
    return True
