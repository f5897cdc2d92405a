"""Kernels for test_pieces.py: each reads an array at positions that are affine up to a limit, and stores elsewhere."""

# mypy: ignore-errors
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def wrap(x, table, out, m, n, shift):
    at = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(out + at, tl.load(x + (at + shift) % m, mask=at < 70), mask=at < 70)


@triton.jit
def wrap_both(x, table, out, m, n, shift):
    rows = tl.program_id(0) * 8 + tl.arange(0, 8)
    columns = shift + tl.arange(0, 16)
    tile = tl.load(x + (rows % m)[:, None] * n + (columns % n)[None, :], mask=rows[:, None] < 30, other=7.0)
    tl.store(out + rows[:, None] * 16 + tl.arange(0, 16)[None, :], tile)


@triton.jit
def wrap_in_loop(x, table, out, m, n, shift):
    columns = (tl.program_id(0) * 16 + tl.arange(0, 16)) % n
    rows = tl.arange(0, 8)
    pointers = x + rows[:, None] * n + columns[None, :]
    total = tl.zeros((8, 16), tl.float32)
    for k in range(0, m, 8):
        total = total * 0.5 + tl.load(pointers, mask=rows[:, None] < m - k, other=0.0)
        pointers += 8 * n
    at = tl.program_id(0) * 128 + rows[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out + at, total)


@triton.jit
def wrap_and_store(x, table, out, m, n, shift):
    at = tl.program_id(0) * 8 + tl.arange(0, 8)
    if tl.program_id(0) == 0:
        tl.store(out + 100 + (at + shift) % m, tl.load(x + at), mask=at < 6)
        tl.store(out + 200 + (at + shift) % m, tl.load(x + 50 + (at + shift) % n))


@triton.jit
def limit(x, table, out, m, n, shift):
    at = tl.program_id(0) * 16 + tl.arange(0, 16)
    low = tl.load(x + tl.minimum(at, m))
    high = tl.load(x + tl.maximum(at, n))
    tl.store(out + at, low * 100 + high)


@triton.jit
def clamp(x, table, out, m, n, shift):
    rows = tl.program_id(0) * 8 + tl.arange(0, 8)
    inside = tl.where(rows < m, rows, 0)
    tile = tl.load(x + inside[:, None] * n + tl.arange(0, 8)[None, :])
    tl.store(out + rows[:, None] * 8 + tl.arange(0, 8)[None, :], tile)


@triton.jit
def group(x, table, out, m, n, shift):
    first = tl.load(table + tl.program_id(0))
    rows = tl.arange(0, 8)
    tile = tl.load(x + (first + rows)[:, None] * n + tl.arange(0, 8)[None, :])
    tl.store(out + (tl.program_id(0) * 8 + rows)[:, None] * 8 + tl.arange(0, 8)[None, :], tile)
