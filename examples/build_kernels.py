"""Build a matrix product, a softmax and a sum with the builder, run them, and compare with NumPy.

python examples/build_kernels.py
"""

import numpy as np

import tilery
from tilery import Builder, Module
from tilery.builder import f16, f32, i32, ptr


def matmul() -> Module:
    """Return `matmul(a, b, c, m, n, k)`: c = a @ b, in tiles of 64 x 64, 32 columns of `a` at a time."""
    b = Builder()
    with b.entry("matmul", a=ptr(f16), b=ptr(f16), c=ptr(f32), m=i32, n=i32, k=i32) as p:
        x, y, _ = b.block_id()
        lhs = b.view(p.a, (p.m, p.k), tile=(64, 32), padding="zero")
        rhs = b.view(p.b, (p.k, p.n), tile=(32, 64), padding="zero")
        out = b.view(p.c, (p.m, p.n), tile=(64, 64))
        with b.for_(0, (p.k + 31) // 32, carry=[b.zeros((64, 64), f32)]) as (i, acc):
            b.continue_(b.mma(b.load(lhs, (x, i)), b.load(rhs, (i, y)), acc))
        b.store(out, (x, y), b.result)
    return b.module


def softmax(columns: int = 256) -> Module:
    """Return `softmax(data, out, rows)`: the softmax of each row, a row per tile block."""
    b = Builder()
    with b.entry("softmax", data=ptr(f32), out=ptr(f32), rows=i32) as p:
        row, _, _ = b.block_id()
        x = b.load(b.view(p.data, (p.rows, columns), tile=(1, columns)), (row, 0))
        e = b.exp(x - b.max(x, dim=1, keep=True))
        b.store(b.view(p.out, (p.rows, columns), tile=(1, columns)), (row, 0), e / b.sum(e, dim=1, keep=True))
    return b.module


def total() -> Module:
    """Return `total(data, out, n)`: the sum of n numbers, with pointers and a mask."""
    b = Builder()
    with b.entry("total", data=ptr(f32), out=ptr(f32), n=i32) as p:
        with b.for_(0, p.n, 128, carry=[b.zeros(128, f32)]) as (start, acc):
            index = b.iota(128) + start
            b.continue_(acc + b.load_ptr(p.data + index, mask=index < p.n, other=0))
        b.store_ptr(p.out, b.sum(b.result))
    return b.module


def main() -> None:
    rng = np.random.default_rng(0)
    lhs, rhs = (rng.standard_normal(shape).astype(np.float16) for shape in ((100, 70), (70, 90)))
    product = np.zeros((100, 90), np.float32)
    tilery.compile(matmul()).launch((2, 2), [lhs, rhs, product, 100, 90, 70])
    print("matmul: ", np.allclose(product, lhs.astype(np.float32) @ rhs.astype(np.float32), atol=1e-4))

    data = rng.standard_normal((10, 256)).astype(np.float32)
    out = np.zeros_like(data)
    tilery.compile(softmax()).launch(10, [data, out, 10])
    e = np.exp(data - data.max(1, keepdims=True))
    print("softmax:", np.allclose(out, e / e.sum(1, keepdims=True), atol=1e-6))

    result = np.zeros(1, np.float32)
    tilery.compile(total()).launch(1, [data, result, data.size])
    print("total:  ", np.allclose(result, data.sum(), atol=1e-3))


if __name__ == "__main__":
    main()
