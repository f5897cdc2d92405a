"""Ten kernels that are written twice, in Triton and in cuTile, for `bench/triton_programs.py`.

Each is written as the programs of its language are: pointers, masks and `%` in Triton, arrays and padding in cuTile.
The algorithm, the sizes of tiles and the number of tile blocks are the same.
"""

from __future__ import annotations

# kernels have no annotations but those of their language
# mypy: ignore-errors
import random
from collections.abc import Callable, Iterator
from typing import Any

import cuda.tile as ct
import torch
import triton
import triton.language as tl

NAMES = (
    *("vector add", "softmax", "layer norm", "layer norm backward", "matmul"),
    *("attention", "rms norm", "cross entropy", "swiglu", "dropout"),
)
HELD_OUT = tuple(sorted(random.Random(1117).sample(sorted(NAMES), 4)))
"""Kernels that are only run to report: no rule is written for them, and their code is not looked at."""
ZERO, LOWEST = ct.PaddingMode.ZERO, ct.PaddingMode.NEG_INF
INT = ct.Constant[int]


# ---------------------------------------------------------------- vector add


@triton.jit
def add_triton(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, x + y, mask=mask)


@ct.kernel
def add_cutile(x, y, output, BLOCK_SIZE: INT):
    i = ct.bid(0)
    total = ct.load(x, (i,), (BLOCK_SIZE,)) + ct.load(y, (i,), (BLOCK_SIZE,))
    ct.store(output, (i,), total)


# ---------------------------------------------------------------- softmax


@triton.jit
def softmax_triton(output_ptr, input_ptr, input_stride, output_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):
        columns = tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        x = tl.load(input_ptr + row * input_stride + columns, mask=mask, other=-float("inf"))
        numerator = tl.exp(x - tl.max(x, axis=0))
        tl.store(output_ptr + row * output_stride + columns, numerator / tl.sum(numerator, axis=0), mask=mask)


@ct.kernel
def softmax_cutile(output, input, BLOCK_SIZE: INT):
    for row in range(ct.bid(0), input.shape[0], ct.num_blocks(0)):
        x = ct.load(input, (row, 0), (1, BLOCK_SIZE), padding_mode=LOWEST)
        numerator = ct.exp(x - ct.max(x, axis=1, keepdims=True))
        ct.store(output, (row, 0), numerator / ct.sum(numerator, axis=1, keepdims=True))


# ---------------------------------------------------------------- layer norm


@triton.jit
def layer_norm_triton(X, Y, W, B, Mean, Rstd, stride, N, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride
    total = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        total += tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(Mean + row, mean)
    tl.store(Rstd + row, rstd)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        tl.store(Y + cols, (x - mean) * rstd * w + b, mask=mask)


@ct.kernel
def layer_norm_cutile(X, Y, W, B, Mean, Rstd, eps: ct.Constant[float], BLOCK_SIZE: INT):
    row = ct.bid(0)
    blocks, N = ct.num_tiles(X, axis=1, shape=(1, BLOCK_SIZE)), X.shape[1]
    total = ct.zeros((1, BLOCK_SIZE), dtype=ct.float32)
    for j in range(blocks):
        total += ct.load(X, (row, j), (1, BLOCK_SIZE), padding_mode=ZERO)
    mean = ct.sum(total, axis=1, keepdims=True) / N
    squares = ct.zeros((1, BLOCK_SIZE), dtype=ct.float32)
    for j in range(blocks):
        x = ct.load(X, (row, j), (1, BLOCK_SIZE), padding_mode=ZERO)
        cols = j * BLOCK_SIZE + ct.arange(BLOCK_SIZE, dtype=ct.int32)
        x = ct.where(cols < N, x - mean, 0.0)
        squares += x * x
    rstd = 1 / ct.sqrt(ct.sum(squares, axis=1, keepdims=True) / N + eps)
    ct.store(Mean, (row,), ct.reshape(mean, (1,)))
    ct.store(Rstd, (row,), ct.reshape(rstd, (1,)))
    for j in range(blocks):
        w = ct.load(W, (j,), (BLOCK_SIZE,))
        b = ct.load(B, (j,), (BLOCK_SIZE,))
        x = ct.load(X, (row, j), (1, BLOCK_SIZE), padding_mode=ZERO)
        ct.store(Y, (row, j), (x - mean) * rstd * w + b)


# ---------------------------------------------------------------- layer norm backward


@triton.jit
def layer_norm_backward_triton(
    X, W, Mean, Rstd, DX, DW, DB, DY, stride, n_rows, n_cols, rows_per_program, BLOCK_SIZE: tl.constexpr
):
    program = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    dw_row = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    db_row = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0)
    start = program * rows_per_program
    for row in range(start, min(start + rows_per_program, n_rows)):
        x = tl.load(X + row * stride + cols, mask=mask, other=0.0)
        dy = tl.load(DY + row * stride + cols, mask=mask, other=0.0)
        mean = tl.load(Mean + row)
        rstd = tl.load(Rstd + row)
        x_hat = (x - mean) * rstd
        wdy = w * dy
        c1 = tl.sum(x_hat * wdy, axis=0) / n_cols
        c2 = tl.sum(wdy, axis=0) / n_cols
        tl.store(DX + row * stride + cols, (wdy - (x_hat * c1 + c2)) * rstd, mask=mask)
        dw_row += dy * x_hat
        db_row += dy
    tl.store(DW + program * stride + cols, dw_row, mask=mask)
    tl.store(DB + program * stride + cols, db_row, mask=mask)


@ct.kernel
def layer_norm_backward_cutile(X, W, Mean, Rstd, DX, DW, DB, DY, rows_per_program: int, BLOCK_SIZE: INT):
    program = ct.bid(0)
    n_rows, n_cols = X.shape
    dw_row = ct.zeros((1, BLOCK_SIZE), dtype=ct.float32)
    db_row = ct.zeros((1, BLOCK_SIZE), dtype=ct.float32)
    w = ct.load(W, (0,), (BLOCK_SIZE,), padding_mode=ZERO)
    start = program * rows_per_program
    for row in range(start, min(start + rows_per_program, n_rows)):
        x = ct.load(X, (row, 0), (1, BLOCK_SIZE), padding_mode=ZERO)
        dy = ct.load(DY, (row, 0), (1, BLOCK_SIZE), padding_mode=ZERO)
        mean = ct.load(Mean, (row,), (1,))
        rstd = ct.load(Rstd, (row,), (1,))
        x_hat = (x - mean) * rstd
        wdy = w * dy
        c1 = ct.sum(x_hat * wdy, axis=1, keepdims=True) / n_cols
        c2 = ct.sum(wdy, axis=1, keepdims=True) / n_cols
        ct.store(DX, (row, 0), (wdy - (x_hat * c1 + c2)) * rstd)
        dw_row += dy * x_hat
        db_row += dy
    ct.store(DW, (program, 0), dw_row)
    ct.store(DB, (program, 0), db_row)


# ---------------------------------------------------------------- matmul


@triton.jit
def matmul_triton(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP * num_pid_n
    first_pid_m = pid // num_pid_in_group * GROUP
    group_size = min(num_pid_m - first_pid_m, GROUP)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size)
    pid_n = (pid % num_pid_in_group) // group_size
    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, accumulator.to(tl.float16), mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


@ct.kernel
def matmul_cutile(a, b, c, BLOCK_M: INT, BLOCK_N: INT, BLOCK_K: INT, GROUP: INT):
    pid = ct.bid(0)
    num_pid_m = ct.num_tiles(c, axis=0, shape=(BLOCK_M, BLOCK_N))
    num_pid_n = ct.num_tiles(c, axis=1, shape=(BLOCK_M, BLOCK_N))
    num_pid_in_group = GROUP * num_pid_n
    first_pid_m = pid // num_pid_in_group * GROUP
    group_size = min(num_pid_m - first_pid_m, GROUP)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size)
    pid_n = (pid % num_pid_in_group) // group_size
    accumulator = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(BLOCK_M, BLOCK_K))):
        x = ct.load(a, (pid_m, k), (BLOCK_M, BLOCK_K), padding_mode=ZERO)
        y = ct.load(b, (k, pid_n), (BLOCK_K, BLOCK_N), padding_mode=ZERO)
        accumulator = ct.mma(x, y, accumulator)
    ct.store(c, (pid_m, pid_n), accumulator.astype(ct.float16))


# ---------------------------------------------------------------- attention


@triton.jit
def attention_triton(
    Q, K, V, Out, sm_scale, stride_h, stride_m, n_ctx, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr
):
    head = tl.program_id(1) * stride_h
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    q = tl.load(Q + head + offs_m[:, None] * stride_m + offs_d[None, :], mask=offs_m[:, None] < n_ctx, other=0.0)
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for start_n in range(0, n_ctx, BLOCK_N):
        at = start_n + offs_n
        inside = at[:, None] < n_ctx
        k = tl.load(K + head + at[:, None] * stride_m + offs_d[None, :], mask=inside, other=0.0)
        v = tl.load(V + head + at[:, None] * stride_m + offs_d[None, :], mask=inside, other=0.0)
        qk = tl.dot(q, tl.trans(k)) * sm_scale
        qk = tl.where(at[None, :] < n_ctx, qk, -float("inf"))
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m_i = m_ij
    out = Out + head + offs_m[:, None] * stride_m + offs_d[None, :]
    tl.store(out, (acc / l_i[:, None]).to(tl.float16), mask=offs_m[:, None] < n_ctx)


@ct.kernel
def attention_cutile(Q, K, V, Out, sm_scale: ct.Constant[float], BLOCK_M: INT, BLOCK_N: INT, D: INT):
    i, head = ct.bid(0), ct.bid(1)
    n_ctx = Q.shape[1]
    q = ct.reshape(ct.load(Q, (head, i, 0), (1, BLOCK_M, D), padding_mode=ZERO), (BLOCK_M, D))
    m_i = ct.full((BLOCK_M, 1), -float("inf"), dtype=ct.float32)
    l_i = ct.zeros((BLOCK_M, 1), dtype=ct.float32)
    acc = ct.zeros((BLOCK_M, D), dtype=ct.float32)
    zero = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
    for j in range(ct.num_tiles(K, axis=1, shape=(1, BLOCK_N, D))):
        k = ct.reshape(ct.load(K, (head, j, 0), (1, BLOCK_N, D), padding_mode=ZERO), (BLOCK_N, D))
        v = ct.reshape(ct.load(V, (head, j, 0), (1, BLOCK_N, D), padding_mode=ZERO), (BLOCK_N, D))
        qk = ct.mma(q, ct.transpose(k), zero) * sm_scale
        at = j * BLOCK_N + ct.arange(BLOCK_N, dtype=ct.int32)
        qk = ct.where(ct.expand_dims(at, 0) < n_ctx, qk, -float("inf"))
        m_ij = ct.maximum(m_i, ct.max(qk, axis=1, keepdims=True))
        p = ct.exp2(qk - m_ij)
        alpha = ct.exp2(m_i - m_ij)
        l_i = l_i * alpha + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(ct.float16), v, acc * alpha)
        m_i = m_ij
    ct.store(Out, (head, i, 0), ct.reshape((acc / l_i).astype(ct.float16), (1, BLOCK_M, D)))


# ---------------------------------------------------------------- rms norm


@triton.jit
def rms_norm_triton(Y, y_stride, X, x_stride, W, Rstd, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(X + row * x_stride + cols, mask=mask, other=0)
    w = tl.load(W + cols, mask=mask, other=0)
    rstd = tl.rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(Rstd + row, rstd)
    tl.store(Y + row * y_stride + cols, x * rstd * w, mask=mask)


@ct.kernel
def rms_norm_cutile(Y, X, W, Rstd, eps: ct.Constant[float], BLOCK_SIZE: INT):
    row = ct.bid(0)
    x = ct.load(X, (row, 0), (1, BLOCK_SIZE), padding_mode=ZERO)
    w = ct.load(W, (0,), (BLOCK_SIZE,), padding_mode=ZERO)
    rstd = ct.rsqrt(ct.sum(x * x, axis=1, keepdims=True) / X.shape[1] + eps)
    ct.store(Rstd, (row,), ct.reshape(rstd, (1,)))
    ct.store(Y, (row, 0), x * rstd * w)


# ---------------------------------------------------------------- cross entropy


@triton.jit
def cross_entropy_triton(X, DX, x_stride, Y, loss_ptr, n_cols, n_rows, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    y = tl.load(Y + row)
    X += row * x_stride
    DX += row * x_stride
    m = float("-inf")
    d = 0.0
    target = tl.load(X + y)
    for i in range(0, n_cols, BLOCK_SIZE):
        cols = i + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < n_cols, other=float("-inf"))
        m_new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new))
        m = m_new
    for i in range(0, n_cols, BLOCK_SIZE):
        cols = i + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < n_cols, other=float("-inf"))
        x = tl.exp(x - m) / d
        x = tl.where(cols != y, x, x - 1.0) / n_rows
        tl.store(DX + cols, x, mask=cols < n_cols)
    tl.store(loss_ptr + row, m + tl.log(d) - target)


@ct.kernel
def cross_entropy_cutile(X, DX, Y, loss, BLOCK_SIZE: INT):
    row = ct.bid(0)
    n_rows = X.shape[0]
    blocks = ct.num_tiles(X, axis=1, shape=(1, BLOCK_SIZE))
    y = ct.load(Y, (row,), (1,)).item()
    m = ct.full((1, 1), -float("inf"), dtype=ct.float32)
    d = ct.zeros((1, 1), dtype=ct.float32)
    target = ct.load(X, (row, y), (1, 1))
    for j in range(blocks):
        x = ct.load(X, (row, j), (1, BLOCK_SIZE), padding_mode=LOWEST)
        m_new = ct.maximum(m, ct.max(x, axis=1, keepdims=True))
        d = d * ct.exp(m - m_new) + ct.sum(ct.exp(x - m_new), axis=1, keepdims=True)
        m = m_new
    for j in range(blocks):
        x = ct.load(X, (row, j), (1, BLOCK_SIZE), padding_mode=LOWEST)
        cols = j * BLOCK_SIZE + ct.arange(BLOCK_SIZE, dtype=ct.int32)
        x = ct.exp(x - m) / d
        x = ct.where(cols != y, x, x - 1.0) / n_rows
        ct.store(DX, (row, j), x)
    ct.store(loss, (row,), ct.reshape(m + ct.log(d) - target, (1,)))


# ---------------------------------------------------------------- swiglu


@triton.jit
def swiglu_triton(a_ptr, b_ptr, c_ptr, stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    a_ptr += row * stride
    b_ptr += row * stride
    c_ptr += row * stride
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    a = tl.load(a_ptr + cols, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0)
    c = (a / (1 + tl.exp(-a))).cast(b.dtype) * b
    tl.store(c_ptr + cols, c, mask=mask)


@ct.kernel
def swiglu_cutile(a, b, c, BLOCK_SIZE: INT):
    row = ct.bid(0)
    x = ct.load(a, (row, 0), (1, BLOCK_SIZE), padding_mode=ZERO).astype(ct.float32)
    y = ct.load(b, (row, 0), (1, BLOCK_SIZE), padding_mode=ZERO)
    ct.store(c, (row, 0), (x / (1 + ct.exp(-x))).astype(y.dtype) * y)


# ---------------------------------------------------------------- dropout


@triton.jit
def dropout_triton(x_ptr, output_ptr, n_elements, p, seed, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    h = offsets ^ seed
    for _ in tl.static_range(4):
        h = (h ^ ((h >> 16) & 0xFFFF)) * 0x45D9F3B
    keep = (h & 0xFFFFFF).to(tl.float32) * (1.0 / 16777216.0) > p
    tl.store(output_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=mask)


@ct.kernel
def dropout_cutile(x, output, p: float, seed: int, BLOCK_SIZE: INT):
    i = ct.bid(0)
    offsets = i * BLOCK_SIZE + ct.arange(BLOCK_SIZE, dtype=ct.int32)
    t = ct.load(x, (i,), (BLOCK_SIZE,))
    h = offsets ^ seed
    for _ in ct.static_iter(range(4)):
        h = (h ^ ((h >> 16) & 0xFFFF)) * 0x45D9F3B
    keep = (h & 0xFFFFFF).astype(ct.float32) * (1.0 / 16777216.0) > p
    ct.store(output, (i,), ct.where(keep, t / (1 - p), 0.0))


# ---------------------------------------------------------------- launches

Launch = Callable[[], Any]
Twin = tuple[str, Launch, Launch, Launch, float]


def twins() -> Iterator[Twin]:
    """Yield a name, launches of both kernels and the same with torch, all of which return the result; a tolerance."""
    for name, make in (
        *(("vector add", vector_add), ("softmax", softmax), ("layer norm", layer_norm), ("matmul", matmul)),
        *(("layer norm backward", layer_norm_backward), ("attention", attention), ("rms norm", rms_norm)),
        *(("cross entropy", cross_entropy), ("swiglu", swiglu), ("dropout", dropout)),
    ):
        yield name, *make(torch.Generator().manual_seed(0))


def normal(g: Any, *shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(*shape, generator=g).to("cuda").to(dtype)


def cutile(grid: tuple[int, ...], kernel: Any, *args: Any) -> None:
    ct.launch(torch.cuda.current_stream(), grid, kernel, args)


Made = tuple[Launch, Launch, Launch, float]


def vector_add(g: Any) -> Made:
    n = 1_000_003
    x, y, out = normal(g, n), normal(g, n), normal(g, n)
    grid = (triton.cdiv(n, 1024),)
    return (
        lambda: (add_triton[grid](x, y, out, n, BLOCK_SIZE=1024), out)[1],
        lambda: (cutile(grid, add_cutile, x, y, out, 1024), out)[1],
        lambda: x + y,
        1e-6,
    )


def softmax(g: Any) -> Made:
    x = normal(g, 823, 781)
    out = torch.empty_like(x)
    return (
        lambda: (softmax_triton[(64,)](out, x, 781, 781, 823, 781, BLOCK_SIZE=1024), out)[1],
        lambda: (cutile((64,), softmax_cutile, out, x, 1024), out)[1],
        lambda: x.softmax(1),
        1e-5,
    )


def layer_norm(g: Any) -> Made:
    rows, n = 151, 5000
    x, w, b = normal(g, rows, n), normal(g, n), normal(g, n)
    y, mean, rstd = torch.empty_like(x), normal(g, rows), normal(g, rows)
    return (
        lambda: (layer_norm_triton[(rows,)](x, y, w, b, mean, rstd, n, n, 1e-5, BLOCK_SIZE=1024), y)[1],
        lambda: (cutile((rows,), layer_norm_cutile, x, y, w, b, mean, rstd, 1e-5, 1024), y)[1],
        lambda: torch.nn.functional.layer_norm(x, (n,), w, b, 1e-5),
        1e-4,
    )


def layer_norm_backward(g: Any) -> Made:
    rows, n, programs = 300, 1500, 8
    each = triton.cdiv(rows, programs)
    x, w, dy = normal(g, rows, n), normal(g, n), normal(g, rows, n)
    mean, rstd = x.mean(1), (x.var(1, unbiased=False) + 1e-5).rsqrt()
    dx, dw, db = torch.empty_like(x), torch.empty(programs, n, device="cuda"), torch.empty(programs, n, device="cuda")

    def with_triton() -> Any:
        options = {"BLOCK_SIZE": 2048}
        layer_norm_backward_triton[(programs,)](x, w, mean, rstd, dx, dw, db, dy, n, rows, n, each, **options)
        return torch.cat([dx, dw.sum(0, keepdim=True), db.sum(0, keepdim=True)])

    def with_cutile() -> Any:
        cutile((programs,), layer_norm_backward_cutile, x, w, mean, rstd, dx, dw, db, dy, each, 2048)
        return torch.cat([dx, dw.sum(0, keepdim=True), db.sum(0, keepdim=True)])

    def with_torch() -> Any:
        leaves = [x.clone().requires_grad_(), w.clone().requires_grad_(), torch.zeros_like(w).requires_grad_()]
        torch.nn.functional.layer_norm(leaves[0], (n,), leaves[1], leaves[2], 1e-5).backward(dy)
        return torch.cat([leaves[0].grad, leaves[1].grad[None], leaves[2].grad[None]])

    return with_triton, with_cutile, with_torch, 1e-3


def matmul(g: Any) -> Made:
    M, N, K = 500, 300, 400
    a, b = normal(g, M, K, dtype=torch.float16), normal(g, K, N, dtype=torch.float16)
    c = torch.empty(M, N, dtype=torch.float16, device="cuda")
    grid = (triton.cdiv(M, 64) * triton.cdiv(N, 64),)
    tiles = (64, 64, 32, 8)

    def with_triton() -> Any:
        matmul_triton[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), *tiles)
        return c

    return (
        with_triton,
        lambda: (cutile(grid, matmul_cutile, a, b, c, *tiles), c)[1],
        lambda: (a.float() @ b.float()).half(),
        3e-2,
    )


def attention(g: Any) -> Made:
    heads, n, dim = 4, 400, 64
    q, k, v = (normal(g, heads, n, dim, dtype=torch.float16) for _ in range(3))
    out = torch.empty_like(q)
    grid = (triton.cdiv(n, 64), heads)
    scale = 0.125 * 1.4426950408889634
    return (
        lambda: (attention_triton[grid](q, k, v, out, scale, n * dim, dim, n, 64, 64, dim), out)[1],
        lambda: (cutile(grid, attention_cutile, q, k, v, out, scale, 64, 64, dim), out)[1],
        lambda: torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float()).half(),
        1e-2,
    )


def rms_norm(g: Any) -> Made:
    rows, n = 512, 2000
    x, w = normal(g, rows, n), normal(g, n)
    y, rstd = torch.empty_like(x), normal(g, rows)
    return (
        lambda: (rms_norm_triton[(rows,)](y, n, x, n, w, rstd, n, 1e-6, BLOCK_SIZE=2048), y)[1],
        lambda: (cutile((rows,), rms_norm_cutile, y, x, w, rstd, 1e-6, 2048), y)[1],
        lambda: torch.nn.functional.rms_norm(x, (n,), w, 1e-6),
        1e-4,
    )


def cross_entropy(g: Any) -> Made:
    rows, n = 100, 8003
    x = normal(g, rows, n)
    y = torch.randint(0, n, (rows,), generator=g).to("cuda")
    dx, loss = torch.empty_like(x), normal(g, rows)

    def with_torch() -> Any:
        leaf = x.clone().requires_grad_()
        torch.nn.functional.cross_entropy(leaf, y).backward()
        return leaf.grad

    return (
        lambda: (cross_entropy_triton[(rows,)](x, dx, n, y, loss, n, rows, BLOCK_SIZE=2048), dx)[1],
        lambda: (cutile((rows,), cross_entropy_cutile, x, dx, y, loss, 2048), dx)[1],
        with_torch,
        1e-5,
    )


def swiglu(g: Any) -> Made:
    rows, n = 400, 2000
    a, b = normal(g, rows, n, dtype=torch.float16), normal(g, rows, n, dtype=torch.float16)
    c = torch.empty_like(a)
    return (
        lambda: (swiglu_triton[(rows,)](a, b, c, n, n, BLOCK_SIZE=2048), c)[1],
        lambda: (cutile((rows,), swiglu_cutile, a, b, c, 2048), c)[1],
        lambda: torch.nn.functional.silu(a.float()).half() * b,
        1e-2,
    )


def dropout(g: Any) -> Made:
    n = 500_003
    x = normal(g, n)
    out = torch.empty_like(x)
    grid = (triton.cdiv(n, 1024),)

    def with_torch() -> Any:
        h = torch.arange(n, dtype=torch.int64) ^ 1234
        for _ in range(4):
            h = ((h ^ ((h >> 16) & 0xFFFF)) * 0x45D9F3B) & 0xFFFFFFFF
        keep = (h & 0xFFFFFF).float() * (1.0 / 16777216.0) > 0.25
        return torch.where(keep.to("cuda"), x / 0.75, 0.0)

    return (
        lambda: (dropout_triton[grid](x, out, n, 0.25, 1234, BLOCK_SIZE=1024), out)[1],
        lambda: (cutile(grid, dropout_cutile, x, out, 0.25, 1234, 1024), out)[1],
        with_torch,
        1e-6,
    )
