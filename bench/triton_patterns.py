"""Twelve ways to address memory, each written in Triton and in cuTile, for `bench/triton_programs.py`.

They are patterns of published kernels whose tiles of pointers are not affine, or not over the whole tile. The cuTile
twin does the same work as a cuTile program does it: through a view where there is one, else by a gather.
"""

from __future__ import annotations

# kernels have no annotations but those of their language
# mypy: ignore-errors
from collections.abc import Iterator
from typing import Any

import cuda.tile as ct
import torch
import triton
import triton.language as tl

from triton_twins import INT, ZERO, Made, Twin, cutile, normal

PATTERNS = (
    *("index rows", "batched matmul", "modulo wrap", "grouped matmul", "causal conv", "rope interleaved"),
    *("transpose", "block sparse", "paged attention", "reversed", "expert rows", "linear, transposed weight"),
)
KNOWN_PATTERNS = ("index rows", "batched matmul", "modulo wrap")
"""The others are held out: they are only run to report, no rule is written for them."""

FIRST_LOOK = {
    "matmul": 15.42,
    "index rows": 0.83,
    "batched matmul": 13.43,
    "modulo wrap": 0.84,
    "grouped matmul": 21.88,
    "causal conv": 0.92,
    "rope interleaved": 0.95,
    "transpose": 2.42,
    "block sparse": 1.5,
    "paged attention": 0.34,
    "reversed": 0.92,
    "expert rows": 14.95,
    "linear, transposed weight": 3.8,
}
"""The time in compiled code by that of the cuTile twin, before the first rule for such patterns."""


def patterns() -> Iterator[Twin]:
    """Yield what `triton_twins.twins` yields."""
    for name, make in zip(
        PATTERNS,
        (
            *(index_rows, batched_matmul, modulo_wrap, grouped_matmul, causal_conv, rope_interleaved),
            *(transpose, block_sparse, paged_attention, in_reverse, expert_rows, linear),
        ),
    ):
        yield name, *make(torch.Generator().manual_seed(0))


# ---------------------------------------------------------------- index rows


@triton.jit
def index_rows_triton(x, index, out, n_rows, n_cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_R + tl.arange(0, BLOCK_R)
    cols = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (rows < n_rows)[:, None] & (cols < n_cols)[None, :]
    at = tl.load(index + rows, mask=rows < n_rows, other=0)
    taken = tl.load(x + at[:, None] * n_cols + cols[None, :], mask=mask)
    tl.store(out + rows[:, None] * n_cols + cols[None, :], taken, mask=mask)


@ct.kernel
def index_rows_cutile(x, index, out, BLOCK_R: INT, BLOCK_C: INT):
    i, j = ct.bid(0), ct.bid(1)
    at = ct.load(index, (i,), (BLOCK_R,), padding_mode=ZERO)
    cols = j * BLOCK_C + ct.arange(BLOCK_C, dtype=ct.int64)
    taken = ct.gather(x, (ct.expand_dims(at, 1), ct.expand_dims(cols, 0)))
    ct.store(out, (i, j), taken)


def index_rows(g: Any) -> Made:
    rows, n, taken = 1000, 500, 700
    x = normal(g, rows, n)
    index = torch.randint(0, rows, (taken,), generator=g).to("cuda")
    out = torch.empty(taken, n, device="cuda")
    grid = (triton.cdiv(taken, 32), triton.cdiv(n, 128))
    return (
        lambda: (index_rows_triton[grid](x, index, out, taken, n, 32, 128), out)[1],
        lambda: (cutile(grid, index_rows_cutile, x, index, out, 32, 128), out)[1],
        lambda: x[index],
        0.0,
    )


# ---------------------------------------------------------------- batched matmul


@triton.jit
def batched_triton(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_ab, stride_am, stride_bb, stride_bk, stride_cb, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(2)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + batch * stride_ab + (offs_m % M)[:, None] * stride_am + offs_k[None, :]
    b_ptrs = b_ptr + batch * stride_bb + offs_k[:, None] * stride_bk + (offs_n % N)[None, :]
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k, other=0.0)
        accumulator += tl.dot(a, b, input_precision="ieee")
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * stride_bk
    c_ptrs = c_ptr + batch * stride_cb + offs_m[:, None] * stride_cm + offs_n[None, :]
    tl.store(c_ptrs, accumulator, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


@ct.kernel
def batched_cutile(a, b, c, BLOCK_M: INT, BLOCK_N: INT, BLOCK_K: INT):
    i, j, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    accumulator = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
    zero = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, BLOCK_M, BLOCK_K))):
        x = ct.reshape(ct.load(a, (batch, i, k), (1, BLOCK_M, BLOCK_K), padding_mode=ZERO), (BLOCK_M, BLOCK_K))
        y = ct.reshape(ct.load(b, (batch, k, j), (1, BLOCK_K, BLOCK_N), padding_mode=ZERO), (BLOCK_K, BLOCK_N))
        accumulator += ct.mma(x, y, zero)
    ct.store(c, (batch, i, j), ct.reshape(accumulator, (1, BLOCK_M, BLOCK_N)))


def batched_matmul(g: Any) -> Made:
    batches, M, N, K = 6, 150, 200, 130
    a, b = normal(g, batches, M, K), normal(g, batches, K, N)
    c = torch.empty(batches, M, N, device="cuda")
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64), batches)
    strides = (M * K, K, K * N, N, M * N, N)
    return (
        lambda: (batched_triton[grid](a, b, c, M, N, K, *strides, 32, 64, 32), c)[1],
        lambda: (cutile(grid, batched_cutile, a, b, c, 32, 64, 32), c)[1],
        lambda: a @ b,
        1e-3,
    )


# ---------------------------------------------------------------- modulo wrap


@triton.jit
def roll_triton(x, out, n, shift, BLOCK_SIZE: tl.constexpr):
    at = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    tl.store(out + at, tl.load(x + (at + shift) % n, mask=at < n), mask=at < n)


@ct.kernel
def roll_cutile(x, out, shift: int, BLOCK_SIZE: INT):
    i = ct.bid(0)
    at = i * BLOCK_SIZE + ct.arange(BLOCK_SIZE, dtype=ct.int32)
    ct.store(out, (i,), ct.gather(x, (at + shift) % x.shape[0]))


def modulo_wrap(g: Any) -> Made:
    n, shift = 500_003, 123_457
    x = normal(g, n)
    out = torch.empty_like(x)
    grid = (triton.cdiv(n, 1024),)
    return (
        lambda: (roll_triton[grid](x, out, n, shift, 1024), out)[1],
        lambda: (cutile(grid, roll_cutile, x, out, shift, 1024), out)[1],
        lambda: torch.roll(x, -shift),
        0.0,
    )


# ---------------------------------------------------------------- grouped matmul


@triton.jit
def grouped_triton(
    a_ptr, b_ptr, c_ptr, starts, N, K, GROUPS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    program = tl.program_id(0)
    tiles_n = tl.cdiv(N, BLOCK_N)
    end = 0
    for group in range(GROUPS):
        first = tl.load(starts + group)
        rows = tl.load(starts + group + 1) - first
        tiles = tl.cdiv(rows, BLOCK_M) * tiles_n
        while program >= end and program < end + tiles:
            tile = program - end
            offs_m = tile // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
            offs_n = tile % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
            offs_k = tl.arange(0, BLOCK_K)
            a_ptrs = a_ptr + (first + offs_m % rows)[:, None] * K + offs_k[None, :]
            b_ptrs = b_ptr + group * K * N + offs_k[:, None] * N + (offs_n % N)[None, :]
            accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for k in range(0, K, BLOCK_K):
                a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k, other=0.0)
                b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k, other=0.0)
                accumulator = tl.dot(a, b, accumulator)
                a_ptrs += BLOCK_K
                b_ptrs += BLOCK_K * N
            inside = (offs_m < rows)[:, None] & (offs_n < N)[None, :]
            c_ptrs = c_ptr + (first + offs_m)[:, None] * N + offs_n[None, :]
            tl.store(c_ptrs, accumulator.to(tl.float16), mask=inside)
            program += tl.num_programs(0)
        end += tiles


@ct.kernel
def grouped_cutile(a, b, c, starts, GROUPS: INT, BLOCK_M: INT, BLOCK_N: INT, BLOCK_K: INT):
    program = ct.bid(0)
    N, K = b.shape[2], b.shape[1]
    tiles_n = ct.cdiv(N, BLOCK_N)
    end = 0
    for group in range(GROUPS):
        first = ct.load(starts, (group,), (1,)).item()
        rows = ct.load(starts, (group + 1,), (1,)).item() - first
        tiles = ct.cdiv(rows, BLOCK_M) * tiles_n
        part, whole = a.slice(axis=0, start=first, stop=first + rows), c.slice(axis=0, start=first, stop=first + rows)
        while program >= end and program < end + tiles:
            tile = program - end
            i, j = tile // tiles_n, tile % tiles_n
            accumulator = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
            for k in range(ct.cdiv(K, BLOCK_K)):
                x = ct.load(part, (i, k), (BLOCK_M, BLOCK_K), padding_mode=ZERO)
                y = ct.load(b, (group, k, j), (1, BLOCK_K, BLOCK_N), padding_mode=ZERO)
                accumulator = ct.mma(x, ct.reshape(y, (BLOCK_K, BLOCK_N)), accumulator)
            ct.store(whole, (i, j), accumulator.astype(ct.float16))
            program += ct.num_blocks(0)
        end += tiles


def grouped_matmul(g: Any) -> Made:
    sizes, N, K = (100, 37, 150, 64), 200, 150
    starts = torch.tensor([0, *torch.tensor(sizes).cumsum(0).tolist()], dtype=torch.int32, device="cuda")
    a = normal(g, sum(sizes), K, dtype=torch.float16)
    b = normal(g, len(sizes), K, N, dtype=torch.float16)
    c = torch.empty(sum(sizes), N, dtype=torch.float16, device="cuda")
    blocks = (32, 64, 32)

    def with_torch() -> Any:
        return torch.cat([(x.float() @ y.float()).half() for x, y in zip(a.split(sizes), b)])

    return (
        lambda: (grouped_triton[(8,)](a, b, c, starts, N, K, len(sizes), *blocks), c)[1],
        lambda: (cutile((8,), grouped_cutile, a, b, c, starts, len(sizes), *blocks), c)[1],
        with_torch,
        3e-2,
    )


# ---------------------------------------------------------------- causal conv


@triton.jit
def conv_triton(x, w, b, out, length, channels, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr, WIDTH: tl.constexpr):
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    t = tl.program_id(1) * BLOCK_T + tl.arange(0, BLOCK_T)
    in_channels = c < channels
    total = tl.zeros((BLOCK_T, BLOCK_C), dtype=tl.float32) + tl.load(b + c, mask=in_channels, other=0.0)[None, :]
    for i in tl.static_range(WIDTH):
        at = t + (i - WIDTH + 1)
        inside = ((at >= 0) & (at < length))[:, None] & in_channels[None, :]
        part = tl.load(x + at[:, None] * channels + c[None, :], mask=inside, other=0.0)
        total += part * tl.load(w + c * WIDTH + i, mask=in_channels, other=0.0)[None, :]
    result = total / (1 + tl.exp(-total))
    tl.store(out + t[:, None] * channels + c[None, :], result, mask=(t < length)[:, None] & in_channels[None, :])


@ct.kernel
def conv_cutile(x, w, b, out, BLOCK_T: INT, BLOCK_C: INT, WIDTH: INT):
    j, i = ct.bid(0), ct.bid(1)
    total = ct.zeros((BLOCK_T, BLOCK_C), dtype=ct.float32) + ct.load(b, (j,), (BLOCK_C,), padding_mode=ZERO)
    t = i * BLOCK_T + ct.arange(BLOCK_T, dtype=ct.int32)
    c = j * BLOCK_C + ct.arange(BLOCK_C, dtype=ct.int32)
    for n in ct.static_iter(range(WIDTH)):
        at = ct.expand_dims(t + (n - WIDTH + 1), 1)
        part = ct.gather(x, (at, ct.expand_dims(c, 0)), padding_value=0)
        total += part * ct.reshape(ct.load(w, (j, n), (BLOCK_C, 1), padding_mode=ZERO), (1, BLOCK_C))
    ct.store(out, (i, j), total / (1 + ct.exp(-total)))


def causal_conv(g: Any) -> Made:
    length, channels, width = 700, 300, 4
    x, w, b = normal(g, length, channels), normal(g, channels, width), normal(g, channels)
    out = torch.empty_like(x)
    grid = (triton.cdiv(channels, 64), triton.cdiv(length, 32))

    def with_torch() -> Any:
        padded = torch.nn.functional.pad(x.T[None], (width - 1, 0))
        made = torch.nn.functional.conv1d(padded, w[:, None], b, groups=channels)
        return torch.nn.functional.silu(made)[0].T

    return (
        lambda: (conv_triton[grid](x, w, b, out, length, channels, 32, 64, width), out)[1],
        lambda: (cutile(grid, conv_cutile, x, w, b, out, 32, 64, width), out)[1],
        with_torch,
        1e-4,
    )


# ---------------------------------------------------------------- rope interleaved


@triton.jit
def rope_triton(x, cos, sin, out, heads, HALF: tl.constexpr, BLOCK_H: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    pair = tl.arange(0, HALF)
    mask = (head < heads)[:, None]
    at = (token * heads + head)[:, None] * (2 * HALF) + (2 * pair)[None, :]
    even = tl.load(x + at, mask=mask)
    odd = tl.load(x + at + 1, mask=mask)
    c = tl.load(cos + token * HALF + pair)[None, :]
    s = tl.load(sin + token * HALF + pair)[None, :]
    tl.store(out + at, even * c - odd * s, mask=mask)
    tl.store(out + at + 1, even * s + odd * c, mask=mask)


@ct.kernel
def rope_cutile(x, cos, sin, out, HALF: INT, BLOCK_H: INT):
    token, i = ct.bid(0), ct.bid(1)
    shape = (1, BLOCK_H, HALF, 1)
    even = ct.reshape(ct.load(x, (token, i, 0, 0), shape), (BLOCK_H, HALF))
    odd = ct.reshape(ct.load(x, (token, i, 0, 1), shape), (BLOCK_H, HALF))
    c = ct.load(cos, (token, 0), (1, HALF))
    s = ct.load(sin, (token, 0), (1, HALF))
    ct.store(out, (token, i, 0, 0), ct.reshape(even * c - odd * s, shape))
    ct.store(out, (token, i, 0, 1), ct.reshape(even * s + odd * c, shape))


def rope_interleaved(g: Any) -> Made:
    tokens, heads, half = 100, 20, 64
    x, angle = normal(g, tokens, heads, half, 2), normal(g, tokens, half)
    cos, sin = angle.cos(), angle.sin()
    out = torch.empty_like(x)
    grid = (tokens, triton.cdiv(heads, 16))

    def with_torch() -> Any:
        even, odd, c, s = x[..., 0], x[..., 1], cos[:, None], sin[:, None]
        return torch.stack([even * c - odd * s, even * s + odd * c], -1)

    return (
        lambda: (rope_triton[grid](x, cos, sin, out, heads, half, 16), out)[1],
        lambda: (cutile(grid, rope_cutile, x, cos, sin, out, half, 16), out)[1],
        with_torch,
        1e-5,
    )


# ---------------------------------------------------------------- transpose


@triton.jit
def transpose_triton(x, out, M, N, BLOCK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = tl.load(x + m[:, None] * N + n[None, :], mask=(m < M)[:, None] & (n < N)[None, :])
    tl.store(out + m[:, None] + n[None, :] * M, tile, mask=(m < M)[:, None] & (n < N)[None, :])


@ct.kernel
def transpose_cutile(x, out, BLOCK: INT):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(out, (j, i), ct.transpose(ct.load(x, (i, j), (BLOCK, BLOCK))))


def transpose(g: Any) -> Made:
    M, N = 700, 500
    x = normal(g, M, N)
    out = torch.empty(N, M, device="cuda")
    grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
    return (
        lambda: (transpose_triton[grid](x, out, M, N, 64), out)[1],
        lambda: (cutile(grid, transpose_cutile, x, out, 64), out)[1],
        lambda: x.T.contiguous(),
        0.0,
    )


# ---------------------------------------------------------------- block sparse


@triton.jit
def sparse_triton(blocks, first, columns, b_ptr, c_ptr, N, BLOCK: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    m, k = tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    accumulator = tl.zeros((BLOCK, BLOCK_N), dtype=tl.float32)
    for at in range(tl.load(first + row), tl.load(first + row + 1)):
        column = tl.load(columns + at)
        a = tl.load(blocks + at * BLOCK * BLOCK + m[:, None] * BLOCK + k[None, :])
        b = tl.load(b_ptr + (column * BLOCK + k)[:, None] * N + n[None, :], mask=(n < N)[None, :], other=0.0)
        accumulator = tl.dot(a, b, accumulator)
    c_ptrs = c_ptr + (row * BLOCK + m)[:, None] * N + n[None, :]
    tl.store(c_ptrs, accumulator.to(tl.float16), mask=(n < N)[None, :])


@ct.kernel
def sparse_cutile(blocks, first, columns, b, c, BLOCK: INT, BLOCK_N: INT):
    row, j = ct.bid(0), ct.bid(1)
    accumulator = ct.zeros((BLOCK, BLOCK_N), dtype=ct.float32)
    for at in range(ct.load(first, (row,), (1,)).item(), ct.load(first, (row + 1,), (1,)).item()):
        column = ct.load(columns, (at,), (1,)).item()
        x = ct.reshape(ct.load(blocks, (at, 0, 0), (1, BLOCK, BLOCK)), (BLOCK, BLOCK))
        y = ct.load(b, (column, j), (BLOCK, BLOCK_N), padding_mode=ZERO)
        accumulator = ct.mma(x, y, accumulator)
    ct.store(c, (row, j), accumulator.astype(ct.float16))


def block_sparse(g: Any) -> Made:
    block, rows, columns, N = 32, 12, 10, 300
    keep = torch.rand(rows, columns, generator=g) < 0.4
    where = keep.nonzero()
    first = torch.tensor([0, *keep.sum(1).cumsum(0).tolist()], dtype=torch.int32, device="cuda")
    at = where[:, 1].to(torch.int32).to("cuda")
    blocks = normal(g, len(where), block, block, dtype=torch.float16)
    b = normal(g, columns * block, N, dtype=torch.float16)
    c = torch.empty(rows * block, N, dtype=torch.float16, device="cuda")
    grid = (rows, triton.cdiv(N, 64))

    def with_torch() -> Any:
        a = torch.zeros(rows * block, columns * block, device="cuda")
        for n, (i, j) in enumerate(where.tolist()):
            a[i * block : i * block + block, j * block : j * block + block] = blocks[n]
        return (a @ b.float()).half()

    return (
        lambda: (sparse_triton[grid](blocks, first, at, b, c, N, block, 64), c)[1],
        lambda: (cutile(grid, sparse_cutile, blocks, first, at, b, c, block, 64), c)[1],
        with_torch,
        3e-2,
    )


# ---------------------------------------------------------------- paged attention


@triton.jit
def paged_triton(
    q_ptr, k_cache, v_cache, tables, lengths, out, scale, most_pages,
    HEADS: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    sequence = tl.program_id(0)
    length = tl.load(lengths + sequence)
    h, d, n = tl.arange(0, HEADS), tl.arange(0, D), tl.arange(0, BLOCK_N)
    q = tl.load(q_ptr + sequence * HEADS * D + h[:, None] * D + d[None, :])
    m_i = tl.full((HEADS,), -float("inf"), tl.float32)
    l_i = tl.zeros((HEADS,), tl.float32)
    acc = tl.zeros((HEADS, D), tl.float32)
    for start in range(0, length, BLOCK_N):
        at = start + n
        inside = at < length
        page = tl.load(tables + sequence * most_pages + at // PAGE, mask=inside, other=0)
        row = page * PAGE + at % PAGE
        k = tl.load(k_cache + row[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        v = tl.load(v_cache + row[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        qk = tl.dot(q, tl.trans(k)) * scale
        qk = tl.where(inside[None, :], qk, -float("inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp2(qk - m_ij[:, None])
        alpha = tl.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m_i = m_ij
    out_ptrs = out + sequence * HEADS * D + h[:, None] * D + d[None, :]
    tl.store(out_ptrs, (acc / l_i[:, None]).to(tl.float16))


@ct.kernel
def paged_cutile(
    q_all, k_cache, v_cache, tables, lengths, out,
    scale: ct.Constant[float], HEADS: INT, D: INT, PAGE: INT, BLOCK_N: INT,
):  # fmt: skip
    sequence = ct.bid(0)
    length = ct.load(lengths, (sequence,), (1,)).item()
    q = ct.reshape(ct.load(q_all, (sequence, 0, 0), (1, HEADS, D)), (HEADS, D))
    d = ct.expand_dims(ct.arange(D, dtype=ct.int32), 0)
    m_i = ct.full((HEADS, 1), -float("inf"), dtype=ct.float32)
    l_i = ct.zeros((HEADS, 1), dtype=ct.float32)
    acc = ct.zeros((HEADS, D), dtype=ct.float32)
    zero = ct.zeros((HEADS, BLOCK_N), dtype=ct.float32)
    for j in range(ct.cdiv(length, BLOCK_N)):
        at = j * BLOCK_N + ct.arange(BLOCK_N, dtype=ct.int32)
        inside = at < length
        page = ct.gather(tables, (sequence, at // PAGE))
        row = ct.where(inside, page * PAGE + at % PAGE, -1)
        k = ct.gather(k_cache, (ct.expand_dims(row, 1), d), padding_value=0)
        v = ct.gather(v_cache, (ct.expand_dims(row, 1), d), padding_value=0)
        qk = ct.mma(q, ct.transpose(k), zero) * scale
        qk = ct.where(ct.expand_dims(inside, 0), qk, -float("inf"))
        m_ij = ct.maximum(m_i, ct.max(qk, axis=1, keepdims=True))
        p = ct.exp2(qk - m_ij)
        alpha = ct.exp2(m_i - m_ij)
        l_i = l_i * alpha + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(ct.float16), v, acc * alpha)
        m_i = m_ij
    ct.store(out, (sequence, 0, 0), ct.reshape((acc / l_i).astype(ct.float16), (1, HEADS, D)))


def paged_attention(g: Any) -> Made:
    sequences, heads, dim, page, most = 12, 16, 64, 16, 20
    lengths = torch.randint(50, page * most, (sequences,), generator=g, dtype=torch.int32)
    tables = torch.randperm(sequences * most, generator=g).to(torch.int32).view(sequences, most).to("cuda")
    q = normal(g, sequences, heads, dim, dtype=torch.float16)
    k, v = (normal(g, sequences * most * page, dim, dtype=torch.float16) for _ in range(2))
    out = torch.empty_like(q)
    scale = 0.125 * 1.4426950408889634
    counts = lengths.to("cuda")
    sizes = (heads, dim, page, 64)

    def with_torch() -> Any:
        made = []
        for n in range(sequences):
            at = (tables[n].long()[:, None] * page + torch.arange(page, device="cuda")).flatten()[: lengths[n]]
            weights = (q[n].float() @ k[at].float().T * 0.125).softmax(-1)
            made.append((weights @ v[at].float()).half())
        return torch.stack(made)

    return (
        lambda: (paged_triton[(sequences,)](q, k, v, tables, counts, out, scale, most, *sizes), out)[1],
        lambda: (cutile((sequences,), paged_cutile, q, k, v, tables, counts, out, scale, *sizes), out)[1],
        with_torch,
        1e-2,
    )


# ---------------------------------------------------------------- reversed


@triton.jit
def reversed_triton(x, out, length, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    at = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = at < length
    tl.store(out + row * length + at, tl.load(x + row * length + (length - 1 - at), mask=mask), mask=mask)


@ct.kernel
def reversed_cutile(x, out, BLOCK_SIZE: INT):
    row, i = ct.bid(0), ct.bid(1)
    at = i * BLOCK_SIZE + ct.arange(BLOCK_SIZE, dtype=ct.int32)
    ct.store(out, (row, i), ct.expand_dims(ct.gather(x, (row, x.shape[1] - 1 - at)), 0))


def in_reverse(g: Any) -> Made:
    rows, n = 100, 5000
    x = normal(g, rows, n)
    out = torch.empty_like(x)
    grid = (rows, triton.cdiv(n, 1024))
    return (
        lambda: (reversed_triton[grid](x, out, n, 1024), out)[1],
        lambda: (cutile(grid, reversed_cutile, x, out, 1024), out)[1],
        lambda: x.flip(1),
        0.0,
    )


# ---------------------------------------------------------------- expert rows


@triton.jit
def experts_triton(
    a_ptr, b_ptr, c_ptr, sorted_rows, experts, n_rows, N, K, TOP: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    i = tl.program_id(0)
    rows = tl.load(sorted_rows + i * BLOCK_M + tl.arange(0, BLOCK_M))
    inside = rows < n_rows
    offs_n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows[:, None] // TOP * K + offs_k[None, :])
    b_ptrs = b_ptr + tl.load(experts + i) * N * K + (offs_k[:, None] + offs_n[None, :] * K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=inside[:, None] & (offs_k[None, :] < K - k * BLOCK_K), other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator += tl.dot(a, b)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K
    offs_cn = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + rows[:, None] * N + offs_cn[None, :]
    tl.store(c_ptrs, accumulator.to(tl.float16), mask=inside[:, None] & (offs_cn[None, :] < N))


@ct.kernel
def experts_cutile(a, b, c, sorted_rows, experts, TOP: INT, BLOCK_M: INT, BLOCK_N: INT, BLOCK_K: INT):
    i, j = ct.bid(0), ct.bid(1)
    rows = ct.load(sorted_rows, (i,), (BLOCK_M,))
    expert = ct.load(experts, (i,), (1,)).item()
    accumulator = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
    zero = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], BLOCK_K)):
        at = k * BLOCK_K + ct.arange(BLOCK_K, dtype=ct.int32)
        x = ct.gather(a, (ct.expand_dims(rows // TOP, 1), ct.expand_dims(at, 0)), padding_value=0)
        y = ct.reshape(ct.load(b, (expert, j, k), (1, BLOCK_N, BLOCK_K), padding_mode=ZERO), (BLOCK_N, BLOCK_K))
        accumulator += ct.mma(x, ct.transpose(y), zero)
    columns = j * BLOCK_N + ct.arange(BLOCK_N, dtype=ct.int32)
    ct.scatter(c, (ct.expand_dims(rows, 1), ct.expand_dims(columns, 0)), accumulator.astype(ct.float16))


def expert_rows(g: Any) -> Made:
    tokens, top, n_experts, N, K, block = 150, 2, 5, 200, 150, 16
    chosen = torch.randint(0, n_experts, (tokens * top,), generator=g)
    order, experts = [], []
    for expert in range(n_experts):
        mine = (chosen == expert).nonzero().flatten().tolist()
        mine += [tokens * top] * (-len(mine) % block)
        order += mine
        experts += [expert] * (len(mine) // block)
    rows = torch.tensor(order, dtype=torch.int32, device="cuda")
    which = torch.tensor(experts, dtype=torch.int32, device="cuda")
    a, b = normal(g, tokens, K, dtype=torch.float16), normal(g, n_experts, N, K, dtype=torch.float16)
    c = torch.zeros(tokens * top, N, dtype=torch.float16, device="cuda")
    grid = (len(experts), triton.cdiv(N, 64))
    sizes = (top, block, 64, 32)

    def with_torch() -> Any:
        return torch.stack([(a[n // top].float() @ b[e].float().T).half() for n, e in enumerate(chosen.tolist())])

    return (
        lambda: (experts_triton[grid](a, b, c, rows, which, tokens * top, N, K, *sizes), c)[1],
        lambda: (cutile(grid, experts_cutile, a, b, c, rows, which, *sizes), c)[1],
        with_torch,
        3e-2,
    )


# ---------------------------------------------------------------- linear, transposed weight


@triton.jit
def linear_triton(
    a_ptr, w_ptr, bias, c_ptr, M, N, K, stride_am, stride_wn, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_am = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_wn = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        inside = k + offs_k < K
        a = tl.load(a_ptr + offs_am[:, None] * stride_am + (k + offs_k)[None, :], mask=inside[None, :], other=0.0)
        w = tl.load(w_ptr + offs_wn[None, :] * stride_wn + (k + offs_k)[:, None], mask=inside[:, None], other=0.0)
        accumulator = tl.dot(a, w, accumulator)
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    result = accumulator + tl.load(bias + offs_wn)[None, :]
    inside = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :], result.to(tl.float16), mask=inside)


@ct.kernel
def linear_cutile(a, w, bias, c, BLOCK_M: INT, BLOCK_N: INT, BLOCK_K: INT):
    i, j = ct.bid(0), ct.bid(1)
    accumulator = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(BLOCK_M, BLOCK_K))):
        x = ct.load(a, (i, k), (BLOCK_M, BLOCK_K), padding_mode=ZERO)
        y = ct.load(w, (j, k), (BLOCK_N, BLOCK_K), padding_mode=ZERO)
        accumulator = ct.mma(x, ct.transpose(y), accumulator)
    result = accumulator + ct.load(bias, (j,), (BLOCK_N,), padding_mode=ZERO)
    ct.store(c, (i, j), result.astype(ct.float16))


def linear(g: Any) -> Made:
    M, N, K = 250, 300, 400
    a, w = normal(g, M, K, dtype=torch.float16), normal(g, N, K, dtype=torch.float16)
    bias = normal(g, N)
    c = torch.empty(M, N, dtype=torch.float16, device="cuda")
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))
    return (
        lambda: (linear_triton[grid](a, w, bias, c, M, N, K, K, K, N, 32, 64, 64), c)[1],
        lambda: (cutile(grid, linear_cutile, a, w, bias, c, 32, 64, 64), c)[1],
        lambda: (a.float() @ w.float().T + bias).half(),
        3e-2,
    )
