"""Objects in this process: what they need is checked before they are loaded."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import llvmlite.binding as llvm

from ....diag import TileError
from ...common.addresses import HoldsAddresses
from .compiler import feature_string, host

_SYMBOLS = 2
"""The type of an ELF section that holds symbols."""
NEAR, SLACK, MOST_PAGES = 1 << 30, 1 << 20, 1 << 14
"""Sections are loaded within so many bytes, in the size of an object and so many more; the most pages to fill."""


def undefined_symbols(data: bytes) -> list[str]:
    """List the symbols that an ELF object uses and does not define. MCJIT makes a call of one a jump to address 0."""
    try:
        return _undefined(data)
    except (struct.error, ValueError, OverflowError):
        raise TileError("the compiled object is damaged") from None


def _undefined(data: bytes) -> list[str]:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a little-endian 64-bit ELF object")
    (sections,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    found = []
    for at in range(sections, sections + count * size, size or 1):
        (kind,) = struct.unpack_from("<I", data, at + 4)
        if kind != _SYMBOLS:
            continue
        offset, length, link = struct.unpack_from("<QQI", data, at + 0x18)
        (names,) = struct.unpack_from("<Q", data, sections + link * size + 0x18)
        for symbol in range(offset + 24, offset + length, 24):
            name, _, _, section = struct.unpack_from("<IBBH", data, symbol)
            if section == 0:
                found.append(data[names + name : data.index(b"\0", names + name)].decode())
    return found


def _hold_llvm() -> None:
    """Keep other threads out of LLVM: a process that is forked meanwhile would wait for them for ever."""
    _llvm_lock.__enter__()


def _let_go_of_llvm() -> None:
    _llvm_lock.__exit__(None, None, None)


_llvm_lock: Any = getattr(llvm.ffi.lib, "_lock", nullcontext())
"""Every call of llvmlite holds it."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_llvm, after_in_parent=_let_go_of_llvm, after_in_child=_let_go_of_llvm)


class Code(HoldsAddresses):
    """Loaded objects. Their functions can be called for as long as it lives."""

    def __init__(self, *objects: tuple[bytes, frozenset[str]]) -> None:
        """Load objects, each with the symbols that it may leave undefined."""
        self.facts: dict[str, Any] = {}
        for data, allowed in objects:
            if missing := [name for name in undefined_symbols(data) if name not in allowed]:
                raise TileError(f"the compiled object needs {', '.join(sorted(missing))}, which may not be called")
        _initialize()
        target = host()
        machine = llvm.Target.from_triple(target.triple).create_target_machine(
            cpu=target.cpu, features=feature_string(target), reloc="pic", codemodel="small"
        )
        self._engine: Any = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        with _room_for(sum(len(data) for data, _ in objects)):
            for data, _ in objects:
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(data))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Return the address of a function."""
        found: int = self._engine.get_function_address(name)
        if not found:
            raise TileError(f"the compiled object has no function '{name}'")
        return found


@contextmanager
def _room_for(size: int) -> Iterator[None]:
    """Keep the sections of an object together while it is loaded.

    LLVM puts each section where the system has room, and aborts the process if that is more than 2 GiB from another
    that it refers to. So gaps with room for a page but not for the object are filled meanwhile.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    held: list[mmap.mmap] = []
    try:
        for _ in range(MOST_PAGES):
            page, whole = mmap.mmap(-1, mmap.PAGESIZE), mmap.mmap(-1, 2 * size + SLACK)
            near = abs(_address(page) - _address(whole)) < NEAR
            whole.close()
            if near:
                page.close()
                break
            held.append(page)
        yield
    finally:
        for each in held:
            each.close()


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _initialize() -> None:
    """Prepare LLVM; doing it again costs nothing."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
