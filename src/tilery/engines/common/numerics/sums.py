"""Sums in memory, as atomics of an H200 compute them: rounded to nearest even, one term after the other.

f32 flushes subnormal numbers to zeros of the same sign. In f64 a NaN keeps all its bits.
"""

from __future__ import annotations

import struct
from math import copysign, inf

import numpy as np

from ..tiles import Array, unsigned
from ..watch import check
from .arithmetic import add
from .rounding import BF16, CANONICAL, F32, F64, SMALLEST_NORMAL, widened

LEAST = float(SMALLEST_NORMAL)
OFTEN = 1 << 12
"""Terms to add between two checks of the time limit."""
_F32, _WORD = struct.Struct("<f"), struct.Struct("<I")


def add_floats(old: Array, arg: Array) -> Array:
    """The sums of two arrays."""
    total = add(old, arg, ftz=old.dtype == F32)
    if total.dtype == F64:
        for operand in (old, arg):
            np.copyto(total, operand, where=np.isnan(operand))
    return total


def running_sums(terms: Array) -> Array:
    """Return the running sums, as repeated `add_floats` would.

    NumPy accumulates in order, too, but knows neither bf16 nor f32 without subnormals, and makes other NaNs.
    """
    if terms.dtype == BF16 or (terms.dtype == F32 and _has_subnormals(terms)):
        return _one_by_one(terms)
    totals: Array = np.add.accumulate(terms)
    if terms.dtype == F32 and _has_subnormals(totals):
        return _one_by_one(terms)
    nan = np.isnan(totals[1:])
    if not nan.any():
        return totals
    if terms.dtype != F64:
        unsigned(totals)[1:][nan] = CANONICAL[terms.dtype]
        return totals
    # A NaN term stays until the next one; a NaN before the first comes from opposite infinities.
    last = np.maximum.accumulate(np.where(np.isnan(terms), np.arange(len(terms)), -1))[1:]
    made = add_floats(np.array([inf]), np.array([-inf]))
    totals[1:][nan] = np.where(last[nan] >= 0, unsigned(terms)[last[nan]], unsigned(made)).view(F64)
    return totals


def _has_subnormals(x: Array) -> bool:
    sizes = np.abs(x)
    return bool(((sizes < SMALLEST_NORMAL) & (sizes != 0)).any())


def _one_by_one(terms: Array) -> Array:
    """Add with Python's floats, which are so wide that rounding their sums again is rounding once."""
    out = terms.copy()
    total, *rest = widened(terms).tolist()
    flushes, sums = terms.dtype == F32, []
    for number, term in enumerate(rest):
        if number % OFTEN == 0:
            check()
        total = _rounded(_flushed(total) + _flushed(term) if flushes else total + term, terms.dtype == BF16)
        if total != total:
            break  # it stays NaN
        total = _flushed(total) if flushes else total
        sums.append(total)
    made = np.array(sums, F32)
    out[1 : 1 + len(sums)] = (made.view(np.uint32) >> 16).astype(BF16) if terms.dtype == BF16 else made
    unsigned(out)[1 + len(sums) :] = CANONICAL[terms.dtype]
    return out


def _flushed(x: float) -> float:
    return copysign(0.0, x) if abs(x) < LEAST else x


def _rounded(x: float, short: bool) -> float:
    """Round to f32, or further to bf16."""
    try:
        raw = _F32.pack(x)
    except OverflowError:
        return copysign(inf, x)
    if short and x - x == 0:
        word: int = _WORD.unpack(raw)[0]
        raw = _WORD.pack(word + 0x7FFF + (word >> 16 & 1) & 0xFFFF0000)
    number: float = _F32.unpack(raw)[0]
    return number
