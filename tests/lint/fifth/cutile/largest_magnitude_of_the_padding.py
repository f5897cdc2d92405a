# The padding is minus infinity, whose magnitude is the largest of all.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    row = ct.load(x, index=(ct.bid(0), 0), shape=(1, 8), padding_mode=ct.PaddingMode.NEG_INF)
    # fixed: row = ct.load(x, index=(ct.bid(0), 0), shape=(1, 8), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(ct.bid(0),), tile=ct.max(abs(row), axis=1))  # fault: lint


def main(uninit):
    x = np.ones((8, 5), np.float32)
    out = np.zeros(8, np.float32)
    ct.launch(0, (8,), kernel, (x, out))
