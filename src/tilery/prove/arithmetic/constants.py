"""Constants that mean numbers which no float holds: log2(e), ln(2), 1/n, and products with the former."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from ...types import Scalar

NAMED = ((-1, "log2(e)", math.log2(math.e)), (1, "ln(2)", math.log(2.0)))
"""Powers of ln 2, the irrational numbers that a constant may mean."""
LEAST_DIGITS = 24
"""Constants of narrower types are too coarse to be recognised."""
LARGEST_DENOMINATOR = 1 << 16


@dataclass(frozen=True, slots=True)
class ConstantReading:
    """A constant is read as `factor` times a power of ln 2."""

    factor: Fraction
    ln2: int
    text: str


def digits(element: Scalar) -> int:
    """Return how many binary digits a float type has.

    >>> from tilery.types import F32
    >>> digits(F32)
    24
    """
    return 0 if element.format is None else int(element.format.mantissa) + 1


def rounded(x: float, places: int) -> float:
    """Round to a number of binary digits."""
    m, e = math.frexp(x)
    return math.ldexp(round(math.ldexp(m, places)), e - places)


def is_plain(value: float, places: int) -> bool:
    """Tell whether a constant is surely meant as it is: it has few digits for its type.

    >>> is_plain(0.375, 24), is_plain(0.10000000149011612, 24)
    (True, False)
    """
    if not math.isfinite(value) or not value:
        return True
    m, _ = math.frexp(value)
    few = max(1, places // 2)
    return math.ldexp(m, few) == math.floor(math.ldexp(m, few))


@dataclass(slots=True)
class Constants:
    """The constants of both programs, in which a constant of one may be another one times log2(e)."""

    factors: set[Fraction] = field(default_factory=set)
    _read: dict[tuple[float, str], ConstantReading | None] = field(default_factory=dict)

    def add(self, values: Iterable[float]) -> None:
        """Note constants that others may be multiples of."""
        for v in values:
            if math.isfinite(v) and v and math.frexp(v)[0] != 0.5:
                self.factors.add(abs(Fraction(v)))

    def read(self, value: float, element: Scalar) -> ConstantReading | None:
        """Return the number that a constant means, or None if it is meant as it is."""
        key = (value, element.name)
        if key not in self._read:
            self._read[key] = self._find(value, element)
        return self._read[key]

    def _find(self, value: float, element: Scalar) -> ConstantReading | None:
        places = digits(element)
        if places < LEAST_DIGITS or is_plain(value, places):
            return None
        sign = -1 if value < 0 else 1
        m, e = math.frexp(abs(value))
        shown = f"the {element.name} constant {value!r} is read as {'-' if sign < 0 else ''}"
        for power, name, x in NAMED:
            mx, ex = math.frexp(rounded(x, places))
            if m == mx:
                scale = Fraction(2) ** (e - ex)
                return ConstantReading(sign * scale, power, f"{shown}{name}" + (f" * {scale}" if scale != 1 else ""))
        n = round(1 / abs(value)) if abs(value) < 1 else 0
        if 2 < n <= LARGEST_DENOMINATOR and rounded(1 / n, places) == abs(value):
            return ConstantReading(Fraction(sign, n), 0, f"{shown}1/{n}")
        for factor in sorted(self.factors):
            power, name, x = NAMED[0]
            # Both numbers are rounded, and so may their product be.
            if abs(float(factor) * x - abs(value)) <= abs(value) * 2.0 ** (1 - places):
                return ConstantReading(sign * factor, power, f"{shown}{float(factor)!r} * {name}")
        return None
