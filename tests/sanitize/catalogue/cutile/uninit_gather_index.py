# An index is loaded past the end of an array of indices.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, indices, y):
    i = ct.load(indices, index=(0,), shape=(8,))  # other: uninit
    # fixed: i = ct.load(indices, index=(0,), shape=(8,), padding_mode=ct.PaddingMode.ZERO)
    t = ct.gather(x, i)  # fault: uninit: the mask of an access
    ct.store(y, index=(0,), tile=t)


def main(uninit):
    x, i = np.ones(8, np.float32), np.zeros(6, np.int32)
    ct.launch(0, (1,), kernel, (x, i, np.zeros(8, np.float32)))
