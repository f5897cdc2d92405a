"""Matrix products. Sums are formed in f64 and rounded once: results are at least as exact as those of any hardware."""

from __future__ import annotations

from math import prod

import numpy as np

from ..attrs import Signedness
from ..ops import MmaF, MmaFScaled, MmaI
from ..types import F64, TF32, Scalar
from .numerics.convert import to_f64
from .numerics.rounding import mended
from .registry import executes
from .tiles import Array, element_of

CHUNK = 1 << 17
"""Elements of a product in f64 that are worked on at once, so that they stay in the cache. A third faster."""

TF32_BITS = np.uint32(0xFFFFE000)

MMAF = (
    "The sum is formed in f64 and rounded once. Relative to the sum of |a||b| and |acc|, an H200 differs by at most "
    "2**-50 with f64 results, 2**-20 with f32 and 2**-9 with f16, but 2**-9 with f32 where the inputs are f8 (K up to "
    "128); it also gives infinities or NaN where only a partial sum overflows. `fast_acc` changes nothing here."
)
SCALED = "The sum is formed in f64 and rounded once."
MMAI = "Sums wrap around. An H200 does so for some shapes, and saturates for others."


@executes(MmaF, reuses=True, note=MMAF)
def mmaf(o: MmaF, lhs: Array, rhs: Array, acc: Array, out: Array | None = None) -> Array:
    """The matrix product plus the accumulator."""
    element = element_of(o.lhs.type)
    if element is F64:
        return _in_f64(lhs, rhs, acc)
    return _rounded(_Factor(lhs, element), _Factor(rhs, element), acc, out)


@executes(MmaFScaled, reuses=True, note=SCALED)
def mmaf_scaled(
    o: MmaFScaled, lhs: Array, rhs: Array, acc: Array, lhs_scale: Array, rhs_scale: Array, out: Array | None = None
) -> Array:
    """The matrix product of scaled elements plus the accumulator."""
    element, scale = element_of(o.lhs.type), element_of(o.lhs_scale.type)
    left = _scaled(to_f64(lhs, element), to_f64(lhs_scale, scale), -1)
    right = _scaled(to_f64(rhs, element), to_f64(rhs_scale, scale), -2)
    return _rounded(_Factor(left, F64), _Factor(right, F64), acc, out)


@executes(MmaI, note=MMAI)
def mmai(o: MmaI, lhs: Array, rhs: Array, acc: Array) -> Array:
    """The matrix product plus the accumulator, which wraps around."""
    # Floats multiply many times faster, and are exact as long as sums stay below 2**24 or 2**53.
    wide = np.float32 if lhs.shape[-1] <= 256 else np.float64
    a = _read(lhs, o.signedness_lhs).astype(wide, order="C")
    b = _read(rhs, o.signedness_rhs).astype(wide, order="C")
    product: Array = np.matmul(a, b)
    return np.add(product.astype(np.int64).astype(np.int32), acc)


def _read(x: Array, signedness: Signedness) -> Array:
    return x if signedness is Signedness.SIGNED else x.view(np.uint8)


# ---------------------------------------------------------------- floating point


class _Factor:
    """One side of a product, as f64 in row-major order: the same call of BLAS whatever the layout and the lanes."""

    __slots__ = ("data", "element", "lanes")

    def __init__(self, data: Array, element: Scalar) -> None:
        self.data, self.element, self.lanes = data, element, data.shape[0]
        if self.lanes == 1:
            self.data, self.element = self.part(0, 1), F64

    def part(self, start: int, stop: int) -> Array:
        x = self.data if self.lanes == 1 else self.data[start:stop]
        if self.element is TF32:
            x = (x.view(np.uint32) & TF32_BITS).view(np.float32)
        return np.ascontiguousarray(to_f64(x, self.element))


def _rounded(lhs: _Factor, rhs: _Factor, acc: Array, out: Array | None) -> Array:
    """The product plus the accumulator, rounded to its type; some lanes at a time."""
    lanes = max(lhs.lanes, rhs.lanes, acc.shape[0])
    shape = acc.shape[1:]
    result = np.empty((lanes, *shape), acc.dtype) if out is None else out
    step = max(1, min(lanes, CHUNK // prod(shape)))
    sums = np.empty((step, *shape))
    product = np.matmul(lhs.part(0, 1), rhs.part(0, 1)) if lhs.lanes == rhs.lanes == 1 else None
    for start in range(0, lanes, step):
        stop = min(start + step, lanes)
        part = sums[: stop - start]
        if product is None:
            np.matmul(lhs.part(start, stop), rhs.part(start, stop), out=part)
        np.add(part if product is None else product, acc if acc.shape[0] == 1 else acc[start:stop], out=part)
        result[start:stop] = part
    return mended(result)


def _in_f64(lhs: Array, rhs: Array, acc: Array) -> Array:
    """The product plus the accumulator in f64, one step of K after the other.

    Many times slower than BLAS, which would give other bits on another CPU; with narrower types rounding hides that.
    """
    lanes, shape = max(lhs.shape[0], rhs.shape[0]), acc.shape[1:]
    total = np.empty((lanes, *shape))
    term = np.empty(shape)
    for lane in range(lanes):
        a, b = (x[0 if x.shape[0] == 1 else lane] for x in (lhs, rhs))
        part = total[lane]
        np.multiply(a[..., :, :1], b[..., :1, :], out=part)
        for k in range(1, a.shape[-1]):
            np.multiply(a[..., :, k : k + 1], b[..., k : k + 1, :], out=term)
            part += term
    result = total + acc
    return mended(result, np.broadcast_to(acc, result.shape))


def _scaled(x: Array, scale: Array, axis: int) -> Array:
    """The elements times the scales of their blocks along an axis; exact in f64."""
    scaled: Array = x * np.repeat(scale, x.shape[axis] // scale.shape[axis], axis=axis)
    return scaled
