# A scratch array is read before anything is stored to it.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(scratch, y):
    t = ct.load(scratch, index=(0,), shape=(16,))  # other: uninit
    ct.store(y, index=(0,), tile=t * 2)  # fault: uninit: is stored to memory # cause: reads scratch where


def main(uninit):
    scratch = np.empty(16, np.float32)
    # fixed: scratch = np.zeros(16, np.float32)
    ct.launch(0, (1,), kernel, (scratch, np.zeros(16, np.float32)))
