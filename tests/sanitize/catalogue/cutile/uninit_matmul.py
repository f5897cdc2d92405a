# A matrix product adds up tiles at the edge of K that have no padding.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(a, b, c):
    acc = ct.zeros((8, 8), dtype=ct.float32)
    for k in range(2):
        x = ct.load(a, index=(0, k), shape=(8, 8))  # other: uninit
        # fixed: x = ct.load(a, index=(0, k), shape=(8, 8), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, index=(k, 0), shape=(8, 8), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(0, 0), tile=acc)  # fault: uninit: is stored to memory


def main(uninit):
    a, b = np.ones((8, 12), np.float32), np.ones((12, 8), np.float32)
    ct.launch(0, (1,), kernel, (a, b, np.zeros((8, 8), np.float32)))
