# The grid is rounded down, so that the last elements of the output are never written; the program reads them.
import cuda.tile as ct
import torch


@ct.kernel
def kernel(x, y):
    tile = ct.load(x, index=(ct.bid(0),), shape=(16,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(ct.bid(0),), tile=tile)  # fault: unwritten: the first one is [32] # cause: the program reads it


def main(uninit):
    x, y = torch.ones(40, device="cuda"), torch.empty(40, device="cuda")
    grid = (40 // 16,)
    # fixed: grid = (ct.cdiv(40, 16),)
    ct.launch(0, grid, kernel, (x, y))
    y.sum()
