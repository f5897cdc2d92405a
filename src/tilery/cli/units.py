"""Numbers with units, as people read them."""

from __future__ import annotations


def seconds(value: float) -> str:
    """Print a time with a unit that suits it.

    >>> seconds(0.0025), seconds(2e-9)
    ('2.5 ms', '2 ns')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"
