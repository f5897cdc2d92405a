"""Filters that a process puts on itself for good: system calls by seccomp, files and signals by Landlock.

They hold with and without namespaces, and for every process that it starts.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable
from contextlib import suppress

from . import system

# ---------------------------------------------------------------- system calls

DENIED = {
    "socket": (41, 198), "socketpair": (53, 199), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "chroot": (161, 51), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "unshare": (272, 97), "setns": (308, 268), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "memfd_create": (319, 279), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "msgget": (68, 186),
    "semget": (64, 190), "mq_open": (240, 180), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "syslog": (103, 116),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "setuid": (105, 146), "setreuid": (113, 145), "setresuid": (117, 147), "setfsuid": (122, 151),
    "setgid": (106, 144), "setregid": (114, 143), "setresgid": (119, 149), "setfsgid": (123, 152),
    "setgroups": (116, 159), "sethostname": (170, 161), "setdomainname": (171, 162), "fanotify_init": (300, 262),
    "io_uring_setup": (425, 425), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440), "mount_setattr": (442, 442), "memfd_secret": (447, 447),
}  # fmt: skip
"""System calls that no compiler needs, with their numbers on x86-64 and on Arm.

Sockets reach daemons; shared memory without a file escapes the count of memory; another user has another count of
processes; the others reach other processes or large parts of the kernel.
"""
ARCHITECTURES = {"x86_64": (0, 0xC000003E, 56, 62), "aarch64": (1, 0xC00000B7, 220, 129)}
"""For each machine: its column, its number for seccomp, and the numbers of `clone` and `kill`."""
CLONE3 = 435
NAMESPACE_FLAGS = 0x7E020080
"""Flags of `clone` that make namespaces."""
FOREIGN = 0x40000000
"""On x86-64, larger numbers are those of the x32 interface."""
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, ERROR = 0x7FFF0000, 0x00050000
EPERM, ENOSYS = 1, 38
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in what a filter sees of a call."""
SECCOMP, FILTER_MODE = 22, 2


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("<HBBI", code, yes, no, value)


def filter_program(machine: str) -> bytes:
    """Return the filter for a machine: allow all calls but those that are denied."""
    column, architecture, clone, kill = ARCHITECTURES[machine]
    refuse = _step(RETURN, ERROR | EPERM)
    steps = [
        _step(LOAD, ARCHITECTURE), _step(EQUAL, architecture, 1, 0), refuse,
        _step(LOAD, NUMBER), _step(AT_LEAST, FOREIGN, 0, 1), refuse,
        # The flags of clone3 are in memory, where a filter cannot see them; callers then use clone.
        _step(EQUAL, CLONE3, 0, 1), _step(RETURN, ERROR | ENOSYS),
    ]  # fmt: skip
    for numbers in DENIED.values():
        steps += [_step(EQUAL, numbers[column], 0, 1), refuse]
    steps += [
        _step(EQUAL, clone, 0, 4), _step(LOAD, FIRST_ARGUMENT), _step(ANY_BIT, NAMESPACE_FLAGS, 0, 1), refuse,
        _step(RETURN, ALLOW),
        _step(EQUAL, kill, 0, 3), _step(LOAD, FIRST_ARGUMENT), _step(EQUAL, 0xFFFFFFFF, 0, 1), refuse,
        _step(RETURN, ALLOW),
    ]  # fmt: skip
    return b"".join(steps)


def filter_calls() -> bool:
    """Deny system calls to this process and all that it starts; tell whether that worked."""
    if platform.machine() not in ARCHITECTURES:
        return False
    code = filter_program(platform.machine())
    data = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HxxxxxxP", len(code) // 8, ctypes.addressof(data))
    with suppress(OSError):
        system.control(system.NO_NEW_PRIVS, 1)
        system.control(SECCOMP, FILTER_MODE, program)
        return True
    return False


# ---------------------------------------------------------------- files

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Numbers of system calls, the same on every machine."""
EXECUTE, WRITE, READ, LIST, TRUNCATE = 1, 2, 4, 8, 1 << 14
READABLE = EXECUTE | READ | LIST
FILE_RIGHTS = EXECUTE | WRITE | READ | TRUNCATE
"""Rights that a file can have; the others are of folders."""
NETWORK = 3
SCOPES = 3
"""Abstract sockets, and signals."""
SCOPED_SINCE = 6


def landlock_version() -> int:
    """Return the version of Landlock; 0 if the kernel has none."""
    with suppress(OSError):
        return system.call(CREATE_RULESET, None, 0, 1)
    return 0


def confine_files(readable: Iterable[str], writable: Iterable[str]) -> int:
    """Deny access to all other files and folders, for good; return the version of Landlock that does it, or 0.

    Since version 6, signals reach no process outside either.
    """
    version = landlock_version()
    if not version:
        return 0
    known = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    words = [known, *([NETWORK] if version >= 4 else []), *([SCOPES] if version >= SCOPED_SINCE else [])]
    rules = struct.pack(f"<{len(words)}Q", *words)
    with suppress(OSError):
        ruleset = system.call(CREATE_RULESET, rules, len(rules), 0)
        for path in readable:
            _allow(ruleset, path, READABLE & known)
        for path in writable:
            _allow(ruleset, path, known)
        system.control(system.NO_NEW_PRIVS, 1)
        system.call(RESTRICT_SELF, ruleset, 0)
        os.close(ruleset)
        return version
    return 0


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # nothing to allow
        return
    try:
        if not os.path.isdir(path):
            rights &= FILE_RIGHTS
        system.call(ADD_RULE, ruleset, 1, struct.pack("<Qi", rights, place), 0)
    finally:
        os.close(place)
