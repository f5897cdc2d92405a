# Lanes are multiplied by the number of the block, which is zero in the first one.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(out):
    i = ct.arange(8, dtype=ct.int32)
    at = i * ct.bid(0)
    # fixed: at = i + 8 * ct.bid(0)
    ct.scatter(out, at, i)  # fault: race: two elements of one weak store


def main(uninit):
    out = np.zeros(64, np.int32)
    ct.launch(0, (2,), kernel, (out,))
