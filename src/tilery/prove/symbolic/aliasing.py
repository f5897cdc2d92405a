"""Whether a load may read what a store of the same kernel wrote."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from ... import ops
from ...ir import Op, Value, walk
from .liveness import is_effect


def stores(o: Op) -> bool:
    return isinstance(o, (ops.StorePtrTko, ops.StoreViewTko)) or (is_effect(o) and hasattr(o, "memory_scope"))


def homes(entry: ops.Entry, needed: Container[Value]) -> dict[Value, str]:
    """Return the names of the pointers that do not overlap: parameters, and memory that the kernel allocates.

    Other arguments of blocks, as pointers that a loop carries, may point anywhere.
    """
    made = {v: f"p{i}" for i, v in enumerate(entry.body.args)}
    allocated = [o.result for o in walk(entry) if isinstance(o, ops.Alloca) and o.result in needed]
    return made | {v: f"alloca{i}" for i, v in enumerate(allocated)}


def may_clash(known: Mapping[Value, str], load: Op, store: Op) -> bool:
    """Whether a load may read what a store wrote: both may come from the same one of the known pointers."""
    if not stores(store):
        return False
    mine, other = home(known, load), home(known, store)
    return mine is None or other is None or mine == other


def home(known: Mapping[Value, str], o: Op) -> str | None:
    """Return which of the known pointers an access uses, if it can be seen."""
    v = _pointer(o)
    through = (
        ops.Offset, ops.Broadcast, ops.Reshape, ops.Assume, ops.MakeTensorView, ops.MakePartitionView,
        ops.MakeStridedView, ops.MakeGatherScatterView, ops.Permute,
    )  # fmt: skip
    while v not in known:
        if not isinstance(v.owner, through):
            return None
        v = v.owner.operands[0]
    return known[v]


def _pointer(o: Any) -> Value:
    match o:
        case ops.StorePtrTko():
            return o.destination
        case ops.LoadPtrTko():
            return o.source
        case ops.LoadViewTko() | ops.StoreViewTko() | ops.AtomicRedViewTko():
            return o.view
    return o.pointers  # type: ignore[no-any-return]  # atomic operations
