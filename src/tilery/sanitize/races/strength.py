"""How strong accesses are: what decides whether two of them may happen at the same time."""

from __future__ import annotations

from typing import NamedTuple

from ...attrs import MemoryOrderingSemantics, MemoryScope
from ...engines.reference.access import Access


class Strength(NamedTuple):
    """The properties that decide whether two accesses are morally strong."""

    strong: bool
    wide: bool
    """Whether the scope includes other tile blocks."""
    bytes: int


def strength(access: Access) -> Strength:
    """Return the strength of an access."""
    strong = access.ordering is not MemoryOrderingSemantics.WEAK
    return Strength(strong, strong and access.scope is not MemoryScope.TL_BLK, access.bytes)


def morally_strong(a: Strength, b: Strength, same_block: bool) -> bool:
    """Tell whether accesses that share a byte may happen at the same time. Elements are aligned: those of the same
    size that share a byte are the same bytes."""
    return a.strong and b.strong and a.bytes == b.bytes and (same_block or (a.wide and b.wide))
