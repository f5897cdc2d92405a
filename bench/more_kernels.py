"""More kernels, in cuTile: transpose, products in bf16 and int8, grouped and of experts, FFT, attention, histogram."""

from __future__ import annotations

# kernels have no annotations but cuTile's own
# mypy: ignore-errors
import cuda.tile as ct


@ct.kernel
def transpose(x, y, M: ct.Constant[int], N: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, index=(j, i), tile=ct.transpose(ct.load(x, index=(i, j), shape=(M, N))))


@ct.kernel
def gemm(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(ct.load(a, index=(i, k), shape=(M, K)), ct.load(b, index=(k, j), shape=(K, N)), acc)
    ct.store(c, index=(i, j), tile=acc.astype(c.dtype))


@ct.kernel
def int_gemm(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), dtype=ct.int32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        acc = ct.mma(ct.load(a, index=(i, k), shape=(M, K)), ct.load(b, index=(k, j), shape=(K, N)), acc)
    ct.store(c, index=(i, j), tile=acc)


@ct.kernel
def grouped_gemm(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    """A persistent kernel: each tile block takes every n-th tile of all products."""
    rows, columns = ct.num_tiles(c, axis=1, shape=(1, M, N)), ct.num_tiles(c, axis=2, shape=(1, M, N))
    for t in range(ct.bid(0), c.shape[0] * rows * columns, ct.num_blocks(0)):
        g, rest = t // (rows * columns), t % (rows * columns)
        i, j = rest // columns, rest % columns
        acc = ct.zeros((M, N), dtype=ct.float32)
        for k in range(ct.num_tiles(a, axis=2, shape=(1, M, K))):
            x = ct.reshape(ct.load(a, index=(g, i, k), shape=(1, M, K)), (M, K))
            y = ct.reshape(ct.load(b, index=(g, k, j), shape=(1, K, N)), (K, N))
            acc = ct.mma(x, y, acc)
        ct.store(c, index=(g, i, j), tile=ct.reshape(acc.astype(c.dtype), (1, M, N)))


@ct.kernel
def experts(x, w, rows, owner, y, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    """Mixture of experts: each tile of rows, gathered by index, is multiplied with the weights of its expert."""
    i, j = ct.bid(0), ct.bid(1)
    chosen = ct.load(rows, index=(i,), shape=(M,))
    expert = ct.load(owner, index=(i,), shape=(1,)).item()
    acc = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(w, axis=1, shape=(1, K, N))):
        columns = k * K + ct.arange(K, dtype=ct.int32)
        t = ct.gather(x, (ct.expand_dims(chosen, 1), ct.expand_dims(columns, 0)))
        acc = ct.mma(t, ct.reshape(ct.load(w, index=(expert, k, j), shape=(1, K, N)), (K, N)), acc)
    out = j * N + ct.arange(N, dtype=ct.int32)
    ct.scatter(y, (ct.expand_dims(chosen, 1), ct.expand_dims(out, 0)), acc.astype(y.dtype))


@ct.kernel
def fft(re, im, fr, fi, tr, ti, out_re, out_im, R: ct.Constant[int]):
    """A transform of R * R points in two steps of R points each, by products with the matrix of a short transform."""
    b = ct.bid(0)
    xr = ct.reshape(ct.load(re, index=(b, 0, 0), shape=(1, R, R)), (R, R))
    xi = ct.reshape(ct.load(im, index=(b, 0, 0), shape=(1, R, R)), (R, R))
    wr, wi = ct.load(fr, index=(0, 0), shape=(R, R)), ct.load(fi, index=(0, 0), shape=(R, R))
    zero = ct.zeros((R, R), dtype=ct.float32)
    yr = ct.mma(wr, xr, zero) - ct.mma(wi, xi, zero)
    yi = ct.mma(wr, xi, zero) + ct.mma(wi, xr, zero)
    pr, pi = ct.load(tr, index=(0, 0), shape=(R, R)), ct.load(ti, index=(0, 0), shape=(R, R))
    zr, zi = yr * pr - yi * pi, yr * pi + yi * pr
    ar = ct.mma(zr, wr, zero) - ct.mma(zi, wi, zero)
    ai = ct.mma(zr, wi, zero) + ct.mma(zi, wr, zero)
    ct.store(out_re, index=(b, 0, 0), tile=ct.reshape(ct.transpose(ar), (1, R, R)))
    ct.store(out_im, index=(b, 0, 0), tile=ct.reshape(ct.transpose(ai), (1, R, R)))


@ct.kernel
def histogram(x, counts, T: ct.Constant[int]):
    ct.atomic_add(counts, ct.load(x, index=(ct.bid(0),), shape=(T,)), 1)
