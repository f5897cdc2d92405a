# Two heads of the queries share one of the keys, and each stores the gradient of the keys as if it were alone.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(g, dk):
    head = ct.bid(0)
    t = ct.load(g, index=(head, 0), shape=(1, 16))
    ct.store(dk, index=(head // 2, 0), tile=t * 2)  # fault: race
    # fixed: ct.store(dk, index=(head, 0), tile=t * 2)


def main(uninit):
    g = np.ones((4, 16), np.float32)
    dk = np.zeros((4, 16), np.float32)
    ct.launch(0, (4,), kernel, (g, dk))
