# Every block stores to the first tile.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    t = ct.load(x, index=(ct.bid(0), 0), shape=(1, 8))
    ct.store(out, index=(0,), tile=ct.reshape(t, (8,)))  # fault: lint
    # fixed: ct.store(out, index=(ct.bid(0),), tile=ct.reshape(t, (8,)))


def main(uninit):
    x = np.ones((8, 10), np.float32)
    out = np.zeros(64, np.float32)
    ct.launch(0, (2,), kernel, (x, out))
