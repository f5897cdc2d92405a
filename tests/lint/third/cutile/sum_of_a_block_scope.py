# Blocks add to one element with the scope of a block.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out):
    t = ct.sum(ct.load(x, index=(ct.bid(0), 0), shape=(1, 2)))
    ct.atomic_add(out, (0,), t, memory_scope=ct.MemoryScope.BLOCK)  # fault: lint
    # fixed: ct.atomic_add(out, (0,), t)


def main(uninit):
    x = np.ones((8, 10), np.float32)
    out = np.zeros(64, np.float32)
    ct.launch(0, (2,), kernel, (x, out))
