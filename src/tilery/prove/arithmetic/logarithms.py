"""Powers of a root of unity modulo a prime, and discrete logarithms by baby steps and giant steps."""

from __future__ import annotations

import numpy as np

from ...engines.common.tiles import Array

U = np.uint64
BABY = 1 << 20
"""The size of the table. With q below 2**30, there are at most 1024 giant steps."""


class Logarithms:
    """Powers of `omega`, an element of prime order q modulo p."""

    def __init__(self, p: int, q: int, omega: int) -> None:
        self.p, self.q, self.omega = p, q, omega
        self.powers: list[Array] = []
        """`powers[i][d]` is omega ** (256**i * d)."""
        w = omega
        for _ in range(4):
            row = [1]
            for _ in range(255):
                row.append(row[-1] * w % p)
            self.powers.append(np.array(row, U))
            w = pow(w, 256, p)
        self._steps: tuple[Array, Array, int] | None = None

    def _table(self) -> tuple[Array, Array, int]:
        """Return sorted baby steps, their exponents, and the factor of a giant step."""
        if self._steps is None:
            count = min(BABY, self.q)
            values = np.ones(1, U)
            while len(values) < count:  # double: the second half is the first times a power
                by = U(pow(self.omega, len(values), self.p))
                values = np.concatenate([values, values * by % U(self.p)])[:count]
            order = np.argsort(values)
            self._steps = values[order], order, pow(self.omega, -count, self.p)
        return self._steps

    def of(self, a: Array) -> Array:
        """Return discrete logarithms as int64, -1 where a number is not a power.

        >>> table = Logarithms(23, 11, 2)
        >>> table.of(np.array([1, 2, 16, 5], np.uint64)).tolist()
        [0, 1, 4, -1]
        """
        distinct, where = np.unique(a, return_inverse=True)
        values, exponents, factor = self._table()
        found = np.full(distinct.shape, -1, np.int64)
        current, modulus, step = distinct.copy(), U(self.p), U(factor)
        squares = np.array([pow(int(x), self.q, self.p) == 1 for x in distinct], bool)
        left = np.flatnonzero(squares)
        for giant in range(self.q // len(values) + 1):
            if not len(left):
                break
            at = np.minimum(np.searchsorted(values, current[left]), len(values) - 1)
            hit = values[at] == current[left]
            found[left[hit]] = giant * len(values) + exponents[at[hit]]
            left = left[~hit]
            current[left] = current[left] * step % modulus
        found = np.where(found < 0, -1, found % self.q)
        return found[where].reshape(a.shape)
