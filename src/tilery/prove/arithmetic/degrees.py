"""Degrees for floats: an upper bound on the degrees of the rational functions that a program computes."""

from __future__ import annotations

import numpy as np

from ...engines.common.tiles import Array
from ...types import PaddingValue, Scalar
from .numbers import Numbers, Signs, U

MOST = (1 << 30) - 1
HALF = U(32)


class Degrees(Numbers):
    """A code is the degree of a numerator and, in the upper half, of a denominator."""

    undefined = 0

    @staticmethod
    def _code(top: Array, bottom: Array) -> Array:
        made: Array = np.minimum(top, U(MOST)) | np.minimum(bottom, U(MOST)) << HALF
        return made

    @staticmethod
    def parts(a: Array) -> tuple[Array, Array]:
        return a & U(0xFFFFFFFF), a >> HALF

    def constant(self, values: Array, element: Scalar) -> Array:
        return np.zeros(values.shape, U)

    def literal(self, values: Array) -> Array:
        return np.zeros(values.shape, U)

    def from_int(self, values: Array) -> Array:
        return np.zeros(values.shape, U)

    def padding(self, value: PaddingValue | None) -> int:
        return 0

    def add(self, a: Array, b: Array) -> Array:
        (na, da), (nb, db) = self.parts(a), self.parts(b)
        return self._code(np.maximum(na + db, nb + da), da + db)

    def neg(self, a: Array) -> Array:
        return a

    def mul(self, a: Array, b: Array, signs: Signs = (0, 0)) -> Array:
        (na, da), (nb, db) = self.parts(a), self.parts(b)
        return self._code(na + nb, da + db)

    def div(self, a: Array, b: Array, signs: Signs = (0, 0)) -> Array:
        (na, da), (nb, db) = self.parts(a), self.parts(b)
        return self._code(na + db, da + nb)
