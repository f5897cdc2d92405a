"""What the 13.1 reader demands of optimization hints; from 13.3 on everything is accepted."""

from __future__ import annotations

from ..attrs import Attr, DictAttr, IntAttr
from ..types import I1

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121")
RANGES = {"latency": (1, 10), "occupancy": (1, 32)}


def hints_problem(value: DictAttr) -> str | None:
    """NVIDIA's reason why the 13.1 reader refuses these hints, or None. Entries are looked at by name, as in MLIR."""
    from ..text.attributes import attr_text

    for arch, inner in value.sorted():
        if arch not in ARCHITECTURES:
            return f"unallowed key {arch}"
        if not isinstance(inner, DictAttr):
            return f"expected dictionary attribute for optimization_hints entry `{arch}` got value={attr_text(inner)}"
        for name, hint in inner.sorted():
            if (why := _hint_problem(arch, name, hint)) is not None:
                return why
    return None


def _hint_problem(arch: str, name: str, hint: Attr) -> str | None:
    where = f"{arch}.{name}"
    if name == "allow_tma":
        return None if isinstance(hint, IntAttr) and hint.type is I1 else f"boolean value expected for {where}"
    if name != "num_cta_in_cga" and name not in RANGES:
        return f"unknown param {name} for {arch}"
    if not isinstance(hint, IntAttr):
        return f"integer value expected for {where}"
    if name == "num_cta_in_cga":
        fine = hint.value in (1, 2, 4, 8, 16) and hint.type is not I1
        return None if fine else f"expected power-of-two ≤ 16 for {where}"
    low, high = RANGES[name]
    fine = low <= hint.value <= high
    return None if fine else f"integer value in the range [{low}, {high}] is expected for {where}"
