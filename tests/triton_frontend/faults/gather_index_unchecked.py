# An index from memory is larger than the table.
import torch
import triton
import triton.language as tl


@triton.jit
def lookup(table, index, out, rows, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.load(index + i)
    v = tl.load(table + at)  # fault: bounds
    # fixed: v = tl.load(table + at, mask=at < rows, other=0.0)
    tl.store(out + i, v)


def main(uninit):
    index = torch.arange(32, device="cuda")
    index[7] = 100
    lookup[(1,)](torch.ones(64, device="cuda"), index, torch.zeros(32, device="cuda"), 64, 32)
