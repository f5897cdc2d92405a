"""Rung 3 for programs that are equal over the reals: overflow and stability in their own types."""

from __future__ import annotations

import numpy as np

from ..diag import TileError
from ..engines.common.tiles import Array
from .inputs import HARD, draw
from .programs import Comparison
from .running.runner import run_own

FAR = 0.05
"""Programs that are equal should not differ by more than this, relative to the largest value, on any inputs."""


def probe(case: Comparison, seed: int = 31) -> list[str]:
    """Run both programs in their own types on inputs that overflow in careless ones; return what was noticed."""
    found: dict[str, list[str]] = {}
    for number, (kind, how) in enumerate(HARD.items()):
        reals = draw(case, how, seed + number)
        if not any(np.size(a) > 1 for a in reals.values()):
            break
        try:
            with np.errstate(all="ignore"):
                a, b = (run_own(case, side, reals) for side in "ab")
        except TileError as error:
            return [f"stability: not probed: {error.message}"]
        for name in case.outs:
            if case.buffers[name].is_float and (said := _noticed(a[name], b[name])):
                found.setdefault(f"{name} {said}", []).append(f"'{kind}'")
    return [f"stability: {said}, on inputs of kind {', '.join(kinds)}" for said, kinds in found.items()]


def _noticed(x: Array, y: Array) -> str:
    fx, fy = np.isfinite(x), np.isfinite(y)
    if (fx != fy).any():
        who = " and ".join(w for w, found in (("A", fx & ~fy), ("B", fy & ~fx)) if found.any())
        return f"is finite in {who} only"
    both = fx & fy
    largest = float(np.abs(x[both]).max(initial=0.0))
    distance = float(np.abs(x[both] - y[both]).max(initial=0.0))
    return f"differs by more than {FAR:.0%} of its largest value" if largest and distance > FAR * largest else ""
