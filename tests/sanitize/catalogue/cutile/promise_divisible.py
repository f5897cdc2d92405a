# A number is not the multiple that it is said to be.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(n, y):
    m = ct.assume_divisible_by(n, 8)  # fault: promise: not divisible by 8
    # fixed: m = ct.assume_divisible_by(n, 4)
    ct.store(y, index=(0,), tile=m)


def main(uninit):
    ct.launch(0, (1,), kernel, (12, np.zeros(1, np.int32)))
