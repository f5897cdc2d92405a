# The maximum of a row includes what lies after its end.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    row = ct.load(x, index=(ct.bid(0), 0), shape=(1, 16))  # other: uninit
    # fixed: row = ct.load(x, index=(ct.bid(0), 0), shape=(1, 16), padding_mode=ct.PaddingMode.NEG_INF)
    ct.store(y, index=(ct.bid(0),), tile=ct.max(row, axis=1))  # fault: uninit


def main(uninit):
    ct.launch(0, (3,), kernel, (np.ones((3, 10), np.float32), np.zeros(3, np.float32)))
