# A persistent loop goes on by the number of tile blocks less one, so that tiles are done by several tile blocks.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x):
    step = ct.num_blocks(0) - 1
    # fixed: step = ct.num_blocks(0)
    for i in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(8,)), step):
        t = ct.load(x, index=(i,), shape=(8,), padding_mode=ct.PaddingMode.ZERO)  # fault: race
        ct.store(x, index=(i,), tile=t * 2)  # fault: race


def main(uninit):
    ct.launch(0, (3,), kernel, (np.ones(64, np.float32),))
