"""Ten Triton kernels with their launches, for `bench/triton_programs.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def gelu_kernel(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, 0.5 * v * (1 + tl.erf(v * 0.7071067811865476)), mask=i < n)


@triton.jit
def softmax_kernel(x, out, stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def layer_norm_kernel(x, w, b, out, stride, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    mask = i < n
    v = tl.load(x + row * stride + i, mask=mask, other=0.0)
    mean = tl.sum(v, 0) / n
    d = tl.where(mask, v - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    y = d * scale * tl.load(w + i, mask=mask) + tl.load(b + i, mask=mask)
    tl.store(out + row * stride + i, y, mask=mask)


@triton.jit
def cross_entropy_kernel(x, target, out, stride, n, B: tl.constexpr):
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, n, B):
        i = start + tl.arange(0, B)
        v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
        new = tl.maximum(top, tl.max(v, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(v - new), 0)
        top = new
    tl.store(out + row, tl.log(total) + top - tl.load(x + row * stride + tl.load(target + row)))


@triton.jit
def rope_kernel(x, cos, sin, out, rows, half: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0) * B + tl.arange(0, B)[:, None]
    c = tl.arange(0, half)[None, :]
    mask = r < rows
    a = tl.load(x + r * 2 * half + c, mask=mask)
    b = tl.load(x + r * 2 * half + half + c, mask=mask)
    cs, sn = tl.load(cos + r * half + c, mask=mask), tl.load(sin + r * half + c, mask=mask)
    tl.store(out + r * 2 * half + c, a * cs - b * sn, mask=mask)
    tl.store(out + r * 2 * half + half + c, b * cs + a * sn, mask=mask)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        inside = k < K - start
        x = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=(m < M)[:, None] & inside[None, :], other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + n[None, :], mask=inside[:, None] & (n < N)[None, :], other=0.0)
        acc += tl.dot(x, y, input_precision="ieee")
    tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty), mask=(m < M)[:, None] & (n < N)[None, :])


@triton.jit
def attention_kernel(q, k, v, out, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    base = tl.program_id(1) * n * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    x = tl.load(q + base + m[:, None] * D + d[None, :])
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        j = start + tl.arange(0, BN)
        s = tl.dot(x, tl.load(k + base + j[None, :] * D + d[:, None])) * scale
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        shrink = tl.exp(top - new)
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None] + tl.dot(p.to(tl.float16), tl.load(v + base + j[:, None] * D + d[None, :]))
        top = new
    tl.store(out + base + m[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))


@triton.jit
def cumsum_kernel(x, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, B)
    tl.store(out + row * n + i, tl.cumsum(tl.load(x + row * n + i, mask=i < n, other=0.0), 0), mask=i < n)


def cases(device: str) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any], float]]:
    """Yield a name, a function that launches the kernel, one that computes the same with torch, and a tolerance."""
    g = torch.Generator().manual_seed(0)

    def random(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.randn(*shape, generator=g).to(device).to(dtype)

    def empty(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.zeros(*shape, dtype=dtype, device=device)

    n = 1 << 18
    x, y, out = random(n), random(n), empty(n)
    yield "add", lambda: (add_kernel[(n // 1024,)](x, y, out, n, 1024), out)[1], lambda: x + y, 0.0
    gelu = torch.nn.functional.gelu
    yield "gelu", lambda: (gelu_kernel[(n // 1024,)](x, out, n, 1024), out)[1], lambda: gelu(x), 1e-5
    s, so = random(256, 1000), empty(256, 1000)
    yield "softmax", lambda: (softmax_kernel[(256,)](s, so, 1000, 1000, 1024), so)[1], lambda: s.softmax(1), 1e-5
    w, b, lo = random(1000), random(1000), empty(256, 1000)
    norm = torch.nn.functional.layer_norm
    yield (
        "layer norm",
        lambda: (layer_norm_kernel[(256,)](s, w, b, lo, 1000, 1000, 1e-5, 1024), lo)[1],
        lambda: norm(s, (1000,), w, b),
        1e-4,
    )
    logits, target, losses = random(64, 8000), torch.randint(0, 8000, (64,), generator=g).to(device), empty(64)
    entropy = torch.nn.functional.cross_entropy
    yield (
        "cross entropy",
        lambda: (cross_entropy_kernel[(64,)](logits, target, losses, 8000, 8000, 1024), losses)[1],
        lambda: entropy(logits, target, reduction="none"),
        1e-4,
    )
    r, cos, sin, ro = random(2048, 128), random(2048, 64), random(2048, 64), empty(2048, 128)

    def rope() -> Any:
        a, c = r[:, :64], r[:, 64:]
        return torch.cat([a * cos - c * sin, c * cos + a * sin], 1)

    yield "rope", lambda: (rope_kernel[(64,)](r, cos, sin, ro, 2048, 64, 32), ro)[1], rope, 1e-5
    a, c, ac = random(250, 300), random(300, 200), empty(250, 200)
    yield (
        "matmul f32",
        lambda: (matmul_kernel[(4, 4)](a, c, ac, 250, 200, 300, 64, 64, 32), ac)[1],
        lambda: a @ c,
        1e-3,
    )
    ah, ch, ach = a.half(), c.half(), empty(250, 200, dtype=torch.float16)
    yield (
        "matmul f16",
        lambda: (matmul_kernel[(4, 4)](ah, ch, ach, 250, 200, 300, 64, 64, 32), ach)[1],
        lambda: (ah.float() @ ch.float()).half(),
        3e-2,
    )
    q, k, v = (random(4, 256, 64, dtype=torch.float16) for _ in range(3))
    ao = empty(4, 256, 64, dtype=torch.float16)
    attention = torch.nn.functional.scaled_dot_product_attention
    yield (
        "attention",
        lambda: (attention_kernel[(4, 4)](q, k, v, ao, 256, 0.125, 64, 64, 64), ao)[1],
        lambda: attention(q.float(), k.float(), v.float()).half(),
        1e-2,
    )
    co = empty(256, 1000)
    yield "cumsum", lambda: (cumsum_kernel[(256,)](s, co, 1000, 1024), co)[1], lambda: s.cumsum(1), 1e-3
