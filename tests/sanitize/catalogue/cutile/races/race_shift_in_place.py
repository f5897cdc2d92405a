# Each tile block moves its right neighbour's tile to the left, in place.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    tile = ct.load(x, index=(ct.bid(0) + 1,), shape=(8,))
    ct.store(x, index=(ct.bid(0),), tile=tile)  # fault: race: two tile blocks # cause: do not synchronize
    # fixed: ct.store(y, index=(ct.bid(0),), tile=tile)


def main(uninit):
    x = np.arange(40, dtype=np.float32)
    ct.launch(0, (4,), kernel, (x, np.zeros_like(x)))
