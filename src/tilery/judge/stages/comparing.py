"""Compare outputs with what the reference expects, element by element."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem import Argument
from ..reference import Expected
from ..values import Array, limits, widen


@dataclass(slots=True)
class OutputDifference:
    """How far an output is from what is expected."""

    wrong: int
    """Elements that are further off than allowed."""
    undecided: int
    """Elements about which the reference says nothing: rounding alone decides whether they overflow."""
    total: int
    worst: float
    """The largest error, in units of what is allowed."""
    where: tuple[int, ...] = ()
    got: str = ""
    wanted: str = ""

    def as_dict(self) -> dict[str, object]:
        return {
            "wrong": self.wrong, "undecided": self.undecided, "elements": self.total, "worst": self.worst,
            "element": list(self.where), "got": self.got, "expected": self.wanted,
        }  # fmt: skip


def compare(argument: Argument, bits: Array, expected: Expected, slack: float = 1.0) -> OutputDifference:
    """Compare an output with what is expected; `slack` multiplies what is allowed."""
    got = widen(bits, argument)
    if not argument.element.is_float:
        bad = expected.decided & (got != expected.exact)
        return _difference(bad, got, expected, bad.astype(np.float64))
    exact, tolerance = expected.exact, expected.tolerance * slack
    wide = got.astype(exact.dtype)
    largest, _ = limits(argument.element)
    with np.errstate(all="ignore"):
        error = np.abs(wide - exact)
        fits = error <= tolerance
        fits |= np.isnan(exact) & np.isnan(wide)
        fits |= np.isinf(exact) & (wide == exact)
        # A number that does not fit the type is an infinity, or the largest number where there is none.
        over = np.isfinite(exact) & (np.abs(exact) + tolerance >= largest) & (np.signbit(wide) == np.signbit(exact))
        fits |= over & (np.abs(wide) >= largest)
        ratio = np.where(fits & np.isfinite(error), error / tolerance, np.where(fits, 0.0, np.inf))
        ratio = np.where(~fits & np.isfinite(error), error / tolerance, ratio)
    return _difference(expected.decided & ~fits, got, expected, np.where(expected.decided, ratio, 0.0))


def _difference(bad: Array, got: Array, expected: Expected, ratio: Array) -> OutputDifference:
    undecided = int(np.count_nonzero(~expected.decided))
    worst = float(ratio.max()) if ratio.size else 0.0
    made = OutputDifference(int(np.count_nonzero(bad)), undecided, got.size, worst)
    if made.wrong:
        at = np.unravel_index(
            int(np.argmax(np.where(bad, np.nan_to_num(ratio, nan=0.0, posinf=1e308), -1.0))), bad.shape
        )
        made.where = tuple(int(n) for n in at)
        made.got, made.wanted = str(got[at]), f"{expected.exact[at]} (within {expected.tolerance[at]:.3g})"
    return made
