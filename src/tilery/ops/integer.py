"""Integer arithmetic."""

from __future__ import annotations

from ..attrs import ComparisonPredicate, IntegerOverflow, RoundingMode, Signedness
from ..declare.constraints import BoolTile, IntTile, tile_of
from ..declare.fields import attr, operand, out
from ..declare.operation import Op, op
from ..declare.relations import (
    COMMUTATIVE,
    ELEMENTWISE,
    NO_EFFECT,
    PURE,
    Objection,
    same_element,
    same_rank,
    same_shape,
    same_type,
    uniform,
)
from ..ir import Value
from ..version import V13_2
from .checks import Answer, names
from .common import LHS, OVERFLOW, RHS, SIGNED, is_mask, mask_of
from .matrix import SHAPES, mma_shapes

GROUP = "Integer"
BINARY = same_type("lhs", "rhs", "result")
WRAPPING = "$lhs `,` $rhs (`overflow` `` angle($overflow)^)? attr-dict `:` type($result)"
SIGNED_BINARY = "$lhs `,` $rhs keyword($signedness) attr-dict `:` type($result)"


@op("absi", 0x01, group=GROUP, traits=[PURE, ELEMENTWISE],
    rules=[same_type("source", "result"), uniform("shape", "source", "result")],
    format="$source attr-dict `:` type($result)",
    example="%0 = absi %n : tile<i32>")
class AbsI(Op):
    """Absolute value of signed integers; the result is unsigned."""

    source: Value = operand(IntTile, "The integers.")
    result: Value = out(IntTile, "Their absolute values.")


@op("addi", 0x03, group=GROUP, traits=[PURE, ELEMENTWISE, COMMUTATIVE], rules=[BINARY], format=WRAPPING,
    example="%0 = addi %n, %n overflow<no_signed_wrap> : tile<i32>")
class AddI(Op):
    """Integer addition."""

    lhs: Value = operand(IntTile, LHS)
    rhs: Value = operand(IntTile, RHS)
    overflow: IntegerOverflow = attr(IntegerOverflow, OVERFLOW, default=IntegerOverflow.NONE)
    result: Value = out(IntTile, "The sums.")


@op("cmpi", 0x0F, group=GROUP, traits=[PURE, ELEMENTWISE], rules=[same_type("lhs", "rhs"), is_mask("lhs", "result")],
    format="keyword($comparison_predicate) $lhs `,` $rhs `,` keyword($signedness) attr-dict "
           "`:` type($lhs) `->` type($result)",
    example="%0 = cmpi less_than %n, %n, signed : tile<i32> -> tile<i1>")
class CmpI(Op):
    """Integer comparison."""

    comparison_predicate: ComparisonPredicate = attr(ComparisonPredicate, "The comparison.")
    lhs: Value = operand(IntTile, LHS)
    rhs: Value = operand(IntTile, RHS)
    signedness: Signedness = attr(Signedness, SIGNED)
    result: Value = out(BoolTile, "True where the comparison holds.", infer=lambda o: mask_of(o.lhs))


@op("divi", 0x15, group=GROUP, traits=[NO_EFFECT, ELEMENTWISE], rules=[BINARY],
    format="$lhs `,` $rhs keyword($signedness) (`rounding` `` angle($rounding)^)? attr-dict `:` type($result)",
    example="%0 = divi %n, %n signed rounding<negative_inf> : tile<i32>")
class DivI(Op):
    """Integer division.

    Division by zero and division of the smallest signed integer by -1 are undefined.
    """

    lhs: Value = operand(IntTile, "The dividends.")
    rhs: Value = operand(IntTile, "The divisors.")
    signedness: Signedness = attr(Signedness, SIGNED)
    rounding: RoundingMode = attr(
        RoundingMode, "The rounding mode: towards zero, floor or ceiling.", default=RoundingMode.ZERO,
        only=[RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF],
    )
    result: Value = out(IntTile, "The quotients.")

    def check(self) -> Answer:
        """Unsigned integers cannot be rounded towards negative infinity."""
        if self.rounding not in self.opdef.field("rounding").only:
            allowed = names(self.opdef.field("rounding").only)
            return Objection(f"invalid rounding mode specified, expect one of [{allowed}]", "rounding")
        if self.signedness is Signedness.UNSIGNED and self.rounding is RoundingMode.NEGATIVE_INF:
            return Objection("rounding mode 'negative_inf' is not allowed with 'unsigned' flag", "rounding")
        return None


@op("maxi", 0x46, group=GROUP, traits=[PURE, ELEMENTWISE, COMMUTATIVE], rules=[BINARY], format=SIGNED_BINARY,
    example="%0 = maxi %n, %n signed : tile<i32>")
class MaxI(Op):
    """The larger of two integers."""

    lhs: Value = operand(IntTile, LHS)
    rhs: Value = operand(IntTile, RHS)
    signedness: Signedness = attr(Signedness, SIGNED)
    result: Value = out(IntTile, "The larger ones.")


@op("mini", 0x48, group=GROUP, traits=[PURE, ELEMENTWISE, COMMUTATIVE], rules=[BINARY], format=SIGNED_BINARY,
    example="%0 = mini %n, %n unsigned : tile<i32>")
class MinI(Op):
    """The smaller of two integers."""

    lhs: Value = operand(IntTile, LHS)
    rhs: Value = operand(IntTile, RHS)
    signedness: Signedness = attr(Signedness, SIGNED)
    result: Value = out(IntTile, "The smaller ones.")


@op("mmai", 0x4A, group=GROUP, traits=[PURE], tables=(SHAPES,),
    rules=[same_type("acc", "result"), same_element("lhs", "rhs"), same_rank("lhs", "rhs", "acc")],
    format="$lhs `,` $rhs `,` $acc keyword($signedness_lhs) keyword($signedness_rhs) attr-dict "
           "`:` type($lhs) `,` type($rhs) `,` type($acc)",
    example="""
        %a = constant <i8: 1> : tile<4x8xi8>
        %b = constant <i8: 2> : tile<8x2xi8>
        %acc = constant <i32: 0> : tile<4x2xi32>
        %0 = mmai %a, %b, %acc signed unsigned : tile<4x8xi8>, tile<8x2xi8>, tile<4x2xi32>""")
class MmaI(Op):
    """Integer matrix product plus accumulator.

    Tiles are matrices (M x K times K x N plus M x N), or batches of them in three dimensions.
    """

    lhs: Value = operand(tile_of("i8", what="mmai operand tile type"), "The left matrix.")
    rhs: Value = operand(tile_of("i8", what="mmai operand tile type"), "The right matrix.")
    acc: Value = operand(tile_of("i32", what="mmai acc tile type"), "The accumulator.")
    signedness_lhs: Signedness = attr(Signedness, "The signedness of the left matrix.")
    signedness_rhs: Signedness = attr(Signedness, "The signedness of the right matrix.")
    result: Value = out(tile_of("i32", what="mmai result tile type"), "The product plus `acc`.")

    def check(self) -> Answer:
        return mma_shapes(self)


@op("mulhii", 0x4D, group=GROUP, traits=[PURE, ELEMENTWISE, COMMUTATIVE], rules=[same_type("x", "y", "result")],
    format="$x `,` $y attr-dict `:` type($result)",
    example="%0 = mulhii %n, %n : tile<i32>")
class MulhiI(Op):
    """The upper half of the unsigned product."""

    x: Value = operand(IntTile, LHS)
    y: Value = operand(IntTile, RHS)
    result: Value = out(IntTile, "The upper halves of the products.")


@op("muli", 0x4E, group=GROUP, traits=[PURE, ELEMENTWISE, COMMUTATIVE], rules=[BINARY], format=WRAPPING,
    example="%0 = muli %n, %n : tile<i32>")
class MulI(Op):
    """Integer multiplication."""

    lhs: Value = operand(IntTile, LHS)
    rhs: Value = operand(IntTile, RHS)
    overflow: IntegerOverflow = attr(IntegerOverflow, OVERFLOW, default=IntegerOverflow.NONE)
    result: Value = out(IntTile, "The products.")


@op("negi", 0x50, group=GROUP, traits=[PURE, ELEMENTWISE], rules=[same_type("source", "result")],
    format="$source (`overflow` `` angle($overflow)^)? attr-dict `:` type($result)",
    example="%0 = negi %n : tile<i32>")
class NegI(Op):
    """Integer negation."""

    source: Value = operand(IntTile, "The integers.")
    overflow: IntegerOverflow = attr(IntegerOverflow, OVERFLOW, default=IntegerOverflow.NONE, since=V13_2)
    result: Value = out(IntTile, "Their negatives.")

    def check(self) -> Answer:
        if self.overflow is IntegerOverflow.NUW:
            return Objection("'no_unsigned_wrap' overflow flag is not supported", "overflow")
        return None


@op("remi", 0x5A, group=GROUP, traits=[PURE, ELEMENTWISE],
    rules=[same_type("result", "lhs", "rhs"), same_shape("result", "lhs", "rhs")], format=SIGNED_BINARY,
    example="%0 = remi %n, %n signed : tile<i32>")
class RemI(Op):
    """Remainder of division towards zero; it has the sign of the dividend."""

    lhs: Value = operand(IntTile, "The dividends.")
    rhs: Value = operand(IntTile, "The divisors.")
    signedness: Signedness = attr(Signedness, SIGNED)
    result: Value = out(IntTile, "The remainders.")


@op("shli", 0x60, group=GROUP, traits=[PURE, ELEMENTWISE], rules=[BINARY], format=WRAPPING,
    example="%0 = shli %n, %n : tile<i32>")
class ShLI(Op):
    """Shift left; the shift amount is unsigned."""

    lhs: Value = operand(IntTile, "The integers.")
    rhs: Value = operand(IntTile, "The shift amounts in bits.")
    overflow: IntegerOverflow = attr(IntegerOverflow, OVERFLOW, default=IntegerOverflow.NONE)
    result: Value = out(IntTile, "The shifted integers.")


@op("shri", 0x61, group=GROUP, traits=[PURE, ELEMENTWISE], rules=[BINARY], format=SIGNED_BINARY,
    example="%0 = shri %n, %n signed : tile<i32>")
class ShRI(Op):
    """Shift right, arithmetically if signed; the shift amount is unsigned."""

    lhs: Value = operand(IntTile, "The integers.")
    rhs: Value = operand(IntTile, "The shift amounts in bits.")
    signedness: Signedness = attr(Signedness, SIGNED)
    result: Value = out(IntTile, "The shifted integers.")


@op("subi", 0x68, group=GROUP, traits=[PURE, ELEMENTWISE], rules=[BINARY], format=WRAPPING,
    example="%0 = subi %n, %n : tile<i32>")
class SubI(Op):
    """Integer subtraction."""

    lhs: Value = operand(IntTile, LHS)
    rhs: Value = operand(IntTile, RHS)
    overflow: IntegerOverflow = attr(IntegerOverflow, OVERFLOW, default=IntegerOverflow.NONE)
    result: Value = out(IntTile, "The differences.")
