# Tile blocks count with a gather and a scatter instead of an atomic addition.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(count):
    old = ct.gather(count, 0)
    # fixed: ct.atomic_add(count, 0, 1)
    ct.scatter(count, 0, old + 1)  # fault: race # fault: race # cause: do not synchronize
    # fixed:


def main(uninit):
    ct.launch(0, (4,), kernel, (np.zeros(1, np.int32),))
