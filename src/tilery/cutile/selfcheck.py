"""A check that a release of cuTile works: compile a kernel whose result is known, launch it and compare."""

import cuda.tile as ct
import numpy as np


@ct.kernel  # type: ignore[untyped-decorator]  # cuTile has no types
def checked(x, y, out, scale, n: ct.Constant[int]):  # type: ignore[no-untyped-def]  # cuTile gives annotations a meaning
    """Exercise loads, stores, a loop, a product of matrices, a reduction, a scalar and a constant."""
    block = ct.bid(0)
    total = ct.full((n, n), 0, dtype=ct.float32)
    for step in range(2):
        left = ct.load(x, (block, step), (n, n))
        total = ct.mma(left, ct.load(y, (step, 0), (n, n)), total)
    row = ct.sum(total, axis=1, keepdims=True)
    ct.store(out, (block, 0), total * scale + row)


def check() -> None:
    """Raise an exception if the kernel does not compute what it must; the numbers are exact in any order."""
    x = np.arange(32 * 32, dtype=np.float32).reshape(32, 32) % 7
    y = np.arange(32 * 16, dtype=np.float32).reshape(32, 16) % 5
    out = np.zeros((32, 16), np.float32)
    ct.launch(0, (2,), checked, (x, y, out, 3, 16))
    product = x @ y
    if not np.array_equal(out, 3 * product + product.sum(1, keepdims=True)):
        raise ArithmeticError("a kernel whose result is known computed something else")
