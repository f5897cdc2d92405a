# Each row is divided by the number of columns that it may see; the first row may see none.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    b = ct.bid(0)
    row = ct.reshape(ct.arange(8, dtype=ct.int32), (8, 1))
    column = ct.reshape(ct.arange(8, dtype=ct.int32), (1, 8))
    seen = row > column
    # fixed: seen = row >= column
    t = ct.reshape(ct.load(x, index=(b, 0, 0), shape=(1, 8, 8), padding_mode=ct.PaddingMode.ZERO), (8, 8))
    total = ct.sum(ct.where(seen, t, 0.0), axis=1, keepdims=True)
    number = ct.sum(ct.where(seen, 1.0, 0.0), axis=1, keepdims=True)
    ct.store(out, index=(b, 0, 0), tile=ct.reshape(total / number, (1, 8, 1)))  # fault: nan


def main(uninit):
    x = np.ones((2, 8, 8), np.float32)
    out = np.zeros((2, 8, 1), np.float32)
    ct.launch(0, (2,), kernel, (x, out))
