"""Loads and stores by address, private memory of tile blocks, and fences.

An i1 in memory is a byte: any value but 0 is true, and true is written as 1. All accesses of one operation happen at
once, in the order of the tile blocks and, within a tile, row by row. That satisfies every ordering and scope.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ....ir import Refused
from ....ops import Alloca, GdcLaunchDependentsTko, GdcWaitTko, GetGlobal, LoadPtrTko, MemoryFenceAliasTko, StorePtrTko
from ....types import I1, Ptr, Scalar, Tile, Type
from ...common.layout import alloca_bytes
from ...common.tiles import Array, carrier, pointee_bits, spread
from ..batch import Batch
from ..nibbles import UINT8, load_nibbles, paired_axis, store_nibbles
from ..registry import executes
from ..rows import load, load_masked, store, store_masked


def stored(element: Type) -> np.dtype[Any]:
    """Return the NumPy type of an element in memory: a byte for an i1, the carrier for all others."""
    return UINT8 if element is I1 else carrier(element)


def loaded(raw: Array, element: Type) -> Array:
    """Convert elements from their form in memory to their carrier."""
    return raw != 0 if element is I1 else raw


def pointee(type: Type) -> Scalar:
    assert isinstance(type, Tile) and isinstance(type.element, Ptr)
    return type.element.pointee


def _pairs(o: LoadPtrTko | StorePtrTko, pointers: Type, addresses: Array) -> int | None:
    """Return the dimension along which two neighbours share a byte; None for elements of whole bytes."""
    element = pointee(pointers)
    if element.bits != 4:
        return None
    axis = paired_axis(addresses)
    if axis is None:
        raise Refused(o, f"{o.name}: pointers to {element} must come in pairs that share a byte, along a dimension")
    return axis


def unmasked_bytes(batch: Batch, type: Type, mask: Array | None) -> int:
    """Return the bytes that all tile blocks access through a tile of pointers."""
    assert isinstance(type, Tile)
    if mask is None:
        count = type.size * batch.lanes
    else:
        count = int(np.count_nonzero(mask)) * (batch.lanes // mask.shape[0])
    return count * pointee_bits(pointee(type)) // 8


# ---------------------------------------------------------------- load and store


@executes(LoadPtrTko, batch=True)
def load_ptr_tko(
    o: LoadPtrTko, batch: Batch, source: Array, mask: Array | None, padding: Array | None, token: None
) -> tuple[Array, None]:
    """The elements at a tile of addresses."""
    element, axis = pointee(o.source.type), _pairs(o, o.source.type, source)
    memory = batch.memory
    memory.bytes_read += unmasked_bytes(batch, o.source.type, mask)
    if axis is None and (mask is None or mask.all()):
        return loaded(load(memory, source, stored(element)), element), None
    source, mask = spread(source, np.ones(source.shape, bool) if mask is None else mask)
    lanes = max(len(source), 1 if padding is None else len(padding))
    out = np.zeros((lanes, *source.shape[1:]), stored(element))
    if padding is not None:
        out[...] = padding
    found = out if len(source) == lanes else np.zeros(source.shape, out.dtype)
    if axis is None:
        load_masked(memory, source, mask, found)
    else:
        load_nibbles(memory, source, mask, axis, found)
    if found is not out:  # all tile blocks load from the same addresses, with different padding
        np.copyto(out, found, where=mask)
    return loaded(out, element), None


@executes(StorePtrTko, batch=True)
def store_ptr_tko(
    o: StorePtrTko, batch: Batch, destination: Array, value: Array, mask: Array | None, token: None
) -> None:
    """Write elements at a tile of addresses; if an address occurs several times, the last one wins."""
    axis = _pairs(o, o.destination.type, destination)
    raw = value.view(UINT8) if value.dtype == np.bool_ else value
    memory = batch.memory
    memory.bytes_written += unmasked_bytes(batch, o.destination.type, mask)
    if mask is None or mask.all():
        if destination.shape[0] == 1:
            raw = raw[-1:]  # all tile blocks write to the same addresses: the last one wins
        mask = None
    elif not mask.any():
        return
    destination, raw = spread(destination, raw, *([] if mask is None else [mask]))[:2]
    if mask is not None:
        mask = np.broadcast_to(mask, destination.shape)
    if axis is not None:
        store_nibbles(memory, destination, raw, mask, axis)
    elif mask is None:
        store(memory, destination, raw)
    else:
        store_masked(memory, destination, raw, mask)


# ---------------------------------------------------------------- memory by name


@executes(Alloca, batch=True)
def alloca(o: Alloca, batch: Batch) -> Array:
    """The address of each tile block's private memory."""
    return batch.arena(o, alloca_bytes(o), o.alignment)


@executes(GetGlobal, batch=True)
def get_global(o: GetGlobal, batch: Batch) -> Array:
    """The address of a global."""
    return np.array([batch.globals[o.name_]], np.int64)


# ---------------------------------------------------------------- order


@executes(GdcLaunchDependentsTko, GdcWaitTko, MemoryFenceAliasTko, batch=True)
def pass_on(o: Any, batch: Batch, token: None = None) -> None:
    """Return a token, which is nothing at run time."""
