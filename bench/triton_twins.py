"""Ten kernels that are written twice, in Triton and in cuTile, for `bench/triton_programs.py`."""

from __future__ import annotations

import random

NAMES = (
    *("vector add", "softmax", "layer norm", "layer norm backward", "matmul"),
    *("attention", "rms norm", "cross entropy", "swiglu", "dropout"),
)
HELD_OUT = tuple(sorted(random.Random(1117).sample(sorted(NAMES), 4)))
"""Kernels that are only run to report: no rule is written for them, and their code is not looked at."""
