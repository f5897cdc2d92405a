# A shift by as many bits as the type has.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(n, y):
    ct.store(y, index=(0,), tile=1 << ct.full((1,), n, dtype=ct.int32))  # fault: undefined: the shift amount
    # fixed: ct.store(y, index=(0,), tile=1 << ct.full((1,), n % 32, dtype=ct.int32))


def main(uninit):
    ct.launch(0, (1,), kernel, (33, np.zeros(1, np.int32)))
