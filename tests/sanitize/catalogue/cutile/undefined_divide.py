# An average over no elements.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(total, count, y):
    ct.store(y, index=(0,), tile=total // count)  # fault: undefined: division by zero
    # fixed: ct.store(y, index=(0,), tile=total // max(count, 1))


def main(uninit):
    ct.launch(0, (1,), kernel, (7, 0, np.zeros(1, np.int32)))
