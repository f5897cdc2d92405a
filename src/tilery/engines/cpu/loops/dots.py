"""Products of neighbours along K, as the instructions of processors compute them: their types, and what they return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....types import BF16, F32, I8, I16, I32, Scalar

Array = NDArray[Any]
SIDE = 16
"""Rows of a tile register, and sums of a row."""
SMALLEST = np.float32(2.0**-126)
"""The smallest normal f32."""


@dataclass(frozen=True, slots=True)
class Form:
    """The types of a product: of both operands, and of the sums. `each` neighbours take the room of a sum."""

    element: Scalar
    sums: Scalar
    each: int


DOTS = {
    **dict.fromkeys(("i8.ss", "i8.su", "i8.us", "i8.uu"), Form(I8, I32, 4)),
    "i16": Form(I16, I32, 2),
    "bf16": Form(BF16, F32, 2),
}
"""The products of neighbours. The letters say which operand is signed.

Sums of integers wrap around. Those of bf16 are f32: subnormal numbers count as 0, and results that are subnormal become
0. In vectors the product of the second neighbours is added first, each with one rounding; in tile registers the sums of
first and of second neighbours are formed apart, added to each other, and then to the sum that was there.
"""


def letters(left: bool, right: bool) -> str:
    """Return the name of a product of 8-bit integers, of which some are signed."""
    return f"i8.{'us'[left]}{'us'[right]}"


def wide(name: str, a: Array, b: Array) -> tuple[Array, Array]:
    """Return both operands in the type of the sums; bf16 are given as their bits."""
    if name == "bf16":
        x, y = ((v.view(np.uint16).astype(np.uint32) << 16).view(np.float32) for v in (a, b))
        return flushed(x), flushed(y)
    signs = name[3:] if "." in name else "ss"
    x, y = (v if sign == "s" else v.view(f"u{v.dtype.itemsize}") for v, sign in zip((a, b), signs))
    return x.astype(np.int32), y.astype(np.int32)


def flushed(x: Array) -> Array:
    """Return floats with 0 instead of subnormal numbers."""
    return np.where(np.abs(x) < SMALLEST, np.copysign(np.float32(0), x), x)


def fused(a: Array, b: Array, c: Array) -> Array:
    """Return `a * b + c` of bf16 as f32, rounded once: in f64 the product is exact, and so is what rounding loses."""
    x, y = a.astype(np.float64) * b, np.broadcast_to(c, np.broadcast_shapes(a.shape, b.shape, c.shape))
    total = x + y
    part = total - x
    lost = (x - (total - part)) + (y - part)
    # To odd: then rounding twice is as good as once.
    bits = np.ascontiguousarray(total).view(np.int64)
    inexact = np.isfinite(total) & (lost != 0) & (bits & 1 == 0)
    away = (lost > 0) == (total > 0)
    bits = np.where(inexact, np.where(away, bits + 1, bits - 1), bits)
    return flushed(bits.view(np.float64).astype(np.float32))


def dot(name: str, a: Array, b: Array, total: Array) -> Array:
    """Return the sums in lanes; the last axis of the operands has `each` times as many lanes."""
    each = DOTS[name].each
    x, y = (v.reshape(*v.shape[:-1], -1, each) for v in wide(name, a, b))
    if name != "bf16":
        made: Array = (x * y).sum(-1, dtype=np.int32) + total
        return made
    return fused(x[..., 0], y[..., 0], fused(x[..., 1], y[..., 1], flushed(total)))


def tile_dot(name: str, a: Array, b: Array, total: Array) -> Array:
    """Return the sums of a tile register: rows of `a` with words of columns of `b`."""
    each = DOTS[name].each
    x, y = (v.reshape(SIDE, SIDE, each) for v in wide(name, a, b))
    if name != "bf16":
        made: Array = np.einsum("ike,kje->ij", x, y, dtype=np.int32, casting="no") + total
        return made
    parts = np.zeros((SIDE, SIDE, each), np.float32)
    for k in range(SIDE):
        parts = fused(x[:, k, np.newaxis, :], y[k], parts)
    return flushed(flushed(total) + flushed(parts[..., 0] + parts[..., 1]))
