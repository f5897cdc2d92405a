# The kernel reads an array that was never filled.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    ct.store(y, index=(0,), tile=ct.load(x, index=(0,), shape=(16,)) + 1)  # fault: uninit  # other: uninit


def main(uninit):
    x = uninit(np.empty(16, np.float32))
    # fixed: x = np.ones(16, np.float32)
    ct.launch(0, (1,), kernel, (x, np.zeros(16, np.float32)))
