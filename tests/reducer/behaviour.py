"""Tests that misbehave, for the children of the reducer; they are pickled by name."""

from __future__ import annotations

import os
import time

from tilery.ir import walk
from tilery.reducer import Case


def names(case: Case) -> set[str]:
    return {o.name for o in walk(case.module)}


def wild(case: Case) -> str:
    """Hang on `absi`, die on `negi`, fail on `xori`; what has `addi` is interesting."""
    there = names(case)
    if "absi" in there:
        time.sleep(600)
    if "negi" in there:
        os.abort()
    if "xori" in there:
        raise ValueError("no")
    return "interesting" if "addi" in there else ""
