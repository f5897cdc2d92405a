"""Loads and stores through pointers."""

from __future__ import annotations

from typing import Any

from ...ir import Value
from ...types import I8, I32, Ptr, Tile
from ..mlir import MlirValue, TOp
from .conversions import pointers_from
from .shapes import to_shape
from .table import refuse, translates
from .translator import Translator, scalar, tile_type

WEAK = {"memory_ordering_semantics": "weak"}
VOLATILE = {"memory_ordering_semantics": "relaxed", "memory_scope": "sys"}


@translates("tt.addptr")
def addptr(t: Translator, op: TOp, pointers: Value, offsets: Value) -> Value:
    return t.builder.value("offset", pointers, offsets)


def parts(op: TOp, given: tuple[Value, ...] | list[MlirValue]) -> list[Any]:
    """Return the operands by position; None for those that are left out."""
    sizes = op.attrs.get("operandSegmentSizes")
    rest = list(given)
    return rest if sizes is None else [rest.pop(0) if size else None for size in sizes]


@translates("tt.load")
def load(t: Translator, op: TOp, *given: Value) -> Value:
    pointers, mask, other = ([*parts(op, given), None, None])[:3]
    if op.attrs.get("boundaryCheck"):
        refuse(t, op, "a block pointer that was not rewritten")
    if op.attrs.get("isVolatile") is True:
        return strong_load(t, op, pointers, mask, VOLATILE, other)
    pointer = op.operands[0]
    found, token = emit_load(t, pointers, mask, other, t.order.before_read(pointer), WEAK)
    t.order.after_read(pointer, token)
    return pointers_from(t, op, found)


def strong_load(
    t: Translator, op: TOp, pointers: Value, mask: Value | None, how: dict[str, str], other: Value | None = None
) -> Value:
    """Build a load that waits for everything before it, and that everything after it waits for."""
    found, token = emit_load(t, pointers, mask, other, t.order.all(), how)
    t.order.wait(token)
    return pointers_from(t, op, found)


def emit_load(
    t: Translator, pointers: Value, mask: Value | None, other: Value | None, token: Value | None, how: dict[str, str]
) -> tuple[Value, Value]:
    """Build a load; return the elements and the token."""
    if other is not None and isinstance(tile_type(other).element, Ptr):
        other = t.builder.value("ptr_to_int", other)
    found, after = t.builder.op("load_ptr_tko", source=pointers, mask=mask, paddingValue=other, token=token, **how)
    return found, after


@translates("tt.store")
def store(t: Translator, op: TOp, pointers: Value, value: Value, mask: Value | None = None) -> None:
    if op.attrs.get("boundaryCheck"):
        refuse(t, op, "a block pointer that was not rewritten")
    if isinstance(tile_type(value).element, Ptr):
        value = t.builder.value("ptr_to_int", value)
    pointer = op.operands[0]
    token = t.order.before_write(pointer, op.operands[1:])
    made = t.builder.value("store_ptr_tko", "weak", pointers, value, mask=mask, token=token)
    t.order.after_write(pointer, made)


# ---------------------------------------------------------------- gather and histogram, which Tile IR does not have


@translates("tt.gather")
def gather(t: Translator, op: TOp, x: Value, index: Value) -> Value:
    """Gather through memory of the tile block."""
    b, axis = t.builder, op.attrs["axis"]
    shape, to = tile_type(x).shape, t.result(op)
    element = scalar(x)
    stored = x
    if element.bits < 8:  # memory has no such elements
        stored = b.value("exti", x, "unsigned", to=Tile(shape, I8))
    base = b.value("alloca", num_elem=tile_type(x).size, alignment=16, result=Tile((), Ptr(scalar(stored))))
    linear = to_shape(t, b.iota(tile_type(x).size), shape)
    token = b.value("store_ptr_tko", "weak", b.value("offset", b.broadcast(base, *shape), linear), stored)
    at: Value | None = None
    stride = 1
    for d in reversed(range(len(shape))):
        part = b.cast(index, I32) if d == axis else positions(t, d, to.shape)
        part = part if stride == 1 else b.value("muli", part, t.full(part, stride))
        at = part if at is None else b.value("addi", at, part)
        stride *= shape[d]
    assert at is not None, "a tile has a dimension"
    pointers = b.value("offset", b.broadcast(base, *to.shape), at)
    made = emit_load(t, pointers, None, None, token, WEAK)[0]
    return made if stored is x else b.value("trunci", made, to=to)


def positions(t: Translator, dim: int, shape: tuple[int, ...]) -> Value:
    """Build a tile of each element's position along a dimension."""
    flat = t.builder.iota(shape[dim])
    ones = tuple(shape[dim] if d == dim else 1 for d in range(len(shape)))
    return t.builder.broadcast(to_shape(t, flat, ones), *shape)


@translates("tt.histogram")
def histogram(t: Translator, op: TOp, x: Value, mask: Value | None = None) -> Value:
    """Count by comparing each element with each bin; elements outside of all bins are not counted."""
    b, to = t.builder, t.result(op)
    bins, size = to.shape[0], tile_type(x).size
    wide = b.broadcast(to_shape(t, x, (1, size)), bins, size)
    bin_of = b.value("iota", result=Tile((bins,), scalar(x)))
    hit = b.value("cmpi", "equal", wide, b.broadcast(to_shape(t, bin_of, (bins, 1)), bins, size), "signed")
    if mask is not None:
        hit = b.value("andi", hit, b.broadcast(to_shape(t, mask, (1, size)), bins, size))
    return b.sum(b.value("exti", hit, "unsigned", to=Tile((bins, size), to.element)), dim=1)
