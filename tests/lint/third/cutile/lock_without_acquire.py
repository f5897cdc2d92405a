# A lock is taken with a relaxed compare-and-swap.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(lock, out):
    while True:
        old = ct.atomic_cas(lock, (0,), 0, 1, memory_order=ct.MemoryOrder.RELAXED)  # fault: lint
        # fixed: old = ct.atomic_cas(lock, (0,), 0, 1, memory_order=ct.MemoryOrder.ACQUIRE)
        if old == 0:
            break
    t = ct.load(out, index=(0,), shape=(8,))
    ct.store(out, index=(0,), tile=t + 1.0)
    ct.atomic_xchg(lock, (0,), 0, memory_order=ct.MemoryOrder.RELEASE)


def main(uninit):
    out = np.zeros(64, np.float32)
    ct.launch(0, (2,), kernel, (np.zeros(1, np.int32), out))
