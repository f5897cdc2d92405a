"""Floating-point arithmetic."""

from __future__ import annotations

from ..attrs import ComparisonOrdering, ComparisonPredicate, RoundingMode
from ..declare.constraints import BaseFloatTile, BoolTile, SmallIntTile, tile_of
from ..declare.fields import attr, flag, operand, out
from ..declare.operation import Op, op
from ..declare.relations import COMMUTATIVE, ELEMENTWISE, PURE, same_element, same_rank, same_shape, same_type, uniform
from ..ir import Value
from ..version import V13_2, V13_3, V13_4
from .checks import Answer, approx, flush_to_zero, only_f32, rounding
from .common import FTZ, LHS, RHS, ROUNDING, is_mask, mask_of
from .matrix import (
    ELEMENTS,
    SCALED_ELEMENTS,
    SCALED_SHAPES,
    SHAPES,
    mma_elements,
    mma_shapes,
    scale_blocks,
    scale_elements,
    scale_shapes,
)

GROUP = "Floating Point"
TRAITS = (PURE, ELEMENTWISE)
BINARY = same_type("lhs", "rhs", "result")
UNARY = same_type("source", "result")
NEAREST = RoundingMode.NEAREST_EVEN
IEEE = (RoundingMode.NEAREST_EVEN, RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF)
ROUNDED = "$lhs `,` $rhs rounding($rounding_mode) (`flush_to_zero` $flush_to_zero^)? attr-dict `:` type($result)"
PLAIN_UNARY = "$source attr-dict `:` type($result)"
PLAIN_BINARY = "$lhs `,` $rhs attr-dict `:` type($result)"
FLUSHED_UNARY = "$source (`flush_to_zero` $flush_to_zero^)? attr-dict `:` type($result)"
ROUNDED_UNARY = "$source rounding($rounding_mode) attr-dict `:` type($result)"
MIN_MAX = (
    "$lhs `,` $rhs oilist(`flush_to_zero` $flush_to_zero | `propagate_nan` $propagate_nan) attr-dict `:` type($result)"
)
NAN_DOC = "Return NaN if either operand is NaN. Without it, a single NaN is ignored."
MMA_IN = tile_of("f16", "bf16", "f32", "f64", "tf32", "f8E4M3FN", "f8E5M2", what="mmaf operand tile type")
MMA_OUT = tile_of("f16", "f32", "f64", what="mmaf acc/result tile type")
SCALED_IN = tile_of("f8E4M3FN", "f8E5M2", "f4E2M1FN", what="mmaf_scaled operand tile type")
SCALED_BY = tile_of("f8E4M3FN", "f8E8M0FNU", "fnv8E5M3FNU", what="mmaf_scaled scale tile type")
SCALED_OUT = tile_of("f32", what="mmaf_scaled result tile type")


@op("absf", 0x00, group=GROUP, traits=TRAITS, rules=[UNARY, uniform("shape", "source", "result")], format=PLAIN_UNARY,
    example="%0 = absf %x : tile<f32>")
class AbsF(Op):
    """Absolute value."""

    source: Value = operand(BaseFloatTile, "The floats.")
    result: Value = out(BaseFloatTile, "Their absolute values.")


@op("addf", 0x02, group=GROUP, traits=[*TRAITS, COMMUTATIVE], rules=[BINARY], format=ROUNDED,
    example="%0 = addf %x, %x rounding<zero> flush_to_zero : tile<f32>")
class AddF(Op):
    """Floating-point addition."""

    lhs: Value = operand(BaseFloatTile, LHS)
    rhs: Value = operand(BaseFloatTile, RHS)
    rounding_mode: RoundingMode = attr(RoundingMode, ROUNDING, default=NEAREST, only=IEEE)
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "The sums.")

    def check(self) -> Answer:
        return rounding(self) or flush_to_zero(self)


@op("atan2", 0x6E, since=V13_2, group=GROUP, traits=TRAITS, rules=[same_type("x", "y", "result")],
    format="$x `,` $y attr-dict `:` type($result)",
    example="%0 = atan2 %x, %x : tile<f32>")
class Atan2(Op):
    """The angle with tangent x / y, in the quadrant that the signs determine."""

    x: Value = operand(BaseFloatTile, "The numerators.")
    y: Value = operand(BaseFloatTile, "The denominators.")
    result: Value = out(BaseFloatTile, "The angles in radians.")


@op("ceil", 0x0D, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = ceil %x : tile<f32>")
class Ceil(Op):
    """Round up to an integer."""

    source: Value = operand(BaseFloatTile, "The floats.")
    result: Value = out(BaseFloatTile, "The smallest integers that are not less than the floats.")


@op("cmpf", 0x0E, group=GROUP, traits=TRAITS, rules=[same_type("lhs", "rhs"), is_mask("lhs", "result")],
    format="keyword($comparison_predicate) keyword($comparison_ordering) $lhs `,` $rhs attr-dict "
           "`:` type($lhs) `->` type($result)",
    example="%0 = cmpf less_than ordered %x, %x : tile<f32> -> tile<i1>")
class CmpF(Op):
    """Floating-point comparison."""

    comparison_predicate: ComparisonPredicate = attr(ComparisonPredicate, "The comparison.")
    comparison_ordering: ComparisonOrdering = attr(ComparisonOrdering, "The result of a comparison with NaN.")
    lhs: Value = operand(BaseFloatTile, LHS)
    rhs: Value = operand(BaseFloatTile, RHS)
    result: Value = out(BoolTile, "True where the comparison holds.", infer=lambda o: mask_of(o.lhs))


@op("cos", 0x12, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = cos %x : tile<f32>")
class Cos(Op):
    """Cosine."""

    source: Value = operand(BaseFloatTile, "The angles in radians.")
    result: Value = out(BaseFloatTile, "Their cosines.")


@op("cosh", 0x13, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = cosh %x : tile<f32>")
class CosH(Op):
    """Hyperbolic cosine."""

    source: Value = operand(BaseFloatTile, "The floats.")
    result: Value = out(BaseFloatTile, "Their hyperbolic cosines.")


@op("divf", 0x14, group=GROUP, traits=TRAITS, rules=[BINARY], format=ROUNDED,
    example="%0 = divf %x, %x rounding<approx> : tile<f32>")
class DivF(Op):
    """Floating-point division; `approx` and `full` are faster and less accurate (f32 only)."""

    lhs: Value = operand(BaseFloatTile, "The dividends.")
    rhs: Value = operand(BaseFloatTile, "The divisors.")
    rounding_mode: RoundingMode = attr(
        RoundingMode, ROUNDING, default=NEAREST, only=[*IEEE, RoundingMode.APPROX, RoundingMode.FULL]
    )
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "The quotients.")

    def check(self) -> Answer:
        full = only_f32(self, "full", self.rounding_mode is RoundingMode.FULL)
        return rounding(self) or flush_to_zero(self) or approx(self) or full


@op("exp", 0x17, group=GROUP, traits=TRAITS, rules=[UNARY], format=ROUNDED_UNARY,
    example="%0 = exp %x : tile<f32>")
class Exp(Op):
    """e to the power of each element."""

    source: Value = operand(BaseFloatTile, "The exponents.")
    rounding_mode: RoundingMode = attr(
        RoundingMode, ROUNDING, default=RoundingMode.FULL, since=V13_3, only=[RoundingMode.APPROX, RoundingMode.FULL]
    )
    result: Value = out(BaseFloatTile, "The powers.")

    def check(self) -> Answer:
        return rounding(self) or approx(self)


@op("exp2", 0x18, group=GROUP, traits=TRAITS, rules=[UNARY], format=FLUSHED_UNARY,
    example="%0 = exp2 %x flush_to_zero : tile<f32>")
class Exp2(Op):
    """Two to the power of each element."""

    source: Value = operand(BaseFloatTile, "The exponents.")
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "The powers.")

    def check(self) -> Answer:
        return flush_to_zero(self)


@op("floor", 0x27, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = floor %x : tile<f32>")
class Floor(Op):
    """Round down to an integer."""

    source: Value = operand(BaseFloatTile, "The floats.")
    result: Value = out(BaseFloatTile, "The largest integers that are not greater than the floats.")


@op("fma", 0x28, group=GROUP, traits=TRAITS, rules=[same_type("lhs", "rhs", "acc", "result")],
    format="$lhs `,` $rhs `,` $acc rounding($rounding_mode) (`flush_to_zero` $flush_to_zero^)? attr-dict "
           "`:` type($result)",
    example="%0 = fma %x, %x, %x : tile<f32>")
class Fma(Op):
    """Fused multiply-add: the product plus `acc`, rounded once."""

    lhs: Value = operand(BaseFloatTile, LHS)
    rhs: Value = operand(BaseFloatTile, RHS)
    acc: Value = operand(BaseFloatTile, "The accumulator.")
    rounding_mode: RoundingMode = attr(RoundingMode, ROUNDING, default=NEAREST, only=IEEE)
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "The sums.")

    def check(self) -> Answer:
        return rounding(self) or flush_to_zero(self)


@op("fpowf", 0x54, formerly="pow", renamed=V13_4, group=GROUP, traits=TRAITS,
    rules=[same_type("result", "source", "exponent"), same_rank("source", "exponent", "result")],
    format="$source `,` $exponent attr-dict `:` type($result)",
    example="%0 = fpowf %x, %x : tile<f32>")
class FPowF(Op):
    """Raise each element to a floating-point power. Tools before 13.4 call it `pow`."""

    source: Value = operand(BaseFloatTile, "The bases.")
    exponent: Value = operand(BaseFloatTile, "The exponents.")
    result: Value = out(BaseFloatTile, "The powers.")


@op("fpowi", 0x79, since=V13_4, group=GROUP, traits=TRAITS,
    rules=[same_type("result", "source"), same_shape("source", "exponent")],
    format="$source `,` $exponent attr-dict `:` type($result) `,` type($exponent)",
    example="%0 = fpowi %x, %n : tile<f32>, tile<i32>")
class FPowI(Op):
    """Raise each element to a signed integer power."""

    source: Value = operand(BaseFloatTile, "The bases.")
    exponent: Value = operand(SmallIntTile, "The exponents.")
    result: Value = out(BaseFloatTile, "The powers.")


@op("log", 0x3F, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = log %x : tile<f32>")
class Log(Op):
    """Natural logarithm."""

    source: Value = operand(BaseFloatTile, "The floats.")
    result: Value = out(BaseFloatTile, "Their logarithms.")


@op("log2", 0x40, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = log2 %x : tile<f32>")
class Log2(Op):
    """Logarithm to base two."""

    source: Value = operand(BaseFloatTile, "The floats.")
    result: Value = out(BaseFloatTile, "Their logarithms.")


@op("maxf", 0x45, group=GROUP, traits=[*TRAITS, COMMUTATIVE], rules=[BINARY], format=MIN_MAX,
    example="%0 = maxf %x, %x flush_to_zero propagate_nan : tile<f32>")
class MaxF(Op):
    """The larger of two floats; +0 is larger than -0."""

    lhs: Value = operand(BaseFloatTile, LHS)
    rhs: Value = operand(BaseFloatTile, RHS)
    propagate_nan: bool = flag(NAN_DOC)
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "The larger ones.")

    def check(self) -> Answer:
        return flush_to_zero(self)


@op("minf", 0x47, group=GROUP, traits=[*TRAITS, COMMUTATIVE], rules=[BINARY], format=MIN_MAX,
    example="%0 = minf %x, %x : tile<f32>")
class MinF(Op):
    """The smaller of two floats; -0 is smaller than +0."""

    lhs: Value = operand(BaseFloatTile, LHS)
    rhs: Value = operand(BaseFloatTile, RHS)
    propagate_nan: bool = flag(NAN_DOC)
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "The smaller ones.")

    def check(self) -> Answer:
        return flush_to_zero(self)


@op("mmaf", 0x49, group=GROUP, traits=[PURE], tables=(SHAPES, ELEMENTS),
    rules=[same_type("acc", "result"), same_element("lhs", "rhs"), same_rank("lhs", "rhs", "acc")],
    format="$lhs `,` $rhs `,` $acc (`fast_acc` $fast_acc^)? attr-dict `:` type($lhs) `,` type($rhs) `,` type($acc)",
    example="""
        %a = constant <f16: 1.0> : tile<4x8xf16>
        %b = constant <f16: 2.0> : tile<8x2xf16>
        %acc = constant <f32: 0.0> : tile<4x2xf32>
        %0 = mmaf %a, %b, %acc : tile<4x8xf16>, tile<8x2xf16>, tile<4x2xf32>""")
class MmaF(Op):
    """Floating-point matrix product plus accumulator.

    Tiles are matrices (M x K times K x N plus M x N), or batches of them in three dimensions.
    """

    lhs: Value = operand(MMA_IN, "The left matrix.")
    rhs: Value = operand(MMA_IN, "The right matrix.")
    acc: Value = operand(MMA_OUT, "The accumulator.")
    fast_acc: bool = flag("Accumulate f8 products faster and less accurately (Hopper).", since=V13_3)
    result: Value = out(MMA_OUT, "The product plus `acc`.")

    def check(self) -> Answer:
        return mma_shapes(self) or mma_elements(self)


@op("mmaf_scaled", 0x72, since=V13_3, group=GROUP, traits=[PURE], tables=(SCALED_SHAPES, SCALED_ELEMENTS),
    rules=[same_type("acc", "result"), same_element("lhs", "rhs"), same_element("lhs_scale", "rhs_scale"),
           same_rank("lhs", "rhs", "acc", "lhs_scale", "rhs_scale")],
    format="$lhs `,` $rhs `,` $acc `,` $lhs_scale `,` $rhs_scale attr-dict "
           "`:` type($lhs) `,` type($rhs) `,` type($acc) `,` type($lhs_scale) `,` type($rhs_scale)",
    example="""
        %a = constant <f8E4M3FN: 1.0> : tile<4x32xf8E4M3FN>
        %b = constant <f8E4M3FN: 1.0> : tile<32x2xf8E4M3FN>
        %acc = constant <f32: 0.0> : tile<4x2xf32>
        %sa = constant <f8E8M0FNU: 1.0> : tile<4x1xf8E8M0FNU>
        %sb = constant <f8E8M0FNU: 1.0> : tile<1x2xf8E8M0FNU>
        %0 = mmaf_scaled %a, %b, %acc, %sa, %sb : tile<4x32xf8E4M3FN>, tile<32x2xf8E4M3FN>, tile<4x2xf32>, \
tile<4x1xf8E8M0FNU>, tile<1x2xf8E8M0FNU>""")
class MmaFScaled(Op):
    """Matrix product of block-scaled narrow floats plus accumulator.

    Each block of 16 or 32 elements along K has its own scale.
    """

    lhs: Value = operand(SCALED_IN, "The left matrix.")
    rhs: Value = operand(SCALED_IN, "The right matrix.")
    acc: Value = operand(SCALED_OUT, "The accumulator.")
    lhs_scale: Value = operand(SCALED_BY, "The scales of the left matrix.")
    rhs_scale: Value = operand(SCALED_BY, "The scales of the right matrix.")
    result: Value = out(SCALED_OUT, "The product plus `acc`.")

    def check(self) -> Answer:
        return mma_shapes(self) or scale_shapes(self) or scale_elements(self) or scale_blocks(self)


@op("mulf", 0x4C, group=GROUP, traits=[*TRAITS, COMMUTATIVE], rules=[BINARY], format=ROUNDED,
    example="%0 = mulf %x, %x : tile<f32>")
class MulF(Op):
    """Floating-point multiplication."""

    lhs: Value = operand(BaseFloatTile, LHS)
    rhs: Value = operand(BaseFloatTile, RHS)
    rounding_mode: RoundingMode = attr(RoundingMode, ROUNDING, default=NEAREST, only=IEEE)
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "The products.")

    def check(self) -> Answer:
        return rounding(self) or flush_to_zero(self)


@op("negf", 0x4F, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = negf %x : tile<f32>")
class NegF(Op):
    """Floating-point negation."""

    source: Value = operand(BaseFloatTile, "The floats.")
    result: Value = out(BaseFloatTile, "Their negatives.")


@op("remf", 0x59, group=GROUP, traits=TRAITS, rules=[BINARY], format=PLAIN_BINARY,
    example="%0 = remf %x, %x : tile<f32>")
class RemF(Op):
    """Remainder of division towards zero; it has the sign of the dividend."""

    lhs: Value = operand(BaseFloatTile, "The dividends.")
    rhs: Value = operand(BaseFloatTile, "The divisors.")
    result: Value = out(BaseFloatTile, "The remainders.")


@op("rsqrt", 0x5D, group=GROUP, traits=TRAITS, rules=[UNARY], format=FLUSHED_UNARY,
    example="%0 = rsqrt %x : tile<f32>")
class Rsqrt(Op):
    """Reciprocal square root."""

    source: Value = operand(BaseFloatTile, "The floats.")
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "Their reciprocal square roots.")

    def check(self) -> Answer:
        return flush_to_zero(self)


@op("sin", 0x62, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = sin %x : tile<f32>")
class Sin(Op):
    """Sine."""

    source: Value = operand(BaseFloatTile, "The angles in radians.")
    result: Value = out(BaseFloatTile, "Their sines.")


@op("sinh", 0x63, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = sinh %x : tile<f32>")
class SinH(Op):
    """Hyperbolic sine."""

    source: Value = operand(BaseFloatTile, "The floats.")
    result: Value = out(BaseFloatTile, "Their hyperbolic sines.")


@op("sqrt", 0x64, group=GROUP, traits=TRAITS, rules=[UNARY],
    format="$source rounding($rounding_mode) (`flush_to_zero` $flush_to_zero^)? attr-dict `:` type($result)",
    example="%0 = sqrt %x rounding<approx> flush_to_zero : tile<f32>")
class Sqrt(Op):
    """Square root; `approx` is faster and less accurate (f32 only)."""

    source: Value = operand(BaseFloatTile, "The floats.")
    rounding_mode: RoundingMode = attr(RoundingMode, ROUNDING, default=NEAREST, only=[*IEEE, RoundingMode.APPROX])
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "Their square roots.")

    def check(self) -> Answer:
        return rounding(self) or flush_to_zero(self) or approx(self)


@op("subf", 0x67, group=GROUP, traits=TRAITS, rules=[BINARY], format=ROUNDED,
    example="%0 = subf %x, %x : tile<f32>")
class SubF(Op):
    """Floating-point subtraction."""

    lhs: Value = operand(BaseFloatTile, LHS)
    rhs: Value = operand(BaseFloatTile, RHS)
    rounding_mode: RoundingMode = attr(RoundingMode, ROUNDING, default=NEAREST, only=IEEE)
    flush_to_zero: bool = flag(FTZ)
    result: Value = out(BaseFloatTile, "The differences.")

    def check(self) -> Answer:
        return rounding(self) or flush_to_zero(self)


@op("tan", 0x69, group=GROUP, traits=TRAITS, rules=[UNARY], format=PLAIN_UNARY,
    example="%0 = tan %x : tile<f32>")
class Tan(Op):
    """Tangent."""

    source: Value = operand(BaseFloatTile, "The angles in radians.")
    result: Value = out(BaseFloatTile, "Their tangents.")


@op("tanh", 0x6A, group=GROUP, traits=TRAITS, rules=[UNARY], format=ROUNDED_UNARY,
    example="%0 = tanh %x : tile<f32>")
class TanH(Op):
    """Hyperbolic tangent; `approx` is faster and less accurate (f32 only)."""

    source: Value = operand(BaseFloatTile, "The floats.")
    rounding_mode: RoundingMode = attr(
        RoundingMode, ROUNDING, default=RoundingMode.FULL, since=V13_2, only=[RoundingMode.APPROX, RoundingMode.FULL]
    )
    result: Value = out(BaseFloatTile, "Their hyperbolic tangents.")

    def check(self) -> Answer:
        return rounding(self) or approx(self)
