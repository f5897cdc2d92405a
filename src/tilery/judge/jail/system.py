"""Calls of Linux that Python has no functions for: namespaces, mounts, capabilities, process controls."""

from __future__ import annotations

import ctypes
import os
import struct
from contextlib import suppress

NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 1, 2, 4, 4096, 8192, 16384, 1 << 18
PDEATHSIG, DUMPABLE, SUBREAPER, NO_NEW_PRIVS = 1, 4, 36, 38
PTRACE = 1 << 19
"""CAP_SYS_PTRACE, as a mask."""
MOUNT_SETATTR = 442
"""The number of the system call, the same on every architecture."""
RECURSIVE, READ_ONLY, NO_SETUID = 0x8000, 1, 2

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def unshare(flags: int) -> None:
    """Move this process, or its children, into new namespaces."""
    _check(_libc.unshare(flags))


def control(option: int, value: int, data: bytes | None = None) -> None:
    """Call prctl."""
    _check(_libc.prctl(option, ctypes.c_ulong(value), data, 0, 0))


def call(number: int, *args: int | bytes | None) -> int:
    """Make a system call by its number."""
    given = [ctypes.c_long(each) if isinstance(each, int) else each for each in args]
    result = int(_libc.syscall(ctypes.c_long(number), *given))
    _check(result)
    return result


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """Mount a file system."""
    args = [os.fsencode(each) or None for each in (source, target, kind)]
    _check(_libc.mount(*args, ctypes.c_ulong(flags), os.fsencode(data) or None))


def read_only_everywhere() -> None:
    """Make every mount of this namespace read-only, and deaf to set-user-id."""
    words = struct.pack("<4Q", READ_ONLY | NO_SETUID, 0, 0, 0)
    call(MOUNT_SETATTR, -100, b"/", RECURSIVE, words, len(words))


def drop_capabilities(*, kept: int = 0) -> None:
    """Give up all capabilities, for good, but those of a mask."""
    with suppress(OSError):
        control(NO_NEW_PRIVS, 1)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)(kept, kept)))
