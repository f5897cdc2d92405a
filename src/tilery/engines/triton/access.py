"""Loads and stores through tensors of pointers, with every memory order."""

from __future__ import annotations

from ...enums import MemoryOrderingSemantics as Ordering
from ...enums import MemoryScope
from ...types import Scalar
from .emit import Val, names, types
from .limits import SHORT_ORDER
from .state import Lowering

SCOPES = {MemoryScope.TL_BLK: "cta", MemoryScope.DEVICE: "gpu", MemoryScope.SYS: "sys"}


def load(
    low: Lowering,
    pointers: Val,
    element: Scalar,
    mask: Val | None,
    padding: Val | None,
    ordering: Ordering,
    scope: MemoryScope | None,
) -> Val:
    """Load elements. `padding` is in the type that memory has."""
    kind = pointers.element[len("!tt.ptr<") : -1]
    low.notes["pointers"] += 1
    if ordering is Ordering.ACQUIRE:
        found = _acquire(low, pointers, kind, mask, padding, scope)
    else:
        if mask is not None and padding is None:
            padding = low.constant(0, pointers.shape, kind)
        extra = [v for v in (mask, padding if mask is not None else None) if v is not None]
        volatile = " {isVolatile = true}" if ordering is Ordering.RELAXED else ""
        text = f"tt.load {names([pointers, *extra])}{volatile} : {pointers.type}"
        found = low.make(text, pointers.shape, kind)
    return low.compare("ne", found, low.like(0, found)) if element.name == "i1" else found


def _acquire(
    low: Lowering, pointers: Val, kind: str, mask: Val | None, padding: Val | None, scope: MemoryScope | None
) -> Val:
    """A load after which others are ordered: an atomic `or` with zero."""
    assert scope is not None
    probe = Val("", pointers.shape, kind)
    if probe.bits not in (32, 64):
        made = _short_load(low, pointers, mask, probe.bits, f"acquire.{SCOPES[scope]}")
        made = low.bitcast(low.integer(made, f"i{probe.bits}", signed=False), kind)
        return made if mask is None or padding is None else low.select(mask, made, padding)
    word = f"i{probe.bits}"
    found = atomic(
        low,
        "or",
        "acquire",
        scope,
        low.bitcast(pointers, f"!tt.ptr<{word}>"),
        low.constant(0, pointers.shape, word),
        mask,
    )
    made = low.bitcast(found, kind)
    if mask is None:
        return made
    return low.select(mask, made, low.constant(0, made.shape, kind) if padding is None else padding)


def store(
    low: Lowering,
    pointers: Val,
    value: Val,
    mask: Val | None,
    ordering: Ordering,
    scope: MemoryScope | None,
) -> None:
    """Store elements."""
    low.notes["pointers"] += 1
    if value.element == "i1":
        value = low.integer(value, "i8", signed=False)
    if ordering is Ordering.RELEASE:
        assert scope is not None
        low.barrier()  # what other threads of the tile block wrote is released too
        word = f"i{value.bits}"
        if value.bits not in (32, 64):
            _short_store(low, pointers, low.bitcast(value, word), mask, f"release.{SCOPES[scope]}")
            return
        atomic(low, "exch", "release", scope, low.bitcast(pointers, f"!tt.ptr<{word}>"), low.bitcast(value, word), mask)
        return
    args = [pointers, value] if mask is None else [pointers, value, mask]
    low.line(f"tt.store {names(args)} : {pointers.type}")


def _guard(low: Lowering, pointers: Val, mask: Val | None) -> tuple[Val, Val]:
    """Addresses and mask as PTX takes them."""
    if not low.target.nvidia:
        raise low.refuse(SHORT_ORDER)
    chosen = low.constant(1, pointers.shape, "i1") if mask is None else mask
    return low.convert("tt.ptr_to_int", pointers, "i64"), low.integer(chosen, "i32", signed=False)


def _short_load(low: Lowering, pointers: Val, mask: Val | None, bits: int, kind: str) -> Val:
    """A load of 8 or 16 bits with a memory order, as an i16; masked elements are 0."""
    address, chosen = _guard(low, pointers, mask)
    code = f"{{ .reg .pred p; setp.ne.b32 p, $2, 0; mov.b16 $0, 0; @p ld.{kind}.global.u{bits} $0, [$1]; }}"
    return low.assembly(code, "=h,l,r", "i16", address, chosen, pure=False)


def _short_store(low: Lowering, pointers: Val, value: Val, mask: Val | None, kind: str) -> None:
    """A store of 8 or 16 bits with a memory order."""
    address, chosen = _guard(low, pointers, mask)
    wide = low.integer(value, "i16", signed=False)
    code = f"{{ .reg .pred p; setp.ne.b32 p, $3, 0; @p st.{kind}.global.b{value.bits} [$1], $2; mov.b32 $0, 0; }}"
    low.assembly(code, "=r,l,h,r", "i32", address, wide, chosen, pure=False)


def atomic(
    low: Lowering, mode: str, order: str, scope: MemoryScope, pointers: Val, value: Val, mask: Val | None
) -> Val:
    """An atomic read-modify-write; the old elements."""
    args = [pointers, value, low.constant(1, value.shape, "i1") if mask is None else mask]
    text = f"tt.atomic_rmw {mode}, {order}, {SCOPES[scope]}, {names(args)} : ({types(args)}) -> {value.type}"
    return low.make(text, value.shape, value.element)
