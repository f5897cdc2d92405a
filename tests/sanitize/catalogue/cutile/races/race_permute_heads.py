# A permutation of heads: all tile blocks of a target head store, and two indices of the store are swapped.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, y, heads: ct.Constant[int], rows: ct.Constant[int]):
    batch, source, target = ct.bid(0) // heads, ct.bid(0) % heads, ct.bid(1)
    chosen = target < heads
    # fixed: chosen = target == (source + 1) % heads
    if chosen:
        for i in range(rows):
            tile = ct.load(x, index=(batch, source, i, 0), shape=(1, 1, 4, 8))
            ct.store(y, index=(batch, i, target, 0), tile=tile)  # fault: race: tile blocks # cause: do not synchronize
            # fixed: ct.store(y, index=(batch, target, i, 0), tile=tile)


def main(uninit):
    x = np.arange(2 * 2 * 8 * 8, dtype=np.float32).reshape(2, 2, 8, 8)
    ct.launch(0, (4, 2), kernel, (x, np.zeros_like(x), 2, 2))
