# The tiles that tile blocks store overlap, because a step is smaller than a tile.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(y):
    i = ct.bid(0) * 6 + ct.arange(8, dtype=ct.int32)
    # fixed: i = ct.bid(0) * 8 + ct.arange(8, dtype=ct.int32)
    ct.scatter(y, i, 1.0)  # fault: race: tile blocks # cause: do not synchronize


def main(uninit):
    ct.launch(0, (3,), kernel, (np.zeros(24, np.float32),))
