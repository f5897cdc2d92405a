# The last tile block adds up what the others stored, but the count orders nothing.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(part, count, out, blocks: ct.Constant[int]):
    ct.store(part, index=(ct.bid(0),), tile=ct.full((1,), 2.0, dtype=ct.float32))
    old = ct.atomic_add(count, 0, 1, memory_order=ct.MemoryOrder.RELAXED)
    # fixed: old = ct.atomic_add(count, 0, 1)
    if old == blocks - 1:
        parts = ct.load(part, index=(0,), shape=(4,))  # fault: race: two tile blocks # cause: must release
        ct.store(out, index=(0,), tile=ct.sum(parts, keepdims=True))


def main(uninit):
    part, count, out = np.zeros(4, np.float32), np.zeros(1, np.int32), np.zeros(1, np.float32)
    ct.launch(0, (4,), kernel, (part, count, out, 4))
