# Lanes in pairs are scattered to one element.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    i = ct.arange(8, dtype=ct.int32)
    v = ct.gather(x, i)
    ct.scatter(out, i // 2, v)  # fault: lint
    # fixed: ct.scatter(out, i * 2, v)


def main(uninit):
    x = np.ones(8, np.float32)
    out = np.zeros(64, np.float32)
    ct.launch(0, (1,), kernel, (x, out))
