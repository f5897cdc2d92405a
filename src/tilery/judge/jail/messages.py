"""Messages between a judge and its server of jails: a length and as many bytes. Lengths have limits on both sides."""

from __future__ import annotations

import os
import struct

LARGEST_HEAD = 1 << 20
"""The most bytes of a message that describes another."""
LARGEST_REQUEST = 1 << 28


def receive(fd: int, most: int) -> bytes | None:
    """Read a message; None at the end, or if it is longer than allowed."""
    head = _exactly(fd, 8)
    if head is None:
        return None
    (count,) = struct.unpack("<Q", head)
    return _exactly(fd, count) if count <= most else None


def _exactly(fd: int, count: int) -> bytes | None:
    parts = []
    while count:
        part = os.read(fd, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def send(fd: int, data: bytes) -> None:
    """Write a message."""
    for part in (struct.pack("<Q", len(data)), data):
        view = memoryview(part)
        while view:
            view = view[os.write(fd, view) :]
