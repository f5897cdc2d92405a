"""The kernels of `gpu_rows.toml` for which neither NVIDIA's samples nor TileGym has one, in cuTile."""

from __future__ import annotations

# kernels have no annotations but cuTile's own
# mypy: ignore-errors
import cuda.tile as ct

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO


@ct.kernel
def embedding(ids, table, out, rows: ConstInt, columns: ConstInt):
    """Copy rows of a table."""
    r = ct.bid(0) * rows + ct.arange(rows, dtype=ct.int32)
    c = ct.bid(1) * columns + ct.arange(columns, dtype=ct.int32)
    chosen = ct.gather(ids, r)
    ct.scatter(out, (r[:, None], c[None, :]), ct.gather(table, (chosen[:, None], c[None, :])))


@ct.kernel
def splitk(a, b, c, tm: ConstInt, tn: ConstInt, tk: ConstInt, split: ConstInt):
    """Multiply a part of the summed dimension and add it to the result."""
    total = ct.full((tm, tn), 0, dtype=ct.float32)
    for k in range(ct.bid(2), ct.num_tiles(a, axis=1, shape=(tm, tk)), split):
        x = ct.load(a, index=(ct.bid(0), k), shape=(tm, tk), padding_mode=ZERO)
        y = ct.load(b, index=(k, ct.bid(1)), shape=(tk, tn), padding_mode=ZERO)
        total = ct.mma(x, y, total)
    row = ct.bid(0) * tm + ct.arange(tm, dtype=ct.int32)
    column = ct.bid(1) * tn + ct.arange(tn, dtype=ct.int32)
    ct.atomic_add(c, (row[:, None], column[None, :]), total)


@ct.kernel
def colsum(x, out, tm: ConstInt, tn: ConstInt):
    """Add the columns of a tile to sums."""
    tile = ct.load(x, index=(ct.bid(0), ct.bid(1)), shape=(tm, tn), padding_mode=ZERO)
    column = ct.bid(1) * tn + ct.arange(tn, dtype=ct.int32)
    ct.atomic_add(out, column, ct.sum(ct.astype(tile, ct.float32), axis=0))


@ct.kernel
def layernorm_1pass(x, w, b, y, eps, tn: ConstInt):
    """Normalise a row that fits in one tile."""
    r = ct.bid(0)
    n = x.shape[1]
    row = ct.astype(ct.load(x, index=(r, 0), shape=(1, tn), padding_mode=ZERO), ct.float32)
    mean = ct.sum(row, axis=1, keepdims=True) / n
    inside = ct.arange(tn, dtype=ct.int32)[None, :] < n
    away = ct.where(inside, row - mean, 0.0)
    variance = ct.sum(away * away, axis=1, keepdims=True) / n
    weight = ct.astype(ct.load(w, index=(0,), shape=(tn,), padding_mode=ZERO), ct.float32)
    bias = ct.astype(ct.load(b, index=(0,), shape=(tn,), padding_mode=ZERO), ct.float32)
    scaled = away * ct.rsqrt(variance + eps) * weight[None, :] + bias[None, :]
    ct.store(y, index=(r, 0), tile=ct.astype(scaled, y.dtype))
