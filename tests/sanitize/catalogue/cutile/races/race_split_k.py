# Tile blocks that share an output tile add to it with a load and a store.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(a, b, c, partial):
    k, m = ct.bid(0), ct.bid(1)
    x = ct.load(a, index=(m, k), shape=(4, 8))
    y = ct.load(b, index=(k, 0), shape=(8, 4))
    product = ct.mma(x, y, ct.zeros((4, 4), dtype=ct.float32))
    old = ct.load(c, index=(m, 0), shape=(4, 4))
    # fixed: old = 0.0
    ct.store(c, index=(m, 0), tile=old + product)  # fault: race # fault: race # cause: do not synchronize
    # fixed: ct.store(partial, index=(k, m, 0), tile=ct.reshape(old + product, (1, 4, 4)))


def main(uninit):
    a, b = np.ones((8, 16), np.float32), np.ones((16, 4), np.float32)
    c, partial = np.zeros((8, 4), np.float32), np.zeros((2, 8, 4), np.float32)
    ct.launch(0, (2, 2), kernel, (a, b, c, partial))
