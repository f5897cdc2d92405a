# Two elements are scattered to each place.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    i = ct.arange(16, dtype=ct.int32)
    ct.scatter(out, ct.bid(0) * 8 + i // 2, ct.astype(i, ct.float32))  # fault: lint
    # fixed: ct.scatter(out, ct.bid(0) * 16 + i, ct.astype(i, ct.float32))


def main(uninit):
    x = np.ones((8, 10), np.float32)
    out = np.zeros(64, np.float32)
    ct.launch(0, (2,), kernel, (x, out))
