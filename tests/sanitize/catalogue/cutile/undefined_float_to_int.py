# A quantised value does not fit eight bits.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    t = ct.load(x, index=(0,), shape=(4,)) * 100.0
    ct.store(y, index=(0,), tile=ct.astype(t, ct.int8))  # fault: undefined: does not fit a signed i8
    # fixed: ct.store(y, index=(0,), tile=ct.astype(ct.minimum(t, 127.0), ct.int8))


def main(uninit):
    ct.launch(0, (1,), kernel, (np.arange(4, dtype=np.float32), np.zeros(4, np.int8)))
