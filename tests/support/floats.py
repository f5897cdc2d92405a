"""Elements by their bits, and as numbers of Python, for tests of floating-point arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from tilery.attrs import RoundingMode
from tilery.engines.common.tiles import Array, carrier, unsigned
from tilery.floats import arithmetic as softfloat
from tilery.floats.formats import is_nan
from tilery.types import Scalar

NEAREST = RoundingMode.NEAREST_EVEN


def held(type: Scalar, *patterns: int) -> Array:
    """One lane that holds the elements with these bits."""
    return np.array([patterns], f"u{type.bits // 8}").view(carrier(type))


def found(array: Array) -> list[int]:
    """The bits of all elements."""
    bits: list[int] = unsigned(array).reshape(-1).tolist()
    return bits


def number(type: Scalar, bits: int) -> float:
    """The number as Python's, infinities and NaN included."""
    if is_nan(type, bits):
        return math.nan
    value = softfloat.value(type, bits)
    if value is None:
        return -math.inf if softfloat.is_negative(type, bits) else math.inf
    return math.copysign(float(value), -1.0 if softfloat.is_negative(type, bits) else 1.0)


def special(type: Scalar) -> list[int]:
    """Zeros, the ends of the ranges and their neighbours, ones, infinities and NaNs, of both signs."""
    form = type.format
    one, normal = form.bias << form.mantissa, 1 << form.mantissa
    sizes = [0, 1, 2, normal - 1, normal, normal + 1, one - 1, one, one + 1, one + (normal >> 1), 2 * one + normal - 1]
    sizes += [form.top - 1, form.top, form.top + 1, form.top + 2, form.top + 1 + (normal >> 1)]
    return [size | sign << type.bits - 1 for size in sizes for sign in (0, 1)]


def holding(type: Scalar, x: float) -> Array:
    """One element that holds the nearest number."""
    if math.isnan(x):
        return held(type, type.format.top + 2)
    infinity = type.format.top + 1
    bits = infinity if math.isinf(x) else softfloat.rounded(type, Fraction(abs(x)), NEAREST)
    assert bits is not None
    return held(type, bits | (math.copysign(1, x) < 0) << type.bits - 1)


def as_float(type: Scalar, array: Array) -> float:
    return number(type, found(array)[0])


def same(got: float, want: float) -> bool:
    return math.isnan(got) if math.isnan(want) else (got, math.copysign(1, got)) == (want, math.copysign(1, want))
