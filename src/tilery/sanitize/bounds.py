"""`bounds` and `alignment`: accesses that memory cannot serve. The bad elements are reported and then left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engines.reference.tiles import Array
from .access import Access
from .checks import Check


def _drop(access: Access, bad: Array) -> None:
    """Leave out elements: the machine then accesses only the others."""
    access.mask = access.mask & ~bad
    access.partial = True


class Alignment(Check):
    """Addresses must be multiples of the size of an element."""

    name = "alignment"

    def before(self, access: Access) -> None:
        if access.bytes == 1:
            return
        low = access.addresses & (access.bytes - 1)
        if not low.any():
            return
        bad = (low != 0) & access.mask
        if not bad.any():
            return

        def values(where: tuple[int, ...]) -> dict[str, Any]:
            return {"the address": hex(int(access.addresses[where]))}

        rule = f"an address is not a multiple of {access.bytes}, the size of an element"
        self.reports.elements(self.name, access.op, rule, access.blocks, bad, values)
        _drop(access, bad)


class Bounds(Check):
    """Every byte of an element must lie in one buffer, which must be writable for a write."""

    name = "bounds"

    def before(self, access: Access) -> None:
        memory = self.machine.memory
        starts = np.array([s.address for s in memory.segments], np.int64)
        ends = np.array([s.end for s in memory.segments], np.int64)
        writable = np.array([s.writable for s in memory.segments], bool)
        number = np.searchsorted(starts, access.addresses, "right") - 1
        outside = number < 0
        if len(starts):
            outside |= access.addresses > ends[np.maximum(number, 0)] - access.bytes
        outside &= access.mask
        if outside.any():

            def values(where: tuple[int, ...]) -> dict[str, Any]:
                address = int(access.addresses[where]) & (1 << 64) - 1
                return {"the address": hex(address) + memory.nearby(address).replace(":", ",", 1)}

            rule = f"a {access.kind.value} is outside every buffer"
            self.reports.elements(self.name, access.op, rule, access.blocks, outside, values)
            _drop(access, outside)
        if access.writes and not writable.all():
            fixed = access.mask & ~writable[np.maximum(number, 0)]

            def label(where: tuple[int, ...]) -> dict[str, Any]:
                return {"the memory": memory.segments[int(number[where])].label}

            self.reports.elements(self.name, access.op, "a write to read-only memory", access.blocks, fixed, label)
            if fixed.any():
                _drop(access, fixed)
