# A kernel stores the padding of a load; another kernel adds it up.
import cuda.tile as ct
import numpy as np
import torch


@ct.kernel
def copy(x, y):
    tile = ct.load(x, index=(0,), shape=(32,))  # other: uninit
    # fixed: tile = ct.load(x, index=(0,), shape=(32,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(0,), tile=tile)  # fault: uninit: has not been read so far


@ct.kernel
def add(y, z):
    row = ct.load(y, index=(0,), shape=(32,))
    ct.store(z, index=(0,), tile=ct.sum(row, keepdims=True))  # fault: uninit # cause: it was stored by store_view_tko


def main(uninit):
    x, y = torch.ones(20, device="cuda"), torch.zeros(32, device="cuda")
    ct.launch(0, (1,), copy, (x, y))
    ct.launch(0, (1,), add, (y, np.zeros(1, np.float32)))
