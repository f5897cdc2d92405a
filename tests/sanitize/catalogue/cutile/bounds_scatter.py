# A scatter without bounds checks goes past the end.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(y):
    i = ct.arange(16, dtype=ct.int32) * 2
    ct.scatter(y, i, 1.0, check_bounds=False)  # fault: bounds: is outside of it
    # fixed: ct.scatter(y, i, 1.0)


def main(uninit):
    ct.launch(0, (1,), kernel, (np.zeros(30, np.float32),))
