# The mean of a row counts elements outside it, which nothing defines.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    t = ct.load(x, index=(ct.bid(0), 0), shape=(1, 8))
    # fixed: t = ct.load(x, index=(ct.bid(0), 0), shape=(1, 8), padding_mode=ct.PaddingMode.ZERO)
    ct.store(out, index=(ct.bid(0),), tile=ct.sum(t, axis=1) / 5.0)  # fault: lint


def main(uninit):
    x = np.ones((8, 5), np.float32)
    out = np.zeros(8, np.float32)
    ct.launch(0, (2,), kernel, (x, out))
