"""Conversions between element types, and the packing of narrow elements into bytes."""

from __future__ import annotations

from ....enums import RoundingMode
from ....ops import Bitcast, ExtI, FToF, FToI, IntToPtr, IToF, Pack, PtrToInt, PtrToPtr, TruncI, Unpack
from ....types import F16, F32, F64, I1, I4, Scalar
from ..emit import Val, tile_type
from ..floats import convert, widen
from ..registry import lowers
from ..state import Lowering
from .integer import is_signed

NEAREST = RoundingMode.NEAREST_EVEN


def scalar(value: object) -> Scalar:
    element = tile_type(value.type).element  # type: ignore[attr-defined]
    assert isinstance(element, Scalar)
    return element


@lowers(ExtI)
def exti(low: Lowering, o: ExtI, source: Val) -> Val:
    """A wider integer; an i4 is held in the lower bits of an i8."""
    signed = is_signed(o)
    if scalar(o.from_) is I4 and signed:
        eight = low.like(8, source)
        source = low.map("arith.subi", low.map("arith.xori", source, eight), eight)
    wide = low.integer(source, low.element(o.to), signed)
    return low.map("arith.andi", wide, low.like(15, wide)) if scalar(o.to) is I4 else wide


@lowers(TruncI)
def trunci(low: Lowering, o: TruncI, source: Val) -> Val:
    """The lower bits."""
    found = low.integer(source, low.element(o.to), signed=False)
    return low.map("arith.andi", found, low.like(15, found)) if scalar(o.to) is I4 else found


@lowers(FToF)
def ftof(low: Lowering, o: FToF, source: Val) -> Val:
    """Other floats. Unit dimensions that were added are added again: products want operands without."""
    root = low.roots.get(source.name, source)
    return low.reshape(convert(low, root, scalar(o.from_), scalar(o.to), o.rounding_mode), source.shape)


@lowers(IToF)
def itof(low: Lowering, o: IToF, source: Val) -> Val:
    """The nearest float. Integers that f32 and f64 do not hold are rounded to odd on the way to a narrow type."""
    target, signed = scalar(o.to), is_signed(o)
    if source.element == "i1":
        # LLVM's NVPTX backend makes +1 of a signed i1 that is not a comparison when it converts it to bf16.
        zero, one = (low.constant(repr(x), source.shape, "f32") for x in (0.0, -1.0 if signed else 1.0))
        return convert(low, low.select(source, one, zero), F32, target, NEAREST)
    if source.bits < 32:
        source = low.integer(source, "i32", signed)
    name = "arith.sitofp" if signed else "arith.uitofp"
    if target in (F32, F64) or (target is F16 and low.target.nvidia):
        return low.cast(name, source, target.name)
    if source.element == "i32":
        return convert(low, low.cast(name, source, "f64"), F64, target, NEAREST)
    # The lower bits of a large i64 only matter if they are not zero.
    rest = low.map("arith.andi", source, low.like(0xFFF, source))
    sticky = low.integer(low.compare("ne", rest, low.like(0, source)), "i64", signed=False)
    cut = low.map("arith.shrsi" if signed else "arith.shrui", source, low.like(12, source))
    high = low.cast(name, low.map("arith.ori", cut, sticky), "f64")
    scaled = low.map("arith.mulf", high, low.real(4096.0, high))
    limit = low.like(1 << 52, source)
    size = low.map("math.absi", source) if signed else source
    exact = low.compare("ult", size, limit)
    wide = low.select(exact, low.cast(name, source, "f64"), scaled)
    return convert(low, wide, F64, target, NEAREST)


@lowers(FToI)
def ftoi(low: Lowering, o: FToI, source: Val) -> Val:
    """The integer towards zero; an i1 is whether the number is not zero.

    What does not fit is as on NVIDIA's hardware, whose instructions make 16 bits at least: narrow integers saturate as
    those, and an i8 is the lower half.
    """
    kind, target, signed = scalar(o.from_), scalar(o.to), is_signed(o)
    wide = source if kind is F64 else widen(low, source, kind)
    if target is I1:
        return low.compare("une", wide, low.real(0.0, wide))
    if o.saturating:
        return low.integer(_clamped(low, wide, target.bits, signed), target.name, signed)
    if target.bits < 32 and not low.target.nvidia:
        return low.integer(_clamped(low, wide, 16, signed), target.name, signed)
    held = low.cast("arith.fptosi" if signed else "arith.fptoui", wide, f"i{max(target.bits, 16)}")
    return low.integer(held, target.name, signed)


def _clamped(low: Lowering, number: Val, bits: int, signed: bool) -> Val:
    """The nearest integer that so many bits can hold, in an i32 or i64; 0 for NaN."""
    least = -(1 << bits - 1) if signed else 0
    most = (1 << bits - 1) - 1 if signed else (1 << bits) - 1
    held = "i64" if bits == 64 else "i32"
    found = low.cast("arith.fptosi" if signed or bits < 32 else "arith.fptoui", number, held)
    small = low.compare("ole", number, low.real(float(least), number))
    large = low.compare("oge", number, low.real(float(most + 1), number))
    found = low.select(small, low.like(least, found), found)
    found = low.select(large, low.like(most, found), found)
    return low.select(low.compare("uno", number, number), low.like(0, found), found)


@lowers(Bitcast)
def bitcast(low: Lowering, o: Bitcast, source: Val) -> Val:
    return low.bitcast(source, low.element(o.result))


@lowers(IntToPtr)
def int_to_ptr(low: Lowering, o: IntToPtr, source: Val) -> Val:
    return low.convert("tt.int_to_ptr", source, low.element(o.result))


@lowers(PtrToInt)
def ptr_to_int(low: Lowering, o: PtrToInt, source: Val) -> Val:
    return low.convert("tt.ptr_to_int", source, "i64")


@lowers(PtrToPtr)
def ptr_to_ptr(low: Lowering, o: PtrToPtr, source: Val) -> Val:
    return low.bitcast(source, low.element(o.result))


# ---------------------------------------------------------------- packing


def merge(low: Lowering, value: Val, width: int, element: str) -> Val:
    """Merge the elements along the last dimension: each shifted to its place, the first in the low bits."""
    wide = low.integer(value, element, signed=False)
    rank = len(value.shape)
    by = low.integer(low.positions(value.shape, rank - 1), element, signed=False)
    moved = low.map("arith.shli", wide, low.map("arith.muli", by, low.like(width, by)))
    return low.reduced("arith.ori", moved, rank - 1)


def cut(low: Lowering, value: Val, width: int, count: int) -> Val:
    """Cut each element into parts along a new last dimension; the opposite of `merge`."""
    shape = (*value.shape, count)
    wide = low.broadcast(low.reshape(value, (*value.shape, 1)), shape)
    by = low.integer(low.positions(shape, len(shape) - 1), value.element, signed=False)
    moved = low.map("arith.shrui", wide, low.map("arith.muli", by, low.like(width, by)))
    return low.map("arith.andi", moved, low.like((1 << width) - 1, moved))


@lowers(Pack)
def pack(low: Lowering, o: Pack, source: Val) -> Val:
    """The bits of the elements in bytes: narrow ones are merged, wide ones cut."""
    element, size = scalar(o.source), low.shape(o.result)[0]
    value = low.integer(source, "i8", signed=False) if element is I1 else low.held(source)
    width = element.bits if element.bits <= 8 else element.row.memory_bits
    if width < 8:
        return merge(low, low.reshape(value, (size, 8 // width)), width, "i8")
    value = low.bitcast(value, f"i{width}")
    if width == 8:
        return value
    return low.reshape(low.integer(cut(low, value, 8, width // 8), "i8", signed=False), (size,))


@lowers(Unpack)
def unpack(low: Lowering, o: Unpack, source: Val) -> Val:
    """The opposite of `pack`."""
    element, size = scalar(o.result), low.shape(o.result)[0]
    width = element.bits if element.bits <= 8 else element.row.memory_bits
    if width < 8:
        value = low.reshape(cut(low, source, width, 8 // width), (size,))
        return low.compare("ne", value, low.like(0, value)) if element is I1 else value
    if width > 8:
        source = merge(low, low.reshape(source, (size, width // 8)), 8, f"i{width}")
    return low.bitcast(source, low.element(o.result))
