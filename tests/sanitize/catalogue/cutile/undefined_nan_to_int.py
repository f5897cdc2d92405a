# The root of a negative number becomes an integer.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    t = ct.sqrt(ct.load(x, index=(0,), shape=(4,)))
    ct.store(y, index=(0,), tile=ct.astype(t, ct.int32))  # fault: undefined: does not fit a signed i32
    # fixed: ct.store(y, index=(0,), tile=ct.astype(ct.where(ct.isnan(t), 0.0, t), ct.int32))


def main(uninit):
    ct.launch(0, (1,), kernel, (np.array([1, 4, -1, 9], np.float32), np.zeros(4, np.int32)))
