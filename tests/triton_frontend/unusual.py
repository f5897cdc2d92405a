"""Triton kernels with unusual offsets, masks, loops, constants and functions."""

from __future__ import annotations

import triton
import triton.language as tl

SCALE: tl.constexpr = tl.constexpr(3)
TABLE: tl.constexpr = tl.constexpr((2, 5, 7))


@triton.jit
def backwards(x, out, n, stride, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + (n - 1) + i * stride, mask=i < n, other=0.0), mask=i < n)


@triton.jit
def offsets_in_64_bits(x, out, base, n, B: tl.constexpr):
    i = base + tl.arange(0, B).to(tl.int64)
    mask = i - base < n
    tl.store(out + (i - base), tl.load(x + (i - base), mask=mask, other=1.0) * 2, mask=mask)


@triton.jit
def inner(a, b):
    return a * SCALE + b, a - b


@triton.jit
def outer(a, b):
    p, q = inner(a, b)
    if q.shape[0] > 4:
        p += q
    return p


@triton.jit
def nested_functions(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, outer(v, v * v), mask=i < n)


@triton.heuristics({"EVEN": lambda a: a["n"] % a["B"] == 0, "TWICE": lambda a: a["B"] * 2})
@triton.jit
def heuristics(x, out, n, B: tl.constexpr, EVEN: tl.constexpr, TWICE: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i) if EVEN else tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, v * TWICE, mask=i < n)


@triton.jit
def loops(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in tl.range(0, n, B, num_stages=3, loop_unroll_factor=2):
        total += tl.load(x + k + i, mask=k + i < n, other=0.0)
    for k in tl.range(n - 1, -1, -1, disallow_acc_multi_buffer=True, flatten=True):
        total += k
    for k in tl.static_range(3):
        total += k * TABLE[k]
    tl.store(out + i, total)


@triton.jit
def constant_tuple(x, out, SHAPE: tl.constexpr, MORE: tl.constexpr):
    at = tl.arange(0, SHAPE[0])[:, None] * SHAPE[1] + tl.arange(0, SHAPE[1])[None, :]
    tl.store(out + at, tl.load(x + at) + MORE[1])


@triton.jit
def transposed(x, out, M, N, sm, sn, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (m[:, None] < M) & (n[None, :] < N)
    v = tl.load(x + m[:, None] * sm + n[None, :] * sn, mask=mask, other=-1.0)
    tl.store(out + n[:, None] * M + m[None, :], tl.trans(v), mask=tl.trans(mask))


@triton.jit
def window(x, out, n, low, high, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = (i >= low) & (i < high) & (i < n)
    tl.store(out + i, tl.load(x + i - 1, mask=inside, other=-7.0), mask=i < n)


@triton.jit
def carried_pointers(x, out, n, step, B: tl.constexpr):
    p = x + 16 + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in range(n):
        total += tl.load(p, mask=tl.arange(0, B) < n * 2 - k, other=0.5)
        p += step
    tl.store(out + tl.arange(0, B), total)


@triton.jit
def wraps_and_returns(x, out, a, b, B: tl.constexpr):
    off = (a + tl.arange(0, B)) - b
    tl.store(out + tl.arange(0, B), tl.load(x + off, mask=off < B, other=-1.0))


@triton.jit
def unsigned_mask(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B) - 4
    inside = i.to(tl.uint32) < n.to(tl.uint32)
    tl.store(out + tl.arange(0, B), tl.load(x + i, mask=inside, other=9.0))


@triton.jit
def every_second(x, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + 2 * i, mask=i < n, other=0.0)
    b = tl.load(x + 2 * i + 1, mask=i < n, other=0.0)
    tl.store(out + 2 * i, -b, mask=i < n)
    tl.store(out + 2 * i + 1, a, mask=i < n)


@triton.jit
def in_place(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n, other=0.0) + 1, mask=i < n)
    tl.store(x + n - 1 - i, tl.load(x + i, mask=i < n, other=0.0) * 2, mask=i < n)


@triton.jit
def scalar_masks(x, out, n, flag, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=(i < n) & (flag != 0), other=4.0)
    w = tl.load(x + i, mask=flag > 1, other=5.0)
    tl.store(out + i, v + w, mask=(flag >= 0) & (i < n))


@triton.jit
def modulo(x, out, n, M, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i % M), mask=i < n)


@triton.jit
def three_dimensions(x, out, A, C, BA: tl.constexpr, BB: tl.constexpr, BC: tl.constexpr):
    a, b, c = tl.arange(0, BA)[:, None, None], tl.arange(0, BB)[None, :, None], tl.arange(0, BC)[None, None, :]
    mask = (a < A) & (c < C)
    v = tl.load(x + a * BB * C + b * C + c, mask=mask, other=0.0)
    tl.store(out + a * BB * C + b * C + c, tl.sum(v, 2)[:, :, None] + v, mask=mask)


@triton.jit
def beyond(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i <= n, other=0.0), mask=i < n)


@triton.jit
def guarded_ptx(x, out, B: tl.constexpr):
    i = tl.arange(0, B)
    code: tl.constexpr = "{ .reg .pred p; setp.gt.f32 p, $1, 1.; @p mov.f32 $0, $1; @!p mul.f32 $0, $1, 2.0; }"
    tl.store(out + i, tl.inline_asm_elementwise(code, "=r,r", [tl.load(x + i)], tl.float32, True, 1))
