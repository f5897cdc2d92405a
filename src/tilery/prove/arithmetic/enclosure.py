"""Enclosures for floats: an interval that surely holds the real number, so that disjoint intervals prove a difference.

A code is the number of a row in a table of midpoints and radii. Radii cover every rounding of the computation itself,
and how far a constant may be from the number that its writer rounded. A radius of infinity means that nothing is known;
infinite midpoints and NaN with radius 0 are values of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...attrs import ComparisonPredicate
from ...engines.common.tiles import Array
from ...types import PaddingValue, Scalar
from .constants import digits, is_plain
from .numbers import COMPARE, Beyond, NoSample, Signs
from .table import SLACK, Pair, PairTable

UNIT = 2.0**-53
LIBRARY = 4 * UNIT
"""NumPy's transcendental functions are taken to be accurate to this, relative to the result."""
TINY = 2.0**-1070
"""Covers underflow."""
PADDING = {
    PaddingValue.ZERO: 0.0,
    PaddingValue.NEG_ZERO: 0.0,
    PaddingValue.NAN: np.nan,
    PaddingValue.POS_INF: np.inf,
    PaddingValue.NEG_INF: -np.inf,
}


class Enclosures(PairTable):
    """An arithmetic of midpoints and radii. `poison` is what undefined values are taken to be."""

    undefined = 1

    def __init__(self, poison: float = 1.0) -> None:
        super().__init__()
        self.mid[1] = poison
        self._padding: dict[PaddingValue | None, int] = {None: 1, PaddingValue.ZERO: 0, PaddingValue.NEG_ZERO: 0}

    def _made(self, mid: Array, rad: Array, *operands: Pair) -> Array:
        """Add results; those that are not finite are what IEEE arithmetic says if an operand is not finite either."""
        special, unknown = np.zeros(mid.shape, bool), np.zeros(mid.shape, bool)
        for m, r in operands:
            special, unknown = special | ~np.isfinite(m), unknown | np.isinf(r)
        rad = np.where(special, 0.0, rad * SLACK)
        rad = np.where(unknown | np.isnan(rad) | (~special & ~np.isfinite(mid)), np.inf, rad)
        return self.new(mid, rad)

    def differ(self, a: Array, b: Array) -> bool:
        return bool(apart(self.get(a), self.get(b)).any())

    def literal(self, values: Array) -> Array:
        return self.new(values, 0.0)

    def constant(self, values: Array, element: Scalar) -> Array:
        places = digits(element)
        distinct, where = np.unique(values, return_inverse=True)
        radii = [0.0 if is_plain(float(v), places) else abs(float(v)) * 2.0**-places for v in distinct]
        return self.new(values, np.array(radii)[where].reshape(values.shape))

    def from_int(self, values: Array) -> Array:
        mid = values.astype(np.float64)
        return self.new(mid, np.where(np.abs(mid) < 2.0**53, 0.0, np.abs(mid) * UNIT))

    def to_int(self, a: Array, bits: int, signed: bool) -> Array:
        mid, rad = self.get(a)
        low, high = np.trunc(mid - rad), np.trunc(mid + rad)
        if not (low == high).all() or not (np.abs(low) < 2.0**62).all():
            raise NoSample
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if (low < least).any() or (low > most).any():
            raise NoSample  # what does not fit is not defined
        made: Array = low.astype(np.int64)
        return made

    def padding(self, value: PaddingValue | None) -> int:
        if value not in self._padding:
            assert value is not None
            self._padding[value] = int(self.new(np.array(PADDING[value]), 0.0))
        return self._padding[value]

    # ------------------------------------------------------------ arithmetic

    def add(self, a: Array, b: Array) -> Array:
        (ma, ra), (mb, rb) = self.get(a), self.get(b)
        mid = ma + mb
        with np.errstate(all="ignore"):
            t = mid - ma
            lost = np.abs((ma - (mid - t)) + (mb - t))  # what the sum rounded away, exactly
        return self._made(mid, np.where((ra == 0) & (rb == 0), lost, ra + rb + lost), (ma, ra), (mb, rb))

    def neg(self, a: Array) -> Array:
        mid, rad = self.get(a)
        return self.new(-mid, rad)

    def mul(self, a: Array, b: Array, signs: Signs = (0, 0)) -> Array:
        (ma, ra), (mb, rb) = self.get(a), self.get(b)
        mid = ma * mb
        rad = np.abs(ma) * rb + np.abs(mb) * ra + ra * rb + UNIT * np.abs(mid) + TINY
        zero = ((ma == 0) & (ra == 0)) | ((mb == 0) & (rb == 0))
        rad = np.where(zero | (((mb == 1) & (rb == 0) & (ra == 0)) | ((ma == 1) & (ra == 0) & (rb == 0))), 0.0, rad)
        for infinite, m, r in ((np.isinf(ma), mb, rb), (np.isinf(mb), ma, ra)):
            unsure = infinite & np.isfinite(m) & (np.abs(m) <= r)
            mid, rad = np.where(unsure & (r > 0), np.nan, mid), np.where(unsure & (r > 0), np.inf, rad)
        made = self._made(mid, rad, (ma, ra), (mb, rb))
        lost = np.isnan(mid) & np.isinf(rad)
        return np.where(lost, self.new(np.nan, np.inf), made) if lost.any() else made

    def div(self, a: Array, b: Array, signs: Signs = (0, 0)) -> Array:
        (ma, ra), (mb, rb) = self.get(a), self.get(b)
        with np.errstate(all="ignore"):
            mid = ma / mb
            room = np.abs(mb) - rb
            rad = (ra + np.abs(mid) * rb) / room + UNIT * np.abs(mid) + TINY
        exact_zero = (mb == 0) & (rb == 0)
        rad = np.where((room > 0) | exact_zero, rad, np.inf)
        rad = np.where((ma == 0) & (ra == 0) & ~exact_zero & (room > 0), 0.0, rad)
        rad = np.where(exact_zero & ((np.abs(ma) > ra) | (ra == 0)), 0.0, rad)
        made = self._made(np.where(exact_zero, 0.0, mid), rad, (ma, ra), (mb, rb))
        return np.where(exact_zero & (rad == 0), self.new(mid, 0.0), made) if exact_zero.any() else made

    def matmul(self, a: Array, b: Array) -> Array:
        (ma, ra), (mb, rb) = self.get(a), self.get(b)
        if not all(np.isfinite(x).all() for x in (ma, ra, mb, rb)):
            return super().matmul(a, b)
        size = np.matmul(np.abs(ma), np.abs(mb))
        rad = np.matmul(np.abs(ma), rb) + np.matmul(ra, np.abs(mb) + rb) + (a.shape[-1] + 2) * UNIT * size + TINY
        mid = np.matmul(ma, mb)
        return self._made(mid, rad * (1 + a.shape[-1] * 2.0**-50))

    # ------------------------------------------------------------ order

    def max(self, a: Array, b: Array, propagate: bool = False) -> Array:
        (ma, ra), (mb, rb) = self.get(a), self.get(b)
        nan_a, nan_b = np.isnan(ma) & np.isfinite(ra), np.isnan(mb) & np.isfinite(rb)
        mid = np.fmax(ma, mb)
        rad = np.where(np.isinf(mid), 0.0, np.fmax(ra, rb))
        rad = np.where(np.isinf(ra) | np.isinf(rb), np.inf, rad)
        first, second = ma - ra > mb + rb, mb - rb > ma + ra
        rad = np.where(first & np.isfinite(ra), ra, np.where(second & np.isfinite(rb), rb, rad))
        made = self.new(mid, rad)
        if propagate:
            return np.where(nan_a | nan_b, self.new(np.nan, 0.0), made)
        return np.where(nan_a, b, np.where(nan_b, a, made))

    def abs(self, a: Array) -> Array:
        mid, rad = self.get(a)
        return self.new(np.abs(mid), rad)

    def compare(self, predicate: ComparisonPredicate, unordered: bool, a: Array, b: Array) -> Array:
        (ma, ra), (mb, rb) = self.get(a), self.get(b)
        with np.errstate(all="ignore"):
            sign = np.where(ma == mb, 0.0, np.sign(ma - mb))
            nan = (np.isnan(ma) & np.isfinite(ra)) | (np.isnan(mb) & np.isfinite(rb))
            sure = nan | ((ra == 0) & (rb == 0)) | (np.abs(ma - mb) > (ra + rb) * SLACK) | ((a == b) & np.isfinite(ra))
        if not sure.all():
            raise NoSample
        return np.where(nan, unordered, COMPARE[predicate](sign, 0))

    # ------------------------------------------------------------ functions

    def _function(self, mid: Array, rad: Array, a: Pair) -> Array:
        return self._made(mid, np.where(a[1] == 0, 0.0, rad) + LIBRARY * np.abs(mid) + TINY, a)

    def exp(self, a: Array) -> Array:
        return self._exp(*self.get(a), np.exp, 1.0)

    def exp2(self, a: Array) -> Array:
        return self._exp(*self.get(a), np.exp2, 0.6931471805599454)

    def _exp(self, m: Array, r: Array, function: Any, scale: float) -> Array:
        with np.errstate(all="ignore"):
            mid = function(m)
            rad = np.where(r < 1, mid * np.expm1(r * scale), function(m + r))
        made = self._function(mid, rad, (m, r))
        exact = (r == 0) & ((m == 0) | (m == -np.inf))
        return np.where(exact, self.new(mid, 0.0), made) if exact.any() else made

    def log(self, a: Array) -> Array:
        return self._log(*self.get(a), np.log, 1.0)

    def log2(self, a: Array) -> Array:
        return self._log(*self.get(a), np.log2, 1.4426950408889636)

    def _log(self, m: Array, r: Array, function: Any, scale: float) -> Array:
        with np.errstate(all="ignore"):
            mid = function(m)
            rad = np.where(r < m, -np.log1p(-r / m) * scale, np.inf)
        made = self._function(mid, rad, (m, r))
        exact = (r == 0) & ~(np.isfinite(m) & (m > 0))
        exact |= np.isfinite(r) & (m + r < 0)
        return np.where(exact, self.new(mid, 0.0), made) if exact.any() else made

    def sqrt(self, a: Array) -> Array:
        m, r = self.get(a)
        with np.errstate(all="ignore"):
            mid = np.sqrt(m)
            rad = np.where(r < m, r / mid, np.inf)
        made = self._function(mid, rad, (m, r))
        exact = (r == 0) & ~(np.isfinite(m) & (m > 0))
        exact |= np.isfinite(r) & (m + r < 0)
        return np.where(exact, self.new(mid, 0.0), made) if exact.any() else made

    def tanh(self, a: Array) -> Array:
        m, r = self.get(a)
        made = self._function(np.tanh(m), r, (m, r))
        return np.where(np.isinf(m) & (r == 0), self.new(np.sign(m), 0.0), made) if np.isinf(m).any() else made

    def function(self, name: str, *args: Array) -> Array:
        if name == "power":
            return self.exp(self.mul(args[1], self.log(args[0])))
        if name not in SMOOTH:
            return self._step(name, *args)
        m, r = self.get(args[0])
        function, slope = SMOOTH[name]
        with np.errstate(all="ignore"):
            return self._function(function(m), r * slope(m, r), (m, r))

    def _step(self, name: str, *args: Array) -> Array:
        """A function that is constant between integers."""
        if name not in STEPS:
            raise Beyond(f"{name} has no enclosure")
        m, r = self.get(args[0])
        low, high = STEPS[name](m - r), STEPS[name](m + r)
        return self.new(low, np.where(np.isfinite(m) & (low != high), np.inf, np.where(np.isinf(r), np.inf, 0.0)))


SMOOTH: dict[str, tuple[Any, Any]] = {
    "sin": (np.sin, lambda m, r: 1.0),
    "cos": (np.cos, lambda m, r: 1.0),
    "tan": (np.tan, lambda m, r: np.where(np.abs(np.cos(m)) > 2 * r, 1 / (np.abs(np.cos(m)) - r) ** 2, np.inf)),
    "sinh": (np.sinh, lambda m, r: np.cosh(np.abs(m) + r)),
    "cosh": (np.cosh, lambda m, r: np.cosh(np.abs(m) + r)),
}
"""Functions and bounds of their slopes around a point."""
STEPS: dict[str, Any] = {"floor": np.floor, "ceil": np.ceil}


def apart(a: Pair, b: Pair) -> Array:
    """Return where two enclosures cannot hold the same value."""
    (ma, ra), (mb, rb) = a, b
    known = np.isfinite(ra) & np.isfinite(rb)
    nan_a, nan_b = np.isnan(ma), np.isnan(mb)
    with np.errstate(all="ignore"):
        finite = np.isfinite(ma) & np.isfinite(mb) & (np.abs(ma - mb) * (1 - 2.0**-50) > (ra + rb) * SLACK)
    infinite = ~nan_a & ~nan_b & (np.isinf(ma) | np.isinf(mb)) & (ma != mb)
    found: Array = known & (finite | infinite | (nan_a != nan_b))
    return found
