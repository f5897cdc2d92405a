"""The six kernels in other libraries, each as it would be written there; those that are not installed are left out."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[], object]
MALLOC = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "17179869184",
    "MALLOC_TOP_PAD_": "268435456",
}
"""The C library's malloc, told to keep memory: without it torch pays for fresh pages in every call."""


def installed(name: str) -> Any:
    """Return a library, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def torch_functions() -> dict[str, Callable[..., Any]]:
    import torch
    import torch.nn.functional as f

    def gelu(x: Any) -> Any:
        z = 0.7978845608 * (0.044715 * x * x * x + x)
        e = torch.exp(2 * z)
        return 0.5 * x * (1 + (1 - 2 / (e + 1)))

    return {
        "vadd": lambda a, b: a + b,
        "gelu": gelu,
        "softmax": lambda x: torch.softmax(x, -1),
        "layernorm": lambda x, w, b: f.layer_norm(x, (x.shape[1],), w, b),
        "gemm": lambda a, b: a @ b,
        "attention": lambda q, k, v: f.scaled_dot_product_attention(q[None], k[None], v[None]),
    }


def torch_eager(name: str, inputs: list[Any], threads: int) -> Call:
    import torch

    torch.set_num_threads(threads)
    tensors = [torch.from_numpy(x) for x in inputs]
    call = torch_functions()[name]
    return lambda: call(*tensors)


def torch_compiled(name: str, inputs: list[Any], threads: int) -> Call:
    import torch

    torch.set_num_threads(threads)
    tensors = [torch.from_numpy(x) for x in inputs]
    call = torch.compile(torch_functions()[name], dynamic=False)
    call(*tensors)
    return lambda: call(*tensors)


def jax_compiled(name: str, inputs: list[Any], threads: int) -> Call | None:
    if threads != len(os.sched_getaffinity(0)):
        return None  # it always uses all cores
    jax = importlib.import_module("jax")
    jnp = jax.numpy
    functions: dict[str, Callable[..., Any]] = {
        "vadd": lambda a, b: a + b,
        "gelu": lambda x: 0.5 * x * (1 + jnp.tanh(0.7978845608 * (x + 0.044715 * x * x * x))),
        "softmax": lambda x: jax.nn.softmax(x, -1),
        "layernorm": lambda x, w, b: (
            (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b
        ),
        "gemm": lambda a, b: a @ b,
        "attention": lambda q, k, v: jax.nn.softmax(q @ k.transpose(0, 2, 1) / 8, -1) @ v,
    }
    call = jax.jit(functions[name])
    arrays = [jnp.asarray(x) for x in inputs]
    call(*arrays).block_until_ready()
    return lambda: call(*arrays).block_until_ready()


def numba_compiled(name: str, inputs: list[Any], threads: int) -> Call | None:
    numba = importlib.import_module("numba")
    numba.set_num_threads(threads)
    call = _numba_functions(numba).get(name)
    if call is None:
        return None
    out = np.empty_like(inputs[0])

    def run() -> Any:
        call(*inputs, out)
        return out

    run()  # compiles
    return run


def _numba_functions(numba: Any) -> dict[str, Callable[..., Any]]:
    """All but attention: on a CPU, Numba has no 16-bit floats."""
    parallel: Callable[[Callable[..., Any]], Callable[..., Any]] = numba.njit(parallel=True, fastmath=True)

    @parallel
    def vadd(a: Any, b: Any, out: Any) -> None:
        for i in numba.prange(a.size):
            out[i] = a[i] + b[i]

    @parallel
    def gelu(x: Any, out: Any) -> None:
        for i in numba.prange(x.size):
            e = np.exp(np.float32(2) * np.float32(0.7978845608) * (np.float32(0.044715) * x[i] * x[i] * x[i] + x[i]))
            out[i] = np.float32(0.5) * x[i] * (np.float32(2) - np.float32(2) / (e + np.float32(1)))

    @parallel
    def softmax(x: Any, out: Any) -> None:
        for i in numba.prange(x.shape[0]):
            e = np.exp(x[i] - x[i].max())
            out[i] = e / e.sum()

    @parallel
    def layernorm(x: Any, w: Any, b: Any, out: Any) -> None:
        for i in numba.prange(x.shape[0]):
            d = x[i] - x[i].mean()
            out[i] = d / np.sqrt((d * d).mean() + np.float32(1e-5)) * w + b

    @parallel
    def gemm(a: Any, b: Any, out: Any) -> None:
        for i in numba.prange(a.shape[0]):
            for j in range(b.shape[1]):
                out[i, j] = 0
            for k in range(a.shape[1]):
                for j in range(b.shape[1]):
                    out[i, j] += a[i, k] * b[k, j]

    return {"vadd": vadd, "gelu": gelu, "softmax": softmax, "layernorm": layernorm, "gemm": gemm}


def numpy_expression(name: str, inputs: list[Any], threads: int) -> Call:
    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def layernorm(x: Any, w: Any, b: Any) -> Any:
        d = x - x.mean(-1, keepdims=True)
        return d / np.sqrt((d * d).mean(-1, keepdims=True) + np.float32(1e-5)) * w + b

    functions: dict[str, Callable[..., Any]] = {
        "vadd": lambda a, b: a + b,
        "gelu": lambda x: (
            np.float32(0.5) * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x**3)))
        ),
        "softmax": softmax,
        "layernorm": layernorm,
        "gemm": lambda a, b: a @ b,
        "attention": lambda q, k, v: (
            softmax(q.astype(np.float32) @ k.astype(np.float32).transpose(0, 2, 1) / 8) @ v.astype(np.float32)
        ),
    }
    call = functions[name]
    return lambda: call(*inputs)


PEERS: dict[str, tuple[str, Callable[[str, list[Any], int], Call | None]]] = {
    "torch eager": ("torch", torch_eager),
    "torch.compile": ("torch", torch_compiled),
    "JAX": ("jax", jax_compiled),
    "Numba": ("numba", numba_compiled),
    "NumPy": ("numpy", numpy_expression),
}
"""The peers to compare with: the package that each needs, and a function that returns the call to time."""
