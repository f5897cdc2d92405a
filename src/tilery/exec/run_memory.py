"""Loads and stores by address, memory of a tile block, and what only orders accesses.

An i1 in memory is a byte: any but 0 is true, and true is written as 1. All accesses of one operation happen at once, in
the order of the tile blocks and, within a tile, row by row; orderings and scopes ask for nothing more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import Refused
from ..ops import (
    Alloca,
    GdcLaunchDependentsTko,
    GdcWaitTko,
    GetGlobal,
    LoadPtrTko,
    MemoryFenceAliasTko,
    StorePtrTko,
)
from ..types import I1, Ptr, Scalar, Tile, Type
from .memory import Memory
from .registry import executes
from .runs import load, load_masked, store, store_masked
from .tiles import Array, carrier, pointee_bytes

UINT8 = np.dtype(np.uint8)


def stored(element: Type) -> np.dtype[Any]:
    """The NumPy type of an element in memory: a byte for an i1, the carrier for all others."""
    return UINT8 if element is I1 else carrier(element)


def loaded(raw: Array, element: Type) -> Array:
    """Elements as memory has them, in their carrier."""
    return raw != 0 if element is I1 else raw


def pointee(type: Type) -> Scalar:
    assert isinstance(type, Tile) and isinstance(type.element, Ptr)
    return type.element.pointee


def _whole_bytes(o: LoadPtrTko | StorePtrTko, pointers: Type) -> Scalar:
    """The element that is loaded or stored by address; an address cannot name half a byte."""
    element = pointee(pointers)
    if element.bits == 4:
        raise Refused(
            o, f"{o.name}: access through pointers to {element}, which share bytes, is not executed: use a view"
        )
    return element


def together(*arrays: Array) -> tuple[Array, ...]:
    """The arrays with the same lanes: all of them, or the one that they all have."""
    lanes = max(a.shape[0] for a in arrays)
    return tuple(np.broadcast_to(a, (lanes, *a.shape[1:])) for a in arrays)


# ---------------------------------------------------------------- load and store


@executes(
    LoadPtrTko,
    batch=True,
    note="A masked element without `paddingValue` is not defined: it is 0.",
)
def load_ptr_tko(
    o: LoadPtrTko, batch: Any, source: Array, mask: Array | None, padding: Array | None, token: None
) -> tuple[Array, None]:
    """The elements at a tile of addresses."""
    element = _whole_bytes(o, o.source.type)
    memory: Memory = batch.memory
    if mask is None or mask.all():
        return loaded(load(memory, source, stored(element)), element), None
    source, mask = together(source, mask)
    lanes = max(len(source), 1 if padding is None else len(padding))
    out = np.zeros((lanes, *source.shape[1:]), stored(element))
    if padding is not None:
        out[...] = padding
    if len(source) == lanes:
        load_masked(memory, source, mask, out)
    else:  # one place for all tile blocks, but other padding
        found = np.zeros(source.shape, out.dtype)
        load_masked(memory, source, mask, found)
        np.copyto(out, found, where=mask)
    return loaded(out, element), None


@executes(StorePtrTko, batch=True)
def store_ptr_tko(
    o: StorePtrTko, batch: Any, destination: Array, value: Array, mask: Array | None, token: None
) -> None:
    """Write elements at a tile of addresses; of several to one address the last in order stays."""
    _whole_bytes(o, o.destination.type)
    raw = value.view(UINT8) if value.dtype == np.bool_ else value
    memory: Memory = batch.memory
    if mask is None or mask.all():
        if destination.shape[0] == 1:
            raw = raw[-1:]  # all tile blocks write to the same place
        store(memory, *together(destination, raw))
        return
    if not mask.any():
        return
    store_masked(memory, *together(destination, raw, mask))


# ---------------------------------------------------------------- memory by name


@executes(Alloca, batch=True, note="The memory is zero at first and lives until the launch ends.")
def alloca(o: Alloca, batch: Any) -> Array:
    """The address of memory that each tile block has for itself."""
    size = o.num_elem * pointee_bytes(pointee(o.result.type))
    addresses: Array = batch.arena(o, size, o.alignment)
    return addresses


@executes(GetGlobal, batch=True)
def get_global(o: GetGlobal, batch: Any) -> Array:
    """The address of a variable of the module."""
    return np.array([batch.globals[o.name_]], np.int64)


# ---------------------------------------------------------------- order


@executes(
    GdcLaunchDependentsTko,
    GdcWaitTko,
    MemoryFenceAliasTko,
    batch=True,
    note="Launches happen one after the other and accesses in program order: there is nothing to wait for.",
)
def pass_on(o: Any, batch: Any, token: None = None) -> None:
    """A token: nothing at run time."""
