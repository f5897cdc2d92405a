# The minimum of a row counts the zeros after its end.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    row = ct.load(x, index=(ct.bid(0), 0), shape=(1, 16), padding_mode=ct.PaddingMode.ZERO)
    # fixed: row = ct.load(x, index=(ct.bid(0), 0), shape=(1, 16), padding_mode=ct.PaddingMode.POS_INF)
    ct.store(out, index=(ct.bid(0),), tile=ct.min(row, axis=1))  # fault: lint


def main(uninit):
    x = np.ones((8, 10), np.float32)
    out = np.zeros(64, np.float32)
    ct.launch(0, (2,), kernel, (x, out))
