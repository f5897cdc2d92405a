"""cuTile kernels that the tests launch. It can only be imported where cuTile is installed."""

from __future__ import annotations

# kernels have no annotations but cuTile's own
# mypy: ignore-errors
import cuda.tile as ct


@ct.kernel
def add(x, y, z, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(z, index=(i,), tile=ct.load(x, index=(i,), shape=(T,)) + ct.load(y, index=(i,), shape=(T,)))


@ct.kernel
def scale(x, by, shift, negate, z, T: ct.Constant[int]):
    t = ct.load(x, index=(0,), shape=(T,)).astype(ct.float32) * by + shift
    if negate:
        t = -t
    ct.store(z, index=(0,), tile=t.astype(z.dtype))


@ct.kernel
def total(xs, z, T: ct.Constant[int]):
    t = ct.zeros((T,), dtype=ct.float32)
    for k in range(len(xs)):
        t += ct.load(xs[k], index=(0,), shape=(T,))
    ct.store(z, index=(0,), tile=t)


@ct.kernel
def pair(xy, z, T: ct.Constant[int]):
    ct.store(z, index=(0,), tile=ct.load(xy[0], index=(0,), shape=(T,)) * xy[1])


def deeper(x, i):
    return ct.gather(x, i, check_bounds=False)


@ct.kernel
def past_the_end(x, z, T: ct.Constant[int]):
    i = ct.arange(T, dtype=ct.int32)
    ct.scatter(z, i, deeper(x, i))


@ct.kernel
def claim(x, T: ct.Constant[int]):
    ct.assert_(ct.load(x, index=(0,), shape=(T,)) > 0, "all must be positive")


@ct.kernel
def forever(x):
    while ct.atomic_add(x, 0, 1) >= 0:
        pass


@ct.kernel
def transpose(x, y, T: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, index=(j, i), tile=ct.transpose(ct.load(x, index=(i, j), shape=(T, T))))


@ct.kernel
def exponential(x, z, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(z, index=(i,), tile=ct.exp(ct.load(x, index=(i,), shape=(T,))))
