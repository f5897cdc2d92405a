"""Compare what a variant leaves in memory with what is right: bit for bit, or within a bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engines.common.numerics.convert import to_f64
from ..engines.common.tiles import carrier
from ..engines.semantics import same_bits
from ..floats.formats import is_nan
from ..ir import walk
from ..ops import Entry
from ..types import Scalar

BOUNDS = {"f64": 1e-6, "f32": 2e-3, "tf32": 2e-3, "f16": 5e-3, "bf16": 2e-2}
"""How far a result may be from the right one, as a fraction of it: the norm of the difference by the norm."""
NARROW_BOUND = 0.1
"""The bound for floats of eight bits or fewer."""
WORST = 32
"""A single element may be this many times as far away, as a fraction of the largest one."""


def is_exact(entry: Entry) -> bool:
    """Tell whether all operations of an entry have defined bits."""
    return all(same_bits(o) for o in walk(entry))


def difference(element: Scalar, wanted: bytes, found: bytes, *, exact: bool) -> str:
    """Return in words how two results differ, or an empty text if that is allowed. NaN is NaN, whatever its bits.

    >>> from tilery.types import F32
    >>> one, more = np.float32([1.0, 2.0]).tobytes(), np.float32([1.0, 2.1]).tobytes()
    >>> difference(F32, one, one, exact=True), difference(F32, one, more, exact=False)[:28]
    ('', 'the relative error is 4.5e-0')
    """
    if wanted == found:
        return ""
    if element.bits < 8:
        return "" if not exact else f"the bytes of {element} differ"
    dtype = f"u{element.row.memory_bits // 8}"
    a, b = np.frombuffer(wanted, dtype), np.frombuffer(found, dtype)
    where = np.flatnonzero(a != b)
    if exact or element.is_int:
        bad = [i for i in where[:1000] if not (element.is_float and _both_nan(element, int(a[i]), int(b[i])))]
        return f"{len(where)} of {len(a)} elements of {element} differ, first number {bad[0]}" if bad else ""
    return _distance(element, a, b)


def _both_nan(element: Scalar, a: int, b: int) -> bool:
    shift = element.row.memory_bits - element.bits if element.bits > 8 else 0
    return is_nan(element, a >> shift) and is_nan(element, b >> shift)


def _distance(element: Scalar, a: Any, b: Any) -> str:
    x, y = (to_f64(v.view(carrier(element)), element) for v in (a, b))
    nans = np.isnan(x) != np.isnan(y)
    if nans.any():
        return f"{int(nans.sum())} elements of {element} are NaN on one side only, first number {int(nans.argmax())}"
    with np.errstate(all="ignore"):
        same = (x == y) | np.isnan(x)
        x, y = np.where(same, 0.0, x), np.where(same, 0.0, y)
        size = np.where(np.isfinite(a_f := to_f64(a.view(carrier(element)), element)), a_f, 0.0)
        away = np.abs(x - y)
        bound = BOUNDS.get(element.name, NARROW_BOUND)
        error = float(np.linalg.norm(away) / max(float(np.linalg.norm(size)), 1e-300))
        worst = float(away.max() / max(float(np.abs(size).max()), 1e-300))
    if error <= bound and worst <= WORST * bound:
        return ""
    return f"the relative error is {error:.1e}, the largest {worst:.1e}, and {bound:g} is allowed for {element}"
