# The product of a row and a stride does not fit into 32 bits.
import torch
import triton
import triton.language as tl


@triton.jit
def one_row(x, out, row, stride, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + row * stride + i)  # fault: bounds
    # fixed: a = tl.load(x + (row * stride).to(tl.int64) % 64 + i)
    tl.store(out + i, a)


def main(uninit):
    one_row[(1,)](torch.ones(128, device="cuda"), torch.zeros(32, device="cuda"), 70000, 70000, 32)
