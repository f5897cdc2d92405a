# A lock is taken with a relaxed compare-and-swap.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(lock, out):
    while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ct.MemoryOrder.RELAXED) != 0:  # fault: lint
    # fixed: while ct.atomic_cas(lock, (0,), 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) != 0:
        pass
    t = ct.load(out, index=(0,), shape=(8,))
    ct.store(out, index=(0,), tile=t + 1.0)
    ct.atomic_xchg(lock, (0,), 0, memory_order=ct.MemoryOrder.RELEASE)


def main(uninit):
    x = np.ones((8, 10), np.float32)
    out = np.zeros(64, np.float32)
    ct.launch(0, (2,), kernel, (np.zeros(1, np.int32), out))
