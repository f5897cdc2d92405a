"""A growing table of pairs of f64, whose row numbers are the codes of an arithmetic. Row 0 is zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engines.common.tiles import Array
from .numbers import Beyond, Numbers, U

MOST = 1 << 26
"""The most rows: 1 GiB."""
SLACK = 1 + 2.0**-40
"""Radii are computed in f64 too; this covers their rounding."""
Pair = tuple[Array, Array]


class PairTable(Numbers):
    """Pairs of a midpoint and a radius, or of a size and an error. Row 1 is for undefined values."""

    def __init__(self) -> None:
        super().__init__()
        self.mid = np.zeros(1 << 12)
        self.rad = np.zeros(1 << 12)
        self.count = 2

    def new(self, mid: Any, rad: Any) -> Array:
        """Add rows; return their codes."""
        mid, rad = np.broadcast_arrays(np.asarray(mid, np.float64), np.asarray(rad, np.float64))
        end = self.count + mid.size
        if end > MOST:
            raise Beyond(f"more than {MOST} numbers; try smaller shapes")
        if end > len(self.mid):
            size = max(end, 2 * len(self.mid))
            self.mid, self.rad = (
                np.concatenate([a[: self.count], np.zeros(size - self.count)]) for a in (self.mid, self.rad)
            )
        self.mid[self.count : end], self.rad[self.count : end] = mid.ravel(), rad.ravel()
        made = np.arange(self.count, end, dtype=U).reshape(mid.shape)
        self.count = end
        return np.where((mid == 0) & (rad == 0), U(0), made)

    def get(self, a: Array) -> Pair:
        """Return the midpoints and radii of codes."""
        return self.mid[a], self.rad[a]
