"""f32 to and from floats of fewer bits, by f32 arithmetic that is exact or rounds at the right bit.

NumPy's own f16 conversions are slower: five times from f16, by a fifth to f16, and eight times for numbers that become
subnormal or overflow.
"""

from __future__ import annotations

import numpy as np

from ..tiles import Array

SCALE = np.float32(2.0**112)
EXPONENT = np.int32(0x7F800000)
BEYOND = np.int32((127 + 31) << 23)
"""The exponent of 2**31, which is out of range for every narrower format."""
INFINITY16 = np.int32(0x7C00)
NAN16, NAN32 = 0x7FFF, 0x7FFFFFFF


def narrow_sizes(x: Array, mantissa: int, bias: int, towards_zero: bool = False) -> Array:
    """Return the unsigned bits of f32 numbers in a format with subnormals, rounded to nearest even or towards zero.

    Overflow gives more than the format's largest number; so does NaN. For bias <= 15 and mantissa <= 10.
    """
    base = x.view(np.int32) & EXPONENT
    np.clip(base, np.int32((128 - bias) << 23), BEYOND, out=base)
    # 2**e times this power of two, e being the number's exponent, has its last bit where the number's should be:
    # so their sum is rounded there, and the integers between them are the number's digits.
    base += np.int32((23 - mantissa) << 23)
    size = np.abs(x)
    total = size + base.view(np.float32)
    digits: Array = total.view(np.int32) - base
    if towards_zero:
        digits -= (total - base.view(np.float32)) > size
    base >>= np.int32(23 - mantissa)
    base -= np.int32((151 - mantissa - bias) << mantissa)
    digits += base
    return digits


def to_half(x: Array) -> Array:
    """Convert f32 to f16, rounded to nearest even; every NaN becomes 0x7fff."""
    half = narrow_sizes(x, 10, 15)
    large = half.max(initial=0) > INFINITY16
    if large:
        np.minimum(half, INFINITY16, out=half)
    sign: Array = x.view(np.int32) >> np.int32(16)
    sign &= np.int32(0x8000)
    half |= sign
    result = half.astype(np.uint16)
    if large:
        result[np.isnan(x)] = NAN16
    return result.view(np.float16)


def from_half(x: Array) -> Array:
    """Convert f16 to f32; every NaN becomes 0x7fffffff."""
    bits = x.view(np.int16).astype(np.int32)
    bits <<= np.int32(13)
    bits &= np.int32(-0x70002000)
    # With the sign and the other bits in position, this is the number up to the difference of the biases.
    wide: Array = bits.view(np.float32)
    wide *= SCALE
    if wide.max(initial=0) >= 65536 or wide.min(initial=0) <= -65536:
        sizes = np.abs(wide)
        wide[sizes == 65536] *= np.float32(np.inf)
        wide.view(np.uint32)[sizes > 65536] = NAN32
    return wide
