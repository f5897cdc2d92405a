"""The C++ kernels of the tests, each with a launch and the result that it must have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tilery.cpp import Program, build

HERE = Path(__file__).parent / "sources"
INSTANCES = {
    "views": ("scale<float, 64>", "scale<double, 128>"),
    "reductions": ("running<int>", "running<float>"),
}
FILES = sorted(path.stem for path in HERE.glob("*.cu"))


@cache
def compiled(stem: str) -> Program:
    """A file of kernels; it includes a header that is beside it."""
    return build(HERE / f"{stem}.cu", INSTANCES.get(stem, ()))


@dataclass
class Case:
    """A launch: the kernel, the grid, its arguments, and what each array must hold afterwards (None: anything)."""

    stem: str
    kernel: str
    grid: int | tuple[int, ...]
    arguments: Sequence[Any]
    expected: Sequence[Any]
    printed: str = ""
    close: bool = False
    """Whether the order of float additions is open, so that results are compared up to rounding."""


CASES: dict[str, Callable[[np.random.Generator], Case]] = {}


def case(make: Callable[[np.random.Generator], Case]) -> Callable[[np.random.Generator], Case]:
    CASES[make.__name__] = make
    return make


@case
def add(rng: np.random.Generator) -> Case:
    a, b = rng.random((2, 1000), np.float32)
    return Case("views", "add", 8, [a, b, np.zeros_like(a), 1000], [a, b, a + b])


@case
def scale_float(rng: np.random.Generator) -> Case:
    x = rng.random(1024, np.float32)
    return Case("views", "scale<float, 64>", 16, [x.copy(), 3.0], [x * np.float32(3)])


@case
def scale_double(rng: np.random.Generator) -> Case:
    x = rng.random(1024)
    return Case("views", "scale<double,128>", 8, [x.copy(), 0.1], [x * 0.1])


@case
def transpose(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 100, (32, 64), np.int32)
    out = np.zeros((64, 32), np.int32)
    return Case("views", "shapes::transpose", (2, 2), [x, out, 32, 64], [x, x.T])


@case
def windows(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 100, 64).astype(np.float32)
    sums = [x[at : at + 8].sum() for at in range(0, 64, 4)]
    return Case("views", "windows", 16, [x, np.zeros(16, np.float32)], [x, np.array(sums, np.float32)])


@case
def rows(rng: np.random.Generator) -> Case:
    x, which = rng.random((32, 16), np.float32), rng.permutation(32)[:8].astype(np.int32)
    return Case("views", "rows", 2, [x, which, np.zeros((8, 16), np.float32)], [x, which, x[which]])


@case
def gemm(rng: np.random.Generator) -> Case:
    a, b = rng.standard_normal((50, 70)).astype(np.float16), rng.standard_normal((70, 90)).astype(np.float16)
    c = np.zeros((50, 90), np.float32)
    product = a.astype(np.float32) @ b.astype(np.float32)
    return Case("matrix", "gemm", (2, 3), [a, b, c, 50, 90, 70], [a, b, product], close=True)


@case
def gemm_of_bytes(rng: np.random.Generator) -> Case:
    a, b = rng.integers(-128, 128, (16, 32), np.int8), rng.integers(-128, 128, (32, 16), np.int8)
    return Case("matrix", "bytes", 1, [a, b, np.zeros((16, 16), np.int32)], [a, b, a.astype(int) @ b.astype(int)])


@case
def softmax(rng: np.random.Generator) -> Case:
    x = rng.standard_normal((8, 64)).astype(np.float32)
    e = np.exp(x - x.max(1, keepdims=True))
    return Case("reductions", "softmax", 2, [x, np.zeros_like(x), 8], [x, e / e.sum(1, keepdims=True)], close=True)


@case
def position_of_max(rng: np.random.Generator) -> Case:
    x = rng.random((8, 32), np.float32)
    return Case("reductions", "position_of_max", 1, [x, np.zeros(8, np.uint32)], [x, x.argmax(1)])


@case
def running_int(rng: np.random.Generator) -> Case:
    x = rng.integers(-50, 50, 64, np.int32)
    out = [np.zeros_like(x), np.zeros_like(x)]
    return Case("reductions", "running<int>", 1, [x, *out], [x, x.cumsum(), x[::-1].cumsum()[::-1]])


@case
def running_float(rng: np.random.Generator) -> Case:
    x = rng.integers(-50, 50, 64).astype(np.float32)  # whole numbers, whose sums are exact in any order
    out = [np.zeros_like(x), np.zeros_like(x)]
    return Case("reductions", "running<float>", 1, [x, *out], [x, x.cumsum(), x[::-1].cumsum()[::-1]])


@case
def bits(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 1 << 32, 32, np.uint32)
    folded = [f.reduce(x) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)]
    return Case("reductions", "bits", 1, [x, np.zeros(3, np.uint32)], [x, np.array(folded)])


@case
def histogram(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 10, 500, np.int32)
    return Case("atomics", "histogram", 8, [x, np.zeros(10, np.int32), 500], [x, np.bincount(x, minlength=10)])


@case
def total(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 1000, 256).astype(np.float32)
    return Case("atomics", "total", 4, [x, np.zeros(64, np.float32)], [x, x.reshape(4, 64).sum(0)])


@case
def first(rng: np.random.Generator) -> Case:
    return Case("atomics", "first", 1, [np.zeros(1, np.int32), np.full(1, -1, np.int32)], [[1], [0]])


@case
def largest(rng: np.random.Generator) -> Case:
    x = rng.integers(-1000, 1000, 256, np.int32)
    return Case("atomics", "largest", 8, [x, np.full(1, -(1 << 31), np.int32)], [x, [x.max()]])


@case
def collatz(rng: np.random.Generator) -> Case:
    x = rng.integers(1, 200, 12, np.int32)
    return Case("control", "collatz", 12, [x, np.zeros_like(x)], [x, [steps_to_one(int(n)) for n in x]])


def steps_to_one(n: int) -> int:
    count = 0
    while n != 1:
        n, count = (3 * n + 1 if n % 2 else n // 2), count + 1
    return count


@case
def narrow(rng: np.random.Generator) -> Case:
    x = rng.standard_normal(100).astype(np.float32)
    expected = np.where(x < 0, x * np.float32(0.5), x).astype(ml_dtypes.bfloat16)
    return Case("control", "narrow", 4, [x, np.zeros(100, ml_dtypes.bfloat16), 100], [x, expected])


@case
def say(rng: np.random.Generator) -> Case:
    x = np.array([3, -1, 4, 15], np.int32)
    return Case("control", "say", 1, [x], [x], "block 0\n[3, -1, 4, 15]\n")


@case
def halves(rng: np.random.Generator) -> Case:
    x = rng.integers(0, 99, 16, np.int32)
    return Case("control", "halves", 1, [x, np.zeros_like(x)], [x, np.roll(x, 8)])
