# The sum of a row goes through a workspace that has a place per row; the heads of the row use the same one.
import cuda.tile as ct
import numpy as np


@ct.kernel
def kernel(x, work, out):
    row, head = ct.bid(0), ct.bid(1)
    t = ct.load(x, index=(row, head, 0), shape=(1, 1, 8), padding_mode=ct.PaddingMode.ZERO)
    place = 0
    # fixed: place = head
    ct.store(work, index=(row, place), tile=ct.reshape(ct.sum(t, axis=2), (1, 1)))  # fault: race
    total = ct.load(work, index=(row, place), shape=(1, 1), padding_mode=ct.PaddingMode.ZERO)  # fault: race
    ct.store(out, index=(row, head, 0), tile=t / ct.reshape(total, (1, 1, 1)))


def main(uninit):
    x = np.ones((2, 2, 8), np.float32)
    work = np.zeros((2, 2), np.float32)
    out = np.zeros((2, 2, 8), np.float32)
    ct.launch(0, (2, 2), kernel, (x, work, out))
