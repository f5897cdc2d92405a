# Blocks share the tiles between them, but step by one less than their number.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, out, TILES: ct.Constant[int]):
    step = ct.num_blocks(0) - 1
    # fixed: step = ct.num_blocks(0)
    for i in range(ct.bid(0), TILES, step):
        t = ct.load(x, index=(i,), shape=(8,))
        ct.store(out, index=(i,), tile=t + 1.0)  # fault: race: two tile blocks


def main(uninit):
    x = np.ones(64, np.float32)
    out = np.zeros(64, np.float32)
    ct.launch(0, (3,), kernel, (x, out, 8))
