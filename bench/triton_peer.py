"""The six kernels of bench/run.py in Triton, timed in its interpreter.

bench/run.py runs this file and passes the sizes in the variable SIZES. Prints one JSON object, milliseconds by kernel.
Results are checked against torch.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl


@triton.jit
def vadd_kernel(a, b, c, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(c + i, tl.load(a + i) + tl.load(b + i))


@triton.jit
def gelu_kernel(x, y, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    t = tl.load(x + i)
    inner = 0.7978845608 * (t + 0.044715 * t * t * t)
    e = tl.exp(2.0 * inner)
    th = 1.0 - 2.0 / (e + 1.0)
    tl.store(y + i, 0.5 * t * (1.0 + th))


@triton.jit
def softmax_kernel(x, y, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)
    t = tl.load(x + i)
    e = tl.exp(t - tl.max(t, 0))
    tl.store(y + i, e / tl.sum(e, 0))


@triton.jit
def layernorm_kernel(x, w, b, y, TILE: tl.constexpr):
    column = tl.arange(0, TILE)
    i = tl.program_id(0) * TILE + column
    t = tl.load(x + i)
    d = t - tl.sum(t, 0) / TILE
    var = tl.sum(d * d, 0) / TILE
    tl.store(y + i, d * tl.rsqrt(var + 1e-5) * tl.load(w + column) + tl.load(b + column))


@triton.jit
def gemm_kernel(a, b, c, M, N, K, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    m = tl.program_id(0) * TM + tl.arange(0, TM)
    n = tl.program_id(1) * TN + tl.arange(0, TN)
    acc = tl.zeros((TM, TN), tl.float32)
    for k in range(0, K, TK):
        kk = k + tl.arange(0, TK)
        x = tl.load(a + m[:, None] * K + kk[None, :])
        y = tl.load(b + kk[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)


@triton.jit
def attention_kernel(Q, K, V, out, L, D: tl.constexpr, TM: tl.constexpr, TN: tl.constexpr):
    start = tl.program_id(1) * L * D
    m = tl.program_id(0) * TM + tl.arange(0, TM)
    d = tl.arange(0, D)
    q = tl.load(Q + start + m[:, None] * D + d[None, :])
    top = tl.full((TM,), float("-inf"), tl.float32)
    total = tl.zeros((TM,), tl.float32)
    acc = tl.zeros((TM, D), tl.float32)
    for j in range(0, L, TN):
        n = j + tl.arange(0, TN)
        k = tl.load(K + start + n[:, None] * D + d[None, :])
        s = tl.dot(q, tl.trans(k)) * 0.180336878
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(top - new)
        total = total * alpha + tl.sum(p, 1)
        v = tl.load(V + start + n[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        top = new
    tl.store(out + start + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


def cases(sizes: list[int]) -> dict[str, tuple[Callable[[], object], Callable[[], tuple[Any, Any]]]]:
    """Return for each kernel a launch, and a function that returns the actual and the expected tensor."""
    n, rows, columns, edge, heads, length, dim = sizes
    torch.manual_seed(7)
    a, b, c = torch.randn(n), torch.randn(n), torch.empty(n)
    x, y = torch.randn(rows, columns), torch.empty(rows, columns)
    w, bias = torch.randn(columns), torch.randn(columns)
    p, q, r = torch.randn(edge, edge), torch.randn(edge, edge), torch.empty(edge, edge)
    Q, K, V = (torch.randn(heads, length, dim, dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(Q)
    f = torch.nn.functional
    return {
        "vadd": (lambda: vadd_kernel[(n // 1024,)](a, b, c, TILE=1024), lambda: (c, a + b)),
        "gelu": (lambda: gelu_kernel[(n // 1024,)](a, c, TILE=1024), lambda: (c, f.gelu(a, approximate="tanh"))),
        "softmax": (lambda: softmax_kernel[(rows,)](x, y, TILE=columns), lambda: (y, torch.softmax(x, 1))),
        "layernorm": (
            lambda: layernorm_kernel[(rows,)](x, w, bias, y, TILE=columns),
            lambda: (y, f.layer_norm(x, (columns,), w, bias)),
        ),
        "gemm": (
            lambda: gemm_kernel[(edge // 128, edge // 128)](p, q, r, edge, edge, edge, TM=128, TN=128, TK=32),
            lambda: (r, p @ q),
        ),
        "attention": (
            lambda: attention_kernel[(length // 128, heads)](Q, K, V, out, length, D=dim, TM=128, TN=64),
            lambda: (out, f.scaled_dot_product_attention(Q[None], K[None], V[None], scale=0.125)[0]),
        ),
    }


def main() -> None:
    sizes = json.loads(os.environ["SIZES"])
    times = {}
    for name, (launch, check) in cases(sizes).items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        start = time.perf_counter()
        launch()
        times[name] = (time.perf_counter() - start) * 1e3
        got, wanted = check()
        torch.testing.assert_close(got, wanted, rtol=1e-2, atol=1e-2)
    print(json.dumps({"triton": triton.__version__, "torch": torch.__version__, "ms": times}))


if __name__ == "__main__":
    main()
