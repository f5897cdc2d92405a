# A kernel adds to its output, which was not set to zero.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    total = ct.load(y, index=(0,), shape=(16,))  # other: uninit
    # fixed: total = ct.zeros((16,), dtype=ct.float32)
    total += ct.load(x, index=(0,), shape=(16,))
    ct.store(y, index=(0,), tile=total)  # fault: uninit


def main(uninit):
    ct.launch(0, (1,), kernel, (np.ones(16, np.float32), uninit(np.empty(16, np.float32))))
