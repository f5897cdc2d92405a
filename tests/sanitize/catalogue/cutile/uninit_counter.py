# An atomic counter starts with whatever is in memory.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(count):
    ct.atomic_add(count, 0, 1)  # fault: uninit: changes undefined memory # cause: reads count where


def main(uninit):
    count = uninit(np.empty(1, np.int32))
    # fixed: count = np.zeros(1, np.int32)
    ct.launch(0, (4,), kernel, (count,))
