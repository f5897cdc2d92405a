"""Float formats on vectors: widening, rounding once in every mode, and NaN as hardware has it.

A float below is LLVM's `float` or `double`; bits are integers. A select that makes a NaN canonical must stay among
integers up to the store: LLVM may fold it if it sees floats.
"""

from __future__ import annotations

from ....attrs import RoundingMode
from ....types import BF16, F16, F32, F64, TF32, Scalar
from ...common.numerics.convert import E8M0, NANS, WIDE, to_f32
from ..text import BYTES, MANGLED, Text

NEAREST, AWAY, ZERO = RoundingMode.NEAREST_EVEN, RoundingMode.NEAREST_AWAY, RoundingMode.ZERO
DOWN, UP = RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF
SMALLEST_NORMAL = 2.0**-126
NAN32, NAN16 = 0x7FFFFFFF, 0x7FFF
INVALID64, QUIET64, FIRST_NAN64 = 0xFFF8 << 48, 0x0008 << 48, 0x7FF0 << 48


def bits_of(g: Text, x: str, t: str, w: int) -> str:
    return g.cast("bitcast", x, t, {"float": "i32", "double": "i64"}[t], w)


def float_of(g: Text, x: str, t: str, w: int) -> str:
    return g.cast("bitcast", x, {"float": "i32", "double": "i64"}[t], t, w)


def is_nan_bits(g: Text, b: str, w: int) -> str:
    """Whether bits of an f32 are a NaN, without a float that LLVM could reason about."""
    size = g.op("and", "i32", w, b, g.const(0x7FFFFFFF, "i32", w))
    return g.compare("ugt", "i32", w, size, g.const(0x7F800000, "i32", w))


def canonical(g: Text, x: str, w: int) -> str:
    """The bits of an f32 with the NaN of arithmetic."""
    b = bits_of(g, x, "float", w)
    return g.select(is_nan_bits(g, b, w), "i32", w, g.const(NAN32, "i32", w), b)


def fixed64(g: Text, r: str, w: int, *operands: str) -> str:
    """An f64 result with the NaN of the first operand that has one, made quiet, or a fixed one."""
    nan = g.compare("uno", "double", w, r, r)
    found = g.const(INVALID64, "i64", w)
    for x in reversed(operands):
        quiet = g.op("or", "i64", w, bits_of(g, x, "double", w), g.const(QUIET64, "i64", w))
        raw = g.op("and", "i64", w, bits_of(g, x, "double", w), g.const((1 << 63) - 1, "i64", w))
        is_nan = g.compare("ugt", "i64", w, raw, g.const(FIRST_NAN64, "i64", w))
        found = g.select(is_nan, "i64", w, quiet, found)
    return float_of(g, g.select(nan, "i64", w, found, bits_of(g, r, "double", w)), "double", w)


# ---------------------------------------------------------------- widening


def widened(g: Text, x: str, e: Scalar, w: int) -> str:
    """Any float type but f64 as `float`, exactly."""
    if e is F32:
        return x
    if e is TF32:
        return float_of(g, x, "float", w)
    if e is F16:
        return g.cast("fpext", g.cast("bitcast", x, "i16", "half", w), "half", "float", w)
    if e is BF16:
        b = g.cast("zext", x, "i16", "i32", w)
        return float_of(g, g.op("shl", "i32", w, b, g.const(16, "i32", w)), "float", w)
    return _looked_up(g, x, e, w)


def _looked_up(g: Text, x: str, e: Scalar, w: int) -> str:
    import numpy as np

    name = f"@table_{e.name}"
    values = to_f32(np.arange(1 << e.bits, dtype=np.uint8), e).view(np.uint32)
    g.functions[name] = (
        f"{name} = internal constant [{len(values)} x i32] [{', '.join(f'i32 {int(v)}' for v in values)}]"
    )
    index = g.cast("zext", g.op("and", "i8", w, x, g.const((1 << e.bits) - 1, "i8", w)), "i8", "i64", w)
    return float_of(g, gathered(g, "i32", name, index, w), "float", w)


def gathered(g: Text, t: str, base: str, index: str, w: int) -> str:
    """Elements of a table that lies in the object."""
    if w == 1:
        return g.load(t, g.at(t, base, index))
    places = g.let(f"getelementptr {t}, ptr {base}, <{w} x i64> {index}")
    v, name = f"<{w} x {t}>", f"masked.gather.v{w}{MANGLED.get(t, t)}.v{w}p0"
    mask, rest = (f"<{w} x i1>", "splat (i1 true)"), (v, "zeroinitializer")
    return g.call(name, v, (f"<{w} x ptr>", places), ("i32", BYTES[t]), mask, rest)


def doubled(g: Text, x: str, e: Scalar, w: int) -> str:
    """Any float type as `double`. NaNs of 16 bits and more keep sign and payload and are made quiet."""
    if e is F64:
        return x
    wide = widened(g, x, e, w)
    result = g.cast("fpext", wide, "float", "double", w)
    if e in WIDE:
        return result
    nan = g.compare("uno", "float", w, wide, wide)
    fixed = g.select(nan, "i64", w, g.const(NANS["f64"], "i64", w), bits_of(g, result, "double", w))
    return float_of(g, fixed, "double", w)


# ---------------------------------------------------------------- narrowing


def odd32(g: Text, x: str, w: int) -> str:
    """A `double` as `float`, rounded to odd."""
    near = g.cast("fptrunc", x, "double", "float", w)
    wide = g.cast("fpext", near, "float", "double", w)
    word = bits_of(g, near, "float", w)
    sizes = [g.intrinsic("fabs", "double", w, v) for v in (wide, x)]
    above = g.cast("zext", g.compare("ogt", "double", w, *sizes), "i1", "i32", w)
    inexact = g.cast("zext", g.compare("une", "double", w, wide, x), "i1", "i32", w)
    word = g.op("or", "i32", w, g.op("sub", "i32", w, word, above), inexact)
    # A NaN must stay one.
    nan = g.compare("uno", "double", w, x, x)
    return float_of(g, g.select(nan, "i32", w, g.const(NAN32, "i32", w), word), "float", w)


def narrowed(g: Text, x: str, e: Scalar, w: int, mode: RoundingMode = NEAREST) -> str:
    """A `double`, exact or rounded to odd, in f16, bf16 or f32 (as its register); NaN gives the canonical one."""
    if e is F32:
        near = g.cast("fptrunc", x, "double", "float", w)
        return near if mode is NEAREST else _stepped(g, near, x, w, mode)
    if e is BF16 or mode is NEAREST:
        return from_f32(g, odd32(g, x, w), e, w, mode)
    return _half_directed(g, x, w, mode)


def _stepped(g: Text, near: str, x: str, w: int, mode: RoundingMode) -> str:
    """One step in the direction of the mode where rounding to nearest went the wrong way."""
    wide = g.cast("fpext", near, "float", "double", w)
    word = bits_of(g, near, "float", w)
    if mode is ZERO:
        sizes = [g.intrinsic("fabs", "double", w, v) for v in (wide, x)]
        wrong = g.cast("zext", g.compare("ogt", "double", w, *sizes), "i1", "i32", w)
        return float_of(g, g.op("sub", "i32", w, word, wrong), "float", w)
    wrong = g.cast("zext", g.compare("ogt" if mode is DOWN else "olt", "double", w, wide, x), "i1", "i32", w)
    negative = g.compare("slt", "i32", w, word, g.const(0, "i32", w))
    up, down = g.op("add", "i32", w, word, wrong), g.op("sub", "i32", w, word, wrong)
    moved = g.select(negative, "i32", w, *((up, down) if mode is DOWN else (down, up)))
    return float_of(g, moved, "float", w)


def _half_directed(g: Text, x: str, w: int, mode: RoundingMode) -> str:
    """f16 in a directed mode: nearest, then a step where that went the wrong way."""
    near = from_f32(g, odd32(g, x, w), F16, w)
    wide = g.cast("fpext", widened(g, near, F16, w), "float", "double", w)
    if mode is ZERO:
        sizes = [g.intrinsic("fabs", "double", w, v) for v in (wide, x)]
        wrong = g.cast("zext", g.compare("ogt", "double", w, *sizes), "i1", "i16", w)
        return g.op("sub", "i16", w, near, wrong)
    wrong = g.cast("zext", g.compare("ogt" if mode is DOWN else "olt", "double", w, wide, x), "i1", "i16", w)
    negative = g.compare("slt", "i16", w, near, g.const(0, "i16", w))
    up, down = g.op("add", "i16", w, near, wrong), g.op("sub", "i16", w, near, wrong)
    return g.select(negative, "i16", w, *((up, down) if mode is DOWN else (down, up)))


def from_f32(g: Text, x: str, e: Scalar, w: int, mode: RoundingMode = NEAREST) -> str:
    """A `float`, exact or rounded to odd, in the register of a type of no more bits, with canonical NaNs."""
    if e is F32:
        return x
    if e is F16 and mode is not ZERO:
        half = g.cast("bitcast", g.cast("fptrunc", x, "float", "half", w), "half", "i16", w)
        return g.select(g.compare("uno", "float", w, x, x), "i16", w, g.const(NAN16, "i16", w), half)
    if e is BF16:
        return _to_bf16(g, x, w, NEAREST if mode is AWAY else mode)
    if e is TF32:
        return _to_tf32(g, x, w, mode)
    found = _powers_of_two(g, x, w, mode) if e is E8M0 else _narrow(g, x, e, w, mode)
    nan = g.compare("uno", "float", w, x, x)
    t = "i16" if e is F16 else "i8"
    return g.select(nan, t, w, g.const(NANS[e.name], t, w), g.cast("trunc", found, "i32", t, w))


def _to_bf16(g: Text, x: str, w: int, mode: RoundingMode) -> str:
    b = bits_of(g, x, "float", w)
    if mode is NEAREST:
        odd = g.op("and", "i32", w, g.op("lshr", "i32", w, b, g.const(16, "i32", w)), g.const(1, "i32", w))
        b = g.op("add", "i32", w, g.op("add", "i32", w, b, g.const(0x7FFF, "i32", w)), odd)
    elif mode is not ZERO:
        negative = g.compare("slt", "i32", w, b, g.const(0, "i32", w))
        numbers = (0xFFFF, 0) if mode is DOWN else (0, 0xFFFF)
        b = g.op("add", "i32", w, b, g.select(negative, "i32", w, *(g.const(n, "i32", w) for n in numbers)))
    short = g.cast("trunc", g.op("lshr", "i32", w, b, g.const(16, "i32", w)), "i32", "i16", w)
    return g.select(g.compare("uno", "float", w, x, x), "i16", w, g.const(NAN16, "i16", w), short)


def _to_tf32(g: Text, x: str, w: int, mode: RoundingMode) -> str:
    b = rounded = bits_of(g, x, "float", w)
    mask = g.const(0xFFFFE000, "i32", w)
    if mode is NEAREST:
        odd = g.op("and", "i32", w, g.op("lshr", "i32", w, b, g.const(13, "i32", w)), g.const(1, "i32", w))
        rounded = g.op("add", "i32", w, g.op("add", "i32", w, b, odd), g.const(0xFFF, "i32", w))
    elif mode is AWAY:
        rounded = g.op("add", "i32", w, b, g.const(0x1000, "i32", w))
    nan = g.const(NANS["tf32"], "i32", w) if mode is not AWAY else g.op("and", "i32", w, b, mask)
    return g.select(is_nan_bits(g, b, w), "i32", w, nan, g.op("and", "i32", w, rounded, mask))


def _narrow(g: Text, x: str, e: Scalar, w: int, mode: RoundingMode) -> str:
    """The bits, as i32, in f16 or a type of at most 8 bits with subnormals; see the reference's `narrow_sizes`."""
    form, i = e.format, "i32"

    def c(n: int) -> str:
        return g.const(n, i, w)

    b = bits_of(g, x, "float", w)
    base = g.op("and", i, w, b, c(0x7F800000))
    base = g.intrinsic("smax", i, w, base, c((128 - form.bias) << 23))
    base = g.intrinsic("smin", i, w, base, c((127 + 31) << 23))
    base = g.op("add", i, w, base, c((23 - form.mantissa) << 23))
    size, power = g.intrinsic("fabs", "float", w, x), float_of(g, base, "float", w)
    total = g.op("fadd", "float", w, size, power)
    digits = g.op("sub", i, w, bits_of(g, total, "float", w), base)
    if mode is ZERO:
        above = g.compare("ogt", "float", w, g.op("fsub", "float", w, total, power), size)
        digits = g.op("sub", i, w, digits, g.cast("zext", above, "i1", i, w))
    base = g.op("lshr", i, w, base, c(23 - form.mantissa))
    base = g.op("sub", i, w, base, c((151 - form.mantissa - form.bias) << form.mantissa))
    found = g.intrinsic("smin", i, w, g.op("add", i, w, digits, base), c(form.top))
    if mode is ZERO and e in WIDE:
        infinite = g.compare("oeq", "float", w, size, g.const(float("inf"), "float", w))
        found = g.select(infinite, i, w, c(form.top + 1), found)
    if form.signed:
        sign = g.op("shl", i, w, g.op("lshr", i, w, b, c(31)), c(e.bits - 1))
        found = g.op("or", i, w, found, sign)
    return found


def _powers_of_two(g: Text, x: str, w: int, mode: RoundingMode) -> str:
    i = "i32"
    size = g.op("and", i, w, bits_of(g, x, "float", w), g.const(0x7FFFFFFF, i, w))
    power = g.op("lshr", i, w, size, g.const(23, i, w))
    if mode is UP:
        rest = g.op("and", i, w, size, g.const(0x7FFFFF, i, w))
        some = g.compare("ne", i, w, rest, g.const(0, i, w))
        large = g.compare("ugt", i, w, size, g.const(0x400000, i, w))
        power = g.op("add", i, w, power, g.cast("zext", g.op("and", "i1", w, some, large), "i1", i, w))
    return g.intrinsic("umin", i, w, power, g.const(E8M0.format.top, i, w))


def keep_payload(g: Text, result: str, x: str, e: Scalar, w: int) -> str:
    """f64 to f16 or bf16: NaNs with the sign and the first bits that they had, made quiet."""
    b = bits_of(g, x, "double", w)
    form = e.format
    kept = g.op("lshr", "i64", w, g.op("and", "i64", w, b, g.const((1 << 52) - 1, "i64", w)),
                g.const(52 - form.mantissa, "i64", w))  # fmt: skip
    sign = g.op("shl", "i64", w, g.op("lshr", "i64", w, b, g.const(63, "i64", w)), g.const(e.bits - 1, "i64", w))
    quiet = g.const(form.top + 1 | 1 << form.mantissa - 1, "i64", w)
    made = g.cast("trunc", g.op("or", "i64", w, g.op("or", "i64", w, sign, quiet), kept), "i64", "i16", w)
    return g.select(g.compare("uno", "double", w, x, x), "i16", w, made, result)


# ---------------------------------------------------------------- exact sums


def odd_sum(g: Text, a: str, b: str, w: int, mode: RoundingMode = NEAREST) -> str:
    """The sum of two `double`, rounded to odd; a zero has the sign that the mode gives it."""
    d = "double"
    total = g.op("fadd", d, w, a, b)
    part = g.op("fsub", d, w, total, a)
    error = g.op("fadd", d, w, g.op("fsub", d, w, a, g.op("fsub", d, w, total, part)), g.op("fsub", d, w, b, part))
    zero, word = g.const(0.0, d, w), bits_of(g, total, d, w)
    alike = g.op("xor", "i1", w, g.compare("ogt", d, w, error, zero), g.compare("ogt", d, w, total, zero))
    even = g.compare("eq", "i64", w, g.op("and", "i64", w, word, g.const(1, "i64", w)), g.const(0, "i64", w))
    finite = g.compare("olt", d, w, g.intrinsic("fabs", d, w, total), g.const(float("inf"), d, w))
    moves = g.op("and", "i1", w, g.op("and", "i1", w, even, finite), g.compare("une", d, w, error, zero))
    step = g.select(alike, "i64", w, g.const(-1, "i64", w), g.const(1, "i64", w))
    step = g.select(moves, "i64", w, step, g.const(0, "i64", w))
    result = float_of(g, g.op("add", "i64", w, word, step), d, w)
    if mode is not DOWN:
        return result
    signs = g.op("or", "i64", w, bits_of(g, a, d, w), bits_of(g, b, d, w))
    negative = g.compare("slt", "i64", w, signs, g.const(0, "i64", w))
    is_zero = g.op("and", "i1", w, g.compare("oeq", d, w, result, zero), negative)
    return g.select(is_zero, d, w, g.const(-0.0, d, w), result)


def flushed(g: Text, x: str, w: int) -> str:
    """A `float` with zeros of the same sign for subnormals."""
    small = g.compare("olt", "float", w, g.intrinsic("fabs", "float", w, x), g.const(SMALLEST_NORMAL, "float", w))
    sign = g.op("and", "i32", w, bits_of(g, x, "float", w), g.const(0x80000000, "i32", w))
    return float_of(g, g.select(small, "i32", w, sign, bits_of(g, x, "float", w)), "float", w)


def finished_ftz(g: Text, exact: str, w: int, mode: RoundingMode) -> str:
    """A `double` rounded to f32, flushed if it is below the normal numbers when rounded to 24 bits."""
    result = narrowed(g, exact, F32, w, mode)
    scaled = g.op("fmul", "double", w, exact, g.const(2.0**64, "double", w))
    size = g.intrinsic("fabs", "float", w, narrowed(g, scaled, F32, w, mode))
    small = g.compare("olt", "float", w, size, g.const(SMALLEST_NORMAL * 2.0**64, "float", w))
    sign = g.op("and", "i32", w, bits_of(g, result, "float", w), g.const(0x80000000, "i32", w))
    return float_of(g, g.select(small, "i32", w, sign, bits_of(g, result, "float", w)), "float", w)
