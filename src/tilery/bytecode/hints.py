"""Optimization hints: their names and values, and why a reader refuses them. Readers before 13.3 check values."""

from __future__ import annotations

from .. import hooks
from ..attrs import Attr, DictAttr, IntAttr
from ..types import I1

FIRST_ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
"""Those that 13.1 knows; it does not check the clusters of `sm_80`."""
NAMED_ARCHITECTURES = (*FIRST_ARCHITECTURES, "sm_86", "sm_87", "sm_88", "sm_89")
ARCHITECTURES = (*NAMED_ARCHITECTURES, "default")
SINGLE_CTA = ("sm_80", "sm_86", "sm_87", "sm_88", "sm_89")
"""Architectures without clusters of tile blocks."""

# For each hint a range of integers, or the largest power of two allowed, or None for a boolean.
RANGES: dict[str, tuple[int, int] | int | None] = {
    "num_cta_in_cga": 16,
    "num_worker_warps_per_cta": 32,
    "occupancy": (1, 32),
    "allow_tma": None,
    "latency": (1, 10),
}
NEW_HINTS = ("num_worker_warps_per_cta",)


def value_problem(arch: str, name: str, hint: Attr) -> str | None:
    """Return why a hint cannot have this value, or None if it can."""
    where, rule = f"{arch}.{name}", RANGES[name]
    if rule is None:
        return None if isinstance(hint, IntAttr) and hint.type is I1 else f"boolean value expected for {where}"
    if not isinstance(hint, IntAttr):
        return f"integer value expected for {where}"
    # MLIR reads a true i1 as -1.
    value = -1 if hint.type is I1 and hint.bits else hint.value
    if isinstance(rule, tuple):
        low, high = rule
        fine = low <= value <= high
        return None if fine else f"integer value in the range [{low}, {high}] is expected for {where}"
    fine = 0 < value <= rule and value & (value - 1) == 0
    return None if fine else f"expected power-of-two ≤ {rule} for {where}"


def old_problem(value: DictAttr, architectures: tuple[str, ...], allowed: tuple[str, ...] = ()) -> str | None:
    """Return why a reader that checks hints refuses these, or None. Entries are checked in order of name, as in MLIR.

    `architectures` are those that the reader knows. `allowed` are the hints of an operation, without it any hint is.
    """
    for arch, inner in value.sorted():
        if arch not in architectures:
            return f"unallowed key {arch}"
        if (why := no_dictionary(arch, inner)) is not None:
            return why
        assert isinstance(inner, DictAttr)
        for name, hint in inner.sorted():
            if allowed and name not in allowed:
                return f"{name} is not allowed for current Operation"
            if name not in RANGES or name in NEW_HINTS:
                return f"unknown param {name} for {arch}"
            if (why := _old_value_problem(arch, name, hint, architectures)) is not None:
                return why
    return None


def _old_value_problem(arch: str, name: str, hint: Attr, architectures: tuple[str, ...]) -> str | None:
    one = name == "num_cta_in_cga" and arch in SINGLE_CTA and architectures is not FIRST_ARCHITECTURES
    if one and isinstance(hint, IntAttr) and hint.value != 1:
        return f"expected 1 for {arch}.{name}"
    return value_problem(arch, name, hint)


def no_dictionary(arch: str, inner: Attr) -> str | None:
    """Return the error of every reader if the hints of an architecture are not a dictionary."""
    if isinstance(inner, DictAttr):
        return None
    return f"expected dictionary attribute for optimization_hints entry `{arch}` got value={hooks.attr_text(inner)}"
