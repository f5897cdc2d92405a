"""The bytes of a segment that may be written, where arrays overlap or have gaps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .addresses import Runs
from .tiles import Array


class ProtectedArray(NamedTuple):
    """An array in a segment; `runs` are its bytes if it has gaps."""

    address: int
    size: int
    label: str
    writable: bool
    runs: Runs | None

    def covers(self, addresses: Array) -> Array:
        """Tell which addresses are bytes of the array."""
        rest = addresses - self.address
        inside = (rest >= 0) & (rest < self.size)
        for stride, count in self.runs.steps if self.runs is not None else ():
            number = rest // stride
            inside &= number < count
            rest = rest - number * stride
        return inside if self.runs is None else inside & (rest < self.runs.length)


def is_uniform(parts: tuple[ProtectedArray, ...]) -> bool:
    """Tell whether all bytes of the parts are writable, or none."""
    return not any(p.writable for p in parts) or all(p.writable and p.runs is None for p in parts)


def forbidden(parts: tuple[ProtectedArray, ...], addresses: Array, item: int) -> tuple[Array, str]:
    """Tell which elements must not be written, and why the first one: read-only arrays win over writable ones."""
    first = last = fixed = np.zeros(addresses.shape, bool)
    for part in parts:
        here, there = part.covers(addresses), part.covers(addresses + (item - 1))
        if part.writable:
            first, last = first | here, last | there
        else:
            fixed = fixed | here | there
    bad: Array = fixed | ~(first & last)
    if not bad.any():
        return bad, ""
    where = tuple(np.argwhere(bad)[0])
    at = addresses[where]
    for part in parts:
        if not part.writable and (part.covers(at) | part.covers(at + (item - 1))):
            return bad, f"is in {part.label}, which is read-only"
    return bad, f"is in a gap between elements of {', '.join(dict.fromkeys(p.label for p in parts))}"
