"""The six kernels of the benchmarks, with their grids, arguments and expected results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


@dataclass
class Sizes:
    """Sizes of the flat arrays, the tables, the square matrices, and of attention."""

    flat: int = 1 << 24
    rows: int = 4096
    columns: int = 1024
    edge: int = 1024
    heads: int = 8
    length: int = 1024
    width: int = 64

    def as_list(self) -> list[int]:
        return [self.flat, self.rows, self.columns, self.edge, self.heads, self.length, self.width]


QUICK = Sizes(flat=1 << 20, rows=256, edge=512, heads=2, length=512)


@dataclass
class Case:
    """A kernel with its grid and arguments; the last argument must end up as `wanted`."""

    name: str
    grid: tuple[int, ...]
    args: list[Any]
    wanted: Callable[[], Any]
    tolerance: float

    @cached_property
    def expected(self) -> Any:
        return self.wanted()

    def check(self, result: Any = None) -> None:
        """Compare a result, or else the last argument, with what is wanted."""
        got = np.asarray(self.args[-1] if result is None else result, np.float64).reshape(self.expected.shape)
        np.testing.assert_allclose(got, self.expected, rtol=self.tolerance, atol=self.tolerance)


def cases(sizes: Sizes) -> list[Case]:
    rng = np.random.default_rng(7)

    def normal(*shape: int) -> Any:
        return rng.standard_normal(shape, np.float32)

    n, rows, columns, edge = sizes.flat, sizes.rows, sizes.columns, sizes.edge
    a, b = normal(n), normal(n)
    x, w, bias = normal(rows, columns), normal(columns), normal(columns)
    p, q = normal(edge, edge), normal(edge, edge)
    heads, length, width = sizes.heads, sizes.length, sizes.width
    query, key, value = (normal(heads, length, width).astype(np.float16) for _ in range(3))

    def flat() -> Any:
        return np.zeros(n, np.float32)

    def table() -> Any:
        return np.zeros((rows, columns), np.float32)

    return [
        Case("vadd", (n // 1024,), [a, b, flat()], lambda: a + b, 1e-6),
        Case("gelu", (n // 1024,), [a, flat()], lambda: gelu(a), 1e-5),
        Case("softmax", (rows,), [x, table()], lambda: softmax(x), 1e-5),
        Case("layernorm", (rows,), [x, w, bias, table()], lambda: layernorm(x, w, bias), 1e-4),
        Case("gemm", (edge // 128, edge // 128), [p, q, np.zeros((edge, edge), np.float32)], lambda: p @ q, 1e-2),
        Case(
            "attention",
            (length // 128, heads),
            [query, key, value, np.zeros_like(query)],
            lambda: attention(query, key, value),
            1e-2,
        ),
    ]


def gelu(x: Any) -> Any:
    x = x.astype(np.float64)
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def softmax(x: Any) -> Any:
    e = np.exp(x.astype(np.float64) - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layernorm(x: Any, w: Any, b: Any) -> Any:
    x = x.astype(np.float64)
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5) * w + b


def attention(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (t.astype(np.float64) for t in (q, k, v))
    return softmax(q @ k.transpose(0, 2, 1) / 8) @ v
