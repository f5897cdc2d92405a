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


# ---------------------------------------------------------------- elements that are never stored


@triton.jit
def product(x, table, out, m, n, shift):
    rows, columns, k = tl.program_id(0) * 16 + tl.arange(0, 16), tl.arange(0, 16), tl.arange(0, 16)
    a = x + (rows % m)[:, None] * 40 + k[None, :]
    b = x + shift + k[:, None] * n + (columns % n)[None, :]
    total = tl.zeros((16, 16), tl.float32)
    for at in range(0, 40, 16):
        left = tl.load(a, mask=k[None, :] < 40 - at, other=0.0)
        right = tl.load(b, mask=k[:, None] < 40 - at, other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
        a += 16
        b += 16 * n
    tl.store(out + rows[:, None] * 16 + columns[None, :], total, mask=(rows < m)[:, None] & (columns < n)[None, :])


@triton.jit
def clamped_rows(x, table, out, m, n, shift):
    rows, columns = tl.program_id(0) * 8 + tl.arange(0, 8), tl.arange(0, 16)
    first = tl.load(x + tl.minimum(rows, m - 1)[:, None] * n + columns[None, :])
    second = tl.load(x + shift + tl.where(rows < m, rows, 0)[None, :] * n + columns[:, None])
    tl.store(out + rows[:, None] * 16 + columns[None, :], first + tl.trans(second), mask=rows[:, None] < m)


@triton.jit
def through_a_table(x, table, out, m, n, shift):
    rows = tl.program_id(0) * 8 + tl.arange(0, 8)
    where = tl.load(table + rows % 16)
    tl.store(out + rows, tl.load(x + where * n), mask=rows < 16)


@triton.jit
def wrapped_rows_in_a_sum(x, table, out, m, n, shift):
    rows, columns = tl.program_id(0) * 8 + tl.arange(0, 8), tl.arange(0, 16)
    tile = tl.load(x + (rows % m)[:, None] * n + columns[None, :])
    share = tile / tl.sum(tile, axis=0)[None, :]
    tl.store(out + rows[:, None] * 16 + columns[None, :], share, mask=rows[:, None] < m)


@triton.jit
def wrapped_rows_stored(x, table, out, m, n, shift):
    rows = tl.program_id(0) * 8 + tl.arange(0, 8)
    found = tl.load(x + rows % m)
    tl.store(out + rows, found, mask=rows < m)
    tl.store(out + 500 + rows, found * 2)


@triton.jit
def other_limit(x, table, out, m, n, shift):
    rows = tl.program_id(0) * 8 + tl.arange(0, 8)
    tl.store(out + rows, tl.load(x + rows % m), mask=rows < n)


@triton.jit
def rows_of_a_table(x, table, out, m, n, shift):
    total = tl.zeros((8, 16), tl.float32)
    rows, columns = tl.arange(0, 8), tl.arange(0, 16)
    for at in range(tl.program_id(0), 16, 3):
        first = tl.load(table + at) * 8
        tile = tl.load(x + (first + rows)[:, None] * 16 + columns[None, :], mask=columns[None, :] < n, other=1.0)
        total = total * 0.5 + tile
    tl.store(out + tl.program_id(0) * 128 + rows[:, None] * 16 + columns[None, :], total)


@triton.jit
def transposed(x, table, out, m, n, shift):
    rows, columns = tl.program_id(0) * 8 + tl.arange(0, 8), tl.arange(0, 16)
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tile = tl.load(x + shift + rows[:, None] + columns[None, :] * m, mask=inside, other=3.0)
    tl.store(out + rows[:, None] + columns[None, :] * 80, tile, mask=rows[:, None] < 70)
