"""The functions that define the problems of the catalogue, on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any
"""An array of NumPy, or one whose operations have rounding errors."""


def add(x: Array, y: Array) -> Array:
    return x + y


def axpy(a: float, x: Array, y: Array) -> Array:
    return a * x + y


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def rowsum(x: Array) -> Array:
    return x.sum(axis=-1)


def rmsnorm(x: Array, w: Array) -> Array:
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5) * w


def layernorm(x: Array, w: Array, b: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5) * w + b


def matmul(a: Array, b: Array) -> Array:
    return a @ b


def transpose(x: Array) -> Array:
    return x.T


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def argmax(x: Array) -> Array:
    return np.argmax(x, axis=-1).astype(np.int32)


def rows(table: Array, index: Array) -> Array:
    return table[index]


def total(x: Array) -> Array:
    return x.sum().reshape(1)


def cumsum(x: Array) -> Array:
    return np.add.accumulate(x, axis=-1)


def attention(q: Array, k: Array, v: Array) -> Array:
    s = q @ k.T * 0.25
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p @ v / p.sum(axis=-1, keepdims=True)


def heads(q: Array, k: Array, v: Array) -> Array:
    s = q @ k.swapaxes(-1, -2) * 0.125
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p @ v / p.sum(axis=-1, keepdims=True)


def doubled(x: Array) -> Array:
    return x + x


def bmm(a: Array, b: Array) -> Array:
    return a @ b


def silu(x: Array) -> Array:
    n = x.shape[1] // 2
    return x[:, :n] / (1 + np.exp(-x[:, :n])) * x[:, n:]


def histogram(x: Array) -> Array:
    return np.bincount(x, minlength=16).astype(np.int32)


def quantized(a: Array, b: Array) -> Array:
    return a.astype(np.int32) @ b.astype(np.int32)


def conv(x: Array, w: Array) -> Array:
    n = x.shape[0]
    wide = np.concatenate([np.zeros(2), x, np.zeros(2)])
    return sum(wide[k : k + n] * w[k] for k in range(5))


def variance(x: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    return (centred * centred).mean(axis=-1)


def logsumexp(x: Array) -> Array:
    top = x.max(axis=-1, keepdims=True)
    return np.log(np.exp(x - top).sum(axis=-1)) + top[:, 0]


def imax(x: Array, y: Array) -> Array:
    return np.maximum(x, y)
