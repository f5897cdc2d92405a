"""Arguments on the device: host memory is copied there before a launch and back after it."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from ...diag import TileError
from ..common import dlpack
from ..common.addresses import HoldsAddresses, MemoryRange
from ..common.arguments import BoundArguments
from .driver import Driver

ALIGNMENT = 4096
"""Copies keep the remainder of their address modulo this: what kernels are promised about alignment stays true."""


@dataclass(slots=True)
class _Copy:
    """Host memory and its copy; arrays that overlap share one."""

    start: int
    end: int
    ranges: list[MemoryRange]
    base: int = 0
    """The memory that the driver allocated."""
    device: int = 0
    """The address that stands for `start`."""


@dataclass(slots=True)
class Staged(HoldsAddresses):
    """The memory of a launch on the device. Use it as a context, which frees the copies at the end."""

    driver: Driver
    copies: list[_Copy] = field(default_factory=list)

    def add(self, ranges: Sequence[MemoryRange]) -> None:
        """Allocate copies of the ranges that are in host memory."""
        host = sorted((r for r in ranges if r.device.is_host and r.size), key=lambda r: r.address)
        for each in ranges:
            if not each.device.is_host and each.device != (dlpack.CUDA, self.driver.device):
                raise TileError(f"{each.label} is not on the GPU that the kernel runs on")
        for each in host:
            end = each.address + each.size
            if self.copies and each.address < self.copies[-1].end:
                last = self.copies[-1]
                last.end = max(last.end, end)
                last.ranges.append(each)
            else:
                self.copies.append(_Copy(each.address, end, [each]))
        for copy in self.copies:
            copy.base = self.driver.allocate(copy.end - copy.start + ALIGNMENT)
            copy.device = copy.base + copy.start % ALIGNMENT

    def address(self, host: int) -> int:
        """Return where a host address is on the device; any other address is one of the device already."""
        for copy in self.copies:
            if copy.start <= host < copy.end:
                return copy.device + host - copy.start
        for copy in self.copies:
            if host == copy.end:  # the end of an array, unless another one starts there
                return copy.device + host - copy.start
        return host

    def copy_in(self) -> None:
        """Copy everything to the device; the addresses inside lists of arrays become those of the device."""
        for copy in self.copies:
            self.driver.copy_in(copy.device, copy.start, copy.end - copy.start)
        for copy in self.copies:
            for each in copy.ranges:
                self._translate(copy, each)

    def _translate(self, copy: _Copy, each: MemoryRange) -> None:
        for offset in each.pointers:
            (host,) = struct.unpack("<Q", ctypes.string_at(each.address + offset, 8))
            word = ctypes.create_string_buffer(struct.pack("<Q", self.address(host)), 8)
            self.driver.copy_in(copy.device + each.address + offset - copy.start, ctypes.addressof(word), 8)

    def copy_out(self) -> None:
        """Copy what a kernel may have written back to the host."""
        for copy in self.copies:
            for each in copy.ranges:
                if each.writable:
                    self.driver.copy_out(each.address, copy.device + each.address - copy.start, each.size)

    def free(self) -> None:
        """Free the copies."""
        for copy in self.copies:
            if copy.base:
                self.driver.free(copy.base)
        self.copies.clear()


def stage(driver: Driver, bound: BoundArguments, pointers: Sequence[bool]) -> tuple[Staged, list[bytes]]:
    """Allocate the memory of arguments on the device; return it, and the slots with addresses of the device."""
    staged = Staged(driver)
    try:
        staged.add(bound.ranges)
    except TileError:
        staged.free()
        raise
    slots = [
        staged.address(int.from_bytes(slot, "little")).to_bytes(8, "little") if pointer else slot
        for slot, pointer in zip(bound.slots, pointers)
    ]
    return staged, slots
