# Every block clears the sum before it adds to it.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    ct.store(out, index=(0,), tile=ct.zeros((1,), ct.float32))  # fault: lint
    # fixed:
    t = ct.load(x, index=(ct.bid(0), 0), shape=(1, 8))
    ct.atomic_add(out, (0,), ct.sum(t))


def main(uninit):
    x = np.ones((8, 8), np.float32)
    out = np.zeros(1, np.float32)
    ct.launch(0, (2,), kernel, (x, out))
