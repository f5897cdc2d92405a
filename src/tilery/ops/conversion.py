"""Conversions between element types."""

from __future__ import annotations

from ..attrs import IntegerOverflow, RoundingMode, Signedness
from ..decl import (
    ELEMENTWISE,
    PURE,
    FloatTile,
    I64Tile,
    IntTile,
    IntTile4,
    NumberTile,
    Problem,
    PtrTile,
    attr,
    flag,
    op,
    operand,
    out,
    same_shape,
)
from ..ir import Op, Value
from ..types import SCALARS, quoted
from ..version import V13_4
from .checks import Answer, tile_element
from .common import OVERFLOW, ROUNDING, SIGNED

GROUP = "Conversions"
TRAITS = (PURE, ELEMENTWISE)
NEAREST = RoundingMode.NEAREST_EVEN
E8M0 = SCALARS["f8E8M0FNU"]
FORMAT = "$source attr-dict `:` type($source) `->` type($result)"


def _only(mode: RoundingMode, allowed: RoundingMode) -> Answer:
    if mode is allowed:
        return None
    return Problem(f"invalid rounding mode specified. Only '{allowed.text}' is supported", "rounding_mode")


@op("bitcast", 0x09, group=GROUP, traits=TRAITS, rules=[same_shape("source", "result")], format=FORMAT,
    example="%0 = bitcast %n : tile<i32> -> tile<f32>")  # fmt: skip
class Bitcast(Op):
    """Read the same bits as another element type of the same width."""

    source: Value = operand(NumberTile, "The numbers.")
    result: Value = out(NumberTile, "Their bits, read as the other type.")

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
    example="%0 = exti %n signed : tile<i32> -> tile<i64>")  # fmt: skip
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
    example="%0 = ftof %x : tile<f32> -> tile<f16>")  # fmt: skip
class FToF(Op):
    """Convert between float types."""

    from_: Value = operand(FloatTile, "The floats.")
    rounding_mode: RoundingMode = attr(RoundingMode, ROUNDING, default=RoundingMode.NEAREST_EVEN)
    to: Value = out(FloatTile, "The nearest floats of the other type.")

    def check(self) -> Answer:
        if self.from_.type is self.to.type:
            return "converting tiles must not be a no-op"
        if tile_element(self.to) is not E8M0:
            return _only(self.rounding_mode, NEAREST)
        if self.rounding_mode in (RoundingMode.ZERO, RoundingMode.POSITIVE_INF):
            return None
        return Problem(
            "invalid rounding mode specified for conversion to f8E8M0FNU. Only 'zero' and 'positive_inf' are supported",
            "rounding_mode",
        )


@op("ftoi", 0x2B, group=GROUP, traits=TRAITS, rules=[same_shape("from", "to")],
    format="$from keyword($signedness) rounding($rounding_mode) (`saturating` $saturating^)? attr-dict "
           "`:` type($from) `->` type($to)",
    example="%0 = ftoi %x signed : tile<f32> -> tile<i32>")  # fmt: skip
class FToI(Op):
    """Convert floats to integers, towards zero."""

    from_: Value = operand(FloatTile, "The floats.")
    signedness: Signedness = attr(Signedness, SIGNED)
    rounding_mode: RoundingMode = attr(
        RoundingMode, ROUNDING, default=RoundingMode.NEAREST_INT_TO_ZERO, only=[RoundingMode.NEAREST_INT_TO_ZERO]
    )
    saturating: bool = flag("Out of range gives the nearest integer of the type.", since=V13_4)
    to: Value = out(IntTile, "The integers.")

    def check(self) -> Answer:
        return _only(self.rounding_mode, RoundingMode.NEAREST_INT_TO_ZERO)


@op("int_to_ptr", 0x33, group=GROUP, traits=TRAITS, rules=[same_shape("source", "result")], format=FORMAT,
    example="""
        %address = exti %n unsigned : tile<i32> -> tile<i64>
        %0 = int_to_ptr %address : tile<i64> -> tile<ptr<f32>>""")  # fmt: skip
class IntToPtr(Op):
    """Make pointers from addresses."""

    source: Value = operand(I64Tile, "The addresses.")
    result: Value = out(PtrTile, "The pointers.")


@op("itof", 0x3B, group=GROUP, traits=TRAITS, rules=[same_shape("from", "to")],
    format="$from keyword($signedness) rounding($rounding_mode) attr-dict `:` type($from) `->` type($to)",
    example="%0 = itof %n signed : tile<i32> -> tile<f32>")  # fmt: skip
class IToF(Op):
    """Convert integers to floats."""

    from_: Value = operand(IntTile, "The integers.")
    signedness: Signedness = attr(Signedness, SIGNED)
    rounding_mode: RoundingMode = attr(RoundingMode, ROUNDING, default=RoundingMode.NEAREST_EVEN)
    to: Value = out(FloatTile, "The nearest floats.")

    def check(self) -> Answer:
        if tile_element(self.to) is E8M0:
            return "integer to f8E8M0FNU conversion is not supported, please first convert to another float type"
        return _only(self.rounding_mode, NEAREST)


@op("ptr_to_int", 0x56, group=GROUP, traits=TRAITS, rules=[same_shape("source", "result")], format=FORMAT,
    example="%0 = ptr_to_int %ptr : tile<ptr<f32>> -> tile<i64>")  # fmt: skip
class PtrToInt(Op):
    """The addresses of pointers."""

    source: Value = operand(PtrTile, "The pointers.")
    result: Value = out(I64Tile, "Their addresses.")


@op("ptr_to_ptr", 0x57, group=GROUP, traits=TRAITS, rules=[same_shape("source", "result")], format=FORMAT,
    example="%0 = ptr_to_ptr %ptr : tile<ptr<f32>> -> tile<ptr<i32>>")  # fmt: skip
class PtrToPtr(Op):
    """The same addresses, pointing to another type."""

    source: Value = operand(PtrTile, "The pointers.")
    result: Value = out(PtrTile, "Pointers of the other type.")


@op("trunci", 0x6B, group=GROUP, traits=TRAITS, rules=[same_shape("from", "to")],
    format="$from (`overflow` `` angle($overflow)^)? attr-dict `:` type($from) `->` type($to)",
    example="%0 = trunci %n : tile<i32> -> tile<i8>")  # fmt: skip
class TruncI(Op):
    """Narrow integers by dropping their upper bits."""

    from_: Value = operand(IntTile4, "The integers.")
    overflow: IntegerOverflow = attr(IntegerOverflow, OVERFLOW, default=IntegerOverflow.NONE)
    to: Value = out(IntTile4, "Their lower bits.")

    def check(self) -> Answer:
        if tile_element(self.to).bits >= tile_element(self.from_).bits:
            return "truncating to larger or identical integer"
        return None
