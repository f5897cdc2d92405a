# Blocks count themselves; the one that counts the number of blocks is to write the sum, but the count is from before.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, part, count, out):
    b, n = ct.bid(0), ct.num_blocks(0)
    t = ct.load(x, index=(b,), shape=(8,))
    ct.store(part, index=(b,), tile=ct.sum(t, axis=0, keepdims=True))
    before = ct.atomic_add(count, 0, 1, memory_order=ct.MemoryOrder.ACQ_REL)
    last = n
    # fixed: last = n - 1
    if before == last:  # fault: unwritten
        s = ct.zeros((1,), np.float32)
        for i in range(n):
            s = s + ct.load(part, index=(i,), shape=(1,))
        ct.store(out, index=(0,), tile=s)


def main(uninit):
    x = np.ones(32, np.float32)
    part = np.zeros(4, np.float32)
    count = np.zeros(1, np.int32)
    out = np.zeros(1, np.float32)
    ct.launch(0, (4,), kernel, (x, part, count, out))
