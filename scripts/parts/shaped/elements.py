"""Element types as arrays of unsigned integers, so that no package is needed for the types that NumPy lacks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tilery.engines.common.arguments import scalar_bytes
from tilery.types import Scalar

Array = Any
BYTES = {
    "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8,
    "f16": 2, "bf16": 2, "f32": 4, "tf32": 4, "f64": 8, "f8E4M3FN": 1, "f8E5M2": 1, "f8E8M0FNU": 1,
}  # fmt: skip
INTEGERS = ("i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
"""The floats that have arithmetic."""
NATIVE = {"f16": np.float16, "f32": np.float32, "tf32": np.float32, "f64": np.float64}


def is_float(element: str) -> bool:
    return element[0] != "i"


def encode(element: str, numbers: Array) -> Array:
    """Return the bits of numbers as an array of unsigned integers.

    >>> encode("bf16", np.array([1.0])).tolist() == [0x3F80], encode("i8", np.array([-1])).tolist()
    (True, [255])
    """
    unsigned = np.dtype(f"u{BYTES[element]}")
    if element == "i1":
        return (np.asarray(numbers).astype(np.int64) & 1).astype(unsigned)
    if not is_float(element):
        return np.asarray(numbers).astype(np.int64).astype(unsigned)
    if element in NATIVE:
        return np.asarray(numbers).astype(NATIVE[element]).view(unsigned)
    if element == "bf16":
        return (np.asarray(numbers).astype(np.float32).view(np.uint32) >> 16).astype(unsigned)
    numbers = np.asarray(numbers, np.float64)
    values, places = np.unique(numbers, return_inverse=True)
    return np.array([_narrow(element, float(v)) for v in values], unsigned)[places].reshape(numbers.shape)


@lru_cache(maxsize=4096)
def _narrow(element: str, number: float) -> int:
    return int.from_bytes(scalar_bytes("number", Scalar(element), number), "little")


def decode(element: str, bits: Array) -> Array:
    """Return the numbers of f16, f32 and f64, which are the results of products."""
    return bits.view(NATIVE[element]).astype(np.float64)
