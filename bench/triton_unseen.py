"""Four kernels that are written in Triton and in cuTile, for `bench/triton_programs.py`.

They were written before the rules about elements that are never stored and about the order of dimensions, and are only
run to report. Their Triton is as in published kernels; the cuTile twin does the same work as a cuTile program does it.
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

UNSEEN = ("gradient of weights", "softmax of columns", "gated product", "persistent matmul")

FIRST_LOOK = {"gradient of weights": 1.32, "softmax of columns": 1.16, "gated product": 1.15, "persistent matmul": 1.39}
"""The time in compiled code by that of the cuTile twin, before those rules."""


def unseen() -> Iterator[Twin]:
    """Yield what `triton_twins.twins` yields."""
    for name, make in zip(UNSEEN, (gradient, column_softmax, gated, persistent)):
        yield name, *make(torch.Generator().manual_seed(0))


# ---------------------------------------------------------------- gradient of weights


@triton.jit
def gradient_triton(
    dy_ptr, x_ptr, dw_ptr, M, N, K, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_M: tl.constexpr
):
    offs_n = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = (tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)) % K
    offs_m = tl.arange(0, BLOCK_M)
    dy_ptrs = dy_ptr + offs_m[None, :] * N + offs_n[:, None]
    x_ptrs = x_ptr + offs_m[:, None] * K + offs_k[None, :]
    accumulator = tl.zeros((BLOCK_N, BLOCK_K), dtype=tl.float32)
    for m in range(tl.cdiv(M, BLOCK_M)):
        dy = tl.load(dy_ptrs, mask=offs_m[None, :] < M - m * BLOCK_M, other=0.0)
        x = tl.load(x_ptrs, mask=offs_m[:, None] < M - m * BLOCK_M, other=0.0)
        accumulator += tl.dot(dy, x)
        dy_ptrs += BLOCK_M * N
        x_ptrs += BLOCK_M * K
    rows = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    columns = tl.program_id(1) * BLOCK_K + tl.arange(0, BLOCK_K)
    inside = (rows[:, None] < N) & (columns[None, :] < K)
    tl.store(dw_ptr + rows[:, None] * K + columns[None, :], accumulator, mask=inside)


@ct.kernel
def gradient_cutile(dy, x, dw, BLOCK_N: INT, BLOCK_K: INT, BLOCK_M: INT):
    i, j = ct.bid(0), ct.bid(1)
    accumulator = ct.zeros((BLOCK_N, BLOCK_K), dtype=ct.float32)
    for m in range(ct.num_tiles(dy, axis=0, shape=(BLOCK_M, BLOCK_N))):
        left = ct.load(dy, (m, i), (BLOCK_M, BLOCK_N), padding_mode=ZERO)
        right = ct.load(x, (m, j), (BLOCK_M, BLOCK_K), padding_mode=ZERO)
        accumulator = ct.mma(ct.transpose(left), right, accumulator)
    ct.store(dw, (i, j), accumulator)


def gradient(g: Any) -> Made:
    M, N, K = 220, 200, 300
    dy, x = normal(g, M, N, dtype=torch.float16), normal(g, M, K, dtype=torch.float16)
    dw = torch.empty(N, K, device="cuda")
    grid = (triton.cdiv(N, 64), triton.cdiv(K, 64))
    return (
        lambda: (gradient_triton[grid](dy, x, dw, M, N, K, 64, 64, 32), dw)[1],
        lambda: (cutile(grid, gradient_cutile, dy, x, dw, 64, 64, 32), dw)[1],
        lambda: dy.float().T @ x.float(),
        1e-2,
    )


# ---------------------------------------------------------------- softmax of columns


@triton.jit
def columns_triton(x_ptr, out_ptr, rows, columns, BLOCK_C: tl.constexpr, BLOCK_R: tl.constexpr):
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    r = tl.arange(0, BLOCK_R)
    inside = (c[:, None] < columns) & (r[None, :] < rows)
    x = tl.load(x_ptr + r[None, :] * columns + c[:, None], mask=inside, other=-float("inf"))
    shifted = tl.exp(x - tl.max(x, axis=1)[:, None])
    result = shifted / tl.sum(shifted, axis=1)[:, None]
    tl.store(out_ptr + r[None, :] * columns + c[:, None], result, mask=inside)


@ct.kernel
def columns_cutile(x, out, BLOCK_C: INT, BLOCK_R: INT):
    j = ct.bid(0)
    tile = ct.load(x, (0, j), (BLOCK_R, BLOCK_C), padding_mode=ct.PaddingMode.NEG_INF)
    shifted = ct.exp(tile - ct.max(tile, axis=0, keepdims=True))
    ct.store(out, (0, j), shifted / ct.sum(shifted, axis=0, keepdims=True))


def column_softmax(g: Any) -> Made:
    rows, columns = 120, 2000
    x = normal(g, rows, columns)
    out = torch.empty_like(x)
    grid = (triton.cdiv(columns, 32), 1)
    return (
        lambda: (columns_triton[grid](x, out, rows, columns, 32, 128), out)[1],
        lambda: (cutile(grid, columns_cutile, x, out, 32, 128), out)[1],
        lambda: torch.softmax(x, dim=0),
        1e-6,
    )


# ---------------------------------------------------------------- gated product


@triton.jit
def gated_triton(
    x_ptr, w1_ptr, w2_ptr, out_ptr, M, N, K, stride_xm, stride_wk, stride_om,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    offs_m = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    x_ptrs = x_ptr + offs_m[:, None] * stride_xm + offs_k[None, :]
    w1_ptrs = w1_ptr + offs_k[:, None] * stride_wk + offs_n[None, :]
    w2_ptrs = w2_ptr + offs_k[:, None] * stride_wk + offs_n[None, :]
    gate = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    value = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(tl.cdiv(K, BLOCK_K)):
        x = tl.load(x_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        w1 = tl.load(w1_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        w2 = tl.load(w2_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        gate += tl.dot(x, w1)
        value += tl.dot(x, w2)
        x_ptrs += BLOCK_K
        w1_ptrs += BLOCK_K * stride_wk
        w2_ptrs += BLOCK_K * stride_wk
    result = gate * tl.sigmoid(gate) * value
    offs_om = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_on = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inside = (offs_om[:, None] < M) & (offs_on[None, :] < N)
    tl.store(out_ptr + offs_om[:, None] * stride_om + offs_on[None, :], result.to(tl.float16), mask=inside)


@ct.kernel
def gated_cutile(x, w1, w2, out, BLOCK_M: INT, BLOCK_N: INT, BLOCK_K: INT):
    i, j = ct.bid(0), ct.bid(1)
    gate = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
    value = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
    for k in range(ct.num_tiles(x, axis=1, shape=(BLOCK_M, BLOCK_K))):
        rows = ct.load(x, (i, k), (BLOCK_M, BLOCK_K), padding_mode=ZERO)
        gate = ct.mma(rows, ct.load(w1, (k, j), (BLOCK_K, BLOCK_N), padding_mode=ZERO), gate)
        value = ct.mma(rows, ct.load(w2, (k, j), (BLOCK_K, BLOCK_N), padding_mode=ZERO), value)
    result = gate / (1 + ct.exp(-gate)) * value
    ct.store(out, (i, j), result.astype(ct.float16))


def gated(g: Any) -> Made:
    M, N, K = 150, 250, 200
    x = normal(g, M, K, dtype=torch.float16)
    w1, w2 = 0.1 * normal(g, K, N, dtype=torch.float16), 0.1 * normal(g, K, N, dtype=torch.float16)
    out = torch.empty(M, N, dtype=torch.float16, device="cuda")
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 64))
    return (
        lambda: (gated_triton[grid](x, w1, w2, out, M, N, K, K, N, N, 32, 64, 32), out)[1],
        lambda: (cutile(grid, gated_cutile, x, w1, w2, out, 32, 64, 32), out)[1],
        lambda: (torch.nn.functional.silu(x.float() @ w1.float()) * (x.float() @ w2.float())).half(),
        2e-2,
    )


# ---------------------------------------------------------------- persistent matmul


@triton.jit
def tile_of(tile, tiles_in_group, tiles_m, GROUP_M: tl.constexpr):
    group = tile // tiles_in_group
    first = group * GROUP_M
    size = min(tiles_m - first, GROUP_M)
    return first + tile % size, tile % tiles_in_group // size


@triton.jit
def persistent_triton(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    PROGRAMS: tl.constexpr,
):  # fmt: skip
    tiles_m, tiles_n, tiles_k = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), tl.cdiv(K, BLOCK_K)
    offs_k = tl.arange(0, BLOCK_K)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS):
        i, j = tile_of(tile, GROUP_M * tiles_n, tiles_m, GROUP_M)
        offs_am = i * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_bn = j * BLOCK_N + tl.arange(0, BLOCK_N)
        offs_am = tl.max_contiguous(tl.multiple_of(tl.where(offs_am < M, offs_am, 0), BLOCK_M), BLOCK_M)
        offs_bn = tl.max_contiguous(tl.multiple_of(tl.where(offs_bn < N, offs_bn, 0), BLOCK_N), BLOCK_N)
        accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(tiles_k):
            at = k * BLOCK_K + offs_k
            a = tl.load(a_ptr + offs_am[:, None] * stride_am + at[None, :], mask=at[None, :] < K, other=0.0)
            b = tl.load(b_ptr + at[:, None] * stride_bk + offs_bn[None, :], mask=at[:, None] < K, other=0.0)
            accumulator = tl.dot(a, b, accumulator)
        offs_cm = i * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_cn = j * BLOCK_N + tl.arange(0, BLOCK_N)
        inside = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
        tl.store(c_ptr + stride_cm * offs_cm[:, None] + offs_cn[None, :], accumulator.to(tl.float16), mask=inside)


@ct.kernel
def persistent_cutile(a, b, c, BLOCK_M: INT, BLOCK_N: INT, BLOCK_K: INT, GROUP_M: INT, PROGRAMS: INT):
    tiles_m, tiles_n = ct.cdiv(a.shape[0], BLOCK_M), ct.cdiv(b.shape[1], BLOCK_N)
    in_group = GROUP_M * tiles_n
    for tile in range(ct.bid(0), tiles_m * tiles_n, PROGRAMS):
        first = tile // in_group * GROUP_M
        size = min(tiles_m - first, GROUP_M)
        i, j = first + tile % size, tile % in_group // size
        accumulator = ct.zeros((BLOCK_M, BLOCK_N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(BLOCK_M, BLOCK_K))):
            x = ct.load(a, (i, k), (BLOCK_M, BLOCK_K), padding_mode=ZERO)
            y = ct.load(b, (k, j), (BLOCK_K, BLOCK_N), padding_mode=ZERO)
            accumulator = ct.mma(x, y, accumulator)
        ct.store(c, (i, j), accumulator.astype(ct.float16))


def persistent(g: Any) -> Made:
    M, N, K = 300, 280, 150
    a, b = normal(g, M, K, dtype=torch.float16), normal(g, K, N, dtype=torch.float16)
    c = torch.empty(M, N, dtype=torch.float16, device="cuda")
    programs = 8
    return (
        lambda: (persistent_triton[(programs,)](a, b, c, M, N, K, K, N, N, 64, 64, 32, 4, programs), c)[1],
        lambda: (cutile((programs,), persistent_cutile, a, b, c, 64, 64, 32, 4, programs), c)[1],
        lambda: (a.float() @ b.float()).half(),
        3e-2,
    )
