"""Atomic operations, with their orderings and scopes."""

from __future__ import annotations

from ...ir import Value
from ...types import BF16, F16, Scalar
from ..mlir import TOp
from .memory import strong_load
from .table import refuse, translates
from .translator import Translator, scalar

MODES = {1: "and", 2: "or", 3: "xor", 4: "add", 5: "addf", 6: "max", 7: "min", 8: "umax", 9: "umin", 10: "xchg"}
ORDERINGS = {1: "relaxed", 2: "acquire", 3: "release", 4: "acq_rel"}
SCOPES = {1: "device", 2: "tl_blk", 3: "sys"}


def strength(op: TOp) -> tuple[str, str]:
    """Return the ordering and the scope."""
    return ORDERINGS[op.attrs.get("sem", 4)], SCOPES[op.attrs.get("scope", 1)]


@translates("tt.atomic_rmw")
def atomic_rmw(t: Translator, op: TOp, pointers: Value, value: Value, mask: Value | None = None) -> Value:
    mode = MODES[op.attrs["atomic_rmw_op"]]
    check_element(t, op, scalar(value), mode)
    ordering, scope = strength(op)
    old, token = t.builder.op("atomic_rmw_tko", ordering, scope, pointers, mode, value, mask=mask, token=t.order.all())
    t.order.wait(token)
    made: Value = old
    return made


def check_element(t: Translator, op: TOp, element: Scalar, mode: str) -> None:
    """Refuse what GPUs do with a loop around a wider operation: Tile IR has no such atomics."""
    if element.bits < 32 and not (mode == "addf" and element in (F16, BF16)):
        refuse(t, op, f"atomic '{mode}' of {element} has no counterpart in Tile IR")


@translates("tt.atomic_cas")
def atomic_cas(t: Translator, op: TOp, pointers: Value, compared: Value, value: Value) -> Value:
    if scalar(value).bits < 32:
        refuse(t, op, f"compare-and-swap of {scalar(value)} has no counterpart in Tile IR")
    ordering, scope = strength(op)
    old, token = t.builder.op("atomic_cas_tko", ordering, scope, pointers, compared, value, token=t.order.all())
    t.order.wait(token)
    made: Value = old
    return made


@translates("tt.atomic_load")
def atomic_load(t: Translator, op: TOp, pointers: Value, mask: Value | None = None) -> Value:
    ordering, scope = strength(op)
    return strong_load(t, op, pointers, mask, {"memory_ordering_semantics": ordering, "memory_scope": scope})


@translates("tt.atomic_store")
def atomic_store(t: Translator, op: TOp, pointers: Value, value: Value, mask: Value | None = None) -> None:
    ordering, scope = strength(op)
    token = t.builder.value(
        "store_ptr_tko", ordering, pointers, value, mask=mask, memory_scope=scope, token=t.order.all()
    )
    t.order.wait(token)


@translates("tt.atomic_poll")
def atomic_poll(t: Translator, op: TOp, pointer: Value, expected: Value, timeout: Value | None = None) -> Value:
    """Load until the value is the expected one; a timeout is ignored, because no engine has a clock."""
    b = t.builder
    ordering, scope = strength(op)
    loop = b.loop(carry=t.order.pack(["all"]))
    with loop as carried:
        t.order.wait(carried[0])
        found = strong_load(t, op, pointer, None, {"memory_ordering_semantics": ordering, "memory_scope": scope})
        token = t.order.pack(["all"])[0]
        with b.if_(b.value("cmpi", "equal", found, expected, "signed")):
            b.break_(token)
        b.continue_(token)
    t.order.wait(loop.results[0])
    return b.const(True)
