# A load promises that its tile is inside the array.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    t = ct.load(x, index=(0,), shape=(16,), check_bounds=False)  # fault: promise: promises # fault: bounds
    # fixed: t = ct.load(x, index=(0,), shape=(16,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(0,), tile=t)


def main(uninit):
    ct.launch(0, (1,), kernel, (np.ones(12, np.float32), np.zeros(16, np.float32)))
