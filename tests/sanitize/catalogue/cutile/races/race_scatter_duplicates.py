# A scatter stores two elements of its tile to the same place.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y):
    i = ct.arange(8, dtype=ct.int32)
    ct.scatter(y, i // 2, ct.gather(x, i))  # fault: race: two elements of one weak store
    # fixed: ct.scatter(y, i, ct.gather(x, i))


def main(uninit):
    ct.launch(0, (1,), kernel, (np.ones(8, np.float32), np.zeros(8, np.float32)))
