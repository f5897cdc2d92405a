"""Four-bit elements in memory: two of them share a byte."""

from __future__ import annotations

from ...enums import MemoryOrderingSemantics as Ordering
from ...ir import Value
from ...ops import Broadcast, Offset, Reshape
from ...types import Tile
from .access import store
from .emit import Val
from .state import Lowering


def load_nibbles(low: Lowering, pointers: Val, upper: Val, mask: Val | None, padding: Val | None) -> Val:
    """Load a byte through each pointer and take one half of it."""
    extra = "" if mask is None else f", {mask.name}, {low.constant(0, pointers.shape, 'i8').name}"
    low.notes["pointers"] += 1
    byte = low.make(f"tt.load {pointers.name}{extra} : {pointers.type}", pointers.shape, "i8")
    shifted = low.map("arith.shrui", byte, low.like(4, byte))
    half = low.map("arith.andi", low.select(upper, shifted, byte), low.like(15, byte))
    return half if padding is None or mask is None else low.select(mask, half, padding)


def store_nibbles(low: Lowering, pointers: Val, value: Val, mask: Val | None) -> None:
    """Store elements whose neighbours along the last dimension share a byte. A masked half keeps what it was."""

    def halves(v: Val) -> tuple[Val, Val]:
        pairs = low.reshape(v, (*v.shape[:-1], v.shape[-1] // 2, 2))
        first, second = (low.pick(pairs, low.constant(i, (), "i32"), len(v.shape)) for i in range(2))
        return first, second

    first, second = halves(value)
    number = halves(low.convert("tt.ptr_to_int", pointers, "i64"))[0]
    bytes_ = low.convert("tt.int_to_ptr", number, pointers.element)
    inside = None
    if mask is not None:
        one, two = (low.compare("ne", v, low.like(0, v)) for v in halves(low.integer(mask, "i8", signed=False)))
        inside = low.map("arith.ori", one, two)
        partly = low.map("arith.xori", one, two)
        zero = low.constant(0, bytes_.shape, "i8")
        text = f"tt.load {bytes_.name}, {partly.name}, {zero.name} : {bytes_.type}"
        old = low.make(text, bytes_.shape, "i8")
        first = low.select(one, first, low.map("arith.andi", old, low.like(15, old)))
        second = low.select(two, second, low.map("arith.shrui", old, low.like(4, old)))
    byte = low.map("arith.ori", first, low.map("arith.shli", second, low.like(4, second)))
    store(low, bytes_, byte, inside, Ordering.WEAK, None)


def paired_dimension(low: Lowering, pointers: Value) -> int | None:
    """The dimension along which two pointers share a byte, if known: their offsets count up from even numbers."""
    o = pointers.owner
    if not isinstance(o, Offset) or not _is_uniform(o.ptr):
        return None
    axes = low.alignment[o.offset].axes
    paired = [i for i, axis in enumerate(axes) if axis.contiguity % 2 == 0 and axis.divisibility % 2 == 0]
    return paired[-1] if paired else None


def _is_uniform(value: Value) -> bool:
    """Whether all elements of a tile of pointers are one pointer."""
    while True:
        type = value.type
        if isinstance(type, Tile) and type.size == 1:
            return True
        if not isinstance(value.owner, (Broadcast, Reshape)):
            return False
        value = value.owner.source
