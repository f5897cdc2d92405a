"""Matrix products."""

from __future__ import annotations

from ....enums import Signedness
from ....ops import MmaF, MmaFScaled, MmaI
from ....types import F64, TF32, Scalar
from ...semantics import SMALL_PRODUCT, rounds_once
from ..emit import Val
from ..floats import widen
from ..registry import lowers
from ..state import Lowering
from .conversion import scalar

HOPPER = 90
NO_FOLD = 1 << 30
"""A limit of imprecise sums that is not zero: Triton then does not fold a later addition into the product."""
F8_STEPS = 128
"""After how many steps of K sums of 8-bit floats are added to the accumulator, as NVIDIA's compiler does."""


SMALLEST = (16, 8)
"""Rows and columns below which Triton's products fail or take minutes to compile."""
SMALLEST_STEPS = {64: 4, 32: 8, 16: 16, 8: 32}
"""The same for K, by the width of the elements."""


def _is_small(lhs: Val, acc: Val) -> bool:
    (m, n), (rows, columns) = acc.shape[-2:], SMALLEST
    return m < rows or n < columns or _is_short(lhs)


def _is_short(lhs: Val) -> bool:
    return lhs.shape[-1] < SMALLEST_STEPS[lhs.bits]


@lowers(MmaF)
def mmaf(low: Lowering, o: MmaF, lhs: Val, rhs: Val, acc: Val) -> Val:
    """The product plus the accumulator; small ones step by step, as the reference engine computes them."""
    element = scalar(o.lhs)
    exact = not rounds_once(o) and acc.shape[-1] * acc.shape[-2] * lhs.shape[-1] <= SMALL_PRODUCT
    if exact or _is_short(lhs) or (element is F64 and _is_small(lhs, acc)):
        if element is not F64:
            lhs, rhs = (_masked(low, v) if element is TF32 else widen(low, v, element) for v in (lhs, rhs))
        return _step_by_step(low, lhs, rhs, acc)
    if element.bits == 8 and lhs.element == "i8":  # exact in f16, which every target multiplies
        lhs, rhs = (low.cast("arith.truncf", widen(low, v, element), "f16") for v in (lhs, rhs))
    if element is TF32 and not low.target.nvidia:
        lhs, rhs = (_masked(low, v) for v in (lhs, rhs))
    precision = ", inputPrecision = tf32" if element is TF32 and low.target.nvidia else ""
    limit = F8_STEPS if element.bits == 8 and not o.fast_acc else NO_FOLD
    return _dot(low, lhs, rhs, acc, precision, limit)


def _dot(low: Lowering, lhs: Val, rhs: Val, acc: Val, precision: str = "", limit: int = NO_FOLD) -> Val:
    """A product by Triton. One with few rows is transposed, because those of an instruction are many, or repeated."""
    (m, n), (rows, columns) = acc.shape[-2:], SMALLEST
    if m < rows and n >= rows:
        order = [*range(len(acc.shape) - 2), len(acc.shape) - 1, len(acc.shape) - 2]
        left, right, start = (low.transpose(v, order) for v in (rhs, lhs, acc))
        found = _dot(low, left, right, start, precision, limit)
        return low.transpose(found, order)
    rank = len(acc.shape)
    if m < rows:
        return _repeated_dot(low, lhs, rhs, acc, rank - 2, rows // m, precision, limit)
    if n < columns:
        return _repeated_dot(low, lhs, rhs, acc, rank - 1, columns // n, precision, limit)
    text = f"tt.dot {lhs.name}, {rhs.name}, {acc.name}{precision} {{maxNumImpreciseAcc = {limit} : i32}}"
    return low.make(f"{text} : {lhs.type} * {rhs.type} -> {acc.type}", acc.shape, acc.element)


def _repeated_dot(low: Lowering, lhs: Val, rhs: Val, acc: Val, dim: int, count: int, precision: str, limit: int) -> Val:
    """A product with its rows or columns several times; the first of them are the result."""
    shape, is_row = acc.shape, dim == len(acc.shape) - 2
    left, right = (low.repeated(lhs, count, dim), rhs) if is_row else (lhs, low.repeated(rhs, count, dim))
    found = _dot(low, left, right, low.repeated(acc, count, dim), precision, limit)
    return low.pick(low.reshape(found, (*shape[:dim], count, *shape[dim:])), low.constant(0, (), "i32"), dim)


def _masked(low: Lowering, value: Val) -> Val:
    """A tf32 without the bits that it does not have."""
    bits = low.bitcast(value, "i32")
    return low.bitcast(low.map("arith.andi", bits, low.like(0xFFFFE000, bits)), "f32")


def _step_by_step(low: Lowering, lhs: Val, rhs: Val, acc: Val) -> Val:
    """Products and sums in the order of K, floats rounded after each, and the accumulator added last."""
    shape, kind, steps = acc.shape, lhs.element, lhs.shape[-1]
    suffix = "i" if kind == "i32" else "f"
    total = Val(low.fresh("t"), shape, kind)
    k, found = low.fresh("k"), low.fresh("s")
    zero, one, limit = (low.constant(n, (), "i32") for n in (0, 1, steps))
    start = low.constant(0, shape, kind)
    low.line(
        f"{found} = scf.for {k} = {zero.name} to {limit.name} step {one.name} "
        f"iter_args({total.name} = {start.name}) -> ({total.type}) : i32 {{"
    )
    step = Val(k, (), "i32")
    column, row = lhs, rhs
    if steps > 1:
        rank = len(shape)
        column = low.reshape(low.pick(lhs, step, rank - 1), (*shape[:-1], 1))
        row = low.reshape(low.pick(rhs, step, rank - 2), (*shape[:-2], 1, shape[-1]))
    term = low.map(f"arith.mul{suffix}", low.broadcast(column, shape), low.broadcast(row, shape))
    made = low.map(f"arith.add{suffix}", total, term)
    low.line(f"scf.yield {made.name} : {made.type}")
    low.line("}")
    done = Val(found, shape, kind)
    if acc.element == kind:
        return low.map(f"arith.add{suffix}", done, acc)
    summed = low.map("arith.addf", done, low.cast("arith.extf", acc, kind))
    return low.cast("arith.truncf", summed, acc.element)


@lowers(MmaI)
def mmai(low: Lowering, o: MmaI, lhs: Val, rhs: Val, acc: Val) -> Val:
    """Triton multiplies signed bytes; an unsigned one is a signed one plus 128, so sums of the other side are added."""
    unsigned_lhs, unsigned_rhs = (s is Signedness.UNSIGNED for s in (o.signedness_lhs, o.signedness_rhs))
    few = acc.shape[-1] * acc.shape[-2] * lhs.shape[-1] <= SMALL_PRODUCT
    if _is_short(lhs) or (few and _is_small(lhs, acc)):
        left, right = low.integer(lhs, "i32", not unsigned_lhs), low.integer(rhs, "i32", not unsigned_rhs)
        return _step_by_step(low, left, right, acc)
    left = _shifted(low, lhs) if unsigned_lhs else lhs
    right = _shifted(low, rhs) if unsigned_rhs else rhs
    # Some of Triton's instructions saturate. Added afterwards, the accumulator wraps around with all of them.
    wraps = _is_asynchronous(low, acc)
    found = _dot(low, left, right, acc if wraps else low.like(0, acc), limit=NO_FOLD)
    rank = len(acc.shape)
    if unsigned_lhs:  # 128 times the column sums of the right side
        found = low.map("arith.addi", found, _sums(low, right, rank - 2, acc))
    if unsigned_rhs:
        found = low.map("arith.addi", found, _sums(low, left, rank - 1, acc))
    if unsigned_lhs and unsigned_rhs:
        found = low.map("arith.addi", found, low.like(lhs.shape[-1] << 14, found))
    if wraps:
        return found
    # As found - ~acc - 1, because some versions of Triton fold an addition into the product.
    inverted = low.map("arith.xori", acc, low.like(-1, acc))
    return low.map("arith.addi", low.map("arith.subi", found, inverted), low.like(-1, acc))


def _is_asynchronous(low: Lowering, acc: Val) -> bool:
    """Tell whether Triton multiplies with the instructions of Hopper for four warps, whose sums of integers wrap."""
    if low.target.capability != HOPPER or len(acc.shape) != 2 or low.config.num_warps % 4:
        return False
    rows, columns = acc.shape if acc.shape[0] >= SMALLEST[0] else acc.shape[::-1]
    return rows >= 64 and columns >= 8


def _shifted(low: Lowering, value: Val) -> Val:
    return low.map("arith.xori", value, low.like(0x80, value))


def _sums(low: Lowering, value: Val, dim: int, acc: Val) -> Val:
    """128 times the sums along K, in the shape of the result."""
    summed = low.reduced("arith.addi", low.integer(value, "i32", signed=True), dim)
    scaled = low.map("arith.muli", summed, low.like(128, summed))
    line = [1 if i == dim else n for i, n in enumerate(value.shape)]
    return low.broadcast(low.reshape(scaled, line), acc.shape)


@lowers(MmaFScaled)
def mmaf_scaled(low: Lowering, o: MmaFScaled, lhs: Val, rhs: Val, acc: Val, lhs_scale: Val, rhs_scale: Val) -> Val:
    """Elements times their scales. These have at most six bits, so they are exact in bf16, except for
    those below its smallest normal number."""
    element, scale = scalar(o.lhs), scalar(o.lhs_scale)
    rank = len(acc.shape)
    block = lhs.shape[-1] // lhs_scale.shape[-1]
    if low.target.scaled_products and (element.name, scale.name, block) in NATIVE_SCALED and _is_large(lhs, acc):
        return _dot_scaled(low, o, lhs, rhs, acc, lhs_scale, rhs_scale)
    left = _scaled(low, lhs, element, lhs_scale, scale, rank - 1)
    right = _scaled(low, rhs, element, rhs_scale, scale, rank - 2)
    if _is_short(left):
        left, right = (low.cast("arith.extf", v, "f32") for v in (left, right))
        return _step_by_step(low, left, right, acc)
    return _dot(low, left, right, acc)


NATIVE_SCALED = {
    ("f8E4M3FN", "f8E8M0FNU", 32): "e4m3",
    ("f8E5M2", "f8E8M0FNU", 32): "e5m2",
    ("f4E2M1FN", "f8E8M0FNU", 32): "e2m1",
    ("f4E2M1FN", "f8E4M3FN", 16): "e2m1",
}
"""The scaled products that instructions of Blackwell compute: elements, scales and the size of a block, to Triton's
name of the elements."""


def _is_large(lhs: Val, acc: Val) -> bool:
    return len(acc.shape) == 2 and acc.shape[0] >= 128 and acc.shape[1] >= 16 and lhs.shape[1] >= 128


def _dot_scaled(low: Lowering, o: MmaFScaled, lhs: Val, rhs: Val, acc: Val, lhs_scale: Val, rhs_scale: Val) -> Val:
    """A product by one instruction. Triton wants the right scales by columns, and four-bit elements in pairs."""
    element, scale = scalar(o.lhs), scalar(o.lhs_scale)
    kind = NATIVE_SCALED[element.name, scale.name, lhs.shape[1] // lhs_scale.shape[1]]
    right_scale = low.transpose(rhs_scale, (1, 0))
    if kind == "e2m1":
        lhs = _paired(low, lhs)
        rhs = low.transpose(_paired(low, low.transpose(rhs, (1, 0))), (1, 0))
    text = (
        f"tt.dot_scaled {lhs.name} scale {lhs_scale.name}, {rhs.name} scale {right_scale.name}, {acc.name} "
        f"lhs = {kind} rhs = {kind} {{fastMath = false}} : {lhs.type}, {lhs_scale.type} * {rhs.type}, "
        f"{right_scale.type} -> {acc.type}"
    )
    return low.make(text, acc.shape, acc.element)


def _paired(low: Lowering, value: Val) -> Val:
    """Four-bit elements two in a byte along the last dimension, the first one in the lower half."""
    rows, columns = value.shape
    first, second = low.split(low.reshape(value, (rows, columns // 2, 2)))
    lower = low.map("arith.andi", first, low.like(15, first))
    return low.map("arith.ori", lower, low.map("arith.shli", second, low.like(4, second)))


def _scaled(low: Lowering, value: Val, element: Scalar, scales: Val, scale: Scalar, dim: int) -> Val:
    numbers, factors = widen(low, value, element), widen(low, scales, scale)
    size = value.shape[dim] // scales.shape[dim]
    line = (*scales.shape[: dim + 1], 1, *scales.shape[dim + 1 :])
    wide = low.broadcast(low.reshape(factors, line), (*scales.shape[: dim + 1], size, *scales.shape[dim + 1 :]))
    spread = low.reshape(wide, value.shape)
    return low.cast("arith.truncf", low.map("arith.mulf", numbers, spread), "bf16")
