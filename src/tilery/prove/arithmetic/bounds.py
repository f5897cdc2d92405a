"""Sizes and errors for floats: running error analysis, for all inputs of a size."""

from __future__ import annotations

import numpy as np

from ...engines.common.tiles import Array
from ...types import PaddingValue, Scalar
from .constants import digits
from .numbers import Beyond, Signs
from .table import SLACK, PairTable


class Bounds(PairTable):
    """Running error analysis: a bound on the size of a number, and on the error of what a program computes for it.

    Sums may be in any order. Every operation is taken to round to nearest in its result's type.
    """

    undefined = 1

    def literal(self, values: Array) -> Array:
        if not np.isfinite(values).all():
            raise Beyond("an infinity has no error bound")
        return self.new(np.abs(values), 0.0)

    def constant(self, values: Array, element: Scalar) -> Array:
        return self.literal(values)

    def from_int(self, values: Array) -> Array:
        return self.new(np.abs(values.astype(np.float64)), 0.0)

    def padding(self, value: PaddingValue | None) -> int:
        if value in (PaddingValue.ZERO, PaddingValue.NEG_ZERO):
            return 0
        if value is None:
            return 1
        raise Beyond("padding that is not finite has no error bound")

    def add(self, a: Array, b: Array) -> Array:
        (ma, ea), (mb, eb) = self.get(a), self.get(b)
        return self.new((ma + mb) * SLACK, (ea + eb) * SLACK)

    def neg(self, a: Array) -> Array:
        return a

    def abs(self, a: Array) -> Array:
        return a

    def mul(self, a: Array, b: Array, signs: Signs = (0, 0)) -> Array:
        (ma, ea), (mb, eb) = self.get(a), self.get(b)
        return self.new(ma * mb * SLACK, (ma * eb + mb * ea + ea * eb) * SLACK)

    def max(self, a: Array, b: Array, propagate: bool = False) -> Array:
        (ma, ea), (mb, eb) = self.get(a), self.get(b)
        return self.new(np.maximum(ma, mb), np.maximum(ea, eb))

    def rounded(self, a: Array, element: Scalar, steps: int = 1) -> Array:
        unit = steps * 2.0 ** -digits(element)
        if unit >= 0.5:
            raise Beyond("a sum too long for its type")
        size, error = self.get(a)
        return self.new(size, (error + (size + error) * unit / (1 - unit)) * SLACK)
