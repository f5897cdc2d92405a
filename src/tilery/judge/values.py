"""Values for the arguments of a case, by kind: random ones, and those that kernels get wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engines.common.numerics.convert import float_to_float, to_f64
from ..engines.common.tiles import carrier
from ..types import Scalar
from .expressions import evaluate
from .problem import Argument, Problem, Shape

Array = np.ndarray[Any, np.dtype[Any]]


def draw(argument: Argument, shape: Shape, extents: Sequence[int], kind: str, rng: np.random.Generator) -> Array:
    """Return the bits of an array, as its carrier type, C-contiguous."""
    element = argument.element
    if element.is_int:
        return _integers(argument, shape, extents, kind, rng)
    low, high = argument.low, argument.high
    if low is not None or high is not None:
        top = float(evaluate(high, shape.sizes)) if isinstance(high, str) else high
        numbers = _ranged(extents, kind, rng, 0.0 if low is None else float(low), 1.0 if top is None else top)
    else:
        numbers = _floats(element, extents, kind, rng)
    return from_f64(numbers, element)


def draw_all(problem: Problem, shape: Shape, kind: str, rng: np.random.Generator) -> dict[str, Array]:
    """Return the bits of all inputs of a problem."""
    return {
        argument.name: draw(argument, shape, problem.extents(argument, shape), kind, rng)
        for argument in problem.typed(shape)
        if argument.is_array and argument.is_read
    }


def from_f64(numbers: Array, element: Scalar) -> Array:
    """Round numbers to a float type; return its carrier."""
    wide = np.ascontiguousarray(numbers, np.float64)
    if element.name == "f64":
        return wide
    from ..types import SCALARS

    with np.errstate(all="ignore"):
        return np.ascontiguousarray(float_to_float(wide, SCALARS["f64"], element))


def widen(bits: Array, argument: Argument) -> Array:
    """Return the numbers that an array holds: f64 for floats, integers as they are, with their sign."""
    element = argument.element
    if element.is_float:
        return bits.astype(np.float64) if element.name == "f64" else to_f64(bits, element)
    if argument.type == "bool" or element.name == "i1":
        return bits.astype(bool)
    return bits.view(f"{'u' if argument.type.startswith('u') else 'i'}{bits.dtype.itemsize}")


def storage(argument: Argument) -> np.dtype[Any]:
    """Return the NumPy type that holds an element in memory."""
    return np.dtype(np.uint8) if argument.element.name == "i1" else carrier(argument.element)


# ---------------------------------------------------------------- floats


def limits(element: Scalar) -> tuple[float, float]:
    """Return the largest finite number and the smallest normal one of a float type."""
    top = (1 << element.bits - element.format.signed) - 1
    bits = np.arange(top + 1) if element.bits <= 8 else None
    if bits is not None:
        numbers = to_f64(bits.astype(carrier(element)), element)
        finite = numbers[np.isfinite(numbers) & (numbers > 0)]
        return float(finite.max()), 2.0 ** (1 - element.format.bias)
    if element.name == "f64":
        return float(np.finfo(np.float64).max), float(np.finfo(np.float64).tiny)
    if element.name == "bf16":
        return 2.0**128 - 2.0**120, 2.0**-126
    info = np.finfo(np.float16 if element.name == "f16" else np.float32)
    return float(info.max), float(info.tiny)


def _floats(element: Scalar, extents: Sequence[int], kind: str, rng: np.random.Generator) -> Array:
    top, tiny = limits(element)
    normal = rng.standard_normal(extents)
    match kind:
        case "uniform":
            return rng.random(extents)
        case "zeros":
            return np.zeros(extents)
        case "ones":
            return np.ones(extents)
        case "denormals":
            return normal * tiny / 8
        case "inf":
            return np.where(rng.random(extents) < 0.05, np.copysign(np.inf, normal), normal)
        case "nan":
            return np.where(rng.random(extents) < 0.05, np.nan, normal)
        case "huge":
            return np.clip(normal, -3, 3) * top / 16
        case "cancel":
            return _cancelling(normal, rng)
        case "spike":
            return np.where(rng.random(extents) < max(0.01, 1 / normal.size), 100.0, 0.0) + normal * 2.0**-10
        case "signs":
            return np.where(normal < 0, -0.0, np.where(normal < 0.6, 0.0, normal))
        case "extremes":
            choice = np.array([top, -top, tiny, -tiny, 0.0, 1.0, -1.0])
            return rng.choice(choice, size=tuple(extents))
    return normal


def _cancelling(normal: Array, rng: np.random.Generator) -> Array:
    """Return pairs of large numbers of opposite sign along the last axis, in a random order, plus small ones."""
    large = np.round(normal * 64) * 16.0
    half = large.shape[-1] // 2
    order = rng.permutation(large.shape[-1])
    large[..., order[half : 2 * half]] = -large[..., order[:half]]
    return large + normal * 2.0**-6


def _ranged(extents: Sequence[int], kind: str, rng: np.random.Generator, low: float, high: float) -> Array:
    if kind in ("zeros", "ones"):
        return np.full(extents, min(max(float(kind == "ones"), low), high))
    if kind == "extremes":
        return rng.choice(np.array([low, high]), size=tuple(extents))
    return low + (high - low) * rng.random(extents)


# ---------------------------------------------------------------- integers


def _integers(argument: Argument, shape: Shape, extents: Sequence[int], kind: str, rng: np.random.Generator) -> Array:
    dtype = storage(argument)
    if argument.element.name == "i1":
        wanted = {"zeros": 0.0, "ones": 1.0}.get(kind, 0.5)
        return (rng.random(extents) < wanted).astype(np.uint8)
    seen = np.dtype(f"{'u' if argument.type.startswith('u') else 'i'}{dtype.itemsize}")
    info = np.iinfo(seen)
    high = evaluate(argument.high, shape.sizes) if isinstance(argument.high, str) else argument.high
    free = argument.low is None and high is None
    low = max(info.min, -100 if argument.low is None else int(argument.low))
    top = min(info.max, 100 if high is None else int(high))
    if free and kind in ("uniform", "extremes"):
        low, top = int(info.min), int(info.max)
    if kind in ("zeros", "ones"):
        return np.full(extents, min(max(int(kind == "ones"), low), top), seen).view(dtype)
    if kind == "extremes":
        near = [low, low + 1, top - 1, top, *(n for n in (-1, 0, 1) if low < n < top)] if free else [low, top]
        return rng.choice(np.array(near, seen), size=tuple(extents)).view(dtype)
    return rng.integers(low, top, tuple(extents), dtype=seen, endpoint=True).view(dtype)
