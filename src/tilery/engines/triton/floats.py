"""Exact conversions between float types: native instructions where they round as wanted, else integer arithmetic.

Every float but f64 is exact in f32. A conversion from f64 to a narrow type goes through an f32 that is rounded to odd,
which keeps all that matters for the second rounding.
"""

from __future__ import annotations

from ...enums import RoundingMode as R
from ...floats.formats import Format
from ...types import BF16, F16, F32, F64, TF32, Scalar
from .emit import Val
from .state import Lowering

NATIVE = {F16: "f16", BF16: "bf16", F32: "f32", F64: "f64", TF32: "f32"}


def widen(low: Lowering, value: Val, source: Scalar) -> Val:
    """Any float but f64 as f32, exactly."""
    if source in (F32, TF32):
        return value
    if source in (F16, BF16):
        return low.cast("arith.extf", value, "f32")
    if value.element == source.name:  # Triton knows the type
        return low.convert("tt.fp_to_fp", value, "f32")
    return _widen_bits(low, value, source.format)


def _widen_bits(low: Lowering, value: Val, form: Format) -> Val:
    """The bits of a narrow float moved to those of an f32, whose exponent is then scaled."""
    bits = low.integer(value, "i32", signed=False)
    size = low.map("arith.andi", bits, low.like((1 << form.exponent + form.mantissa) - 1, bits))
    moved = low.map("arith.shli", size, low.like(23 - form.mantissa, size))
    if form.subnormals:
        number = low.map(
            "arith.mulf", low.bitcast(moved, "f32"), low.real(2.0 ** (127 - form.bias), low.bitcast(moved, "f32"))
        )
        moved = low.bitcast(number, "i32")
    else:  # the smallest exponent is a number, which f32 holds as a subnormal
        moved = low.select(low.compare("eq", size, low.like(0, size)), low.like(1 << 22, size), moved)
    if form.infinity:
        moved = low.select(low.compare("eq", size, low.like(form.top + 1, size)), low.like(0x7F800000, size), moved)
    if form.nan > form.top:
        above = low.like(form.top + form.infinity, size)
        moved = low.select(low.compare("ugt", size, above), low.like(0x7FFFFFFF, size), moved)
    if form.signed:
        sign = low.map(
            "arith.shli", low.map("arith.andi", bits, low.like(form.sign, bits)), low.like(32 - form.bits, bits)
        )
        moved = low.map("arith.ori", moved, sign)
    return low.bitcast(moved, "f32")


def narrow_bits(low: Lowering, value: Val, form: Format, mode: R) -> Val:
    """An f32 as the bits of a narrow float, in an i8. It saturates; only types without mantissa have other modes."""
    bits = low.bitcast(value, "i32")
    size = low.map("arith.andi", bits, low.like(0x7FFFFFFF, bits))
    if not form.subnormals:
        found = _narrow_exponent(low, size, mode)
    else:
        found = _narrow_nearest(low, size, form)
    found = low.map("arith.minui", found, low.like(form.top, found))
    nan = low.compare("ugt", size, low.like(0x7F800000, size))
    found = low.select(nan, low.like((1 << form.exponent + form.mantissa) - 1, found), found)
    if form.signed:
        sign = low.map("arith.shrui", bits, low.like(32 - form.bits, bits))
        found = low.map("arith.ori", found, low.map("arith.andi", sign, low.like(form.sign, bits)))
    return low.integer(found, "i8", signed=False)


def _narrow_nearest(low: Lowering, size: Val, form: Format) -> Val:
    shift = 23 - form.mantissa
    odd = low.map("arith.andi", low.map("arith.shrui", size, low.like(shift, size)), low.like(1, size))
    rounded = low.map("arith.addi", low.map("arith.addi", size, low.like((1 << shift - 1) - 1, size)), odd)
    normal = low.map("arith.shrui", rounded, low.like(shift, size))
    normal = low.map("arith.subi", normal, low.like((127 - form.bias) << form.mantissa, size))
    # Adding a number whose last bit is that of the subnormals makes the FPU round.
    magic = low.real(2.0 ** (form.lowest + 23), low.bitcast(size, "f32"))
    summed = low.bitcast(low.map("arith.addf", low.bitcast(size, "f32"), magic), "i32")
    tiny = low.map("arith.subi", summed, low.bitcast(magic, "i32"))
    least = low.like((128 - form.bias) << 23, size)
    return low.select(low.compare("ult", size, least), tiny, normal)


def _narrow_exponent(low: Lowering, size: Val, mode: R) -> Val:
    """The exponent alone: the power of two below or above. Zero and everything smaller is the smallest one."""
    exponent = low.map("arith.shrui", size, low.like(23, size))
    if mode is R.POSITIVE_INF:
        rest = low.map("arith.andi", size, low.like(0x7FFFFF, size))
        above = low.compare("ne", rest, low.like(0, size))
        # 2**-127 is a subnormal of f32 with one bit set: only what is larger goes up.
        small = low.compare("ule", size, low.like(1 << 22, size))
        above = low.select(small, low.constant(0, size.shape, "i1"), above)
        exponent = low.map("arith.addi", exponent, low.integer(above, "i32", signed=False))
    return exponent


def odd32(low: Lowering, value: Val) -> Val:
    """An f64 as f32, rounded to odd."""
    near = low.cast("arith.truncf", value, "f32")
    back = low.cast("arith.extf", near, "f64")
    bits = low.bitcast(near, "i32")
    larger = low.compare("ogt", low.map("math.absf", back), low.map("math.absf", value))
    inexact = low.compare("one", back, value)
    cut = low.map("arith.subi", bits, low.integer(larger, "i32", signed=False))
    return low.bitcast(low.map("arith.ori", cut, low.integer(inexact, "i32", signed=False)), "f32")


def round_tf32(low: Lowering, value: Val, mode: R) -> Val:
    """An f32 without the bits that tf32 lacks."""
    if low.target.tf32_cvt or (low.target.nvidia and mode is R.NEAREST_AWAY):
        name = {R.NEAREST_AWAY: "rna", R.ZERO: "rz"}.get(mode, "rn")
        return low.bitcast(low.assembly(f"cvt.{name}.tf32.f32 $0, $1;", "=r,f", "i32", value), "f32")
    bits = low.bitcast(value, "i32")
    moved = bits
    if mode is R.NEAREST_AWAY:
        moved = low.map("arith.addi", bits, low.like(0x1000, bits))
    elif mode is not R.ZERO:
        odd = low.map("arith.andi", low.map("arith.shrui", bits, low.like(13, bits)), low.like(1, bits))
        moved = low.map("arith.addi", low.map("arith.addi", bits, low.like(0xFFF, bits)), odd)
    moved = low.map("arith.andi", moved, low.like(0xFFFFE000, bits))
    nan = low.compare("uno", value, value)
    return low.bitcast(low.select(nan, low.like(0x7FFFE000, bits), moved), "f32")


def truncate(low: Lowering, value: Val, element: str, mode: R) -> Val:
    """A float in a narrower type of 16 or 32 bits that Triton converts to, rounded in a mode."""
    near = low.cast("arith.truncf", value, element)
    if mode is R.NEAREST_EVEN:
        return near
    back = low.cast("arith.extf", near, value.element)
    width = f"i{near.bits}"
    bits = low.bitcast(near, width)
    negative = low.compare("slt", bits, low.like(0, bits))
    up, down = low.compare("olt", back, value), low.compare("ogt", back, value)
    one = low.like(1, bits)
    # Away from zero is one more in the bits, towards zero one less.
    away, closer = low.map("arith.addi", bits, one), low.map("arith.subi", bits, one)
    if mode is R.ZERO:
        wrong = low.select(negative, up, down)
        return low.bitcast(low.select(wrong, closer, bits), element)
    if mode is R.POSITIVE_INF:
        moved = low.select(negative, closer, away)
        return low.bitcast(low.select(up, moved, bits), element)
    moved = low.select(negative, away, closer)
    return low.bitcast(low.select(down, moved, bits), element)


def convert(low: Lowering, value: Val, source: Scalar, target: Scalar, mode: R) -> Val:
    """A float in another type, rounded once."""
    if source is F64 and target in (F32, F16):
        return truncate(low, value, target.name, mode)
    if source is F64:
        wide = truncate(low, value, "f32", mode) if mode is R.ZERO else odd32(low, value)
    else:
        wide = widen(low, value, source)
    if target is F32:
        return wide
    if target is F64:
        return low.cast("arith.extf", wide, "f64")
    if target is TF32:
        exact = source not in (F32, F64)
        return wide if exact else round_tf32(low, wide, mode)
    if target in (F16, BF16):
        return truncate(low, wide, target.name, mode)
    if low.target.f8 and target.name in low.target.f8:
        return low.make(
            f"tt.fp_to_fp {wide.name}, rounding = rtne : {wide.type} -> {Val('', wide.shape, target.name).type}",
            wide.shape,
            target.name,
        )
    return narrow_bits(low, wide, target.format, mode)
