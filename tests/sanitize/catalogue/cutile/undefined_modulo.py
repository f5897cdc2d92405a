# A position in a ring of length zero.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(position, length, y):
    ct.store(y, index=(0,), tile=position % length)  # fault: undefined: division by zero
    # fixed: ct.store(y, index=(0,), tile=position % max(length, 1))


def main(uninit):
    ct.launch(0, (1,), kernel, (7, 0, np.zeros(1, np.int32)))
