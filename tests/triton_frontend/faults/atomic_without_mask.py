# An atomic addition past the end.
import torch
import triton
import triton.language as tl


@triton.jit
def accumulate(x, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    a = tl.load(x + i, mask=i < n, other=0.0)
    tl.atomic_add(out + i, a)  # fault: bounds
    # fixed: tl.atomic_add(out + i, a, mask=i < n)


def main(uninit):
    accumulate[(2,)](torch.ones(50, device="cuda"), torch.zeros(50, device="cuda"), 50, 64)
