"""Kernels of `gpu_kernels.toml` of kinds that few public ones have, in cuTile and in the style of public ones."""

from __future__ import annotations

# kernels have no annotations but cuTile's own
# mypy: ignore-errors
import cuda.tile as ct

ConstInt = ct.Constant[int]
ZERO = ct.PaddingMode.ZERO
LOWEST = ct.PaddingMode.NEG_INF
INF = float("inf")


# ---------------------------------------------------------------- reductions


@ct.kernel
def argmax_rows(x, at, top, tn: ConstInt):
    """Find the largest element of a row and its place, a tile at a time."""
    r = ct.bid(0)
    best, place = ct.full((1, 1), -INF, dtype=ct.float32), ct.full((1, 1), 0, dtype=ct.int32)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, tn))):
        part = ct.astype(ct.load(x, index=(r, j), shape=(1, tn), padding_mode=LOWEST), ct.float32)
        most = ct.max(part, axis=1, keepdims=True)
        where = j * tn + ct.astype(ct.argmax(part, axis=1, keepdims=True), ct.int32)
        place = ct.where(most > best, where, place)
        best = ct.maximum(best, most)
    ct.store(at, index=(r,), tile=ct.reshape(place, (1,)))
    ct.store(top, index=(r,), tile=ct.reshape(best, (1,)))


@ct.kernel
def argmin_tile(x, at, tm: ConstInt, tn: ConstInt):
    """Find the place of the smallest element of each row of a tile."""
    part = ct.load(x, index=(ct.bid(0), 0), shape=(tm, tn))
    ct.store(at, index=(ct.bid(0),), tile=ct.astype(ct.argmin(part, axis=1), ct.int32))


@ct.kernel
def top1_gather(scores, book, out, chosen, tm: ConstInt, codes: ConstInt, tn: ConstInt):
    """Copy the row of a code book with the highest score."""
    t = ct.bid(0)
    part = ct.astype(ct.load(scores, index=(t, 0), shape=(tm, codes), padding_mode=LOWEST), ct.float32)
    best = ct.astype(ct.argmax(part, axis=1), ct.int32)
    ct.store(chosen, index=(t,), tile=best)
    column = ct.arange(tn, dtype=ct.int32)
    ct.store(out, index=(t, 0), tile=ct.gather(book, (best[:, None], column[None, :])))


@ct.kernel
def column_mean(x, y, tm: ConstInt, tn: ConstInt):
    """Average columns, a tile of rows at a time."""
    c = ct.bid(0)
    total = ct.full((1, tn), 0.0, dtype=ct.float32)
    for i in range(ct.num_tiles(x, axis=0, shape=(tm, tn))):
        part = ct.load(x, index=(i, c), shape=(tm, tn), padding_mode=ZERO)
        total = total + ct.sum(ct.astype(part, ct.float32), axis=0, keepdims=True)
    ct.store(y, index=(c,), tile=ct.reshape(total / x.shape[0], (tn,)))


@ct.kernel
def column_max(x, y, tm: ConstInt, tn: ConstInt):
    """Find the largest element of columns; the tiles are reduced once, at the end."""
    c = ct.bid(0)
    most = ct.full((tm, tn), -INF, dtype=ct.float32)
    for i in range(ct.num_tiles(x, axis=0, shape=(tm, tn))):
        most = ct.maximum(most, ct.load(x, index=(i, c), shape=(tm, tn), padding_mode=LOWEST))
    ct.store(y, index=(c,), tile=ct.max(most, axis=0))


@ct.kernel
def row_squares(x, y, tm: ConstInt, tn: ConstInt):
    """Sum the squares of several rows in each block."""
    r = ct.bid(0)
    total = ct.full((tm, tn), 0.0, dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(tm, tn))):
        part = ct.load(x, index=(r, j), shape=(tm, tn), padding_mode=ZERO)
        total = total + part * part
    ct.store(y, index=(r,), tile=ct.sum(total, axis=1))


@ct.kernel
def row_prod(x, y, tm: ConstInt, tn: ConstInt):
    """Multiply the elements of rows."""
    part = ct.load(x, index=(ct.bid(0), 0), shape=(tm, tn))
    ct.store(y, index=(ct.bid(0),), tile=ct.prod(part, axis=1))


@ct.kernel
def logsumexp_rows(x, y, tn: ConstInt):
    """Compute the logarithm of the sum of exponentials of a row, online."""
    r = ct.bid(0)
    most, total = ct.full((1, 1), -INF, dtype=ct.float32), ct.full((1, 1), 0.0, dtype=ct.float32)
    for j in range(ct.num_tiles(x, axis=1, shape=(1, tn))):
        part = ct.astype(ct.load(x, index=(r, j), shape=(1, tn), padding_mode=LOWEST), ct.float32)
        new = ct.maximum(most, ct.max(part, axis=1, keepdims=True))
        total = total * ct.exp(most - new) + ct.sum(ct.exp(part - new), axis=1, keepdims=True)
        most = new
    ct.store(y, index=(r,), tile=ct.reshape(most + ct.log(total), (1,)))


@ct.kernel
def l2_normalise(x, y, tm: ConstInt, tn: ConstInt):
    """Divide rows by their length."""
    part = ct.astype(ct.load(x, index=(ct.bid(0), 0), shape=(tm, tn)), ct.float32)
    length = ct.sqrt(ct.sum(part * part, axis=1, keepdims=True))
    ct.store(y, index=(ct.bid(0), 0), tile=ct.astype(part / ct.maximum(length, 1e-12), y.dtype))


@ct.kernel
def cumulative_sum(x, y, tm: ConstInt, tn: ConstInt):
    """Sum rows cumulatively."""
    part = ct.load(x, index=(ct.bid(0), 0), shape=(tm, tn))
    ct.store(y, index=(ct.bid(0), 0), tile=ct.cumsum(part, axis=1))


# ---------------------------------------------------------------- moving elements


@ct.kernel
def histogram(x, counts, tn: ConstInt):
    """Count values, with an atomic addition for each."""
    values = ct.load(x, index=(ct.bid(0),), shape=(tn,))
    ct.atomic_add(counts, values, 1, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def scatter_add(x, at, out, tm: ConstInt, tn: ConstInt):
    """Add rows to rows that indices choose."""
    rows = ct.load(at, index=(ct.bid(0),), shape=(tm,))
    part = ct.load(x, index=(ct.bid(0), ct.bid(1)), shape=(tm, tn))
    columns = ct.bid(1) * tn + ct.arange(tn, dtype=ct.int32)
    ct.atomic_add(out, (rows[:, None], columns[None, :]), part, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def gather_rows(x, at, out, tm: ConstInt, tn: ConstInt):
    """Copy rows that indices choose."""
    rows = ct.load(at, index=(ct.bid(0),), shape=(tm,))
    columns = ct.bid(1) * tn + ct.arange(tn, dtype=ct.int32)
    ct.store(out, index=(ct.bid(0), ct.bid(1)), tile=ct.gather(x, (rows[:, None], columns[None, :])))


@ct.kernel
def gather_columns(x, at, out, tm: ConstInt, tn: ConstInt):
    """Copy columns that indices choose."""
    columns = ct.load(at, index=(0,), shape=(tn,))
    rows = ct.bid(0) * tm + ct.arange(tm, dtype=ct.int32)
    ct.store(out, index=(ct.bid(0), 0), tile=ct.gather(x, (rows[:, None], columns[None, :])))


@ct.kernel
def permute_3d(x, y, tm: ConstInt, tn: ConstInt):
    """Move the last dimension to the front."""
    b, i, j = ct.bid(0), ct.bid(1), ct.bid(2)
    part = ct.load(x, index=(b, i, j), shape=(1, tm, tn))
    ct.store(y, index=(j, b, i), tile=ct.permute(part, (2, 0, 1)))


@ct.kernel
def interleave(x, y, z, tn: ConstInt):
    """Write two arrays in turn."""
    place = ct.bid(0) * tn + ct.arange(tn, dtype=ct.int32)
    ct.scatter(z, 2 * place, ct.load(x, index=(ct.bid(0),), shape=(tn,)))
    ct.scatter(z, 2 * place + 1, ct.load(y, index=(ct.bid(0),), shape=(tn,)))


@ct.kernel
def causal_mask(x, y, tm: ConstInt, tn: ConstInt):
    """Replace what is above the diagonal by zero."""
    b, i = ct.bid(0), ct.bid(1)
    part = ct.reshape(ct.load(x, index=(b, i, 0), shape=(1, tm, tn)), (tm, tn))
    row, column = i * tm + ct.arange(tm, dtype=ct.int32), ct.arange(tn, dtype=ct.int32)
    kept = ct.where(row[:, None] >= column[None, :], part, 0.0)
    ct.store(y, index=(b, i, 0), tile=ct.reshape(ct.astype(kept, y.dtype), (1, tm, tn)))


@ct.kernel
def stencil(x, y, tm: ConstInt, tn: ConstInt):
    """Average the four neighbours of each element; outside there is zero."""
    row = ct.bid(0) * tm + ct.arange(tm, dtype=ct.int32)
    column = ct.bid(1) * tn + ct.arange(tn, dtype=ct.int32)
    r, c = row[:, None], column[None, :]
    total = ct.gather(x, (r - 1, c)) + ct.gather(x, (r + 1, c)) + ct.gather(x, (r, c - 1)) + ct.gather(x, (r, c + 1))
    ct.store(y, index=(ct.bid(0), ct.bid(1)), tile=0.25 * total)


@ct.kernel
def adam(p, g, m, v, rate, tn: ConstInt):
    """Update parameters and both averages of their gradients, in place."""
    i = ct.bid(0)
    gradient = ct.load(g, index=(i,), shape=(tn,))
    first = 0.9 * ct.load(m, index=(i,), shape=(tn,)) + 0.1 * gradient
    second = 0.999 * ct.load(v, index=(i,), shape=(tn,)) + 0.001 * gradient * gradient
    ct.store(m, index=(i,), tile=first)
    ct.store(v, index=(i,), tile=second)
    step = rate * first / (ct.sqrt(ct.maximum(second, 0.0)) + 1e-8)
    ct.store(p, index=(i,), tile=ct.load(p, index=(i,), shape=(tn,)) - step)


# ---------------------------------------------------------------- matrix products


@ct.kernel
def gemm_nt(a, b, c, tm: ConstInt, tn: ConstInt, tk: ConstInt):
    """Multiply [M, K] by [N, K]."""
    total = ct.full((tm, tn), 0, dtype=ct.int32 if c.dtype == ct.int32 else ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(ct.bid(0), k), shape=(tm, tk), padding_mode=ZERO)
        y = ct.load(b, index=(k, ct.bid(1)), shape=(tk, tn), order="F", padding_mode=ZERO)
        total = ct.mma(x, y, total)
    ct.store(c, index=(ct.bid(0), ct.bid(1)), tile=ct.astype(total, c.dtype))


@ct.kernel
def gemm_bias_gelu(a, b, d, c, tm: ConstInt, tn: ConstInt, tk: ConstInt):
    """Multiply, add a bias and apply GELU."""
    total = ct.full((tm, tn), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(ct.bid(0), k), shape=(tm, tk), padding_mode=ZERO)
        y = ct.load(b, index=(k, ct.bid(1)), shape=(tk, tn), order="F", padding_mode=ZERO)
        total = ct.mma(x, y, total)
    z = total + ct.astype(ct.load(d, index=(ct.bid(1),), shape=(tn,)), ct.float32)[None, :]
    z = 0.5 * z * (1.0 + ct.tanh(0.7978845608 * (z + 0.044715 * z * z * z)))
    ct.store(c, index=(ct.bid(0), ct.bid(1)), tile=ct.astype(z, c.dtype))


@ct.kernel
def gemm_swiglu(a, b, e, c, tm: ConstInt, tn: ConstInt, tk: ConstInt):
    """Multiply by two matrices and gate one product by the other."""
    gate, up = ct.full((tm, tn), 0.0, dtype=ct.float32), ct.full((tm, tn), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(ct.bid(0), k), shape=(tm, tk), padding_mode=ZERO)
        gate = ct.mma(x, ct.load(b, index=(k, ct.bid(1)), shape=(tk, tn), order="F", padding_mode=ZERO), gate)
        up = ct.mma(x, ct.load(e, index=(k, ct.bid(1)), shape=(tk, tn), order="F", padding_mode=ZERO), up)
    z = gate / (1.0 + ct.exp(-gate)) * up
    ct.store(c, index=(ct.bid(0), ct.bid(1)), tile=ct.astype(z, c.dtype))


@ct.kernel
def gemm_dequant(a, b, s, c, tm: ConstInt, tn: ConstInt, tk: ConstInt):
    """Multiply by a matrix of 8-bit integers with a scale for each column."""
    total = ct.full((tm, tn), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.load(a, index=(ct.bid(0), k), shape=(tm, tk), padding_mode=ZERO)
        y = ct.load(b, index=(k, ct.bid(1)), shape=(tk, tn), order="F", padding_mode=ZERO)
        total = ct.mma(x, ct.astype(y, a.dtype), total)
    scale = ct.load(s, index=(ct.bid(1),), shape=(tn,))
    ct.store(c, index=(ct.bid(0), ct.bid(1)), tile=ct.astype(total * scale[None, :], c.dtype))


@ct.kernel
def gemv_rows(a, b, c, tm: ConstInt, tk: ConstInt):
    """Multiply by a vector, without tensor cores."""
    r = ct.bid(0)
    total = ct.full((tm, tk), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
        x = ct.astype(ct.load(a, index=(r, k), shape=(tm, tk), padding_mode=ZERO), ct.float32)
        y = ct.astype(ct.load(b, index=(k,), shape=(tk,), padding_mode=ZERO), ct.float32)
        total = total + x * y[None, :]
    ct.store(c, index=(r,), tile=ct.sum(total, axis=1))


@ct.kernel
def lora(a, b, d, c, tm: ConstInt, tn: ConstInt, rank: ConstInt):
    """Multiply by a thin matrix and the result by a flat one."""
    r = ct.bid(0)
    thin = ct.full((tm, rank), 0.0, dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(tm, tn))):
        x = ct.load(a, index=(r, k), shape=(tm, tn), padding_mode=ZERO)
        thin = ct.mma(x, ct.load(b, index=(k, 0), shape=(tn, rank), padding_mode=ZERO), thin)
    left = ct.astype(thin, a.dtype)
    for j in range(ct.num_tiles(d, axis=1, shape=(rank, tn))):
        y = ct.load(d, index=(0, j), shape=(rank, tn), padding_mode=ZERO)
        ct.store(c, index=(r, j), tile=ct.astype(ct.mma(left, y, ct.full((tm, tn), 0.0, dtype=ct.float32)), c.dtype))


@ct.kernel
def linear_attention(q, k, v, out, tm: ConstInt, td: ConstInt):
    """Attend causally without softmax: a state for the past, a masked product for the present."""
    b = ct.bid(0)
    state = ct.full((td, td), 0.0, dtype=ct.float32)
    row = ct.arange(tm, dtype=ct.int32)
    for i in range(ct.num_tiles(q, axis=1, shape=(1, tm, td))):
        x = ct.reshape(ct.load(q, index=(b, i, 0), shape=(1, tm, td)), (tm, td))
        y = ct.reshape(ct.load(k, index=(b, i, 0), shape=(1, tm, td)), (tm, td))
        z = ct.reshape(ct.load(v, index=(b, i, 0), shape=(1, tm, td)), (tm, td))
        score = ct.mma(x, ct.transpose(y), ct.full((tm, tm), 0.0, dtype=ct.float32))
        score = ct.where(row[:, None] >= row[None, :], score, 0.0)
        total = ct.mma(x, ct.astype(state, x.dtype), ct.full((tm, td), 0.0, dtype=ct.float32))
        total = ct.mma(ct.astype(score, x.dtype), z, total)
        state = ct.mma(ct.transpose(y), z, state)
        ct.store(out, index=(b, i, 0), tile=ct.reshape(ct.astype(total, out.dtype), (1, tm, td)))


@ct.kernel
def syrk(a, c, tm: ConstInt, tn: ConstInt, tk: ConstInt):
    """Multiply a matrix by its own transpose; blocks above the diagonal are left out."""
    i, j = ct.bid(0), ct.bid(1)
    if i * tm + tm > j * tn:
        total = ct.full((tm, tn), 0.0, dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=1, shape=(tm, tk))):
            x = ct.load(a, index=(i, k), shape=(tm, tk), padding_mode=ZERO)
            y = ct.load(a, index=(k, j), shape=(tk, tn), order="F", padding_mode=ZERO)
            total = ct.mma(x, y, total)
        ct.store(c, index=(i, j), tile=total)


@ct.kernel
def kmeans_assign(x, c, at, tm: ConstInt, tn: ConstInt, td: ConstInt):
    """Find the nearest of several centres for each point."""
    i = ct.bid(0)
    point = ct.load(x, index=(i, 0), shape=(tm, td))
    best, place = ct.full((tm,), INF, dtype=ct.float32), ct.full((tm,), 0, dtype=ct.int32)
    for j in range(ct.num_tiles(c, axis=0, shape=(tn, td))):
        centre = ct.load(c, index=(j, 0), shape=(tn, td))
        square = ct.astype(centre, ct.float32)
        square = ct.sum(square * square, axis=1)
        product = ct.mma(point, ct.transpose(centre), ct.full((tm, tn), 0.0, dtype=ct.float32))
        distance = square[None, :] - 2.0 * product
        near = ct.min(distance, axis=1)
        where = j * tn + ct.astype(ct.argmin(distance, axis=1), ct.int32)
        place = ct.where(near < best, where, place)
        best = ct.minimum(best, near)
    ct.store(at, index=(i,), tile=place)
