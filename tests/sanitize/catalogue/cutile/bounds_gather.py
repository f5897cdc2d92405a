# A gather without bounds checks goes past the end.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    i = ct.arange(16, dtype=ct.int32)
    t = ct.gather(x, i, check_bounds=False)  # fault: bounds: is outside of it
    # fixed: t = ct.gather(x, i)
    ct.scatter(y, i, t)


def main(uninit):
    ct.launch(0, (1,), kernel, (np.ones(12, np.float32), np.zeros(16, np.float32)))
