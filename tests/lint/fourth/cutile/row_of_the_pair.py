# Blocks in pairs store the same row.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    i = ct.bid(0) // 2
    # fixed: i = ct.bid(0)
    t = ct.load(x, index=(ct.bid(0), 0), shape=(1, 8))
    ct.store(out, index=(i, 0), tile=t * 2.0)  # fault: lint


def main(uninit):
    x = np.ones((8, 8), np.float32)
    out = np.zeros((8, 8), np.float32)
    ct.launch(0, (2,), kernel, (x, out))
