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
from .boxes import load_boxes, store_boxes
from .memory import Fault, Memory
from .registry import executes
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


# ---------------------------------------------------------------- tiles of addresses


def _rows(addresses: Array, item: int) -> Array | None:
    """The first addresses of the rows if each row is one run of neighbouring elements; most tiles of pointers are."""
    if addresses.ndim < 2 or addresses.shape[-1] < 8:
        return None
    first = (
        addresses.reshape(-1)[: addresses.shape[-1]]
        if addresses.flags.c_contiguous
        else addresses[(0,) * (addresses.ndim - 1)]
    )
    if first[-1] - first[0] != (len(first) - 1) * item:
        return None
    if not (addresses[..., 1:] - addresses[..., :-1] == item).all():
        return None
    return addresses[..., 0].reshape(-1)


def load(memory: Memory, addresses: Array, dtype: np.dtype[Any]) -> Array:
    """What is at the addresses: runs of elements as boxes, all else one by one."""
    repeated = [axis for axis, stride in enumerate(addresses.strides) if stride == 0 and addresses.shape[axis] > 1]
    if repeated:
        key = tuple(slice(0, 1) if axis in repeated else slice(None) for axis in range(addresses.ndim))
        return np.broadcast_to(load(memory, addresses[key], dtype), addresses.shape)
    rows = _rows(addresses, dtype.itemsize)
    if rows is None:
        return memory.load(addresses, dtype)
    shape = addresses.shape
    try:
        return load_boxes(memory, rows, shape[-1:], (dtype.itemsize,), dtype).reshape(shape)
    except Fault as fault:
        raise _moved(fault, shape) from None


def store(memory: Memory, addresses: Array, values: Array) -> None:
    """Write values of the same shape at the addresses, in order."""
    item = values.dtype.itemsize
    rows = _rows(addresses, item)
    if rows is None:
        memory.store(addresses, values)
        return
    shape = addresses.shape
    try:
        store_boxes(memory, rows, shape[-1:], (item,), values.reshape(-1, shape[-1]))
    except Fault as fault:
        raise _moved(fault, shape) from None


def _moved(fault: Fault, shape: tuple[int, ...]) -> Fault:
    """A fault in one of the rows of a tile, as one in the tile."""
    row, column = fault.where
    where = np.unravel_index(row, shape[:-1])
    return Fault(fault.reason, (*map(int, where), column), fault.address)


def chosen(fault: Fault, mask: Array) -> Fault:
    """A fault among the elements that a mask leaves, as one in the tile."""
    where = np.unravel_index(np.flatnonzero(mask)[fault.where[0]], mask.shape)
    return Fault(fault.reason, tuple(map(int, where)), fault.address)


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
    dtype = stored(element)
    memory: Memory = batch.memory
    if mask is None or mask.all():
        return loaded(load(memory, source, dtype), element), None
    lanes = max(a.shape[0] for a in (source, mask, padding) if a is not None)
    source, mask = together(source, mask)
    out = np.zeros((lanes, *source.shape[1:]), carrier(element))
    if padding is not None:
        out[...] = padding
    if source.shape[0] == lanes:
        _fill(out, memory, source, mask, element)
    elif mask.any():
        raw = np.zeros(source.shape, out.dtype)
        _fill(raw, memory, source, mask, element)
        np.copyto(out, raw, where=mask)
    return out, None


def _fill(out: Array, memory: Memory, addresses: Array, mask: Array, element: Scalar) -> None:
    """Load what a mask leaves: tiles that it leaves whole are moved as such."""
    dtype = stored(element)
    whole = mask.all(axis=tuple(range(1, mask.ndim))) if mask.ndim > 1 else mask
    if mask.ndim > 1 and whole.any():
        lanes = np.flatnonzero(whole)
        try:
            out[lanes] = loaded(load(memory, addresses[lanes], dtype), element)
        except Fault as fault:
            raise Fault(fault.reason, (int(lanes[fault.where[0]]), *fault.where[1:]), fault.address) from None
        mask = mask & ~whole.reshape(-1, *(1,) * (mask.ndim - 1))
    try:
        out[mask] = loaded(memory.load(addresses[mask], dtype), element)
    except Fault as fault:
        raise chosen(fault, mask) from None


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
    destination, raw, mask = together(destination, raw, mask)
    try:
        memory.store(destination[mask], raw[mask])
    except Fault as fault:
        raise chosen(fault, mask) from None


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
