# Masked elements without `other` take part in a sum.
import torch
import triton
import triton.language as tl


@triton.jit
def total(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i, mask=i < n)
    # fixed: a = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out, tl.sum(a, 0))  # fault: uninit


def main(uninit):
    total[(1,)](torch.ones(100, device="cuda"), torch.zeros(1, device="cuda"), 100, 128)
