# A part of a tile that does not exist.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(n, y):
    t = ct.arange(16, dtype=ct.int32)
    ct.store(y, index=(0,), tile=ct.extract(t, (n,), (4,)))  # fault: undefined: index 0 is not less than 4
    # fixed: ct.store(y, index=(0,), tile=ct.extract(t, (n % 4,), (4,)))


def main(uninit):
    ct.launch(0, (1,), kernel, (4, np.zeros(4, np.int32)))
