# An atomic addition without bounds checks goes past the end.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(y):
    ct.atomic_add(y, ct.bid(0), 1, check_bounds=False)  # fault: bounds: 0 bytes after the end of y
    # fixed: ct.atomic_add(y, ct.bid(0), 1)


def main(uninit):
    ct.launch(0, (5,), kernel, (np.zeros(4, np.int32),))
