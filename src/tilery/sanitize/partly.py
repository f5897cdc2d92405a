"""Execute an access of which some elements were refused, so that a launch can go on after a fault."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engines.common.memory import Fault
from ..engines.common.tiles import Array
from ..engines.reference.access import Access
from ..engines.reference.batch import Batch
from ..engines.reference.nibbles import UINT8
from ..engines.reference.ops.atomics import compare_and_swap, read_modify_write
from ..engines.reference.ops.memory import loaded, stored
from ..engines.reference.ops.views import padding
from ..ops import AtomicCASTko, AtomicRedViewTko, AtomicRMWTko, LoadPtrTko, LoadViewTko
from ..types import TileView


def execute_partly(access: Access, batch: Batch, args: dict[str, Any]) -> Any:
    """Access the elements that the mask still selects, in order; others are loaded as padding or zero."""
    try:
        return _execute(access, batch, args)
    except Fault as fault:  # which counts the selected elements only
        first = np.argwhere(access.mask & (access.addresses == fault.address))[0]
        raise Fault(fault.reason, tuple(first.tolist()), fault.address, fault.kind) from None


def _execute(access: Access, batch: Batch, args: dict[str, Any]) -> Any:
    o, mask, memory, element = access.op, access.mask, batch.memory, access.element
    addresses = access.addresses[mask]
    match o:
        case LoadPtrTko() | LoadViewTko():
            out = np.zeros(mask.shape, stored(element))
            out[...] = _default(o, args)
            out[mask] = _load(access, memory.load(addresses, UINT8 if element.bits == 4 else out.dtype))
            return loaded(out, element), None
        case AtomicRMWTko() | AtomicRedViewTko():
            old = np.zeros(mask.shape, stored(element))
            old[mask] = read_modify_write(memory, o.mode, element, addresses, _value(access, access.value)[mask])
            return None if isinstance(o, AtomicRedViewTko) else (old, None)
        case AtomicCASTko():
            wanted = _value(access, args["cmp"])
            old = wanted.copy()
            old[mask] = compare_and_swap(memory, element, addresses, wanted[mask], _value(access, access.value)[mask])
            return old, None
    values = _value(access, access.value)[mask]
    raw = values.view(UINT8) if values.dtype == np.bool_ else values
    if access.half is None:
        memory.store(addresses, raw)
        return None
    for half in (0, 1):
        some = access.half[mask] == half
        kept = memory.load(addresses[some], UINT8) & np.uint8(0xF0 >> 4 * half)
        memory.store(addresses[some], kept | (raw[some] & 15) << 4 * half)
    return None


def _value(access: Access, value: Array | None) -> Array:
    assert value is not None
    return np.broadcast_to(value, access.mask.shape)


def _load(access: Access, raw: Array) -> Array:
    return raw if access.half is None else raw >> (access.half[access.mask] << 2) & 15


def _default(o: LoadPtrTko | LoadViewTko, args: dict[str, Any]) -> Any:
    if isinstance(o, LoadViewTko):
        assert isinstance(o.view.type, TileView)
        return padding(o.view.type)
    return 0 if args["paddingValue"] is None else args["paddingValue"]
