# Two arguments are overlapping slices of one array.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    tile = ct.load(x, index=(ct.bid(0),), shape=(8,))
    ct.store(y, index=(ct.bid(0),), tile=tile)  # fault: race # cause: overlap


def main(uninit):
    whole = np.arange(48, dtype=np.float32)
    y = whole[8:40]
    # fixed: y = np.zeros(32, np.float32)
    ct.launch(0, (4,), kernel, (whole[:32], y))
