# The squares of the distances to the mean count the padding.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, mean, out):
    row = ct.load(x, index=(ct.bid(0), 0), shape=(1, 16), padding_mode=ct.PaddingMode.ZERO)
    d = row - ct.load(mean, index=(ct.bid(0),), shape=(1,))
    # fixed: d = row
    ct.store(out, index=(ct.bid(0),), tile=ct.sum(d * d, axis=1))  # fault: lint


def main(uninit):
    x = np.ones((8, 10), np.float32)
    out = np.zeros(64, np.float32)
    ct.launch(0, (2,), kernel, (x, np.ones(8, np.float32), out))
