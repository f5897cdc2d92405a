# A branch depends on an element past the end.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    tile = ct.load(x, index=(0,), shape=(4,))  # other: uninit
    # fixed: tile = ct.load(x, index=(0,), shape=(4,), padding_mode=ct.PaddingMode.ZERO)
    if ct.sum(tile) > 0:  # fault: uninit: decides what is executed
        ct.store(y, index=(0,), tile=ct.ones((4,), dtype=ct.float32))


def main(uninit):
    ct.launch(0, (1,), kernel, (np.ones(3, np.float32), np.zeros(4, np.float32)))
