"""Conversions between element types, each rounded once, on arrays as `tiles` holds them.

Every float type but f64 is exact in f32, and an f64 rounded to odd in f32 still rounds correctly, so conversions go
through f32. Overflow gives what NVIDIA's conversions give: an infinity in types of 16 bits and more, otherwise the
largest number. Unsigned types get the absolute value.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ....attrs import RoundingMode
from ....floats.formats import is_nan, scaled
from ....types import BF16, F16, F32, F64, FLOATS, SCALARS, TF32, Scalar
from ..tiles import CARRIERS, Array, unsigned
from .narrow import narrow_sizes, to_half
from .rounding import has_nan, in_chunks, narrowed, narrowed_bf16, odd32, widened

NEAREST, AWAY, ZERO = RoundingMode.NEAREST_EVEN, RoundingMode.NEAREST_AWAY, RoundingMode.ZERO
UP = RoundingMode.POSITIVE_INF
E8M0 = SCALARS["f8E8M0FNU"]
WIDE = (F16, BF16, TF32, F32, F64)
"""The types whose overflow gives an infinity. f8E5M2 has infinities too, but conversions to it saturate."""

NANS = {s.name: (1 << s.bits - s.format.signed) - 1 << s.row.memory_bits - s.bits for s in FLOATS}
NANS["f64"] = 0x7FFFFC0000000000
"""The NaN whose payload is not kept, in the carrier of the type; f4 has its largest number instead."""

TF32_BITS = np.uint32(0xFFFFE000)
"""The bits of an f32 that are part of a tf32."""

STICKY = np.uint64(0x7FF)


# ---------------------------------------------------------------- to wider floats


def to_f32(x: Array, source: Scalar) -> Array:
    """Convert floats other than f64 to f32, exactly. NaNs of bf16 and tf32 keep their bits, others become canonical."""
    if source is F32 or source is TF32:
        return x
    if source is BF16 or source is F16:
        return widened(x)
    return np.take(_table(source), x, mode="clip")


@cache
def _table(source: Scalar) -> Array:
    """Return all numbers of a type of at most 8 bits, as f32."""
    values = np.empty(1 << source.bits, np.float32)
    for bits in range(len(values)):
        parts = scaled(source, bits)
        if parts is not None:
            negative, mantissa, exponent = parts
            values[bits] = np.ldexp(-float(mantissa) if negative else float(mantissa), exponent)
        elif is_nan(source, bits):
            values.view(np.uint32)[bits] = NANS["f32"]
        else:
            values[bits] = -np.inf if bits >> (source.bits - 1) else np.inf
    values.flags.writeable = False
    return values


def to_f64(x: Array, source: Scalar) -> Array:
    """Convert every float type to f64, exactly. NaNs of 16 bits and more keep sign and payload and become quiet."""
    if source is F64:
        return x
    wide = to_f32(x, source)
    result = wide.astype(np.float64)
    if has_nan(wide):
        nan = np.isnan(wide)
        if source in WIDE:
            _keep_payload(result, x, nan, F32 if source is TF32 else source, F64)
        else:
            unsigned(result)[nan] = NANS["f64"]
    return result


def _keep_payload(result: Array, x: Array, nan: Array, source: Scalar, target: Scalar) -> None:
    """Restore the sign and the leading payload bits of NaNs, and make them quiet."""
    bits = unsigned(x)[nan].astype(np.uint64)
    one = np.uint64(1)
    before, after = (np.uint64(t.format.mantissa) for t in (source, target))
    payload = bits & ((one << before) - one)
    payload = payload >> (before - after) if before > after else payload << (after - before)
    sign = bits >> np.uint64(source.bits - 1) << np.uint64(target.bits - 1)
    quiet = np.uint64(target.format.top + 1) | one << (after - one)
    unsigned(result)[nan] = sign | quiet | payload


# ---------------------------------------------------------------- float to float


def float_to_float(x: Array, source: Scalar, target: Scalar, mode: RoundingMode = NEAREST) -> Array:
    """Convert to another float type, in the modes that `ftof` allows for these types.

    >>> [hex(n) for n in float_to_float(np.float32([1.0, 3.14159, np.nan]), F32, BF16)]
    ['0x3f80', '0x4049', '0x7fff']
    """
    if target in (F32, F64) and mode is NEAREST:
        return _float_to_float(x, source, target, mode)
    return in_chunks(lambda part: _float_to_float(part, source, target, mode), CARRIERS[target.name], None, x)


def _float_to_float(x: Array, source: Scalar, target: Scalar, mode: RoundingMode) -> Array:
    if target is F64:
        return to_f64(x, source)
    if source is not F64:
        return _from_f32(to_f32(x, source), target, mode)
    if target is F32:
        result = narrowed(x, np.dtype(np.float32), mode)
    else:
        result = _from_f32(odd32(x), target, mode)
    # An H200 has instructions for these, which keep payloads; others take two steps.
    if (target is F32 or (target in (F16, BF16) and mode is NEAREST)) and has_nan(x):
        _keep_payload(result, x, np.isnan(x), F64, target)
    return result


def _from_f32(x: Array, target: Scalar, mode: RoundingMode) -> Array:
    """Convert f32, exact or rounded to odd, to a type of at most 32 bits."""
    if target is F32:
        return x
    if target is BF16:
        return narrowed_bf16(x, NEAREST if mode is AWAY else mode)  # only exact conversions may have that mode
    if target is TF32:
        return _to_tf32(x, mode)
    if target is F16 and mode is not ZERO:
        return to_half(x)
    result = _powers_of_two(x, mode) if target is E8M0 else _narrow(x, target, mode)
    if has_nan(x):
        result[np.isnan(x)] = NANS[target.name]
    return result.view(np.float16) if target is F16 else result


def _to_tf32(x: Array, mode: RoundingMode) -> Array:
    bits = x.view(np.uint32)
    rounded = bits
    if mode is NEAREST:
        rounded = bits + (bits >> np.uint32(13) & np.uint32(1)) + np.uint32(0xFFF)
    elif mode is AWAY:
        rounded = bits + np.uint32(0x1000)
    result = (rounded & TF32_BITS).view(np.float32)
    if has_nan(x):
        nan = np.isnan(x)
        # As compiled for an H200, AWAY truncates the payload, and some NaNs become infinities.
        unsigned(result)[nan] = bits[nan] & TF32_BITS if mode is AWAY else NANS["tf32"]
    return result


def _narrow(x: Array, target: Scalar, mode: RoundingMode) -> Array:
    """Convert f32 to the bits of f16 or of a type of at most 8 bits with subnormals."""
    form = target.format
    bits = narrow_sizes(x, form.mantissa, form.bias, towards_zero=mode is ZERO)
    if mode is ZERO and target in WIDE:
        bits = np.where(np.isinf(x), form.top + 1, np.minimum(bits, form.top))
    else:
        np.minimum(bits, np.int32(form.top), out=bits)
    if form.signed:
        bits |= np.signbit(x).astype(np.int32) << np.int32(target.bits - 1)
    return bits.astype(np.uint16 if target is F16 else np.uint8)


def _powers_of_two(x: Array, mode: RoundingMode) -> Array:
    """Convert f32 to the bits of f8E8M0FNU: the exponent of the power of two below or above the absolute value."""
    size = x.view(np.uint32) & np.uint32(0x7FFFFFFF)
    power: Array = size >> np.uint32(23)
    if mode is UP:
        # The smallest number, 2**-127, is a subnormal f32; smaller ones become that.
        power += ((size & np.uint32(0x7FFFFF)) != 0) & (size > 0x400000)
    np.minimum(power, np.uint32(E8M0.format.top), out=power)
    return power.astype(np.uint8)


# ---------------------------------------------------------------- integers


def int_to_float(x: Array, target: Scalar) -> Array:
    """Convert integers, signed or not by the array's type, to the nearest floats.

    >>> int_to_float(np.int32([2049, -2051]), F16).tolist()
    [2048.0, -2052.0]
    """
    if target is F32:
        return x.astype(np.float32)
    if target is F64:
        return x.astype(np.float64)
    return in_chunks(lambda part: _int_to_float(part, target), CARRIERS[target.name], None, x)


def _int_to_float(x: Array, target: Scalar) -> Array:
    wide = x.astype(np.float32) if x.dtype.itemsize < 4 else odd32(_odd64(x))
    return _from_f32(wide, target, NEAREST)


def _odd64(x: Array) -> Array:
    """Convert integers to f64, exactly or with a sticky bit, so that they round correctly to a narrower type."""
    if x.dtype.itemsize < 8:
        return x.astype(np.float64)
    negative = x < 0
    size = np.where(negative, -x, x).view(np.uint64)
    # f64 may have no room for the last 11 bits: one sticky bit replaces them.
    merged = (size | np.where(size & STICKY, STICKY + np.uint64(1), np.uint64(0))) & ~STICKY
    wide = np.where(size >> np.uint64(53), merged, size).astype(np.float64)
    return np.where(negative, -wide, wide)


def float_to_int(x: Array, source: Scalar, target: np.dtype[Any], saturating: bool) -> Array:
    """Convert floats to integers of that array type, towards zero; numbers that do not fit saturate.

    NaN becomes 0. That is the case without `saturating` too, but as on an H200 NaN then becomes the sign bit if the
    integer has 64 bits or the float is f64, and i8 is the lower half of an i16.

    >>> float_to_int(np.float32([-1.9, 3e9, np.nan]), F32, np.dtype(np.int32), True)
    array([        -1, 2147483647,          0], dtype=int32)
    """
    return in_chunks(lambda part: _float_to_int(part, source, target, saturating), target, None, x)


def _float_to_int(x: Array, source: Scalar, target: np.dtype[Any], saturating: bool) -> Array:
    if target.itemsize == 1 and not saturating:
        return _float_to_int(x, source, np.dtype(f"{target.kind}2"), False).astype(target)
    wide = x if source is F64 else to_f32(x, source)
    limits = np.iinfo(target)
    fits: Array = np.abs(wide) < wide.dtype.type(float(limits.max) + 1)
    if target.kind == "u":
        fits &= wide > -1
    if fits.all():
        return wide.astype(target)
    result = np.where(fits, wide, wide.dtype.type(0)).astype(target)
    result[~fits & (wide < 0)] = limits.min
    result[~fits & (wide > 0)] = limits.max
    if not saturating and (source is F64 or target.itemsize == 8):
        unsigned(result)[np.isnan(wide)] = 1 << (8 * target.itemsize - 1)
    return result
