# The mask admits one element too many.
import torch
import triton
import triton.language as tl


@triton.jit
def negate(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    mask = i < n
    a = tl.load(x + i, mask=i <= n)  # fault: bounds
    # fixed: a = tl.load(x + i, mask=mask)
    tl.store(out + i, -a, mask=mask)


def main(uninit):
    negate[(1,)](torch.ones(100, device="cuda"), torch.zeros(100, device="cuda"), 100, 128)
