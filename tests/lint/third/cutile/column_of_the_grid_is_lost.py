# The second dimension of the grid does not decide where to store.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    t = ct.load(x, index=(ct.bid(0), ct.bid(1)), shape=(2, 2))
    ct.store(y, index=(ct.bid(0), 0), tile=t + 1.0)  # fault: lint
    # fixed: ct.store(y, index=(ct.bid(0), ct.bid(1)), tile=t + 1.0)


def main(uninit):
    x = np.ones((8, 10), np.float32)
    ct.launch(0, (2, 2), kernel, (x, np.zeros((8, 10), np.float32)))
