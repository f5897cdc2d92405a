"""The kernels of the benchmarks on a GPU, on shapes that fill no tile, with guard values around every array.

Guards before the first input element, after the last and between rows are NaN (-1 in integers): a result that depends
on one of them is wrong. All guards and all inputs must be the same after the launch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import checkout
import tilery
from tilery.attrs import DivBy
from tilery.ir import Value
from tilery.ops import Assume, Module
from tilery.rewrite.editing import replace

FOLDER = checkout.ROOT / "bench" / "kernels"
MARGIN = 4096
"""Bytes of guard values before and after an array."""
LAYOUTS = ("aligned", "odd")
"""Rows that begin at multiples of 16 elements, which tensor maps can describe, and rows that begin anywhere."""
SEEDS = 4

F32, F16, I8, I32 = (np.dtype(t) for t in (np.float32, np.float16, np.int8, np.int32))
BF16 = np.dtype(np.uint16)
"""The bits of bf16 numbers, which NumPy does not have."""
Arrays = list[tuple[tuple[int, ...], np.dtype[Any]]]


@dataclass(frozen=True)
class Kernel:
    """A kernel: its grid and the shapes of its arrays for random numbers, and how much the results may differ.

    The last array is written; `padding` is what views read outside of arrays, `tolerance` None for equal bits.
    """

    name: str
    shapes: Callable[[Callable[[int, int], int]], tuple[tuple[int, ...], Arrays]]
    padding: str = "zero"
    tolerance: float | None = None
    file: str = ""
    adds: bool = False
    """Whether the kernel adds to what the last array holds."""

    def module(self) -> Module:
        text = (FOLDER / (self.file or f"{self.name}.mlir")).read_text("utf-8")
        padded = rf"\1, padding_value = {self.padding}, tensor_view"
        return tilery.parse(re.sub(r"(partition_view<tile=\([\dx]+\)), tensor_view", padded, text))


def _flat(arrays: int) -> Callable[[Any], tuple[tuple[int, ...], Arrays]]:
    def shapes(draw: Any) -> tuple[tuple[int, ...], Arrays]:
        n = draw(1, 9000)
        return (-(-n // 1024),), [((n,), F32)] * arrays

    return shapes


def _rows(draw: Any) -> tuple[tuple[int, ...], Arrays]:
    rows, columns = draw(1, 70), draw(1, 1023)
    return (rows,), [((rows, columns), F32)] * 2


def _norm(draw: Any) -> tuple[tuple[int, ...], Arrays]:
    grid, (table, _) = _rows(draw)
    return grid, [table, ((table[0][1],), F32), ((table[0][1],), F32), table]


def _product(tile: tuple[int, int], *types: np.dtype[Any]) -> Callable[[Any], tuple[tuple[int, ...], Arrays]]:
    def shapes(draw: Any) -> tuple[tuple[int, ...], Arrays]:
        m, n, k = draw(1, 400), draw(1, 400), draw(1, 300)
        shapes = ((m, k), (k, n), (m, n))
        return (-(-m // tile[0]), -(-n // tile[1])), list(zip(shapes, types))

    return shapes


def _grouped(draw: Any) -> tuple[tuple[int, ...], Arrays]:
    g, m, n, k = draw(1, 4), draw(1, 200), draw(1, 200), draw(1, 150)
    return (5,), [((g, m, k), F32), ((g, k, n), F32), ((g, m, n), F32)]


def _attention(draw: Any) -> tuple[tuple[int, ...], Arrays]:
    heads, length, width = draw(1, 3), draw(1, 400), draw(1, 64)
    return (-(-length // 128), heads), [((heads, length, width), F16)] * 4


def _transpose(draw: Any) -> tuple[tuple[int, ...], Arrays]:
    m, n = draw(1, 300), draw(1, 300)
    return (-(-m // 64), -(-n // 64)), [((m, n), F32), ((n, m), F32)]


def _histogram(draw: Any) -> tuple[tuple[int, ...], Arrays]:
    n = draw(1, 9000)
    return (-(-n // 1024),), [((n,), I32), ((draw(1, 300),), I32)]


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("vadd", _flat(3)),
        Kernel("gelu", _flat(2), tolerance=1e-5),
        Kernel("softmax", _rows, "neg_inf", 1e-5),
        Kernel("layernorm", _norm, tolerance=1e-4),
        Kernel("gemm", _product((128, 128), F32, F32, F32), tolerance=1e-4),
        Kernel("attention", _attention, tolerance=1e-2),
        Kernel("transpose", _transpose, file="more/transpose.mlir"),
        Kernel("bf16_gemm", _product((128, 128), BF16, BF16, BF16), tolerance=2e-2, file="more/gemm.mlir"),
        Kernel("int_gemm", _product((128, 128), I8, I8, I32), file="more/int_gemm.mlir"),
        Kernel("grouped_gemm", _grouped, tolerance=1e-4, file="more/grouped_gemm.mlir"),
        Kernel("histogram", _histogram, file="more/histogram.mlir", adds=True),
    )
}


def case_names(seeds: int = SEEDS) -> list[str]:
    """Return the cases, KERNEL:LAYOUT:SEED."""
    return [f"{name}:{layout}:{seed}" for name in KERNELS for layout in LAYOUTS for seed in range(seeds)]


# ---------------------------------------------------------------- arrays with guards


class Guarded:
    """An array on a GPU with guards around it and between its rows, with the content of an array of NumPy."""

    def __init__(self, driver: Any, content: Any, layout: str, guard: int) -> None:
        self.driver, self.shape, self.dtype = driver, content.shape, content.dtype
        item = self.dtype.itemsize
        row = content.shape[-1]
        pitch = row + 16 + -row % 16 if layout == "aligned" else row + 3 - row % 2
        self.pitch = pitch if content.ndim > 1 else row
        rows = int(np.prod(content.shape[:-1], dtype=int))
        self.start = MARGIN + (0 if layout == "aligned" else item)
        size = self.start + rows * self.pitch * item + MARGIN
        self.initial = np.full(-(-size // 16) * 16, guard, np.uint8)
        self._elements(self.initial)[...] = content
        self.base = driver.allocate(self.initial.size)
        driver.copy_in(self.base, self.initial.ctypes.data, self.initial.size)

    def _elements(self, memory: Any) -> Any:
        rows = int(np.prod(self.shape[:-1], dtype=int))
        body = memory[self.start : self.start + rows * self.pitch * self.dtype.itemsize].view(self.dtype)
        return body.reshape(*self.shape[:-1], self.pitch)[..., : self.shape[-1]]

    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in elements."""
        found, step = [1], self.pitch
        for extent in reversed(self.shape[:-1]):
            found.append(step)
            step *= extent
        return tuple(reversed(found[: len(self.shape)]))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        item = self.dtype.itemsize
        return {
            "data": (self.base + self.start, False),
            "shape": self.shape,
            "strides": tuple(s * item for s in self.strides),
            "typestr": f"<u{item}" if item > 1 else "|u1",
            "version": 3,
        }

    def read(self) -> tuple[Any, str]:
        """Return the elements, and what has changed around them."""
        memory = np.empty_like(self.initial)
        self.driver.copy_out(memory.ctypes.data, self.base, memory.size)
        content = self._elements(memory).copy()
        self._elements(memory)[...] = self._elements(self.initial)
        changed = np.flatnonzero(memory != self.initial) - self.start
        if not changed.size:
            return content, ""
        width, row = self.pitch * self.dtype.itemsize, self.shape[-1] * self.dtype.itemsize
        after = changed % width - row
        if changed.min() < 0 or after.min() < 0:
            return content, f"{changed.size} bytes written outside"
        chunks = "" if after.max() >= -row % 16 else ", all in the last 16 bytes of a row"
        return (
            content,
            f"{changed.size} bytes written outside, at most {after.max() + 1} after the end of a row{chunks}",
        )

    def free(self) -> None:
        self.driver.free(self.base)


def keep_true_promises(module: Module, words: Sequence[int]) -> int:
    """Remove promises of divisibility that do not hold for these arguments; return how many are left."""
    entry = module.entries[0]
    index = {param: number for number, param in enumerate(entry.body.args)}

    def root(value: Value) -> Value:
        while isinstance(value.owner, Assume):
            value = value.owner.value
        return value

    kept = 0
    for o in list(entry.body.ops):
        if isinstance(o, Assume) and isinstance(o.predicate, DivBy):
            if words[index[root(o.value)]] % o.predicate.divisor:
                replace(entry, entry.body, o, [], [o.value])
            else:
                kept += 1
    return kept


# ---------------------------------------------------------------- one case


def content_of(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], limit: int) -> Any:
    if dtype == I8:
        return rng.integers(-128, 128, shape, np.int8)
    if dtype == I32:
        return rng.integers(0, limit, shape, np.int32)
    numbers = rng.standard_normal(shape, np.float32)
    return (numbers.view(np.uint32) >> 16).astype(dtype) if dtype == BF16 else numbers.astype(dtype)


def as_numbers(array: Any) -> Any:
    """Return an array as f64."""
    if array.dtype == BF16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


def run(case: str, load: Callable[[Module], Any], driver: Any) -> str:
    """Run a case on a GPU and on the reference engine; return what is wrong, or nothing."""
    name, layout, seed = case.split(":")
    kernel = KERNELS[name]
    rng = np.random.default_rng([int(seed), *name.encode()])
    grid, shapes = kernel.shapes(lambda low, high: int(rng.integers(low, high, endpoint=True)))
    limit = shapes[-1][0][0]
    contents = [content_of(rng, shape, dtype, limit) for shape, dtype in shapes]
    poison = np.zeros_like(contents[-1])
    if not kernel.adds:
        poison.view(np.uint8)[...] = 0x5A
    contents[-1] = poison
    module = kernel.module()
    arrays = [Guarded(driver, c, layout, 0xFF if c is not poison else 0xA5) for c in contents]
    try:
        words = [w for a in arrays for w in (a.base + a.start, *a.shape, *a.strides)]
        keep_true_promises(module, words)
        wanted = [c.copy() for c in contents]
        tilery.compile(module).launch(grid, wanted, convention="cutile")
        load(module).kernel().launch(grid, arrays, convention="cutile")
        return judge(kernel, arrays, contents, wanted[-1])
    finally:
        for array in arrays:
            array.free()


def judge(kernel: Kernel, arrays: Sequence[Guarded], contents: Sequence[Any], wanted: Any) -> str:
    """Return what is wrong with the arrays after a launch, or nothing."""
    shapes = " ".join("x".join(map(str, a.shape)) for a in arrays)
    for number, (array, before) in enumerate(zip(arrays, contents)):
        found, outside = array.read()
        last = number == len(arrays) - 1
        if outside:
            return f"argument {number} of {shapes}: {outside}"
        if not last and found.tobytes() != before.tobytes():
            return f"argument {number} of {shapes}: an input is changed"
    if kernel.tolerance is None:
        wrong = found.view(f"u{found.dtype.itemsize}") != wanted.view(f"u{wanted.dtype.itemsize}")
    else:
        a, b = as_numbers(found), as_numbers(wanted)
        wrong = ~(np.abs(a - b) <= kernel.tolerance * np.maximum(1, np.abs(b)))
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        return f"{shapes}: {int(wrong.sum())} elements differ, at {at} {found[at]} instead of {wanted[at]}"
    return ""
