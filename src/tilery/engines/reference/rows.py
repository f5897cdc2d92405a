"""Memory access by tiles of addresses.

Most rows of such tiles are contiguous elements, masked at one end. Contiguous rows are moved as boxes, everything else
element by element, in the order of the tile blocks and row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..common.memory import Fault, FirstFault, Memory
from ..common.tiles import Array
from .boxes import as_slice, load_boxes, store_boxes

SHORT = 8
"""Shorter rows are not worth checking."""
PIECE = 1 << 14
"""Addresses to check at a time, so that they stay in the cache."""
FEW = 8
"""With more distinct masks than this, elements are accessed one by one."""


def contiguous_rows(addresses: Array, item: int) -> Array | None:
    """Return the first address of each row if the elements of every row are contiguous, else None.

    >>> contiguous_rows(np.array([np.arange(0, 32, 4), np.arange(100, 132, 4)]), 4)
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


def _unmasked_parts(mask: Array) -> list[tuple[Array | slice, int, int]] | None:
    """Group rows by unmasked part: (rows, first, end) each. None if a row has several parts, or for many groups."""
    rows = mask.reshape(-1, mask.shape[-1])
    count, width = rows.shape
    edges = np.flatnonzero(rows[:, 1:] != rows[:, :-1])
    if len(edges) > 2 * count:
        return None
    row, column = np.divmod(edges, width - 1)
    begins = rows[:, 0]
    if (np.bincount(row, minlength=count) + begins > 2).any():
        return None
    low, high = np.where(begins, 0, width), np.full(count, width)
    ends = begins[row] | np.append(False, row[1:] == row[:-1])
    high[row[ends]] = column[ends] + 1
    low[row[~ends]] = column[~ends] + 1
    kinds = low * (width + 1) + high
    found = np.unique(kinds)
    if len(found) > FEW:
        return None
    parts = [(np.flatnonzero(kinds == kind), *divmod(int(kind), width + 1)) for kind in found]
    return [(as_slice(part), first, last) for part, first, last in parts if first < last]


def load(memory: Memory, addresses: Array, dtype: np.dtype[Any]) -> Array:
    """Load the elements at the addresses."""
    repeated = [axis for axis, stride in enumerate(addresses.strides) if stride == 0 and addresses.shape[axis] > 1]
    if repeated:
        key = tuple(slice(0, 1) if axis in repeated else slice(None) for axis in range(addresses.ndim))
        return np.broadcast_to(load(memory, addresses[key], dtype), addresses.shape)
    starts = contiguous_rows(addresses, dtype.itemsize)
    if starts is None:
        return memory.load(addresses, dtype)
    shape = addresses.shape
    try:
        return load_boxes(memory, starts, shape[-1:], (dtype.itemsize,), dtype).reshape(shape)
    except Fault as fault:
        raise _in_row(fault, slice(None), 0, shape) from None


def load_masked(memory: Memory, addresses: Array, mask: Array, out: Array) -> None:
    """Load the elements that a mask selects into `out`. All arrays have the same shape."""
    item, shape = out.dtype.itemsize, out.shape
    starts = contiguous_rows(addresses, item)
    parts = None if starts is None else _unmasked_parts(mask)
    if starts is None or parts is None:
        try:
            out[mask] = memory.load(addresses[mask], out.dtype)
        except Fault as fault:
            raise fault_unmasked(fault, mask) from None
        return
    rows, first = out.reshape(-1, shape[-1]), FirstFault()
    for chosen, low, high in parts:
        where = starts[chosen] + low * item
        try:
            if isinstance(chosen, slice):
                load_boxes(memory, where, (high - low,), (item,), out.dtype, rows[chosen, low:high])
            else:
                rows[chosen, low:high] = load_boxes(memory, where, (high - low,), (item,), out.dtype)
        except Fault as fault:
            first.add(_in_row(fault, chosen, low, shape))
    first.check()


def store(memory: Memory, addresses: Array, values: Array) -> None:
    """Store values of the same shape at the addresses, in order."""
    item, shape = values.dtype.itemsize, values.shape
    starts = contiguous_rows(addresses, item)
    if starts is None:
        memory.store(addresses, values)
        return
    try:
        store_boxes(memory, starts, shape[-1:], (item,), values.reshape(-1, shape[-1]))
    except Fault as fault:
        raise _in_row(fault, slice(None), 0, shape) from None


def store_masked(memory: Memory, addresses: Array, values: Array, mask: Array) -> None:
    """Store the values that a mask selects."""
    item, shape = values.dtype.itemsize, values.shape
    starts = contiguous_rows(addresses, item)
    # Rows with the same part are written together, out of order, so they must not overlap.
    alone = starts is not None and bool((starts[1:] - starts[:-1] >= shape[-1] * item).all())
    parts = _unmasked_parts(mask) if alone else None
    if starts is None or parts is None:
        try:
            memory.store(addresses[mask], values[mask])
        except Fault as fault:
            raise fault_unmasked(fault, mask) from None
        return
    rows, first = values.reshape(-1, shape[-1]), FirstFault()
    for chosen, low, high in parts:
        try:
            store_boxes(memory, starts[chosen] + low * item, (high - low,), (item,), rows[chosen, low:high])
        except Fault as fault:
            first.add(_in_row(fault, chosen, low, shape))
    first.check()


def _in_row(fault: Fault, chosen: Array | slice, low: int, shape: tuple[int, ...]) -> Fault:
    """Translate a fault in some rows of a tile to the tile."""
    row, column = fault.where
    row = (chosen.start or 0) + row if isinstance(chosen, slice) else int(chosen[row])
    where = np.unravel_index(row, shape[:-1])
    return Fault(fault.reason, (*map(int, where), column + low), fault.address)


def fault_unmasked(fault: Fault, mask: Array) -> Fault:
    """Translate a fault among the elements that a mask selects to the tile."""
    where = np.unravel_index(np.flatnonzero(mask)[fault.where[0]], mask.shape)
    return Fault(fault.reason, tuple(map(int, where)), fault.address)
