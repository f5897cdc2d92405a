"""Rounding once: from an exact result, kept in f64 rounded to odd, to an element type in every mode.

Arrays of f16, f32 and f64 are NumPy's; an array of uint16 holds bf16.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ....attrs import RoundingMode
from ..tiles import Array, unsigned
from ..watch import check
from .narrow import from_half, to_half

F16, BF16, F32, F64 = (np.dtype(t) for t in (np.float16, np.uint16, np.float32, np.float64))
NEAREST, ZERO = RoundingMode.NEAREST_EVEN, RoundingMode.ZERO
DOWN, UP = RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF
SMALLEST_NORMAL = np.float32(2.0**-126)

# The NaN that hardware produces, by carrier; f64 keeps payloads, see `quieted`.
CANONICAL = {F16: 0x7FFF, BF16: 0x7FFF, F32: 0x7FFFFFFF}
INVALID64 = np.uint64(0xFFF8_0000_0000_0000)
QUIET64 = np.uint64(0x0008_0000_0000_0000)
CHUNK = 32768
"""Elements to process at a time, so that temporary arrays stay in the cache."""


def in_chunks(compute: Callable[..., Array], dtype: np.dtype[Any], out: Array | None, *operands: Array) -> Array:
    """Apply `compute(*operands)` to some lanes at a time, or parts of one; operands have equally many lanes, or one.

    The result may be in `out`, which may be one of the operands.
    """
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    each = prod(shape[1:])
    if each > CHUNK:
        flat = in_chunks(compute, dtype, None, *(np.broadcast_to(x, shape).reshape(-1) for x in operands))
        return flat.reshape(shape)
    step = CHUNK // max(1, each)
    if shape[0] <= step and out is None:
        return compute(*operands)
    result = np.empty(shape, dtype) if out is None else out
    for start in range(0, shape[0], step):
        check()
        stop = start + step
        result[start:stop] = compute(*(x if x.shape[0] == 1 else x[start:stop] for x in operands))
    return result


# ---------------------------------------------------------------- widening


def widened(x: Array) -> Array:
    """Convert f16 and bf16 to f32, exactly; leave f32 and f64."""
    if x.dtype == BF16:
        wide = x.astype(np.uint32)
        wide <<= 16
        return wide.view(F32)
    return from_half(x) if x.dtype == F16 else x


def doubled(x: Array) -> Array:
    """Convert any of the four types to f64, exactly."""
    return widened(x).astype(F64, copy=False)


# ---------------------------------------------------------------- narrowing


def odd32(x: Array) -> Array:
    """Convert f64 to f32, rounded to odd. The largest finite number is odd, so overflow stops there."""
    near = x.astype(F32)
    word = near.view(np.uint32)
    wide = near.astype(F64)
    word -= (np.abs(wide) > np.abs(x)).astype(np.uint32)
    word |= (wide != x).astype(np.uint32)
    return near


def narrowed(x: Array, dtype: np.dtype[Any], mode: RoundingMode = NEAREST) -> Array:
    """Convert f64 (exact, or rounded to odd) to another type. A NaN becomes some NaN: see `fix_nans`."""
    if dtype == BF16:
        return narrowed_bf16(odd32(x), mode)
    if dtype == F16 and mode is NEAREST:
        return to_half(odd32(x))
    near = x.astype(dtype)
    if mode is NEAREST:
        return near
    wide = near.astype(F64)
    if mode is ZERO:
        wrong = np.abs(wide) > np.abs(x)
    else:
        wrong = wide > x if mode is DOWN else wide < x
    return stepped(near, wrong, mode)


def stepped(near: Array, wrong: Array, mode: RoundingMode) -> Array:
    """Step in the direction of the mode where rounding to nearest went the wrong way. Overwrites `near`."""
    word = unsigned(near)
    if mode is ZERO:
        word -= wrong
    else:
        outward = np.signbit(near) == (mode is DOWN)
        word += wrong & outward
        word -= wrong & ~outward
    return near


def narrowed_bf16(x: Array, mode: RoundingMode = NEAREST) -> Array:
    """Convert f32 (exact, or rounded to odd) to bf16. NaN becomes canonical."""
    word = x.view(np.uint32)
    result: Array
    if mode is NEAREST:
        result = word >> 16
        result &= 1
        result += 0x7FFF
        result += word
    elif mode is ZERO:
        result = word.copy()
    else:
        outward = np.signbit(x) == (mode is DOWN)
        result = word + np.where(outward, np.uint32(0xFFFF), np.uint32(0))
    result >>= 16
    short = result.astype(np.uint16)
    if has_nan(x):
        short[np.isnan(x)] = CANONICAL[BF16]
    return short


def shortened(x: Array, dtype: np.dtype[Any]) -> Array:
    """Round f32 to the nearest f16 or bf16, with canonical NaNs."""
    return narrowed_bf16(x) if dtype == BF16 else to_half(x)


# ---------------------------------------------------------------- NaN


def has_nan(x: Array) -> bool:
    """Tell whether an array of f32 or f64 contains NaN, in one pass without a temporary."""
    return bool(np.isnan(np.maximum.reduce(x, axis=None, initial=-np.inf)))


def is_nan(x: Array) -> Array:
    """Tell which elements are NaN, bf16 included."""
    if x.dtype == BF16:
        return (x & 0x7FFF) > 0x7F80
    if x.dtype == F16:
        return (x.view(np.uint16) & 0x7FFF) > 0x7C00
    return np.isnan(x)


def quieted(x: Array) -> Array:
    """Return the bits of f64 NaNs with the quiet bit set, as arithmetic returns them."""
    return x.view(np.uint64) | QUIET64


def fix_nans(result: Array, *operands: Array) -> Array:
    """Replace NaNs in a result by those of hardware; `operands` are in the order in which their NaNs propagate.

    f16, bf16 and f32 have one NaN. f64 gives the payload of an operand, made quiet, or a fixed NaN where none is NaN.
    Overwrites the result, which must not share memory with the operands of f64.
    """
    if result.dtype in (F16, BF16):
        unsigned(result)[is_nan(result)] = CANONICAL[result.dtype]
        return result
    if not has_nan(result):
        return result
    if result.dtype == F32:
        unsigned(result)[np.isnan(result)] = CANONICAL[F32]
        return result
    where = np.isnan(result)
    found = np.full(result.shape, INVALID64)
    for operand in reversed(operands):
        np.copyto(found, quieted(operand), where=np.isnan(operand))
    np.copyto(result.view(np.uint64), found, where=where)
    return result


# ---------------------------------------------------------------- small numbers


def least_size(x: Array) -> float:
    """Return the smallest absolute value of f32 or f64; NaN if there is any."""
    return float(np.minimum.reduce(np.abs(x), axis=None, initial=np.inf))


def flushed(x: Array) -> Array:
    """Flush subnormal f32 to zeros of the same sign; return the array itself if there are none."""
    if least_size(x) >= SMALLEST_NORMAL:
        return x
    return np.where(np.abs(x) < SMALLEST_NORMAL, np.copysign(np.float32(0), x), x)
