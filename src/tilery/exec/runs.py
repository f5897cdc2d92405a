"""Access to memory by a tile of addresses. Most rows of such tiles are runs of neighbouring elements, masked at an end;
runs are moved as boxes, all else element by element, in the order of the tile blocks and row by row.
"""

from __future__ import annotations

import numpy as np

from .boxes import load_boxes
from .memory import Fault, Memory
from .tiles import Array

SHORT = 8
"""Rows of fewer elements are not worth the search for runs."""
PIECE = 1 << 14
"""As many addresses are looked at together: they stay in the cache."""
FEW = 8
"""With more different masks than this, elements go one by one."""


def run_starts(addresses: Array, item: int) -> Array | None:
    """The first address of each row if all rows are runs.

    >>> run_starts(np.array([np.arange(0, 32, 4), np.arange(100, 132, 4)]), 4)
    array([  0, 100])
    """
    width = addresses.shape[-1]
    if addresses.ndim < 2 or width < SHORT:
        return None
    first = addresses[(0,) * (addresses.ndim - 1)]
    if int(first[-1]) - int(first[0]) != (width - 1) * item:
        return None
    rows = addresses.reshape(-1, width)
    step = max(1, PIECE // width)
    for start in range(0, len(rows), step):
        piece = rows[start : start + step]
        if not (piece[:, 1:] - piece[:, :-1] == item).all():
            return None
    return rows[:, 0]


def _masked(mask: Array) -> list[tuple[Array | slice, int, int]] | None:
    """Rows with the same part unmasked, and that part, if it is always one piece and there are few kinds."""
    rows = mask.reshape(-1, mask.shape[-1])
    counts, low = np.count_nonzero(rows, axis=1), rows.argmax(axis=1)
    pieces = np.count_nonzero(rows[:, 1:] & ~rows[:, :-1], axis=1) + rows[:, 0]
    if (pieces > 1).any():
        return None
    kinds = low * (rows.shape[1] + 1) + counts
    found = np.unique(kinds)
    if len(found) > FEW:
        return None
    parts = [np.flatnonzero(kinds == kind) for kind in found]
    return [(part, int(low[part[0]]), int(low[part[0]] + counts[part[0]])) for part in parts if counts[part[0]]]


def _parts(mask: Array | None, width: int) -> list[tuple[Array | slice, int, int]] | None:
    return [(slice(None), 0, width)] if mask is None else _masked(mask)


def load(memory: Memory, addresses: Array, mask: Array | None, out: Array) -> None:
    """Fill `out` where the mask allows it. All have the same shape."""
    item, width = out.dtype.itemsize, addresses.shape[-1]
    starts = run_starts(addresses, item)
    parts = None if starts is None else _parts(mask, width)
    if starts is None or parts is None:
        _load_each(memory, addresses, mask, out)
        return
    rows = out.reshape(-1, width)
    for chosen, low, high in parts:
        try:
            rows[chosen, low:high] = load_boxes(memory, starts[chosen] + low * item, (high - low,), (item,), out.dtype)
        except Fault as fault:
            raise _moved(fault, chosen, low, addresses.shape) from None
