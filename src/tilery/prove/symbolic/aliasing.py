"""Whether a load may read what a store of the same kernel wrote."""

from __future__ import annotations

from typing import Any

from ... import ops
from ...ir import Op, Value
from .liveness import is_effect


def stores(o: Op) -> bool:
    return isinstance(o, (ops.StorePtrTko, ops.StoreViewTko)) or (is_effect(o) and hasattr(o, "memory_scope"))


def may_clash(load: Op, store: Op) -> bool:
    """Whether a load may read what a store wrote: both may come from the same parameter."""
    if not stores(store):
        return False
    mine, other = root(_pointer(load)), root(_pointer(store))
    return mine is None or other is None or mine is other


def _pointer(o: Any) -> Value:
    match o:
        case ops.StorePtrTko():
            return o.destination
        case ops.LoadPtrTko():
            return o.source
        case ops.LoadViewTko() | ops.StoreViewTko() | ops.AtomicRedViewTko():
            return o.view
    return o.pointers  # type: ignore[no-any-return]  # atomic operations


def root(v: Value) -> Value | None:
    """Return the parameter that a pointer or view is made from, if it can be seen."""
    through = (
        ops.Offset, ops.Broadcast, ops.Reshape, ops.Assume, ops.MakeTensorView, ops.MakePartitionView,
        ops.MakeStridedView, ops.MakeGatherScatterView, ops.Permute,
    )  # fmt: skip
    while isinstance(v.owner, Op):
        if not isinstance(v.owner, through):
            return None
        v = v.owner.operands[0]
    return v
