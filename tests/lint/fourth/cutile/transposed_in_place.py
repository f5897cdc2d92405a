# A block stores its tile, transposed, where another block reads.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    t = ct.load(out, index=(ct.bid(0), ct.bid(1)), shape=(4, 4))
    # fixed: t = ct.load(x, index=(ct.bid(0), ct.bid(1)), shape=(4, 4))
    ct.store(out, index=(ct.bid(1), ct.bid(0)), tile=ct.transpose(t))  # fault: lint


def main(uninit):
    x = np.ones((8, 8), np.float32)
    out = np.zeros((8, 8), np.float32)
    ct.launch(0, (2, 2), kernel, (x, out))
