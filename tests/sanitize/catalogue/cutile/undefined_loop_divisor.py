# The number of elements is divided by a count that is zero in the first tile block.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(y):
    share = 64 // ct.bid(0)  # fault: undefined: division by zero
    # fixed: share = 64 // (ct.bid(0) + 1)
    ct.scatter(y, ct.bid(0), share)


def main(uninit):
    ct.launch(0, (4,), kernel, (np.zeros(4, np.int32),))
