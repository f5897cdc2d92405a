"""Random modules give every rule of `canonicalize` something to do."""

from __future__ import annotations

from support.firings import count_firings, table
from support.oracle import FULL

MODULES, LEAST = (10_000, 50) if FULL else (400, 1)


def test_every_rule_fires() -> None:
    counts = count_firings(range(MODULES))
    assert all(count >= LEAST for count in counts.values()), "\n".join(table(counts))
