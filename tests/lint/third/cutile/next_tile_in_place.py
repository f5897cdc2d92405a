# A block reads the tile that the next one writes.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(out):
    t = ct.load(out, index=(ct.bid(0) + 1,), shape=(8,))
    # fixed: t = ct.load(out, index=(ct.bid(0),), shape=(8,))
    ct.store(out, index=(ct.bid(0),), tile=t)  # fault: lint


def main(uninit):
    out = np.zeros(64, np.float32)
    ct.launch(0, (2,), kernel, (out,))
