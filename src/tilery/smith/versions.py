"""Limits of the tools of a version, beyond the fields and types whose `since` the tables of operations state.

Our verifier follows the latest tools. A random module must also be legal for the tools of its own version.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from ..attrs import RoundingMode
from ..types import SCALARS, Scalar
from ..version import V13_1, V13_3, V13_4, Version


class Feature(Enum):
    """Something that only newer tools accept: since when, and what it is."""

    RETURN_IN_LOOP = V13_4, "a kernel may end inside a `loop`"
    IF_IN_REDUCTION = V13_4, "the body of a `reduce` or `scan` may hold an `if`"
    BF16_ATOMICS = V13_3, "`addf` works on bf16 in memory"

    @property
    def since(self) -> Version:
        version: Version = self.value[0]
        return version


class Roundings(NamedTuple):
    """The rounding modes of `ftof` from some types (None is any) to a type."""

    target: str
    sources: tuple[str, ...] | None
    modes: tuple[RoundingMode, ...]
    since: Version


_EVEN, _ZERO, _DOWN, _UP, _AWAY = (
    RoundingMode.NEAREST_EVEN,
    RoundingMode.ZERO,
    RoundingMode.NEGATIVE_INF,
    RoundingMode.POSITIVE_INF,
    RoundingMode.NEAREST_AWAY,
)
_WIDE = [s for s in SCALARS.values() if s.is_float and s.bits > 8]


def _narrower(target: Scalar) -> tuple[str, ...]:
    """The wide types whose every number is one of `target`, too."""
    return tuple(s.name for s in _WIDE if s is not target and s.format.fits_in(target.format))


_IEEE = (_EVEN, _ZERO, _DOWN, _UP)
ROUNDINGS = (
    # 13.2 and later tools have no mode in common for f8E8M0FNU.
    Roundings("f8E8M0FNU", None, (_ZERO, _UP), V13_3),
    Roundings("tf32", ("f32",), (_EVEN, _ZERO, _AWAY), V13_4),
    Roundings("f32", ("f64",), _IEEE, V13_4),
    *(Roundings(s.name, _narrower(s), (*_IEEE, _AWAY), V13_4) for s in _WIDE),
    *(Roundings(s.name, None, (_EVEN, _ZERO), V13_4) for s in _WIDE),
    *(Roundings(s.name, None, (_EVEN,), V13_1) for s in SCALARS.values() if s.is_float and s.name != "f8E8M0FNU"),
)
"""The first row that applies is the one that counts."""


@lru_cache(maxsize=1024)
def float_roundings(source: Scalar, target: Scalar, version: Version) -> tuple[RoundingMode, ...]:
    """Return the rounding modes with which `ftof` is legal."""
    for row in ROUNDINGS:
        if row.target == target.name and row.since <= version and (row.sources is None or source.name in row.sources):
            return row.modes
    return ()
