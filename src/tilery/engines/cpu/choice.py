"""Which of two emitters compiles a kernel: by way of the loop IR, or the older one until loops are as fast.

A kernel belongs to the first class of `CLASSES` that it fits. Each says why. The environment variable
`TILERY_CPU_EMITTER` (`loops` or `old`) overrules the choice, for comparisons.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from ...ir import walk
from ...ops import Entry, LoadPtrTko, MmaF, MmaI, Permute, Scan, StorePtrTko
from ...types import BF16
from .abi import Target
from .tiles import element, is_scalar

VARIABLE = "TILERY_CPU_EMITTER"
LOOPS, OLD = "loops", "old"


@dataclass(frozen=True, slots=True)
class Class:
    """Kernels that one emitter is better at, with the measured reason."""

    name: str
    emitter: str
    reason: str
    fits: Callable[[Entry, Target], bool]


def _multiplies_integers(entry: Entry, target: Target) -> bool:
    return any(isinstance(o, MmaI) for o in walk(entry))


def _has_pairs(entry: Entry, target: Target) -> bool:
    return "avx512bf16" in target.features and any(isinstance(o, MmaF) and element(o.lhs) is BF16 for o in walk(entry))


def _has_tiles_of_pointers(entry: Entry, target: Target) -> bool:
    accesses = (o for o in walk(entry) if isinstance(o, (LoadPtrTko, StorePtrTko)))
    return any(not is_scalar(o.operands[0]) for o in accesses)


CLASSES = (
    Class(
        "loads and stores through tiles of pointers",
        OLD,
        "The older one finds rows of neighbours once for a tile: copying 64 elements by loops takes 1.4 times as long.",
        _has_tiles_of_pointers,
    ),
    Class(
        "scans",
        OLD,
        "The older one scans a row in registers: a cumulative sum of 1,000 numbers by loops takes 4.7 times as long.",
        lambda entry, target: any(isinstance(o, Scan) for o in walk(entry)),
    ),
    Class(
        "tiles that are turned around",
        OLD,
        "The older one turns squares in registers: a transposition of 4096 x 4096 by loops takes 3.2 times as long.",
        lambda entry, target: any(isinstance(o, Permute) for o in walk(entry)),
    ),
    Class(
        "products of 8-bit integers",
        LOOPS,
        "Loops use the same instructions for bytes, and copy less around tile registers: 0.6 to 1.04 times the time.",
        _multiplies_integers,
    ),
    Class(
        "products of bf16 on processors with instructions for them",
        LOOPS,
        "Loops use the same instructions, and copy less around tile registers: 0.7 to 1.02 times the time.",
        _has_pairs,
    ),
    Class(
        "all other kernels",
        OLD,
        "Loops take as long on most kernels of docs/reports/lab/emitters.md, and up to 1.7 times as long on some that "
        "were held out; they also take longer to lower.",
        lambda entry, target: True,
    ),
)


def emitter_of(entry: Entry, target: Target) -> str:
    """Return the emitter of a kernel."""
    asked = os.environ.get(VARIABLE)
    if asked in (LOOPS, OLD):
        return asked
    return next(each.emitter for each in CLASSES if each.fits(entry, target))
