"""Matrix products: small ones to the bits of an H200, large ones at least as exact as on any hardware."""

from __future__ import annotations

from math import prod

import numpy as np

from ....attrs import Signedness
from ....ops import MmaF, MmaFScaled, MmaI
from ....types import F64, TF32, Scalar
from ...common.numerics.convert import TF32_BITS, to_f32, to_f64
from ...common.numerics.rounding import fix_nans, has_nan
from ...common.tiles import Array, element_of
from ...common.watch import check
from ...semantics import SMALL_PRODUCT, rounds_once, uses_tensor_cores
from ..registry import executes

CHUNK = 1 << 17
"""Elements of an f64 product to compute at a time, so that they stay in the cache. A third faster."""

SATURATING = 32
"""The steps of K that tensor cores add up before they saturate integers."""

LARGEST = (1 << 31) - 1


@executes(MmaF, reuses=True)
def mmaf(o: MmaF, lhs: Array, rhs: Array, acc: Array, out: Array | None = None) -> Array:
    """The matrix product plus the accumulator."""
    element = element_of(o.lhs.type)
    if element is F64:
        return _step_by_step(lhs, rhs, acc)
    if not rounds_once(o):
        return _step_by_step(_widened(lhs, element), _widened(rhs, element), acc)
    return _rounded(_Factor(lhs, element), _Factor(rhs, element), acc, out)


@executes(MmaFScaled, reuses=True)
def mmaf_scaled(
    o: MmaFScaled, lhs: Array, rhs: Array, acc: Array, lhs_scale: Array, rhs_scale: Array, out: Array | None = None
) -> Array:
    """The matrix product of scaled elements plus the accumulator."""
    element, scale = element_of(o.lhs.type), element_of(o.lhs_scale.type)
    left = _scaled(to_f64(lhs, element), to_f64(lhs_scale, scale), -1)
    right = _scaled(to_f64(rhs, element), to_f64(rhs_scale, scale), -2)
    return _rounded(_Factor(left, F64), _Factor(right, F64), acc, out)


@executes(MmaI)
def mmai(o: MmaI, lhs: Array, rhs: Array, acc: Array) -> Array:
    """The matrix product plus the accumulator."""
    steps = lhs.shape[-1]
    # Float products are many times faster, and exact as long as sums stay below 2**24 or 2**53.
    wide = np.float32 if steps <= 256 else np.float64
    a = _read(lhs, o.signedness_lhs).astype(wide, order="C")
    b = _read(rhs, o.signedness_rhs).astype(wide, order="C")
    reach = steps * 255 * 255
    fits = int(acc.max()) + reach <= LARGEST and int(acc.min()) - reach >= -LARGEST
    if fits or not uses_tensor_cores(o):
        product: Array = np.matmul(a, b)
        return np.add(product.astype(np.int64).astype(np.int32), acc)
    total: Array = acc.astype(np.int64)
    for k in range(0, steps, SATURATING):
        check()
        total = total + np.matmul(a[..., k : k + SATURATING], b[..., k : k + SATURATING, :]).astype(np.int64)
        total = np.clip(total, -LARGEST - 1, LARGEST)
    return total.astype(np.int32)


def _read(x: Array, signedness: Signedness) -> Array:
    return x if signedness is Signedness.SIGNED else x.view(np.uint8)


# ---------------------------------------------------------------- floating point


def _widened(x: Array, element: Scalar) -> Array:
    """Convert to f32, which contains all narrower types; clear the bits that a tf32 does not have."""
    return (x.view(np.uint32) & TF32_BITS).view(np.float32) if element is TF32 else to_f32(x, element)


class _Factor:
    """One side of a product, as f64 in row-major order: the same BLAS call for any layout and any lanes."""

    __slots__ = ("data", "element", "lanes")

    def __init__(self, data: Array, element: Scalar) -> None:
        self.data, self.element, self.lanes = data, element, data.shape[0]
        if self.lanes == 1:
            self.data, self.element = self.part(0, 1), F64

    def part(self, start: int, stop: int) -> Array:
        x = self.data if self.lanes == 1 else self.data[start:stop]
        if self.element is not F64:
            x = _widened(x, self.element)
        return np.ascontiguousarray(x, np.float64)


def _rounded(lhs: _Factor, rhs: _Factor, acc: Array, out: Array | None) -> Array:
    """Compute the product plus the accumulator, rounded to its type, some lanes at a time."""
    lanes = max(lhs.lanes, rhs.lanes, acc.shape[0])
    shape = acc.shape[1:]
    result = np.empty((lanes, *shape), acc.dtype) if out is None else out
    step = max(1, min(lanes, CHUNK // prod(shape)))
    sums = np.empty((step, *shape))
    product = np.matmul(lhs.part(0, 1), rhs.part(0, 1)) if lhs.lanes == rhs.lanes == 1 else None
    for start in range(0, lanes, step):
        check()
        stop = min(start + step, lanes)
        part = sums[: stop - start]
        if product is None:
            np.matmul(lhs.part(start, stop), rhs.part(start, stop), out=part)
        np.add(part if product is None else product, acc if acc.shape[0] == 1 else acc[start:stop], out=part)
        result[start:stop] = part
    return fix_nans(result)


def _step_by_step(lhs: Array, rhs: Array, acc: Array) -> Array:
    """Compute the product plus the accumulator, one step of K after the other, in the type of the factors.

    It has the same bits on every CPU, which BLAS does not promise, but takes many times as long for large products.
    """
    lanes = max(lhs.shape[0], rhs.shape[0])
    total = np.zeros((lanes, *acc.shape[1:]), lhs.dtype)
    step = max(1, SMALL_PRODUCT // prod(acc.shape[1:]))
    for start in range(0, lanes, step):
        a, b = (x if x.shape[0] == 1 else x[start : start + step] for x in (lhs, rhs))
        part = total[start : start + step]
        term = np.empty_like(part)
        for k in range(a.shape[-1]):
            check()
            np.multiply(a[..., :, k : k + 1], b[..., k : k + 1, :], out=term)
            part += term
    result = np.add(total, acc).astype(acc.dtype, copy=False)
    if result.dtype == np.float64 and has_nan(result):
        return fix_nans(result, _passed_on(lhs, rhs, total), np.broadcast_to(acc, result.shape))
    return fix_nans(result)


def _passed_on(lhs: Array, rhs: Array, total: Array) -> Array:
    """Recompute f64 sums with the NaNs of hardware: each sum keeps its first NaN."""
    found: Array = np.zeros_like(total)
    for k in range(lhs.shape[-1]):
        check()
        a, b = lhs[..., :, k : k + 1], rhs[..., k : k + 1, :]
        term = fix_nans(a * b, *(np.broadcast_to(x, total.shape) for x in (b, a)))
        found = fix_nans(found + term, found, term)
    return found


def _scaled(x: Array, scale: Array, axis: int) -> Array:
    """Multiply elements by the scales of their blocks along an axis; exact in f64."""
    scaled: Array = x * np.repeat(scale, x.shape[axis] // scale.shape[axis], axis=axis)
    return scaled
