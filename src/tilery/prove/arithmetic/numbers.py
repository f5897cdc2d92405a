"""64-bit codes that a machine computes with instead of floats, and the operations on them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from ...attrs import ComparisonPredicate
from ...engines.common.tiles import Array
from ...types import PaddingValue, Scalar

U = np.uint64
Signs = tuple[int, int]
"""The signs of two operands where the program shows them: 1, -1, or 0 if it does not."""

COMPARE = {
    ComparisonPredicate.EQUAL: np.equal,
    ComparisonPredicate.NOT_EQUAL: np.not_equal,
    ComparisonPredicate.LESS_THAN: np.less,
    ComparisonPredicate.LESS_THAN_OR_EQUAL: np.less_equal,
    ComparisonPredicate.GREATER_THAN: np.greater,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: np.greater_equal,
}


MEANINGLESS = "has no meaning in this arithmetic"


class Beyond(Exception):
    """An operation has no meaning in this arithmetic."""


class NoSample(Exception):
    """The program branches on a number that this sample does not know; another sample may."""


class Numbers(ABC):
    """An arithmetic. Arrays are of uint64; what a code means is up to the arithmetic, but 0 is the number zero."""

    undefined: int
    """The code of a value that the program does not define."""

    def __init__(self) -> None:
        self.remarks: set[str] = set()
        """Remarks about the programs."""

    def differ(self, a: Array, b: Array) -> bool:
        """Tell whether codes surely are of different numbers."""
        return False

    @abstractmethod
    def constant(self, values: Array, element: Scalar) -> Array:
        """Return the codes of a program's constants, given as f64 and in the type they had."""

    @abstractmethod
    def literal(self, values: Array) -> Array:
        """Return the codes of f64 that are meant as they are."""

    @abstractmethod
    def from_int(self, values: Array) -> Array:
        """Return the codes of integers, an array of int64 or of Python's."""

    def to_int(self, a: Array, bits: int, signed: bool) -> Array:
        """Return numbers rounded towards zero, as int64."""
        raise Beyond("an integer made from a number depends on its size")

    @abstractmethod
    def add(self, a: Array, b: Array) -> Array: ...

    @abstractmethod
    def neg(self, a: Array) -> Array: ...

    @abstractmethod
    def mul(self, a: Array, b: Array, signs: Signs = (0, 0)) -> Array: ...

    def div(self, a: Array, b: Array, signs: Signs = (0, 0)) -> Array:
        raise Beyond(MEANINGLESS)

    def max(self, a: Array, b: Array, propagate: bool = False) -> Array:
        raise Beyond(MEANINGLESS)

    def exp(self, a: Array) -> Array:
        raise Beyond(MEANINGLESS)

    def exp2(self, a: Array) -> Array:
        raise Beyond(MEANINGLESS)

    def log(self, a: Array) -> Array:
        raise Beyond(MEANINGLESS)

    def log2(self, a: Array) -> Array:
        raise Beyond(MEANINGLESS)

    def sqrt(self, a: Array) -> Array:
        raise Beyond(MEANINGLESS)

    def tanh(self, a: Array) -> Array:
        raise Beyond(MEANINGLESS)

    def function(self, name: str, *args: Array) -> Array:
        """Apply a function of which no law is used."""
        raise Beyond(MEANINGLESS)

    def compare(self, predicate: ComparisonPredicate, unordered: bool, a: Array, b: Array) -> Array:
        """Compare numbers; the result is an array of bool."""
        raise Beyond(MEANINGLESS)

    @abstractmethod
    def padding(self, value: PaddingValue | None) -> int:
        """Return the code of what a load returns outside a tensor."""

    def sub(self, a: Array, b: Array) -> Array:
        return self.add(a, self.neg(b))

    def min(self, a: Array, b: Array, propagate: bool = False) -> Array:
        return self.neg(self.max(self.neg(a), self.neg(b), propagate))

    def abs(self, a: Array) -> Array:
        return self.max(a, self.neg(a), True)

    def rsqrt(self, a: Array) -> Array:
        return self.div(self.literal(np.ones(1)), self.sqrt(a), (1, 1))

    def power(self, a: Array, exponents: Array) -> Array:
        """Raise to integer powers, an array of int64 that broadcasts."""
        a, exponents = np.broadcast_arrays(a, exponents)
        one = self.literal(np.ones(1))
        out = np.broadcast_to(one, a.shape).copy()
        base, left = np.array(a), np.abs(exponents)
        while (left > 0).any():
            out = np.where(left & 1 == 1, self.mul(out, base), out)
            left = left >> 1
            if (left > 0).any():
                base = self.mul(base, base)
        return np.where(exponents < 0, self.div(np.broadcast_to(one, a.shape), out), out)

    def matmul(self, a: Array, b: Array) -> Array:
        """Multiply matrices, one step of the inner dimension after the other."""
        total = self.mul(a[..., :, :1], b[..., :1, :])
        for k in range(1, a.shape[-1]):
            total = self.add(total, self.mul(a[..., :, k : k + 1], b[..., k : k + 1, :]))
        return total

    def sum_along(self, a: Array, axis: int) -> Array:
        """Add up along an axis, in halves."""
        while a.shape[axis] > 1:
            half = a.shape[axis] // 2
            low, high = a.take(range(half), axis), a.take(range(half, 2 * half), axis)
            rest = a.take(range(2 * half, a.shape[axis]), axis)
            total = self.add(low, high)
            a = np.concatenate([total, rest], axis) if rest.shape[axis] else total
        made: Array = np.take(a, 0, axis)
        return made

    def max_along(self, a: Array, axis: int, propagate: bool = False) -> Array:
        """Return the maximum along an axis."""
        while a.shape[axis] > 1:
            half = a.shape[axis] // 2
            rest = a.take(range(2 * half, a.shape[axis]), axis)
            larger = self.max(a.take(range(half), axis), a.take(range(half, 2 * half), axis), propagate)
            a = np.concatenate([larger, rest], axis) if rest.shape[axis] else larger
        made: Array = np.take(a, 0, axis)
        return made

    def rounded(self, a: Array, element: Scalar, steps: int = 1) -> Array:
        """Note that a program rounded a result to a type, `steps` times; most arithmetics have nothing to round."""
        return a
