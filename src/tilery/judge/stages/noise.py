"""Arrays that compute with the rounding errors of a narrower type, to measure how large those errors are.

A reference function runs on them unchanged. Each operation adds a random error of the size that the candidate's
precision allows. A sum of n terms adds one that grows with the square root of n and with the largest partial sum that
an order of the terms is likely to reach. How far results move is how far a correct kernel may be off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...types import SCALARS
from ..values import Array, limits

EXACT = frozenset((
    "maximum", "minimum", "fmax", "fmin", "absolute", "fabs", "negative", "positive", "sign", "floor", "ceil", "trunc",
    "rint", "copysign", "signbit", "clip", "conjugate", "heaviside", "nextafter", "ldexp", "frexp", "modf", "isfinite",
))  # fmt: skip
"""Functions that are exact in every precision."""
BASIC = frozenset(("add", "subtract", "multiply", "true_divide", "divide", "sqrt", "square", "reciprocal"))
BASIC_ERROR, FUNCTION_ERROR = 1.0, 4.0
"""Errors in units of the rounding error: of arithmetic, and of functions such as exp."""
SPREAD = 2.0
"""How far partial sums of a random order leave the way from zero to the sum, in units of the root of summed squares."""


@dataclass(frozen=True, slots=True)
class Precision:
    """The rounding errors of single operations and of sums, and the range of numbers."""

    compute: float
    accumulate: float
    largest: float
    smallest: float
    """The absolute error of numbers near zero."""


def unit(name: str) -> float:
    """Return the rounding error of a float type.

    >>> unit("f32") == 2.0**-24
    True
    """
    return 2.0 ** -(SCALARS[name].format.mantissa + 1)


def precision(compute: str, accumulate: str) -> Precision:
    """Return what is known of two float types."""
    scalar = SCALARS["f32" if compute == "tf32" else compute]
    largest, tiny = limits(scalar)
    # GPUs may flush subnormals of f32 to zero, and keep those of f16.
    smallest = tiny if scalar.name in ("f32", "bf16") else tiny * 2 * unit(scalar.name)
    return Precision(unit(compute), unit(accumulate), largest, smallest)


class Noisy(np.ndarray[Any, np.dtype[Any]]):
    """An array whose operations have errors; `noise` is shared by all arrays of a computation."""

    noise: Noise

    def __array_finalize__(self, other: object) -> None:
        self.noise = getattr(other, "noise", None)  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return self.noise.wrap(found) if isinstance(found, np.generic) else found  # a number has errors too

    def __iter__(self) -> Iterator[Any]:
        return (self[n] for n in range(len(self)))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **options: Any) -> Any:
        noise = next(each.noise for each in _flat((args, options.get("out", ()))) if isinstance(each, Noisy))
        plain = [_plain(each) for each in args]
        out = options.pop("out", None)
        if "where" in options:
            options["where"] = _plain(options["where"])
        with np.errstate(all="ignore"):
            result = getattr(ufunc, method)(*plain, **options)
            result = noise.after(ufunc, method, plain, options, result)
        if out is not None:
            for target, each in zip(out, result if isinstance(result, tuple) else (result,)):
                np.asarray(target).view(np.ndarray)[...] = each
            return out[0] if len(out) == 1 else out
        return noise.wrap(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        noise = next(each.noise for each in _flat((args, list(kwargs.values()))) if isinstance(each, Noisy))
        if function not in CONTRACTIONS:
            # Some return plain arrays, such as concatenate, and what follows would be exact.
            return noise.wrap(super().__array_function__(function, types, args, kwargs))
        plain = [_plain(each) for each in args]
        with np.errstate(all="ignore"):
            result = np.asarray(function(*plain, **kwargs))
            size = partial_sums(result, np.asarray(function(*[_squared(each) for each in plain], **kwargs)))
            terms = max(
                1.0, max(each.size for each in _flat(plain) if isinstance(each, np.ndarray)) / max(1, result.size)
            )
            return noise.wrap(noise.summed(result, size, terms))


CONTRACTIONS = (np.dot, np.inner, np.vdot, np.tensordot, np.einsum, np.convolve, np.cumsum)


class Noise:
    """Adds errors of a precision, drawn from a seed."""

    def __init__(self, precision: Precision, seed: int) -> None:
        self.precision = precision
        self.rng = np.random.default_rng(seed)

    def array(self, numbers: Array) -> Noisy:
        """Return an array whose operations have these errors."""
        made = np.array(numbers).view(Noisy)
        made.noise = self
        return made

    def wrap(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return type(result)(self.wrap(each) for each in result)
        if isinstance(result, Noisy) and result.noise is self:
            return result
        if isinstance(result, np.ndarray) or np.isscalar(result):
            return self.array(np.asarray(result))
        return result

    def after(self, function: np.ufunc, method: str, args: Sequence[Any], options: dict[str, Any], result: Any) -> Any:
        """Add the error of a function to its result."""
        name = function.__name__
        if isinstance(result, tuple) or name in EXACT or np.asarray(result).dtype.kind not in "f":
            return result
        if name in ("matmul", "vecdot", "matvec", "vecmat"):
            size = partial_sums(result, function(*[_squared(each) for each in args], **options))
            return self.summed(result, size, args[0].shape[-1])
        if method in ("reduce", "accumulate") and name == "add":
            squares = getattr(function, method)(_squared(args[0]), *args[1:], **options)
            size = partial_sums(result, squares)
            terms = args[0].size / max(1, np.asarray(result).size)
            if method == "accumulate":
                terms = args[0].shape[options.get("axis", args[1] if len(args) > 1 else 0)]
            return self.summed(result, size, terms)
        scale = BASIC_ERROR if name in BASIC else FUNCTION_ERROR
        if method == "reduce":  # a product
            scale *= max(1.0, args[0].size / max(1, np.asarray(result).size))
        return self._limited(np.asarray(result), scale * self.precision.compute * np.abs(result))

    def summed(self, result: Any, size: Any, terms: float) -> Array:
        """Add the error of a sum of `terms` terms, whose partial sums are at most about `size`."""
        return self._limited(np.asarray(result), self.precision.accumulate * np.sqrt(terms) * np.asarray(size))

    def _limited(self, result: Array, error: Array) -> Array:
        small = np.where(
            np.abs(result) < self.precision.smallest / self.precision.compute, self.precision.smallest, 0.0
        )
        error = np.where(result == 0, error, np.maximum(error, small))
        made = result + np.where(np.isfinite(error), error, 0.0) * self.rng.uniform(-1, 1, np.shape(result))
        return np.where(np.abs(made) > self.precision.largest, np.copysign(np.inf, made), made)


def _plain(value: Any) -> Any:
    if isinstance(value, Noisy):
        return value.view(np.ndarray)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(each) for each in value)
    return value


def partial_sums(result: Any, squares: Any) -> Array:
    """Return about how large partial sums become in a random order, given the sum and that of the squared terms."""
    made: Array = np.abs(result) + SPREAD * np.sqrt(squares)
    return made


def _squared(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and any(isinstance(each, np.ndarray) for each in value):
        return type(value)(_squared(each) for each in value)
    return np.square(value) if isinstance(value, (np.ndarray, float, np.floating)) else value


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [inner for each in value for inner in _flat(each)]
    return [value]
