"""Conversions between element types."""

from __future__ import annotations

from ..attrs import IntegerOverflow, RoundingMode, Signedness
from ..declare.constraints import FloatTile, I64Tile, IntTile, IntTile4, NumberTile, PtrTile
from ..declare.fields import attr, flag, operand, out
from ..declare.operation import Op, op
from ..declare.relations import ELEMENTWISE, PURE, Objection, same_shape
from ..ir import Value
from ..types import F32, F64, SCALARS, TF32, Scalar, quoted
from ..version import V13_4
from .checks import Answer, tile_element
from .common import OVERFLOW, ROUNDING, SIGNED

GROUP = "Conversions"
TRAITS = (PURE, ELEMENTWISE)
NEAREST = RoundingMode.NEAREST_EVEN
E8M0 = SCALARS["f8E8M0FNU"]
FORMAT = "$source attr-dict `:` type($source) `->` type($result)"


def only_mode(mode: RoundingMode, allowed: RoundingMode) -> Answer:
    if mode is allowed:
        return None
    return Objection(f"invalid rounding mode specified. Only '{allowed.text}' is supported", "rounding_mode")


def _conversion_rounding(source: Scalar, target: Scalar, mode: RoundingMode) -> Answer:
    """Check the rounding mode of a conversion between floats."""
    zero, away = RoundingMode.ZERO, RoundingMode.NEAREST_AWAY
    up, down = RoundingMode.POSITIVE_INF, RoundingMode.NEGATIVE_INF
    what = "invalid rounding mode specified"
    allowed: tuple[RoundingMode, ...]
    if target is E8M0:
        allowed, words = (zero, up), f"{what} for conversion to f8E8M0FNU. Only 'zero' and 'positive_inf' are supported"
    elif target.bits <= 8:
        allowed, words = (NEAREST,), f"{what} for conversion to low-precision type. Only 'nearest_even' is supported"
    elif (source, target) == (F32, TF32):
        allowed = (NEAREST, zero, away)
        words = f"{what} for conversion from f32 to tf32. Only 'nearest_even', 'zero', and 'nearest_away' are supported"
    elif (source, target) == (F64, F32):
        allowed = (NEAREST, zero, down, up)
        modes = "'nearest_even', 'zero', 'negative_inf', and 'positive_inf'"
        words = f"{what} for conversion from f64 to f32. Only {modes} are supported"
    elif source.format.fits_in(target.format):
        allowed = (NEAREST, zero, down, up, away)
        modes = ", ".join(f"'{m.text}'" for m in allowed)
        words = f"{what} for widening conversion. Only IEEE float rounding modes are supported: {modes}"
    else:
        allowed = (NEAREST, zero)
        words = f"{what}. Only 'nearest_even' and 'zero' are supported for narrowing conversions to standard types"
    return None if mode in allowed else Objection(words, "rounding_mode")


@op("bitcast", 0x09, group=GROUP, traits=TRAITS, rules=[same_shape("source", "result")], format=FORMAT,
    example="%0 = bitcast %n : tile<i32> -> tile<f32>")
class Bitcast(Op):
    """Read the same bits as another element type of the same width."""

    source: Value = operand(NumberTile, "The numbers.")
    result: Value = out(NumberTile, "The same bits in the other type.")

    def check(self) -> Answer:
        source, result = tile_element(self.source).bits, tile_element(self.result).bits
        if source == result:
            return None
        return (
            f"types must be equal width, cannot convert {quoted(self.source.type)} of width {source} "
            f"to type {quoted(self.result.type)} of width {result}"
        )


@op("exti", 0x25, group=GROUP, traits=TRAITS, rules=[same_shape("from", "to")],
    format="$from keyword($signedness) attr-dict `:` type($from) `->` type($to)",
    example="%0 = exti %n signed : tile<i32> -> tile<i64>")
class ExtI(Op):
    """Widen integers."""

    from_: Value = operand(IntTile4, "The integers.")
    signedness: Signedness = attr(Signedness, SIGNED)
    to: Value = out(IntTile4, "The same integers in a wider type.")

    def check(self) -> Answer:
        if tile_element(self.to).bits <= tile_element(self.from_).bits:
            return "extending to smaller or identical integer"
        return None


@op("ftof", 0x2A, group=GROUP, traits=TRAITS, rules=[same_shape("from", "to")],
    format="$from rounding($rounding_mode) attr-dict `:` type($from) `->` type($to)",
    example="%0 = ftof %x : tile<f32> -> tile<f16>")
class FToF(Op):
    """Convert between float types."""

    from_: Value = operand(FloatTile, "The floats.")
    rounding_mode: RoundingMode = attr(RoundingMode, ROUNDING, default=RoundingMode.NEAREST_EVEN)
    to: Value = out(FloatTile, "The nearest floats of the other type.")

    def check(self) -> Answer:
        if self.from_.type is self.to.type:
            return "converting tiles must not be a no-op"
        return _conversion_rounding(tile_element(self.from_), tile_element(self.to), self.rounding_mode)


@op("ftoi", 0x2B, group=GROUP, traits=TRAITS, rules=[same_shape("from", "to")],
    format="$from keyword($signedness) rounding($rounding_mode) (`saturating` $saturating^)? attr-dict "
           "`:` type($from) `->` type($to)",
    example="%0 = ftoi %x signed : tile<f32> -> tile<i32>")
class FToI(Op):
    """Convert floats to integers, rounding towards zero."""

    from_: Value = operand(FloatTile, "The floats.")
    signedness: Signedness = attr(Signedness, SIGNED)
    rounding_mode: RoundingMode = attr(
        RoundingMode, ROUNDING, default=RoundingMode.NEAREST_INT_TO_ZERO, only=[RoundingMode.NEAREST_INT_TO_ZERO]
    )
    saturating: bool = flag("Replace an out-of-range result by the nearest integer of the type.", since=V13_4)
    to: Value = out(IntTile, "The integers.")

    def check(self) -> Answer:
        return only_mode(self.rounding_mode, RoundingMode.NEAREST_INT_TO_ZERO)


@op("int_to_ptr", 0x33, group=GROUP, traits=TRAITS, rules=[same_shape("source", "result")], format=FORMAT,
    example="""
        %address = exti %n unsigned : tile<i32> -> tile<i64>
        %0 = int_to_ptr %address : tile<i64> -> tile<ptr<f32>>""")
class IntToPtr(Op):
    """Convert addresses to pointers."""

    source: Value = operand(I64Tile, "The addresses.")
    result: Value = out(PtrTile, "The pointers.")


@op("itof", 0x3B, group=GROUP, traits=TRAITS, rules=[same_shape("from", "to")],
    format="$from keyword($signedness) rounding($rounding_mode) attr-dict `:` type($from) `->` type($to)",
    example="%0 = itof %n signed : tile<i32> -> tile<f32>")
class IToF(Op):
    """Convert integers to floats."""

    from_: Value = operand(IntTile, "The integers.")
    signedness: Signedness = attr(Signedness, SIGNED)
    rounding_mode: RoundingMode = attr(RoundingMode, ROUNDING, default=RoundingMode.NEAREST_EVEN)
    to: Value = out(FloatTile, "The nearest floats.")

    def check(self) -> Answer:
        if tile_element(self.to) is E8M0:
            return "integer to f8E8M0FNU conversion is not supported, please first convert to another float type"
        return only_mode(self.rounding_mode, NEAREST)


@op("ptr_to_int", 0x56, group=GROUP, traits=TRAITS, rules=[same_shape("source", "result")], format=FORMAT,
    example="%0 = ptr_to_int %ptr : tile<ptr<f32>> -> tile<i64>")
class PtrToInt(Op):
    """Convert pointers to addresses."""

    source: Value = operand(PtrTile, "The pointers.")
    result: Value = out(I64Tile, "Their addresses.")


@op("ptr_to_ptr", 0x57, group=GROUP, traits=TRAITS, rules=[same_shape("source", "result")], format=FORMAT,
    example="%0 = ptr_to_ptr %ptr : tile<ptr<f32>> -> tile<ptr<i32>>")
class PtrToPtr(Op):
    """Convert pointers to another type, keeping the addresses."""

    source: Value = operand(PtrTile, "The pointers.")
    result: Value = out(PtrTile, "Pointers of the other type.")


@op("trunci", 0x6B, group=GROUP, traits=TRAITS, rules=[same_shape("from", "to")],
    format="$from (`overflow` `` angle($overflow)^)? attr-dict `:` type($from) `->` type($to)",
    example="%0 = trunci %n : tile<i32> -> tile<i8>")
class TruncI(Op):
    """Narrow integers by discarding their upper bits."""

    from_: Value = operand(IntTile4, "The integers.")
    overflow: IntegerOverflow = attr(IntegerOverflow, OVERFLOW, default=IntegerOverflow.NONE)
    to: Value = out(IntTile4, "Their lower bits.")

    def check(self) -> Answer:
        if tile_element(self.to).bits >= tile_element(self.from_).bits:
            return "truncating to larger or identical integer"
        return None
