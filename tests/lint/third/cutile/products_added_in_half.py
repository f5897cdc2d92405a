# Products are accumulated in half precision over a loop.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    acc = ct.zeros((16, 16), dtype=ct.float16)
    # fixed: acc = ct.zeros((16, 16), dtype=ct.float32)
    for k in range(64):
        t = ct.load(x, index=(ct.bid(0), k), shape=(16, 16), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(t, t, acc)  # fault: lint
    ct.store(y, index=(ct.bid(0), 0), tile=ct.astype(acc, ct.float32))


def main(uninit):
    h = np.ones((32, 1024), np.float16)
    ct.launch(0, (2,), kernel, (h, np.zeros((32, 16), np.float32)))
